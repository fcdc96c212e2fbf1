"""Give each test a place of its own; what tests break, they break there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos_ground import Ground


@pytest.fixture
def ground() -> Iterator[Ground]:
    """A place with a cache of its own; nothing is left of it."""
    home = Path(tempfile.mkdtemp(prefix="chaos-", dir="/tmp"))
    made = Ground(home)
    try:
        yield made
    finally:
        made.clear()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def postgres(baked: Path) -> Iterator[Ground]:
    """A place whose pack is baked for Postgres already."""
    home = Path(tempfile.mkdtemp(prefix="chaos-", dir="/tmp"))
    try:
        yield Ground(home, shared=baked)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def baked() -> Iterator[Path]:
    """A cache with the pack baked for Postgres, which tests that break no image share."""
    home = Path(tempfile.mkdtemp(prefix="chaos-", dir="/tmp"))
    made = Ground(home)
    try:
        code, said = made.call(*made.run_arguments("bake", "postgres", "--jobs", "1"), timeout=300)
        assert code == 0, said
        yield made.cache
    finally:
        made.clear()
        shutil.rmtree(home, ignore_errors=True)

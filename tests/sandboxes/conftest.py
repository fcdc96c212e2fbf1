"""Fixtures of the tests that run real containers: one engine, one cache and one Postgres image a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_adapters import TinyPostgres

from sqlassay.cases.errors import EngineUnavailableError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.sandboxes.contract import SnapshotImage
from sqlassay.sandboxes.docker.client import Engine, connect
from sqlassay.sandboxes.docker.provider import DockerProvider

SNAPSHOT = Snapshot(id="s", database="shop", digest="one")


def _quiet(line: str) -> None:
    """Take a phase line and say nothing."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """The engine of this machine."""
    try:
        reached = connect()
    except EngineUnavailableError as fault:
        pytest.skip(str(fault))
    yield reached
    reached.api.close()


@pytest.fixture(scope="module")
def cache(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of this module's own; the images baked under it go with it."""
    folder = tmp_path_factory.mktemp("cache")
    yield folder
    for image in engine.api.images(filters={"label": f"io.sqlassay.cache={folder}"}):
        engine.api.remove_image(image["Id"], force=True)


@pytest.fixture(scope="module")
def provider(cache: Path) -> Iterator[DockerProvider]:
    """A provider on the module's cache."""
    made = DockerProvider(cache=cache)
    yield made
    made.close()
    made.close()


@pytest.fixture(scope="module")
def image(provider: DockerProvider) -> SnapshotImage:
    """A Postgres image with one table."""
    return provider.prepare(TinyPostgres(), [SNAPSHOT], _quiet)

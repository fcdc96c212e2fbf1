"""A jailed DuckDB with the conformance suite's data, for the tests of this folder."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from cases.snapshot import Snapshot
from dialect_adapters.conformance_data import ALPHA, BETA
from dialect_adapters.contract import Mode
from dialect_adapters.registry import adapter
from sandboxes.contract import Sandbox
from sandboxes.registry import provider

installed = pytest.mark.skipif(
    importlib.util.find_spec("_duckdb") is None, reason="the duckdb package is not installed"
)


@contextmanager
def served(mode: Mode, *snapshots: Snapshot) -> Iterator[Sandbox]:
    """Give a running sandbox."""
    makes = provider("process")
    try:
        image = makes.prepare(adapter("duckdb"), snapshots or (ALPHA, BETA), lambda line: None)
        yield makes.start(adapter("duckdb"), image, mode, f"duckdb-{uuid4().hex[:8]}")
    finally:
        makes.close()

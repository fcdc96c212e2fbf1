"""A jailed DuckDB with the conformance suite's data, for the tests of this folder."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.conformance_data import ALPHA, BETA
from sqlassay.dialect_adapters.contract import Mode
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes.contract import Sandbox
from sqlassay.sandboxes.registry import provider

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

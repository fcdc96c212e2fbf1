"""Give each conformance class its server: dialect and provider are attributes of the class."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from sqlassay.dialect_adapters.conformance import Bench
from sqlassay.dialect_adapters.conformance_data import ALPHA, BETA
from sqlassay.dialect_adapters.conformance_write import Yard
from sqlassay.dialect_adapters.contract import Mode
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes.contract import Sandbox
from sqlassay.sandboxes.registry import provider


@pytest.fixture(scope="class")
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A READ-mode server with both snapshots, one for the whole class."""
    spoken = adapter(request.cls.dialect)
    makes = provider(request.cls.provider)
    run_id = f"conformance-{uuid4().hex[:8]}"
    try:
        image = makes.prepare(spoken, (ALPHA, BETA), lambda line: None)

        def start() -> Sandbox:
            """Start one more server."""
            return makes.start(spoken, image, Mode.READ, run_id)

        yield Bench(spoken, start(), image.catalogs, start)
    finally:
        makes.close()


@pytest.fixture(scope="class")
def yard(request: pytest.FixtureRequest) -> Iterator[Yard]:
    """A WRITE-mode server with both snapshots, and a way to start more."""
    spoken = adapter(request.cls.dialect)
    makes = provider(request.cls.provider)
    run_id = f"conformance-{uuid4().hex[:8]}"
    try:
        image = makes.prepare(spoken, (ALPHA, BETA), lambda line: None)

        def start() -> Sandbox:
            """Start one more server."""
            return makes.start(spoken, image, Mode.WRITE, run_id)

        yield Yard(spoken, start(), start)
    finally:
        makes.close()

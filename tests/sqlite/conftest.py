"""One SQLite worker for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlite_servers import SCHEMA, served

from sqlassay.dialect_adapters.contract import Endpoint


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A worker that serves database `w`."""
    with served(tmp_path_factory.mktemp("w"), SCHEMA) as endpoint:
        yield endpoint

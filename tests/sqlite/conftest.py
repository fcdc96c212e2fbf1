"""One SQLite worker for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlite_servers import served

from dialect_adapters.contract import Endpoint

SCHEMA = """
CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INT);
INSERT INTO person VALUES (1, 'Ada', 36), (2, 'Bo', 9), (3, 'Cy', NULL);
CREATE VIEW grown AS SELECT * FROM person WHERE age > 17;
CREATE VIEW today AS SELECT date('now') AS day;
CREATE VIRTUAL TABLE notes USING fts5(note);
INSERT INTO notes VALUES ('hello world');
"""


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A worker that serves database `w`."""
    with served(tmp_path_factory.mktemp("w"), SCHEMA) as endpoint:
        yield endpoint

"""What a pack hides from predictions is no matter of the guard alone: their login has no right to read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest

from sqlassay.cases.formats.own import limited
from sqlassay.cases.outcome import Failure, Rows
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.conformance_data import ALPHA
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes.pool_server import PooledServer
from sqlassay.sandboxes.registry import provider

SCRIPT = (
    "CREATE TABLE shown (id int, name varchar(20));\nINSERT INTO shown VALUES (1, 'a');\n"
    "CREATE TABLE gold (id int, txt varchar(20));\nINSERT INTO gold VALUES (1, 'secret');\n"
    "CREATE VIEW best AS SELECT max(txt) AS txt FROM gold;\nCREATE VIEW closed AS SELECT * FROM gold;\n"
)
VISIBLE = frozenset({"shown", "best"})
ENGINES = [
    pytest.param(("sqlite", "process"), marks=pytest.mark.jail),
    pytest.param(("duckdb", "process"), marks=pytest.mark.jail),
    pytest.param(("postgres", "docker"), marks=pytest.mark.docker),
    pytest.param(("mysql", "docker"), marks=pytest.mark.docker),
    pytest.param(("mariadb", "docker"), marks=pytest.mark.docker),
]


@pytest.fixture(scope="module", params=ENGINES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PooledServer]:
    """A server of a snapshot of which predictions may read one table and one view."""
    dialect, name = request.param
    script = tmp_path_factory.mktemp("visible") / "s.sql"
    script.write_text(SCRIPT)
    snapshot = limited(Snapshot("v", "vis_ible", f"visible-{dialect}-1", scripts={dialect: (script,)}), sorted(VISIBLE))
    makes = provider(name)
    try:
        spoken = adapter(dialect)
        image = makes.prepare(spoken, (snapshot,), lambda line: None)
        sandbox = makes.start(spoken, image, Mode.READ, f"visible-{uuid4().hex[:8]}")
        pooled = PooledServer(spoken, image, Mode.READ, sandbox)
        yield pooled
        pooled.end()
    finally:
        makes.close()


def _ran(server: PooledServer, sql: str, *, guest: bool = True) -> Rows | Failure:
    outcome = server.run("v", sql, Limits(), Pins(), plain=True, visible=VISIBLE if guest else None).outcome
    assert isinstance(outcome, Rows | Failure)
    return outcome


@pytest.mark.parametrize("sql", ["SELECT name FROM shown", "SELECT txt FROM best", "SELECT count(*) FROM shown"])
def test_what_is_visible_is_read(server: PooledServer, sql: str) -> None:
    """Tables and views alike, a view over a hidden table too."""
    assert isinstance(_ran(server, sql), Rows)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT txt FROM gold",
        "SELECT count(*) FROM gold",
        "SELECT txt FROM closed",
        "SELECT name FROM shown WHERE EXISTS (SELECT 1 FROM gold)",
        "WITH x AS (SELECT txt FROM gold) SELECT txt FROM x",
    ],
)
def test_what_is_hidden_cannot_be_read_without_the_guard(server: PooledServer, sql: str) -> None:
    """The engine itself refuses a prediction's login; gold, which needs the table, reads it on."""
    assert isinstance(_ran(server, sql), Failure)
    assert isinstance(_ran(server, sql, guest=False), Rows)
    assert isinstance(_ran(server, sql), Failure)


def test_a_limit_is_part_of_what_a_snapshot_is() -> None:
    """Another list is another image, as logins differ; the same one in another order is not."""
    one, other = limited(ALPHA, ["b", "A"]), limited(ALPHA, ["a", "B"])
    assert one == other
    assert one.visible == ("a", "b")
    assert len({ALPHA.digest, one.digest, limited(ALPHA, ["a"]).digest, limited(ALPHA, []).digest}) == 4
    assert limited(ALPHA, None) == replace(ALPHA, visible=None)

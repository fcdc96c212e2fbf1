"""Gold retold between MySQL's own collation, which has no case, and engines that compare code points keeps its rows."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, Session
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.transpile.collating import _RANKS, _folded
from sqlassay.dialect_adapters.transpile.rewrite import rewrite
from sqlassay.sandboxes.opening import open_provider

LIMITS = Limits(timeout=20)
PACK = """\
format: 1
name: mixed
snapshots: {t: {database: t, schema: schema.yaml, data: data}}
cases: [{id: one, question: "?", snapshot: t, gold: {postgres: SELECT 1}}]
"""
COLUMNS = """\
format: 1
tables:
  - name: t
    columns: [{name: id, kind: int, nullable: false}, {name: a, kind: text}, {name: b, kind: text}, {name: low, kind: text}, {name: n, kind: int}]
    primary_key: [id]
  - name: u
    columns: [{name: id, kind: int, nullable: false}, {name: a, kind: text}]
    primary_key: [id]
"""  # noqa: E501
WORDS = ["Ab", "ab", "AB", "aB", "b", "B", "Ä", "ä", "a", "é", "e", "zz-Top", "ZZ-top", "x_y", "X y"]
TEXTS = [
    "SELECT COUNT(*) FROM t WHERE a = 'ab'", "SELECT COUNT(*) FROM t WHERE a <> b",
    "SELECT a, COUNT(*) FROM t GROUP BY a",
    "SELECT DISTINCT a FROM t", "SELECT COUNT(DISTINCT a) FROM t", "SELECT MIN(a), MAX(b) FROM t",
    "SELECT id, a FROM t ORDER BY a, id", "SELECT id FROM t WHERE a > 'a' ORDER BY id",
    "SELECT a FROM t UNION SELECT a FROM u",
    "SELECT t.id, u.id FROM t JOIN u ON t.a = u.a", "SELECT id FROM t WHERE a IN (SELECT a FROM u)",
    "SELECT id FROM t WHERE a IN ('AB', 'b')", "SELECT id FROM t WHERE a BETWEEN 'B' AND 'b'",
    "SELECT id FROM t WHERE a LIKE 'A%'", "SELECT id FROM t WHERE NOT a LIKE '%b'",
    "SELECT CASE a WHEN 'AB' THEN 'x' WHEN 'b' THEN 'X' ELSE 'y' END AS k, COUNT(*) FROM t GROUP BY 1",
    "SELECT NULLIF(a, 'AB') FROM t", "SELECT id, RANK() OVER (PARTITION BY a ORDER BY b) FROM t",
    "WITH c AS (SELECT a AS k, n FROM t) SELECT k, SUM(n) FROM c GROUP BY k HAVING MAX(k) > 'B'",
    "SELECT k, COUNT(*) FROM (SELECT CASE WHEN n > 2 THEN 'Hi' ELSE 'hi' END AS k FROM t) AS d GROUP BY k",
    "SELECT 'q' AS k UNION SELECT 'Q'", "SELECT COUNT(*) FROM t WHERE CONCAT(a, '-') = 'ab-'",
    "SELECT id FROM t WHERE SUBSTRING(a, 1, 1) = 'A'",
    "SELECT t.id, t.a, COUNT(*) FROM t JOIN u ON u.id = t.id GROUP BY t.id",
    "SELECT low, COUNT(*) FROM t GROUP BY low ORDER BY low", "SELECT id FROM t WHERE low = 'red'",
    "SELECT id FROM t WHERE low LIKE 'r%'", "SELECT SUM(n) FROM t WHERE n > 1",
    "SELECT UPPER(low) FROM t WHERE LOWER(low) = 'red'", "SELECT k FROM (SELECT low AS k FROM t) AS d ORDER BY k",
    "SELECT k FROM (SELECT a AS k FROM t) AS d WHERE k = 'AB'",
    "SELECT GREATEST(a, b) FROM t WHERE a IS NOT NULL AND b IS NOT NULL",
]  # fmt: skip
POSTGRES = [
    "SELECT STRPOS(a, 'B') FROM t",
    "SELECT SPLIT_PART(a, 'B', 1) FROM t",
    "SELECT id FROM t WHERE a ILIKE 'ab'",
]
MATTERS_NOT = {
    "SELECT low, COUNT(*) FROM t GROUP BY low ORDER BY low", "SELECT id FROM t WHERE low = 'red'",
    "SELECT id FROM t WHERE low LIKE 'r%'", "SELECT SUM(n) FROM t WHERE n > 1",
    "SELECT UPPER(low) FROM t WHERE LOWER(low) = 'red'", "SELECT k FROM (SELECT low AS k FROM t) AS d ORDER BY k",
}  # fmt: skip


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Return texts that differ in case and accents alone, some only in lower case."""
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "data").mkdir()
    (folder / "pack.yaml").write_text(PACK)
    (folder / "schema.yaml").write_text(COLUMNS)
    chosen = random.Random(5)  # noqa: S311 (test data)
    rows = [
        f"{at},{chosen.choice(WORDS)},{chosen.choice(WORDS)},{chosen.choice(['red', 'blue', 'sky 2'])},{at % 5}"
        for at in range(1, 60)
    ]
    (folder / "data" / "t.csv").write_text("\n".join(["id,a,b,low,n", *rows]) + "\n")
    (folder / "data" / "u.csv").write_text("id,a\n" + "".join(f"{at},{word}\n" for at, word in enumerate(WORDS[::2])))
    return load_pack(folder).snapshots[0]


@pytest.fixture(scope="module")
def bytewise(snapshot: Snapshot) -> Iterator[sqlite3.Connection]:
    """Return the same rows where texts compare by their code points."""
    assert snapshot.source is not None
    with closing(sqlite3.connect(":memory:")) as connection:
        for table in snapshot.tables:
            connection.execute(f"CREATE TABLE {table.name} ({', '.join(one.name for one in table.columns)})")
            marks = ", ".join("?" * len(table.columns))
            connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", snapshot.source.rows(table.name))  # noqa: S608
        yield connection


@pytest.fixture(scope="module")
def mysql(snapshot: Snapshot) -> Iterator[Session]:
    """Return a reader's session on a MySQL of its own collation."""
    engine = adapter("mysql")
    provider = open_provider(engine.recipe, "docker", lambda _line: None, engine="auto", runtime="")
    with closing(provider):
        image = provider.prepare(engine, (snapshot,), lambda _line: None)
        sandbox = provider.start(engine, image, Mode.READ, "collations")
        with closing(sandbox.open(image.catalog(snapshot.id).database, Role.READER, Pins())) as session:
            yield session


def _asked(session: Session, sql: str) -> list[tuple[Any, ...]]:
    session.begin_read(LIMITS)
    try:
        return [tuple(_plain(cell) for cell in row) for row in session.fetch(sql, LIMITS).rows]
    finally:
        session.rollback()


def _plain(cell: object) -> object:
    return cell if cell is None or isinstance(cell, str) else float(str(cell))


def _local(connection: sqlite3.Connection, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(_plain(cell) for cell in row) for row in connection.execute(sql)]


def _same(sql: str, one: list[tuple[Any, ...]], other: list[tuple[Any, ...]]) -> bool:
    return one == other if "ORDER BY a, id" in sql or "ORDER BY low" in sql else Counter(one) == Counter(other)


@pytest.mark.docker
@pytest.mark.parametrize("text", [*TEXTS, *POSTGRES])
def test_towards_an_engine_without_case(
    text: str, snapshot: Snapshot, bytewise: sqlite3.Connection, mysql: Session
) -> None:
    """Gold of Postgres gives its rows on a stock MySQL, where its own text would give others."""
    here = rewrite(text, snapshot, adapter("postgres"), adapter("sqlite")).sql
    there = rewrite(text, snapshot, adapter("postgres"), adapter("mysql")).sql
    assert here is not None
    assert there is not None
    assert _same(text, _asked(mysql, there), _local(bytewise, here)), there


@pytest.mark.docker
@pytest.mark.parametrize("text", TEXTS)
def test_from_sqlite_to_an_engine_without_case(
    text: str, snapshot: Snapshot, bytewise: sqlite3.Connection, mysql: Session
) -> None:
    """SQLite's own gold does too."""
    if any(word in text for word in ("LIKE", "GREATEST", "CONCAT")):
        pytest.skip("SQLite's LIKE has no case, and it has no GREATEST or CONCAT")
    made = rewrite(text, snapshot, adapter("sqlite"), adapter("mysql"))
    assert made.sql is not None, made.reason
    assert _same(text, _asked(mysql, made.sql), _local(bytewise, text)), made.sql


@pytest.mark.docker
def test_from_an_engine_without_case(snapshot: Snapshot, bytewise: sqlite3.Connection, mysql: Session) -> None:
    """What a stock MySQL compares without case is refused, unless it cannot matter; what is written keeps its rows."""
    written = {}
    for text in TEXTS:
        made = rewrite(text, snapshot, adapter("mysql"), adapter("sqlite")).sql
        if made is not None:
            written[text] = _same(text, _asked(mysql, text), _local(bytewise, made))
    assert written.keys() >= MATTERS_NOT
    assert all(written.values()), written


@pytest.mark.docker
def test_marks_sort_as_the_server_sorts_them(mysql: Session) -> None:
    """The order of ASCII without case that the proof rests on is the server's."""
    letters = " UNION ALL ".join(f"SELECT CHAR({ord(one)} USING utf8mb4) AS k" for one in sorted(_RANKS))
    assert [row[0] for row in _asked(mysql, f"SELECT k FROM ({letters}) AS d ORDER BY k")] == list(_RANKS)  # noqa: S608


def test_what_is_said_and_refused(snapshot: Snapshot) -> None:
    """Text is put under a collation where the target has another, and refused in the other direction."""
    said = rewrite(TEXTS[0], snapshot, adapter("postgres"), adapter("mysql")).sql
    assert said is not None
    assert "COLLATE utf8mb4_0900_bin" in said
    assert "COLLATE" not in str(rewrite(TEXTS[0], snapshot, adapter("postgres"), adapter("duckdb")).sql)
    for text in TEXTS:
        made = rewrite(text, snapshot, adapter("mysql"), adapter("postgres"))
        if text in MATTERS_NOT:
            assert made.sql is not None, made.reason
    refused = rewrite(TEXTS[0], snapshot, adapter("mysql"), adapter("postgres"))
    assert refused.sql is None
    assert "without case" in refused.reason


@pytest.mark.docker
def test_what_is_told_apart_is_told_apart_by_the_server(mysql: Session) -> None:
    """Two texts that the server compares as equal are never taken for two, whatever marks they bear."""
    letters = [
        chr(code) for code in [*range(0x21, 0x7F), *range(0xA1, 0x460), *range(0x4E00, 0x4E80), 0x1E9E, 0x2764, 0x1F335]
    ]
    known = {letter: folded for letter in letters if (folded := _folded(f"x{letter}")) is not None}
    listed = " UNION ALL ".join(
        f"SELECT {at} AS i, CHAR({int.from_bytes(letter.encode(), 'big')} USING utf8mb4) AS k"
        for at, letter in enumerate(known)
    )
    pairs = _asked(mysql, f"WITH d AS ({listed}) SELECT a.k, b.k FROM d AS a JOIN d AS b ON a.k = b.k WHERE a.i < b.i")  # noqa: S608
    assert len(pairs) > len(known)
    assert [pair for pair in pairs if known[pair[0]] != known[pair[1]]] == []

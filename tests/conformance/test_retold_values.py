"""A scalar call with edge arguments, retold for another engine, keeps its value, fails aloud, or is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
import retold_calls

from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.relation import Relation
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Adapter, Limits, Mode, Pins, Role, StatementError
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.transpile.rewrite import rewrite
from sqlassay.harness.crossing import crossed
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.parsed import ParsedQuery
from sqlassay.sandboxes.contract import Sandbox
from sqlassay.sandboxes.opening import open_provider

LIMITS = Limits(timeout=20)
ENGINES = ("postgres", "mysql", "mariadb", "sqlite", "duckdb")
PACK = """\
format: 1
name: calls
snapshots: {v: {database: v, schema: schema.yaml, data: data, collation: binary}}
cases: [{id: one, question: "?", snapshot: v, gold: {postgres: SELECT 1}}]
"""
UNLIKE_ALOUD = "integer overflow"
"""What SQLite says of a letter beyond ASCII whose case it does not know."""

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Return a table of edge values in every kind."""
    folder = tmp_path_factory.mktemp("calls")
    (folder / "data").mkdir()
    (folder / "pack.yaml").write_text(PACK)
    (folder / "schema.yaml").write_text(retold_calls.COLUMNS)
    (folder / "data" / "v.csv").write_text(retold_calls.ROWS)
    return load_pack(folder).snapshots[0]


@pytest.fixture(scope="module")
def engines(snapshot: Snapshot) -> Iterator[dict[str, tuple[Adapter, Sandbox, str]]]:
    """Return every engine with the snapshot, running."""
    found = {}
    providers = []
    try:
        for name in ENGINES:
            engine = adapter(name)
            provider = open_provider(engine.recipe, "auto", lambda _line: None, engine="auto", runtime="")
            providers.append(provider)
            image = provider.prepare(engine, (snapshot,), lambda _line: None)
            sandbox = provider.start(engine, image, Mode.READ, "calls")
            found[name] = (engine, sandbox, image.catalog(snapshot.id).database)
        yield found
    finally:
        for provider in providers:
            provider.close()


def answers(place: tuple[Adapter, Sandbox, str], texts: list[str | None]) -> list[Relation | str | None]:
    """Return the rows or the complaint of each statement, None for one that was refused."""
    found: list[Relation | str | None] = []
    with closing(place[1].open(place[2], Role.READER, Pins())) as session:
        for text in texts:
            if text is None:
                found.append(None)
                continue
            session.begin_read(LIMITS)
            try:
                found.append(session.fetch(text, LIMITS))
            except StatementError as error:
                found.append(str(error))
            finally:
                session.rollback()
    return found


@pytest.mark.parametrize("source", ["postgres", "mysql"])
def test_a_call_keeps_its_value_or_is_refused(source, snapshot, engines):
    """One call of each template on each engine, with a fixed seed; of those that the source takes, most are retold."""
    texts = [f"SELECT id, {call} FROM v ORDER BY id" for call in retold_calls.calls(source, seed=7, each=1)]
    wanted = answers(engines[source], list(texts))
    faults = []
    for name in ENGINES:
        if name == source:
            continue
        made = [rewrite(text, snapshot, engines[source][0], engines[name][0]).sql for text in texts]
        same = 0
        for text, want, got in zip(texts, wanted, answers(engines[name], made), strict=True):
            if not isinstance(want, Relation) or got is None or (isinstance(got, str) and UNLIKE_ALOUD in got):
                continue
            verdict = "" if isinstance(got, str) else crossed(GoldAnswer(text, PARSED, want), got).verdict
            same += verdict == "match"
            if verdict != "match":
                faults.append(f"{name}: {text}: {got if isinstance(got, str) else got.rows}")
        assert same > len(texts) / 2
    assert faults == []


PARSED = ParsedQuery("SELECT 1", "postgres", "sqlglot")
SETS = [
    "(SELECT i FROM v) EXCEPT (SELECT j FROM v)", "SELECT i FROM v UNION SELECT j FROM v INTERSECT SELECT id FROM v",
    "(SELECT i FROM v ORDER BY i LIMIT 2) UNION ALL (SELECT j FROM v)",
    "(SELECT i FROM v UNION SELECT j FROM v) INTERSECT SELECT id FROM v",
    "SELECT i FROM v WHERE i IN ((SELECT j FROM v) EXCEPT (SELECT id FROM v))",
]  # fmt: skip


@pytest.mark.parametrize("text", SETS)
def test_set_operations_keep_their_parentheses(text, snapshot, engines):
    """SQLite takes no arm in parentheses, and joins all from left to right."""
    (want,) = answers(engines["postgres"], [text])
    for name in ("sqlite", "mysql", "duckdb"):
        made = rewrite(text, snapshot, engines["postgres"][0], engines[name][0])
        (got,) = answers(engines[name], [made.sql])
        assert sorted(map(str, got.rows)) == sorted(map(str, want.rows)), made.sql


REFUSED = {
    "postgres": ["STDDEV(r)",
        "d - INTERVAL '1 day ago'", "d + INTERVAL '1 day -02:00'", "'2 hours ago'::interval + m", "TO_CHAR(i, '999')",
        "TO_CHAR(d, 'Day, Month')", "ROUND(q, i)", "CAST(r AS TEXT)", "DIV(q, 2)", "CONCAT(t, b)",
    ],
    "mysql": [
        "TRIM(LEADING 'xy' FROM t)", "ROUND(r, j)", "EXTRACT(WEEK FROM d)", "TO_DAYS(d)", "CAST(m AS CHAR)",
        "r DIV 2", "CAST(r AS DECIMAL(10, 1))",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("source", "call"), [(source, call) for source, calls in REFUSED.items() for call in calls])
def test_what_is_not_proven_equal_is_refused(source, call, snapshot):
    """What the parser would leave out, and what engines spell or round in ways that no other engine can be told."""
    made = rewrite(f"SELECT {call} FROM v", snapshot, adapter(source), adapter("sqlite"))
    assert made.sql is None, made.sql

"""The pack `shop` is what its generator writes, its gold runs, and its labels say the truth about its agents."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import itertools
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from sqlassay.cases.formats.own import OwnFormat
from sqlassay.cases.pack import Pack
from sqlassay.cases.predictions import check_known, read_predictions
from sqlassay.cases.verdicts import Cause, Verdict
from sqlassay.dialect_adapters.sqlite.load import write_database

SHOP = Path(__file__).parents[2] / "cases" / "packs" / "shop"
DIALECTS = ("postgres", "mysql", "sqlite", "duckdb")
AGENTS = ("good", "mediocre", "careless")
EMPTY_ON_PURPOSE = {"shop-020"}
NOT_RUN = {Cause.TIMEOUT, Cause.UNSAFE_BLOCK, Cause.NO_PREDICTION, Cause.WRONG_ROUTE}
FEATURES = {
    "anti_join", "array", "boolean", "case", "conditional_aggregate", "correlated", "cte", "date", "decimal",
    "distinct", "duplicates", "empty", "except", "exists", "group_by", "having", "join", "json", "lag", "left_join",
    "like", "many_to_many", "not_exists", "null", "ordering", "rank", "recursive", "self_join", "set_operation",
    "string", "subquery", "three_valued", "ties", "timestamp", "top_k", "union", "unicode", "window",
}  # fmt: skip


@cache
def shop() -> Pack:
    """Return the pack as a run reads it."""
    return OwnFormat().load(SHOP)


@cache
def generator() -> ModuleType:
    """Import generate.py by its path, as a user runs it."""
    spec = importlib.util.spec_from_file_location("shop_generate", SHOP / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def labels() -> tuple[dict[str, str], ...]:
    """Return the labels in file order."""
    return tuple(json.loads(line) for line in (SHOP / "labels.jsonl").read_text(encoding="utf-8").splitlines())


@cache
def labelled(agent: str) -> dict[str, dict[str, str]]:
    """Return an agent's labels by case."""
    return {label["case_id"]: label for label in labels() if label["agent"] == agent}


@cache
def predicted(agent: str) -> dict[tuple[str, str | None], tuple[str, str | None]]:
    """Return an agent's statement and route by case and dialect."""
    found = read_predictions(SHOP / "predictions" / f"{agent}.jsonl")
    check_known(found, shop())
    return {(one.case_id, one.dialect): (one.sql or "", one.route) for one in found}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """Load the snapshot into a SQLite file, as a run does."""
    file = tmp_path_factory.mktemp("shop") / "shop.sqlite"
    write_database(shop().snapshots[0], file)
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    yield connection
    connection.close()


def rows_of(db: sqlite3.Connection, sql: str) -> list[tuple[object, ...]]:
    """Run a statement; floats lose the noise of their last digits."""
    return [tuple(round(cell, 6) if isinstance(cell, float) else cell for cell in row) for row in db.execute(sql)]


def agree(gold: list[tuple[object, ...]], found: list[tuple[object, ...]], *, ordered: bool) -> bool:
    """Return True where some choice of the found columns gives the gold's rows."""
    if len(gold) != len(found):
        return False
    if not gold:
        return True
    for places in itertools.permutations(range(len(found[0])), len(gold[0])):
        chosen = [tuple(row[place] for place in places) for row in found]
        if chosen == gold if ordered else Counter(chosen) == Counter(gold):
            return True
    return False


@pytest.mark.slow
def test_the_committed_data_is_what_the_generator_writes() -> None:
    """Every data file holds the generator's CSV and there is no other file."""
    written = {f"{name}.csv.gz": generator().csv_text(table) for name, table in generator().build().items()}
    committed = {path.name: gzip.decompress(path.read_bytes()).decode() for path in (SHOP / "data").iterdir()}
    assert committed.keys() == written.keys()
    assert [name for name in written if committed[name] != written[name]] == []


@pytest.mark.slow
def test_the_data_files_carry_no_time_stamp(tmp_path: Path) -> None:
    """The gzip header's time is zero, so writing again gives the same bytes."""
    generator().write(tmp_path)
    for path in (*tmp_path.iterdir(), *(SHOP / "data").iterdir()):
        assert path.read_bytes()[4:8] == bytes(4), path.name


@pytest.mark.slow
def test_the_database_is_as_large_as_promised() -> None:
    """There are 17 tables with 100,222 rows in at most 3 MB, and one table is empty."""
    snapshot = shop().snapshots[0]
    assert snapshot.source is not None
    counts = {table.name: sum(1 for _ in snapshot.source.rows(table.name)) for table in snapshot.tables}
    assert len(counts) == 17
    assert sum(counts.values()) == 100_222
    assert [name for name, count in counts.items() if count == 0] == ["gift_cards"]
    assert sum(path.stat().st_size for path in (SHOP / "data").iterdir()) <= 3_000_000


@pytest.mark.parametrize(
    ("what", "sql", "least"),
    [
        ("exact duplicates", "SELECT 9000 - COUNT(*) FROM (SELECT DISTINCT * FROM page_views)", 100),
        ("empty text beside NULL", "SELECT MIN(SUM(phone = ''), SUM(phone IS NULL)) FROM customers", 1000),
        ("combining marks", "SELECT COUNT(*) FROM customers WHERE first_name LIKE '%' || char(769) || '%'", 100),
        ("emoji", "SELECT COUNT(*) FROM reviews WHERE body LIKE '%' || char(128077) || '%'", 100),
        ("CJK", "SELECT COUNT(*) FROM customers WHERE city = '東京'", 10),
        ("line feeds in text", "SELECT COUNT(*) FROM reviews WHERE body LIKE '%' || char(10) || '%'", 100),
        ("price ties", "SELECT COUNT(*) - COUNT(DISTINCT price) FROM products", 100),
        ("missing JSON", "SELECT COUNT(*) FROM products WHERE attributes IS NULL", 100),
        ("unknown moments", "SELECT COUNT(*) FROM payments WHERE paid_at IS NULL", 100),
        ("orders without lines", "SELECT COUNT(*) FROM orders WHERE id NOT IN (SELECT order_id FROM order_items)", 100),
    ],
)  # fmt: skip
def test_the_data_holds_what_trips_engines(db: sqlite3.Connection, what: str, sql: str, least: int) -> None:
    """Each kind of awkward value is there often enough to matter."""
    assert db.execute(sql).fetchone()[0] >= least, what


@pytest.mark.parametrize("table", [table.name for table in OwnFormat().load(SHOP).snapshots[0].tables])
def test_every_reference_has_its_row(db: sqlite3.Connection, table: str) -> None:
    """No row refers to a row that is missing, so joins lose rows only where a key is NULL."""
    assert db.execute(f"PRAGMA foreign_key_check({table})").fetchall() == []


def test_a_strict_csv_reader_sees_the_same_number_of_fields() -> None:
    """The quoting of commas, quotes and line feeds is plain CSV."""
    for path in (SHOP / "data").iterdir():
        with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
            assert len({len(record) for record in csv.reader(stream, strict=True)}) == 1, path.name


def test_the_questions_cover_every_feature_and_difficulty() -> None:
    """There are 94 questions of three difficulties, with gold in three dialects and every feature asked for."""
    cases = shop().cases
    assert Counter(case.difficulty for case in cases) == {"easy": 30, "medium": 35, "hard": 29}
    assert {tag for case in cases for tag in case.tags} >= FEATURES
    assert all(tuple(case.gold) == DIALECTS for case in cases)
    assert len({case.question for case in cases}) == len(cases)


def test_a_question_that_asks_for_an_order_has_ordered_gold() -> None:
    """Wherever order counts, each dialect's gold ends in an ORDER BY."""
    for case in shop().cases:
        for dialect in DIALECTS if case.order_required else ():
            assert re.search(r"ORDER BY [^()]*$", case.gold[dialect][0]), case.id


def test_every_gold_runs_and_is_empty_only_on_purpose(db: sqlite3.Connection) -> None:
    """On SQLite each gold gives rows, but for the one question about the empty table."""
    empty = {case.id for case in shop().cases if not rows_of(db, case.gold["sqlite"][0])}
    assert empty == EMPTY_ON_PURPOSE


def test_every_label_is_about_a_case_and_speaks_the_closed_lists() -> None:
    """A label names an agent, a case, a verdict and a cause that exist, once for each agent and case."""
    known = {case.id for case in shop().cases}
    assert len({(label["agent"], label["case_id"]) for label in labels()}) == len(labels())
    for label in labels():
        assert set(label) == {"agent", "case_id", "verdict", "cause", "fault"}
        assert label["agent"] in AGENTS
        assert label["case_id"] in known
        assert Verdict(label["verdict"])
        assert Cause(label["cause"])
        assert len(label["fault"]) > 8


def test_the_labels_cover_every_cause_an_agent_can_have() -> None:
    """Every cause is labelled once at least, but for our own faults, ties (no gold here cuts one) and the unknown.

    Slips of an answer's form, which never reach a database, have rows of their own in tests/tables/answers.yaml.
    """
    ours = {Cause.GOLD_ERROR, Cause.INFRASTRUCTURE, Cause.UNKNOWN, Cause.CUT_TIE}
    ours |= {Cause.UNREADABLE_ANSWER, Cause.TOO_LONG, Cause.NO_STATEMENT, Cause.SEVERAL_STATEMENTS}
    assert {Cause(label["cause"]) for label in labels()} == set(Cause) - ours


def test_the_three_agents_are_apart() -> None:
    """By their labels good is right in at least 90 %, careless in at most half, mediocre between."""
    right = {agent: 1 - len(labelled(agent)) / len(shop().cases) for agent in AGENTS}
    assert right["good"] >= 0.9
    assert right["good"] > right["mediocre"] > right["careless"]
    assert 0.65 <= right["mediocre"] <= 0.75
    assert right["careless"] <= 0.5


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_answers_every_case_in_every_dialect(agent: str) -> None:
    """Each file holds one prediction for each case and dialect."""
    assert set(predicted(agent)) == {(case.id, dialect) for case in shop().cases for dialect in DIALECTS}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_route_or_a_statement_is_missing_only_where_the_label_says_so(agent: str) -> None:
    """Only a wrong_route label has another route, only a no_prediction label has no statement."""
    for (case_id, _), (sql, route) in predicted(agent).items():
        cause = labelled(agent).get(case_id, {}).get("cause")
        assert (route != "shop_db") is (cause == "wrong_route"), case_id
        assert (not sql.strip()) is (cause == "no_prediction"), case_id


@pytest.mark.parametrize("agent", AGENTS)
def test_labels_say_the_truth_on_sqlite(db: sqlite3.Connection, agent: str) -> None:
    """A prediction without a label gives the gold's rows; a labelled one fails or gives others."""
    for case in shop().cases:
        sql, _ = predicted(agent)[case.id, "sqlite"]
        label = labelled(agent).get(case.id)
        if label is not None and label["cause"] in NOT_RUN:
            continue
        if label is not None and label["cause"] == "execution_failure":
            with pytest.raises(sqlite3.OperationalError):
                db.execute(sql)
            continue
        gold = rows_of(db, case.gold["sqlite"][0])
        assert agree(gold, rows_of(db, sql), ordered=bool(case.order_required)) is (label is None), (case.id, sql)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_fault_in_order_alone_keeps_the_rows(db: sqlite3.Connection, agent: str) -> None:
    """A wrong_order prediction has the gold's rows, so that order is its only fault."""
    for case in shop().cases:
        if labelled(agent).get(case.id, {}).get("cause") == "wrong_order":
            found = rows_of(db, predicted(agent)[case.id, "sqlite"][0])
            assert agree(rows_of(db, case.gold["sqlite"][0]), found, ordered=False) is True


def test_most_right_answers_are_no_copies_of_the_gold() -> None:
    """The good agent writes every right answer in its own way."""
    for case in shop().cases:
        for dialect in DIALECTS if case.id not in labelled("good") else ():
            assert predicted("good")[case.id, dialect][0] != case.gold[dialect][0]

"""The guard gives every row of the table its verdict, and holds against the handed attacks without false alarms."""

from __future__ import annotations

import importlib
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogRoutine, CatalogTable
from sqlassay.cases.relation import Kind
from sqlassay.dialect_adapters.contract import GrammarRules
from sqlassay.harness.guard import check
from sqlassay.harness.parse import Parser
from sqlassay.harness.results.verdicts import GuardVerdict

_TABLE = rows_of("guard")
_CHANGES = rows_of("changes")
_SHARED = Path(__file__).parents[2].parent / "shared" / "data"
_NEEDS_SHARED = pytest.mark.skipif(not _SHARED.is_dir(), reason="needs ../shared/data beside the repository")
_SCHEMAS = {"postgres": "public", "mysql": "shop", "mariadb": "shop", "sqlite": None, "duckdb": None}
_EXTRA = {"t": ("id", "v"), "v_sales": ("id", "amount"), "mv_sales": ("id", "amount")}
_HIDDEN = {"eval.gold", "evalx.gold", "gold_answers"}


def _rules(dialect: str) -> GrammarRules:
    """Return a dialect's own rules."""
    rules: GrammarRules = importlib.import_module(f"dialect_adapters.{dialect}.grammar").RULES
    return rules


def _catalog(dialect: str, tables: dict[str, Any], routines: Sequence[str] = ()) -> Catalog:
    """Build a catalogue from table names, columns and names of functions."""
    return Catalog(
        dialect=dialect,
        snapshot="s",
        database="shop",
        engine_version="0",
        tables=tuple(
            CatalogTable(
                name=name,
                columns=tuple(CatalogColumn(name=column, kind=Kind.TEXT, declared="") for column in columns),
                schema_name=_SCHEMAS[dialect],
            )
            for name, columns in tables.items()
        ),
        routines=tuple(CatalogRoutine(name=name, kind="function", schema_name=_SCHEMAS[dialect]) for name in routines),
    )


def _fixture_catalog(dialect: str) -> Catalog:
    """Read the tables of an attack fixture, without those that hold the gold answers."""
    text = (_SHARED / "attacks" / f"fixture_{dialect}.sql").read_text(encoding="utf-8")
    tables: dict[str, Any] = dict(_EXTRA)
    pattern = r"CREATE (?:VIRTUAL )?TABLE ([\w.]+)(?: USING \w+)?\s*\((.*?)\)(?:;| PARTITION)"
    for name, body in re.findall(pattern, text, re.DOTALL):
        if name not in _HIDDEN:
            columns = re.sub(r"\([^)]*\)", "", body).split(",")
            tables[name] = tuple(column.strip().split()[0].strip('"`') for column in columns if column.strip())
    return _catalog(dialect, tables, re.findall(r"CREATE FUNCTION (\w+)", text))


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    """One parser for the module."""
    with Parser() as started:
        yield started


def _check(parser: Parser, sql: str, dialect: str, catalog: Catalog | None, **options: Any) -> GuardVerdict:
    """Parse and guard one text."""
    rules = _rules(dialect)
    spoken: dict[str, Any] = {
        "sqlglot_dialect": rules.sqlglot_dialect,
        "cte_scope": rules.cte_scope,
        "spellings": rules.spellings,
    }
    verdict = check(parser.parse(sql, dialect, catalog, **spoken), rules, catalog, **options)
    brief = parser.parse(sql, dialect, catalog, **spoken, brief=True)
    assert check(brief, rules, catalog, **options) == verdict
    return verdict


@pytest.mark.parametrize("row", _TABLE["rows"], ids=lambda row: f"{row['dialect']}: {row['sql'][:60]!r}")
def test_every_row_gets_its_verdict(parser: Parser, row: dict[str, Any]) -> None:
    """Verdict, deciding node, named statement kind and number of flags are those of the row."""
    if row.get("second") and find_spec("pglast") is None:
        pytest.skip("a row for the second parser, extra `guard`")
    catalog = _catalog(row["dialect"], _TABLE["catalogues"][row["dialect"]], _TABLE["routines"].get(row["dialect"], ()))
    options: dict[str, Any] = {"profile": row.get("profile", "dql")}
    if "visible" in row:
        options["visible"] = frozenset(row["visible"])
    verdict = _check(parser, row["sql"], row["dialect"], catalog, **options)
    assert verdict.allowed is row["allowed"], verdict.reason
    assert (verdict.node, verdict.statement) == (row.get("node"), row.get("statement"))
    assert len(verdict.flags) == row.get("flags", 0)
    if verdict.statement is not None:
        assert verdict.statement in verdict.reason


@pytest.mark.parametrize("side", ["gold", "right", "wrong"])
@pytest.mark.parametrize("row", _CHANGES["rows"], ids=lambda row: f"{row['dialect']}: {row['what']}")
def test_changes_are_admitted_as_each_engine_spells_them(parser: Parser, row: dict[str, Any], side: str) -> None:
    """Every statement that the engines were seen to run passes under the profile of its kind, and under no query's."""
    catalog = _catalog(row["dialect"], {**_CHANGES["tables"], **row.get("made", {})})
    verdict = _check(parser, row[side], row["dialect"], catalog, profile=row["kind"])
    assert verdict.allowed is True, verdict.reason
    assert _check(parser, row[side], row["dialect"], catalog).allowed is False


@pytest.mark.parametrize("row", _CHANGES["refused"], ids=lambda row: f"{row['dialect']}: {row['sql'][:60]!r}")
def test_changes_nobody_can_judge_stay_refused(parser: Parser, row: dict[str, Any]) -> None:
    """What the parser cannot read or no state shows is refused with a reason that says so."""
    catalog = _catalog(row["dialect"], _CHANGES["tables"])
    verdict = _check(parser, row["sql"], row["dialect"], catalog, profile=row["kind"])
    assert verdict.allowed is False
    assert row["why"] in verdict.reason


def _expanded(sql: str) -> str:
    """Fill a template in as the data's README says."""
    sql = re.sub(r"\{\{rep:(.*?):(\d+)\}\}", lambda found: found[1] * int(found[2]), sql)
    return sql.replace("{{tmp}}", "/scratch").replace("{{gold}}", "/scratch/gold.db").replace("{{victim}}", "7")


def _lines(*parts: str) -> list[dict[str, Any]]:
    """Read a JSONL file of the shared data."""
    return [json.loads(line) for line in _SHARED.joinpath(*parts).read_text(encoding="utf-8").splitlines()]


@_NEEDS_SHARED
@pytest.mark.parametrize("dialect", ["postgres", "mysql", "sqlite"])
def test_no_live_attack_that_mutates_escapes_or_leaks_passes(parser: Parser, dialect: str) -> None:
    """Of the handed attacks only exhaustion, which other layers stop, may pass; gaming is stopped or flagged."""
    catalog = _fixture_catalog(dialect)
    missed = []
    for attack in _lines("attacks", "attacks.jsonl"):
        if attack["dialect"] != dialect or attack["harm"] in {"exhaustion", "none"}:
            continue
        verdict = _check(parser, _expanded(attack["sql"]), dialect, catalog)
        if verdict.allowed and not (attack["harm"] == "gaming" and verdict.flags):
            missed.append(attack["id"])
    assert missed == []


@_NEEDS_SHARED
def test_no_benign_look_alike_raises_an_alarm(parser: Parser) -> None:
    """All 143 legitimate reads that look dangerous pass, as the README says."""
    benign = _lines("attacks", "benign.jsonl")
    catalogs = {dialect: _fixture_catalog(dialect) for dialect in {case["dialect"] for case in benign}}
    alarms = [
        case["id"]
        for case in benign
        if not _check(parser, case["sql"], case["dialect"], catalogs[case["dialect"]]).allowed
    ]
    assert (len(benign), alarms) == (143, [])


def _database_catalog(name: str) -> Catalog:
    """Read the catalogue of a handed database; golds address it by its bare name."""
    file = next((_SHARED / "text2sql" / "databases" / name).glob("*.sqlite"))
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")]
        columns = {table: [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')] for table in tables}
    return _catalog("sqlite", columns).model_copy(update={"database": name.removeprefix("defog_")})


@_NEEDS_SHARED
def test_no_real_gold_is_rejected(parser: Parser) -> None:
    """All golds of three dialects pass for their own dialect."""
    rejected: Counter[str] = Counter()
    names = {path.name for path in (_SHARED / "text2sql" / "databases").iterdir() if path.is_dir()}
    catalogs = {name: _database_catalog(name) for name in names}
    count = 0
    for name in ("spider_dev", "chinook", "defog", "spider_german_dirty"):
        for case in _lines("text2sql", "cases", f"{name}.jsonl"):
            for dialect, gold in case["gold"].items():
                for sql in [gold] if isinstance(gold, str) else gold:
                    rules, catalog = _rules(dialect), catalogs[case["db"]]
                    parsed = parser.parse(sql, dialect, catalog, sqlglot_dialect=rules.sqlglot_dialect)
                    verdict = check(parsed, rules, catalog)
                    count += 1
                    if not verdict.allowed:
                        rejected[f"{case['id']} {dialect}: {verdict.reason}"] += 1
    assert rejected == Counter()
    assert count > 1400


@pytest.mark.parametrize(
    ("sql", "allowed"),
    [
        ("SELECT * FROM customers", True),
        ("SELECT * FROM orders", False),
        ("SELECT * FROM customers WHERE 1 IN orders", False),
        ("PRAGMA table_info(orders)", False),
    ],
)
def test_visible_limits_what_a_statement_reads(parser: Parser, sql: str, *, allowed: bool) -> None:
    """A table outside `visible` is rejected although the catalogue has it, with and without a catalogue."""
    catalog = _catalog("sqlite", _TABLE["catalogues"]["sqlite"])
    visible = frozenset({"Customers"})
    assert _check(parser, sql, "sqlite", catalog, visible=visible).allowed is allowed
    assert _check(parser, sql, "sqlite", None, visible=visible).allowed is allowed


def test_a_table_whose_name_another_has_in_other_case_is_not_visible(parser: Parser) -> None:
    """Where two tables differ in case alone, a limit on what is visible admits neither; without one both pass."""
    catalog = _catalog("postgres", {"people": ("id",), "People": ("id",)})
    assert _check(parser, 'SELECT * FROM "People"', "postgres", catalog).allowed is True
    assert _check(parser, 'SELECT * FROM "People"', "postgres", catalog, visible=frozenset({"people"})).allowed is False


@pytest.mark.parametrize(
    ("sql", "allowed"),
    [
        ("SELECT * FROM anything", True),
        ("SELECT * FROM pg_authid", False),
        ("SELECT * FROM pg_catalog.pg_class", False),
        ("SELECT c.f_wipe FROM anything c", True),
        ("SELECT c.count FROM (SELECT count(*) FROM anything) c", True),
        ("SELECT v.lo_import FROM (SELECT '/etc/passwd'::text) v", False),
        ("SELECT v.current_setting FROM (SELECT 'data_directory'::text) v", False),
        ("SELECT v.setseed FROM (SELECT 1.0) v", False),
        ("SELECT c.dblink_connect FROM anything c", False),
        ("SELECT 1::mood", True),
        ("SELECT 1::evil.mood", False),
        ('SELECT * FROM "pg_cataló".x', False),
    ],
)
def test_without_a_catalogue_only_the_system_is_denied(parser: Parser, sql: str, *, allowed: bool) -> None:
    """Without a catalogue system schemas are denied, and what may call a function of the engine's own."""
    assert _check(parser, sql, "postgres", None).allowed is allowed


def test_what_nobody_can_know_without_a_catalogue_is_said(parser: Parser) -> None:
    """The reason names the first name that may be a column or call a function of the snapshot's."""
    verdict = _check(parser, "SELECT c.f_wipe, c.id FROM anything c", "postgres", None)
    assert verdict.reason == "allowed; without a catalogue 'c.f_wipe' may be a column or a function of the snapshot's"
    assert _check(parser, "SELECT c.n FROM (SELECT 1 AS n) c", "postgres", None).reason == "allowed"


def test_a_catalogue_that_tells_of_no_routine_leaves_unknown_names_refused(parser: Parser) -> None:
    """To a catalogue of the first format a name that is no column may call a routine; a function's own name may not."""
    first = _catalog("postgres", {"people": ("id",)}).model_copy(update={"format": 1})
    assert _check(parser, "SELECT p.f_wipe FROM people p", "postgres", first).node == "functional_notation"
    assert _check(parser, "SELECT p.count FROM (SELECT count(*) FROM people) p", "postgres", first).allowed is True


@pytest.mark.parametrize(
    ("sql", "node"),
    [("SELECT " + "x" * 33_000, "size"), ("SELECT 1\x00", "control"), ("SELECT '\ud800'", "control"), ("", "empty")],
)
def test_text_is_judged_before_any_parser_is_believed(parser: Parser, sql: str, node: str) -> None:
    """Size, control characters, lone surrogates and emptiness decide first."""
    assert _check(parser, sql, "sqlite", None).node == node


def test_depth_is_measured_by_the_guard_itself(parser: Parser) -> None:
    """Deep nesting is rejected by the guard's own count."""
    assert _check(parser, "SELECT " + "(" * 201 + "1" + ")" * 201, "mysql", None).node == "depth"


def test_what_the_parser_gave_up_on_is_no_syntax_error(parser: Parser) -> None:
    """A text that is too deep for the parser is rejected as unparsable, not as the agent's syntax error."""
    assert _check(parser, "SELECT " + "NOT " * 7_000 + "1", "sqlite", None).node == "unparsable"


def test_names_outside_ascii_pass_where_the_catalogue_has_them(parser: Parser) -> None:
    """A column with an umlaut is a name like any other."""
    catalog = _catalog("sqlite", {"straßen": ("länge",)})
    assert _check(parser, "SELECT länge FROM straßen", "sqlite", catalog).allowed is True


@pytest.mark.parametrize(
    ("sql", "allowed"),
    [
        ("SELECT 'sad'::mood", True),
        ("SELECT 'sad'::public.mood, '{}'::mood[]", True),
        ("SELECT 'sad'::evil.mood", False),
        ("SELECT 'sad'::temper", False),
    ],
)
def test_a_cast_may_name_a_type_that_a_column_has(parser: Parser, sql: str, *, allowed: bool) -> None:
    """An enumeration of the snapshot passes; a type no column has may be a domain whose CHECK runs code."""
    catalog = _catalog("postgres", {"people": ("name",)})
    column = CatalogColumn(name="feels", kind=Kind.OTHER, declared="public.mood[]")
    table = catalog.tables[0].model_copy(update={"columns": (*catalog.tables[0].columns, column)})
    typed = catalog.model_copy(update={"tables": (table,)})
    assert _check(parser, sql, "postgres", typed).allowed is allowed

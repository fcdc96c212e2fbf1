"""Exact set match, its partial scores and hardness on the handed predictions are those of the published script."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from made_evidence import Maker
from rows import rows_of

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.verdicts import Verdict
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.sqlite.reflect import read_catalog
from sqlassay.harness.metrics import spider
from sqlassay.harness.parse import Parser
from sqlassay.harness.reports.spider_file import summary
from sqlassay.harness.results.case_result import CaseResult, ScoreRecord
from sqlassay.harness.results.exact_set import Parts

_ROOT = Path(__file__).parents[2]
_DATA = _ROOT.parent / "shared" / "data" / "text2sql"
_TABLE = rows_of("spider_published")
_LEVELS = ("easy", "medium", "hard", "extra")
_EMPTY = Parts()


@cache
def _catalog(database: str) -> Catalog:
    """Return the catalogue of one handed database."""
    file = _DATA / "databases" / database / f"{database}.sqlite"
    return read_catalog(file, snapshot=database, database=database)


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    """One parser for the module."""
    with Parser() as started:
        yield started


@cache
def _read(parser: Parser, sql: str, database: str) -> Parts | None:
    """Return a text as the published script reads it."""
    rules = adapter("sqlite").rules
    parsed = parser.parse(sql, "sqlite", _catalog(database), sqlglot_dialect="sqlite", spellings=rules.spellings)
    return parsed.published


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return a file's objects."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.skipif(not _DATA.is_dir(), reason="the handed data is not beside the project")
@pytest.mark.parametrize("system", sorted(_TABLE["handed"]))
def test_the_scores_are_the_published_scripts(parser: Parser, system: str) -> None:
    """Levels, exact matches, partial scores and the table made of them are the script's, for 575 predictions."""
    predictions = {
        row["case_id"]: row["sql"] for row in _lines(_DATA / "predictions" / "spider_dev" / f"{system}.jsonl")
    }
    found, matched, levels = hashlib.sha256(), Counter[str](), Counter[str]()
    records: list[CaseResult] = []
    for case in _lines(_DATA / "cases" / "spider_dev.jsonl"):
        gold = _read(parser, case["gold"]["sqlite"], case["db"])
        assert gold is not None, case["id"]
        predicted = _read(parser, predictions[case["id"]], case["db"]) or _EMPTY
        level, equal = spider.hardness(gold), spider.matches(gold, predicted)
        levels[level] += 1
        matched[level] += equal
        bits = "".join(str(int(value)) for value in spider.partial(gold, predicted).values())
        found.update(f"{case['id']} {level} {int(equal)} {bits}\n".encode())
        records.append(_record(case["id"], gold, predicted))
    wanted = _TABLE["handed"][system]
    assert [levels[level] for level in _LEVELS] == _TABLE["levels"]
    assert [matched[level] for level in _LEVELS] == wanted["matched"]
    assert found.hexdigest() == wanted["digest"]
    printed = summary(records)["levels"]
    assert round(printed["all"]["exact"], 4) == wanted["exact"]
    assert [round(part["f1"], 4) for part in printed["all"]["partial"].values()] == wanted["f1"]
    assert _digest(printed) == wanted["table"]


def _record(case_id: str, gold: Parts, predicted: Parts) -> CaseResult:
    """Return a case as a run records it, of which the report makes the script's table."""
    there = dict(zip(("gold_clauses", "predicted_clauses"), spider.clauses(gold, predicted), strict=True))
    details = {**spider.partial(gold, predicted), "hardness": spider.hardness(gold), **there}
    score = ScoreRecord(value=float(spider.matches(gold, predicted)), reason="", details=details)
    scores = {"spider.exact_set_match": score}
    return CaseResult(
        case_id=case_id, dialect="sqlite", question="", snapshot="s", verdict=Verdict.MATCH, reason="", scores=scores
    )


def _digest(printed: dict[str, Any]) -> str:
    """Return the digest of a table, each figure to six places."""
    found = hashlib.sha256()
    for level, row in printed.items():
        figures = " ".join(f"{value:.6f}" for part in row["partial"].values() for value in part.values())
        found.update(f"{level} {row['count']} {row['exact']:.6f} {figures}\n".encode())
    return found.hexdigest()


@pytest.fixture(scope="module")
def maker() -> Iterator[Maker]:
    """The small database of the other metric tests, with a key that ties orders to customers."""
    with Maker() as made:
        ddl = "CREATE TABLE orders (id INT, customer_id INT, FOREIGN KEY (customer_id) REFERENCES customers (id))"
        made.catalog = made.catalog.model_copy(update={"ddl": ddl})
        yield made


@pytest.mark.parametrize("row", _TABLE["rows"], ids=lambda row: row["why"])
def test_what_the_published_script_reads(maker: Maker, row: dict[str, Any]) -> None:
    """Each pair has the row's value, and a text the script cannot read counts as empty with the row's reason."""
    evidence = maker.make(row["gold"], row["predicted"])
    assert evidence.gold_parsed is not None
    assert evidence.predicted_parsed is not None
    assert (evidence.gold_parsed.published is None) is row.get("gold_unread", False)
    score = spider.EXACT_SET_MATCH.compute(evidence, None)
    assert score.value == row["value"], score.reason
    assert row.get("says", "") in score.reason
    for name, value in row.get("parts", {}).items():
        assert dict(score.details)[name] == value, name


@pytest.mark.parametrize("row", _TABLE["keys"], ids=lambda row: row["why"])
def test_keys_of_a_schema(row: dict[str, Any]) -> None:
    """A CREATE TABLE text declares the row's keys, the last of each table first."""
    from sqlassay.harness.parse.keys import foreign_keys

    assert [list(key) for key in foreign_keys(row["ddl"])] == row["keys"]


def test_the_databases_declare_their_keys() -> None:
    """What is read from a catalogue's text is what the engine lists, in the engine's order."""
    if not _DATA.is_dir():
        pytest.skip("the handed data is not beside the project")
    from sqlassay.harness.parse.keys import foreign_keys

    for file in sorted(_DATA.glob("databases/spider_*/*.sqlite")):
        with closing(sqlite3.connect(file)) as db:
            tables = [
                row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
            ]
            listed = [
                tuple(str(each).lower() for each in (table, row[3], row[2], row[4]))
                for table in tables
                for row in db.execute(f'PRAGMA foreign_key_list("{table}")')
            ]
        assert foreign_keys(_catalog(file.stem).ddl) == listed

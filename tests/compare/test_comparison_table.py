"""The comparator's rules as rows: our own table, and the handed corpus where it lies beside the project."""

from __future__ import annotations

import importlib.util
import json
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from rows import rows_of

from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, FarTemporal, Interval, Json, Relation, kind_of
from sqlassay.harness.compare import compare

TABLE = Path(__file__).parents[1] / "tables" / "comparison.yaml"
CORPUS = Path(__file__).parents[2].parent / "shared" / "data" / "comparison"
NAMES: dict[str, Any] = {
    "D": Decimal,
    "Decimal": Decimal,
    "date": date,
    "datetime": datetime,
    "time": time,
    "timedelta": timedelta,
    "tz": lambda hours: timezone(timedelta(hours=hours)),
    "UUID": UUID,
    "nan": float("nan"),
    "nan2": float("nan"),
    "inf": float("inf"),
    "memoryview": memoryview,
    "Json": Json,
    "Interval": Interval,
    "Far": FarTemporal,
}


def side(columns: list[str], rows: str, names: dict[str, Any] = NAMES) -> Relation:
    named = (column.rsplit(":", 1) for column in columns)
    cells = eval(rows, dict(names))
    return Relation(tuple(Column(name, kind_of(kind)) for name, kind in named), tuple(map(tuple, cells)))


def policy_of(fields: dict[str, Any]) -> Policy:
    base = preset(fields.get("preset", "strict")).model_dump()
    return Policy.model_validate(base | {name: value for name, value in fields.items() if name != "preset"})


def table() -> list[Any]:
    return [pytest.param(row, id=row["id"]) for row in rows_of(TABLE)]


@pytest.mark.parametrize("row", table())
def test_every_row_of_the_table_gets_its_verdict_by_its_rule(row: dict[str, Any]) -> None:
    """A labelled pair is judged as labelled, and the rule named is the one that decides."""
    found = compare(side(**row["gold"]), side(**row["pred"]), policy_of(row["policy"]))
    assert (found.verdict, found.rule) == (row["verdict"], row["rule"]), row["reason"]


def test_the_table_holds_every_verdict_and_names_a_source_for_each_row() -> None:
    """The table has at least 300 rows, unique ids, and a reason and source in each."""
    rows = rows_of(TABLE)
    assert len({row["id"] for row in rows}) == len(rows) >= 300
    assert {row["verdict"] for row in rows} == {"match", "mismatch", "undecided"}
    assert all(row["reason"] and row["source"] for row in rows)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the handed corpus is not beside the project")
@pytest.mark.slow
def test_every_pair_of_the_handed_corpus_is_right() -> None:
    """All labelled pairs of the corpus, the large and adversarial ones included, get their verdict."""
    spec = importlib.util.spec_from_file_location("read_corpus", CORPUS / "read_corpus.py")
    assert spec is not None
    assert spec.loader is not None
    reader = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reader)
    wrong = []
    for line in (CORPUS / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        gold, pred = (side(**pair[name], names=reader.NAMES) for name in ("gold", "pred"))
        if compare(gold, pred, Policy.model_validate(pair["policy"])).verdict != pair["verdict"]:
            wrong.append(pair["id"])
    assert wrong == []

"""The likely cause of every row of the table comes out, from SQL pairs read by the real parser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.policy import Policy
from sqlassay.cases.verdicts import Cause, Verdict
from sqlassay.harness.metrics.cause import likely_cause
from sqlassay.harness.parse import Parser
from sqlassay.harness.results.evidence import Answer, Evidence, Execution
from sqlassay.harness.results.verdicts import Comparison, GuardVerdict

_ROWS = rows_of("causes")["rows"]


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    """One parser for the module."""
    with Parser() as started:
        yield started


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: f"{row['cause']}: {row['predicted']}"[:90])
def test_every_row_gets_its_cause(parser: Parser, row: dict[str, Any]) -> None:
    """Facts, verdict and the looser policy of the row lead to its cause."""
    dialect = row.get("dialect", "sqlite")
    gold, sql = row["gold"], row["predicted"]
    comparison = Comparison(
        "mismatch", "rows", "rows differ", "0", looser=row.get("looser"), flags=tuple(row.get("notes", ()))
    )
    evidence = Evidence(
        case=Case(id="c", question="?", snapshot="s", gold={dialect: (gold,)}),
        dialect=dialect,
        prediction=Prediction(case_id="c", sql=sql),
        verdict=Verdict(row["verdict"]),
        reason="",
        policy=Policy(),
        gold_sql=gold,
        gold_parsed=parser.parse(gold, dialect, sqlglot_dialect=dialect),
        predicted_parsed=None if sql is None else parser.parse(sql, dialect, sqlglot_dialect=dialect),
        guard=GuardVerdict(False, "no", node=row["node"], statement=row.get("statement")) if "node" in row else None,
        executions=(Execution("s", None, None, comparison),) if row["verdict"] == "mismatch" else (),
        expected_route="main",
        selected_route=row.get("selected", "main"),
        known_route=row.get("known", True),
        answer=Answer(None, reason="unreadable") if row.get("unreadable") else None,
    )
    assert likely_cause(evidence) == (None if row["cause"] is None else Cause(row["cause"]))

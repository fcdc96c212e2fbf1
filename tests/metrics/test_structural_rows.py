"""Routing, structure and disagreement score as their rules say, on rows and on the demo's eleven cases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogTable
from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Kind
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.metrics.disagreement import DISAGREEMENT
from sqlassay.harness.metrics.routing import ROUTING
from sqlassay.harness.metrics.structural import STRUCTURAL
from sqlassay.harness.parse import Parser
from sqlassay.harness.results.evidence import Evidence, MetricSettings
from sqlassay.harness.results.verdicts import GuardVerdict

_ROWS = rows_of("structural")["rows"]
_DEMO = Path(__file__).parents[2].parent / "shared" / "data" / "skill_demo.json"
_COLUMNS = {
    "customers": ("id", "name", "region", "active"),
    "orders": ("id", "customer_id", "amount", "status", "order_date"),
    "archived_orders": ("id", "customer_id", "amount", "status", "order_date"),
}
_CATALOG = Catalog(
    dialect="sqlite",
    snapshot="s",
    database="s",
    engine_version="0",
    tables=tuple(
        CatalogTable(name=name, columns=tuple(CatalogColumn(name=c, kind=Kind.TEXT, declared="") for c in columns))
        for name, columns in _COLUMNS.items()
    ),
)


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    """One parser for the module."""
    with Parser() as started:
        yield started


def _evidence(parser: Parser, gold: str, predicted: str, verdict: Verdict = Verdict.MISMATCH) -> Evidence:
    """Build evidence from two texts."""
    return Evidence(
        case=Case(id="c", question="?", snapshot="s", gold={"sqlite": (gold,)}),
        dialect="sqlite",
        prediction=Prediction(case_id="c", sql=predicted),
        verdict=verdict,
        reason="",
        policy=Policy(),
        gold_sql=gold,
        gold_parsed=parser.parse(gold, "sqlite", _CATALOG, sqlglot_dialect="sqlite"),
        predicted_parsed=parser.parse(predicted, "sqlite", _CATALOG, sqlglot_dialect="sqlite"),
    )


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row["why"])
def test_structural_rows(parser: Parser, row: dict[str, Any]) -> None:
    """τ, ρ and the scalar are those of the row."""
    score = STRUCTURAL.compute(_evidence(parser, row["gold"], row["predicted"]), None)
    assert score.value == pytest.approx(row["value"])
    assert dict(score.details) == {"tau": row["tau"], "rho": row["rho"]}


def test_alpha_and_beta_are_settings(parser: Parser) -> None:
    """Other weights give another scalar from the same τ and ρ."""
    evidence = _evidence(parser, "SELECT id, amount FROM orders", "SELECT id FROM orders")
    settings = MetricSettings(alpha=0.5, beta=0.1)
    assert STRUCTURAL.compute(replace(evidence, settings=settings), None).value == pytest.approx(0.75)
    other = _evidence(parser, "SELECT id FROM orders", "SELECT id FROM customers")
    assert STRUCTURAL.compute(replace(other, settings=settings), None).value == pytest.approx(0.1)


def test_a_schema_counts_only_where_both_sides_name_one(parser: Parser) -> None:
    """main.orders is orders, but not other.orders."""
    same = _evidence(parser, "SELECT id FROM orders", "SELECT id FROM main.orders")
    other = _evidence(parser, "SELECT id FROM other.orders", "SELECT id FROM main.orders")
    assert STRUCTURAL.compute(same, None).value == 1.0
    assert STRUCTURAL.compute(other, None).value == pytest.approx(0.2)


def test_blocked_and_unparsable_predictions_score_zero(parser: Parser) -> None:
    """A block, a syntax error and a missing statement are 0, with the reason."""
    gold = "SELECT id FROM orders"
    blocked = replace(_evidence(parser, gold, gold, Verdict.BLOCKED), guard=GuardVerdict(False, "no"))
    assert STRUCTURAL.compute(blocked, None).value == 0.0
    broken = STRUCTURAL.compute(_evidence(parser, gold, "SELECT FROM (", Verdict.ERROR), None)
    assert broken.value == 0.0
    assert "syntax error" in broken.reason
    absent = replace(_evidence(parser, gold, gold, Verdict.NO_PREDICTION), prediction=None, predicted_parsed=None)
    assert STRUCTURAL.compute(absent, None).value == 0.0


def test_what_is_not_the_agents_is_unavailable(parser: Parser) -> None:
    """An unparsable or missing gold, our own fault and an out-of-scope case have no score."""
    gold = "SELECT id FROM orders"
    assert STRUCTURAL.compute(_evidence(parser, "SELECT FROM (", gold), None).value is None
    assert STRUCTURAL.compute(replace(_evidence(parser, gold, gold), gold_parsed=None), None).value is None
    for verdict in (Verdict.OUT_OF_SCOPE, Verdict.INFRASTRUCTURE):
        assert STRUCTURAL.compute(_evidence(parser, gold, gold, verdict), None).value is None


@pytest.mark.parametrize(
    ("expected", "selected", "known", "value"),
    [
        ("a", "a", True, 1.0),
        ("a", "b", True, 0.0),
        ("a", "x", False, 0.0),
        ("a", None, True, None),
        (None, "a", True, None),
    ],
)
def test_routing(
    parser: Parser, expected: str | None, selected: str | None, value: float | None, *, known: bool
) -> None:
    """Routing is unavailable, not 0, where no route is expected or logged."""
    evidence = _evidence(parser, "SELECT 1", "SELECT 1")
    routed = replace(evidence, expected_route=expected, selected_route=selected, known_route=known)
    assert ROUTING.compute(routed, None).value == value


def test_disagreement_is_a_gap_beyond_the_threshold(parser: Parser) -> None:
    """Structure 1 beside execution 0 disagrees, unless the threshold is as wide; without a score it is unavailable."""
    gap = _evidence(parser, "SELECT id FROM orders WHERE id = 1", "SELECT id FROM orders")
    assert DISAGREEMENT.compute(gap, None).value == 1.0
    wide = replace(gap, settings=MetricSettings(disagreement=1.0))
    assert DISAGREEMENT.compute(wide, None).value == 0.0
    agreed = _evidence(parser, "SELECT id FROM orders", "SELECT id FROM orders", Verdict.MATCH)
    assert DISAGREEMENT.compute(agreed, None).value == 0.0
    assert DISAGREEMENT.compute(replace(gap, gold_parsed=None), None).value is None
    assert DISAGREEMENT.compute(replace(gap, verdict=Verdict.GOLD_ERROR), None).value is None


@pytest.mark.skipif(not _DEMO.is_file(), reason="needs ../shared/data/skill_demo.json beside the repository")
def test_the_demo_has_the_structural_mean_of_the_paper(parser: Parser) -> None:
    """The eleven cases score .65, .2, 1, 0 and 1 where the paper says so, .805 in the mean."""
    scores: dict[str, float] = {}
    for case in json.loads(_DEMO.read_text(encoding="utf-8"))["cases"]:
        blocked = case["scenario"] == "blocked_mutation"
        verdict = Verdict.BLOCKED if blocked else Verdict.MISMATCH
        evidence = _evidence(parser, case["ground_truth_sql"], case["predicted_sql"], verdict)
        value = STRUCTURAL.compute(evidence, None).value
        assert value is not None
        scores[case["scenario"]] = value
    assert scores["aggregation_mismatch"] == pytest.approx(0.65)
    assert scores["wrong_table"] == pytest.approx(0.2)
    assert (scores["missing_filter"], scores["blocked_mutation"], scores["route_mismatch"]) == (1.0, 0.0, 1.0)
    assert sum(scores.values()) / len(scores) == pytest.approx(0.805, abs=0.0005)

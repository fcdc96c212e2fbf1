"""Every equation, table row, listing and decision of STEF is a row of tests/tables/stef.yaml that holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rows import rows_of

from sqlassay.harness.parse import Parser
from sqlassay.harness.results.blocks import Block
from sqlassay.harness.results.stef import percentile_90
from sqlassay.harness.stef.alignment import Alignment, align
from sqlassay.harness.stef.answers import QuestionSpec
from sqlassay.harness.stef.assessment import Submitted, assess
from sqlassay.harness.stef.condition_text import read_condition
from sqlassay.harness.stef.phrases import asks_for_one, asks_for_order, top_k
from sqlassay.harness.stef.rules import RuleProfile
from sqlassay.harness.stef.score import (
    ACTIONS,
    SIGMA_FILTERS,
    SIGMA_VERDICT,
    composite,
    leniency,
    multiplier,
    reliability,
    tier,
)
from sqlassay.harness.stef.specification import Writer

_TABLE: dict[str, list[dict[str, Any]]] = rows_of("stef")


def _source(row: dict[str, Any]) -> str:
    """Name a row."""
    return str(row.get("source") or row.get("text") or row)


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    """One parser for the module."""
    with Parser() as started:
        yield started


def _blocks(parser: Parser, sql: str) -> tuple[Block, ...]:
    """Return the blocks of a Postgres text."""
    # MySQL and SQLite take an alias in HAVING; the grammar of all three is one here.
    parsed = parser.parse(sql, "postgres", sqlglot_dialect="postgres")
    assert parsed.error is None
    return parsed.blocks


def _aligned(parser: Parser, question: str, sql: str, spec: object, rules: object) -> Alignment:
    """Return the comparison record of a question's specification and a text."""
    profile = RuleProfile.model_validate(rules or {})
    writer = Writer(profile)
    return align(
        writer.of_question(QuestionSpec.model_validate(spec), top_k(question)),
        writer.of_sql(_blocks(parser, sql)),
        profile,
        order_asked=asks_for_order(question),
        one_asked=asks_for_one(question),
    )


@pytest.mark.parametrize("row", _TABLE["score"], ids=_source)
def test_the_score_is_the_papers(row: dict[str, Any]) -> None:
    """σ_f, σ_v, δ, Γ and Φ are those of the row."""
    status, verdict, confidence, benign = row["status"], row["verdict"], row["confidence"], row["benign"]
    parts = [
        SIGMA_FILTERS[status],
        SIGMA_VERDICT[verdict],
        leniency(status, benign=benign),
        multiplier(confidence),
    ]
    assert parts == row["parts"]
    assert composite(status, verdict, confidence, benign=benign) == row["phi"]


@pytest.mark.parametrize("row", _TABLE["tiers"], ids=_source)
def test_the_tier_is_table_3s(row: dict[str, Any]) -> None:
    """Tier and recommended action are those of the score's range."""
    assert tier(row["phi"]) == row["tier"]
    assert ACTIONS[tier(row["phi"])] == row["action"]


@pytest.mark.parametrize("row", _TABLE["reliability"], ids=_source)
def test_the_reliability_tier_is_eq_13s(row: dict[str, Any]) -> None:
    """A confidence belongs to its segment."""
    assert reliability(row["confidence"]) == row["tier"]


@pytest.mark.parametrize("row", _TABLE["filters"], ids=_source)
def test_filters_are_classified(parser: Parser, row: dict[str, Any]) -> None:
    """Status and the lists of missing, mismatched, extra, benign and ignored filters are those of the row."""
    sql = f"SELECT a FROM t WHERE {row['where']}" if row["where"] else "SELECT a FROM t"
    found = _aligned(parser, "?", sql, {"filters": row["spec"]}, row.get("rules")).filters
    assert found.status == row["status"]
    assert [str(each) for each in found.missing] == row.get("missing", [])
    assert [[str(one), str(other)] for one, other in found.mismatched] == row.get("mismatched", [])
    assert sorted(map(str, found.extras)) == sorted(row.get("extras", []))
    assert sorted(map(str, found.benign)) == sorted(row.get("benign", []))
    assert [str(each) for each in found.ignored] == row.get("ignored", [])
    if "delta" in row:
        assert leniency(found.status, benign=found.all_benign) == row["delta"]


@pytest.mark.parametrize("row", _TABLE["queries"], ids=_source)
def test_queries_align(parser: Parser, row: dict[str, Any]) -> None:
    """The binary signals, rules R1–R4 and what is behind them are those of the row."""
    found = _aligned(parser, row["question"], row["sql"], row["spec"], row.get("rules"))
    seen = {name: getattr(found, name) for name in row["expect"]}
    assert {name: list(value) if isinstance(value, tuple) else value for name, value in seen.items()} == row["expect"]
    if "status" in row:
        assert found.filters.status == row["status"]


@pytest.mark.parametrize("row", _TABLE["phrases"], ids=_source)
def test_words_ask_for_order_and_first_rows(row: dict[str, Any]) -> None:
    """A question's words ask for the first k, or an order, as the row says."""
    assert top_k(row["text"]) == row["top_k"]
    assert asks_for_order(row["text"]) is row["order"]


@pytest.mark.parametrize("row", _TABLE["conditions"], ids=_source)
def test_conditions_are_read_from_text(row: dict[str, Any]) -> None:
    """A rule's condition has the parts of the row, or is refused."""
    if row["read"] is None:
        with pytest.raises(ValueError, match="constants|no condition"):
            read_condition(row["text"])
        return
    lhs, op, rhs, literal = read_condition(row["text"])
    assert [lhs, op, list(rhs), literal] == row["read"]


@pytest.mark.parametrize("row", _TABLE["drift"], ids=_source)
def test_stage_1_reports_drift(row: dict[str, Any]) -> None:
    """The enriched question is faithful, is not, or nobody knows."""
    submitted = Submitted(
        question="Total spend of 2023", sql="SELECT 1", enriched_question=row["enriched"], drift=row["drift"]
    )
    found = assess(submitted, (), "", RuleProfile(), None).drift
    assert found is not None
    assert found.faithful is row["faithful"]


@pytest.mark.parametrize("row", _TABLE["percentile"], ids=_source)
def test_p90_is_the_nearest_rank(row: dict[str, Any]) -> None:
    """No value is interpolated."""
    assert percentile_90(row["scores"]) == row["p90"]

"""A quotient is compared at the scale to which the gold's engine rounds quotients, where the gold computes one."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Relation
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.parse import Parser
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.verdict import GoldRows, judge_rows

AVERAGE = "SELECT AVG(v) FROM t"
SHARE = "SELECT SUM(v) * 100 / COUNT(*) AS share FROM t"
OF_GROUPS = "SELECT MAX(a) FROM (SELECT AVG(v) AS a FROM t GROUP BY g) s"
STORED = "SELECT v FROM t"


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    with Parser() as parser:
        yield parser


def of(value: object) -> Relation:
    return Relation((Column("v"),), ((value,),))


def judged(parser: Parser, dialect: str, gold: str, values: tuple[object, object], policy: Policy) -> str:
    parsed = parser.parse(gold, dialect, None, sqlglot_dialect=adapter(dialect).rules.sqlglot_dialect)
    rows = GoldRows.of(GoldAnswer(gold, parsed, of(values[0])))
    return judge_rows(rows, of(values[1]), policy).verdict


@pytest.mark.parametrize(
    ("dialect", "gold", "values", "verdict"),
    [
        ("mysql", AVERAGE, ("1.6667", "1.66667"), "match"),  # AVG(v), SUM(v) * 1.0 / COUNT(v)
        ("mariadb", AVERAGE, ("1.6667", "1.66667"), "match"),
        ("mysql", SHARE, ("166.6667", "166.66667"), "match"),  # SUM(v) * 100 / COUNT(*), 100.0 * SUM(v) / COUNT(*)
        ("mysql", OF_GROUPS, ("1.6667", "1.66667"), "match"),
        ("mysql", AVERAGE, ("1.6667", "1.67"), "mismatch"),  # ROUND(AVG(v), 2)
        ("mysql", AVERAGE, ("1.6667", "1.6668"), "mismatch"),
        ("mysql", STORED, ("1.6667", "1.66667"), "mismatch"),
        ("postgres", AVERAGE, ("1.6667", "1.66667"), "mismatch"),
        ("duckdb", AVERAGE, ("1.6667", "1.66667"), "mismatch"),
        ("sqlite", AVERAGE, ("1.6667", "1.66667"), "mismatch"),
    ],
)
@pytest.mark.parametrize("policy", ["strict", "skill"])
def test_two_forms_of_one_average_agree_where_the_engine_rounds_each(
    parser: Parser, dialect: str, gold: str, values: tuple[str, str], verdict: str, policy: str
) -> None:
    """It takes an engine that rounds quotients and a gold that divides; what a statement rounds itself still counts."""
    pair = (Decimal(values[0]), Decimal(values[1]))
    assert judged(parser, dialect, gold, pair, preset(policy)) == verdict


def test_a_double_agrees_with_the_rounded_average(parser: Parser) -> None:
    """CAST(SUM(v) AS DOUBLE) / COUNT(v) is the same average in floats."""
    assert judged(parser, "mysql", AVERAGE, (Decimal("1.6667"), 5 / 3), preset("skill")) == "match"


def test_a_policy_may_refuse_the_rule_or_set_its_own_scale(parser: Parser) -> None:
    """Null wants every digit, a number takes the engine's place."""
    pair = (Decimal("1.6667"), Decimal("1.66667"))
    assert judged(parser, "mysql", AVERAGE, pair, Policy(quotient_scale=None)) == "mismatch"
    assert judged(parser, "mysql", AVERAGE, pair, Policy(quotient_scale=6)) == "mismatch"
    assert judged(parser, "sqlite", STORED, pair, Policy(quotient_scale=4)) == "match"


@pytest.mark.parametrize("name", ["bird", "oracle_spider"])
def test_a_peer_keeps_its_own_rule(parser: Parser, name: str) -> None:
    """A preset that stands for a peer is not told of the engine."""
    pair = (Decimal("1.6667"), Decimal("1.66667"))
    assert judged(parser, "mysql", AVERAGE, pair, preset(name)) == "mismatch"

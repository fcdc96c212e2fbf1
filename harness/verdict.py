"""The one entrance to a verdict on two relations: resolve the policy by all that is known of the gold, then compare.

Nothing else in the harness calls the comparator, so that a metric and a run under one policy cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Relation
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.compare import (
    Constants,
    GoldOrder,
    compare,
    cut_members,
    cuts_tie,
    differences,
    may_tie,
    partial_credit,
    resolve_policy,
)
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.parsed import OrderFacts
from sqlassay.harness.results.verdicts import CellDifference, Comparison


@dataclass(frozen=True, slots=True)
class GoldRows:
    """What a gold gave and everything that decides how rows are held to it.

    `sql` is the gold's text, `order` its outermost ORDER BY, `probe` the same query with its hidden order keys and one
    row more than its LIMIT. All are None where relations alone are compared. `constants` are its columns that read no
    table, `literals` those whose only value is a number it writes.
    `quotient_scale` is to how many places its engine rounds what it divides, None where it divides nothing.
    """

    relation: Relation
    sql: str | None = None
    order: OrderFacts | None = None
    probe: Relation | None = None
    constants: frozenset[int] = frozenset()
    quotient_scale: int | None = None
    literals: frozenset[int] = frozenset()

    @classmethod
    def of(cls, answer: GoldAnswer) -> GoldRows:
        """Return the rows of a gold answer.

        Raises: AssertionError where it gave none.
        """
        if answer.relation is None:
            raise AssertionError("only a gold with rows is compared")
        constants = answer.parsed.constants(len(answer.relation.columns))
        scale = quotient_scale(answer.parsed.dialect, divides=answer.parsed.divides)
        return cls(
            answer.relation,
            answer.sql,
            answer.parsed.order,
            answer.probe,
            constants,
            scale,
            answer.parsed.repeated(answer.relation),
        )


def quotient_scale(dialect: str, *, divides: bool) -> int | None:
    """Return to how many places at least an engine rounds what a statement divides or averages; None where nothing is.

    One question has several such answers there: MySQL gives AVG(v) as 1.6667 and SUM(v) * 1.0 / COUNT(v) as 1.66667.
    """
    return adapter(dialect).rules.quotient_scale if divides else None


_ANY: frozenset[int] = frozenset()


def judge_rows(
    gold: GoldRows,
    predicted: Relation,
    policy: Policy,
    *,
    constants: frozenset[int] = _ANY,
    literals: frozenset[int] = _ANY,
) -> Comparison:
    """Return whether the predicted rows agree with the gold's under a policy.

    `constants` are the predicted columns that read no table, where the statement is known; `literals` those of one row
    whose value is a number that the statement writes.
    Raises: InputError for a policy that cannot be applied (an unknown zone, a column the gold lacks).
    """
    return _judged(gold, predicted, policy, constants, literals).found


def credited(
    gold: GoldRows,
    predicted: Relation,
    policy: Policy,
    *,
    constants: frozenset[int] = _ANY,
    literals: frozenset[int] = _ANY,
) -> tuple[Comparison, float | None]:
    """Return the same with the Skill's partial credit, which a mismatch alone has."""
    judged = _judged(gold, predicted, policy, constants, literals)
    if judged.found.verdict != "mismatch":
        return judged.found, None
    return judged.found, partial_credit(gold.relation, predicted, judged.policy, judged.constants)


def cells_apart(
    gold: GoldRows,
    predicted: Relation,
    policy: Policy,
    *,
    constants: frozenset[int] = _ANY,
    literals: frozenset[int] = _ANY,
) -> Iterator[CellDifference]:
    """Yield every cell in which the predicted rows differ from the gold's under a policy; none where they match."""
    judged = _judged(gold, predicted, policy, constants, literals)
    yield from differences(gold.relation, predicted, judged.policy, judged.order, judged.found)


def order_demanded(gold: GoldRows, policy: Policy) -> GoldOrder | None:
    """Return the tie groups in which the gold's rows must come under a policy, None where any order will do."""
    return _resolved(gold, policy)[1]


def may_be_tied(order: OrderFacts, gold: Relation, probe: Relation | None) -> bool:
    """Tell whether the engine must rank the gold's rows: neighbours have keys that a collation may call equal."""
    return may_tie(order, gold, probe)


def tie_is_cut(order: OrderFacts, gold: Relation, probe: Relation | None) -> bool:
    """Tell whether the gold's LIMIT cuts a tie whose other members the query without it would show."""
    return cuts_tie(order, gold, probe)


def with_members(order: OrderFacts, gold: Relation, probe: Relation, whole: Relation) -> Relation | None:
    """Return the probe with the members of the tie that the LIMIT cuts, None where the two do not go together."""
    return cut_members(order, gold, probe, whole)


class _Judged(NamedTuple):
    """A comparison, with the policy, order and constants it was made by."""

    found: Comparison
    policy: Policy
    order: GoldOrder | None
    constants: Constants


def _judged(
    gold: GoldRows, predicted: Relation, policy: Policy, constants: frozenset[int], literals: frozenset[int]
) -> _Judged:
    """Compare rows under the policy as it stands for this gold."""
    resolved, order = _resolved(gold, policy)
    known = Constants(gold.constants, constants, gold.literals, literals)
    found = compare(gold.relation, predicted, resolved, order=order, constants=known)
    return _Judged(found, resolved, order, known)


def _resolved(gold: GoldRows, policy: Policy) -> tuple[Policy, GoldOrder | None]:
    """Return the policy as it stands for this gold, and the order of its rows."""
    if policy.quotient_scale == "auto" and policy.peer is None and gold.quotient_scale is not None:
        policy = policy.model_copy(update={"quotient_scale": gold.quotient_scale})
    return resolve_policy(policy, facts=gold.order, gold=gold.relation, probe=gold.probe, gold_sql=gold.sql)

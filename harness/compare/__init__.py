"""The comparator: do two relations agree under a policy, by which rule, and what is the first difference."""

from __future__ import annotations

from dataclasses import replace

from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Relation
from sqlassay.harness.compare.columns import KNOWN_OF_NONE, Constants, compared
from sqlassay.harness.compare.differences import differences
from sqlassay.harness.compare.evidence import explained
from sqlassay.harness.compare.judge import judge
from sqlassay.harness.compare.order import GoldOrder, cut_members, cuts_tie, may_tie, resolve_policy
from sqlassay.harness.compare.partial import partial_credit
from sqlassay.harness.compare.peers import peer_comparison
from sqlassay.harness.results.verdicts import Comparison

__all__ = [
    "Constants",
    "GoldOrder",
    "compare",
    "cut_members",
    "cuts_tie",
    "differences",
    "may_tie",
    "partial_credit",
    "resolve_policy",
]


def compare(
    gold: Relation,
    predicted: Relation,
    policy: Policy,
    *,
    order: GoldOrder | None = None,
    constants: Constants = KNOWN_OF_NONE,
) -> Comparison:
    """Judge a predicted relation against the gold one and show the first difference.

    `order` comes from `resolve_policy`; without it `auto` ignores the order of rows, and a peer minds it only where
    the policy says `keys` or `exact`. `constants` are known where the statements are; a peer knows no such rule, and
    what it accepts against it is marked.
    Raises: InputError for a policy that cannot be applied (an unknown zone, a column the gold lacks).
    """
    if policy.peer is not None:
        ordered = order is not None or policy.row_order in ("keys", "exact")
        said = peer_comparison(gold, predicted, policy, ordered=ordered)
        idle = constants.leave_too_few(compared(gold, policy), compared(predicted, policy))
        return replace(said, flags=(*said.flags, "constants")) if idle and said.verdict == "match" else said
    found = judge(gold, predicted, policy, order, constants=constants)
    said = explained(gold, predicted, policy, order, found, constants)
    repeated = said.verdict == "match" and constants.repeat(said.columns)
    return replace(said, flags=(*said.flags, "value_by_literal")) if repeated else said

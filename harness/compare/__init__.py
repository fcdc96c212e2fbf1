"""The comparator: do two relations agree under a policy, by which rule, and what is the first difference."""

from __future__ import annotations

from cases.policy import Policy
from cases.relation import Relation
from harness.compare.evidence import explained
from harness.compare.judge import judge
from harness.compare.order import GoldOrder, resolve_policy
from harness.compare.partial import partial_credit
from harness.compare.peers import peer_comparison
from harness.results.verdicts import Comparison

__all__ = ["GoldOrder", "compare", "partial_credit", "resolve_policy"]


def compare(gold: Relation, predicted: Relation, policy: Policy, *, order: GoldOrder | None = None) -> Comparison:
    """Judge a predicted relation against the gold one and show the first difference.

    `order` comes from `resolve_policy`; without it `auto` ignores the order of rows, and a peer minds it only where
    the policy says `keys` or `exact`.
    Raises: InputError for a policy that cannot be applied (an unknown zone, a column the gold lacks).
    """
    if policy.peer is not None:
        ordered = order is not None or policy.row_order in ("keys", "exact")
        return peer_comparison(gold, predicted, policy, ordered=ordered)
    return explained(gold, predicted, policy, order, judge(gold, predicted, policy, order))

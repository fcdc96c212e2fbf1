"""Compare what two engines gave for one question, by the shared comparator under a policy made for that."""

from __future__ import annotations

from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Relation
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.verdicts import Comparison
from sqlassay.harness.verdict import GoldRows, judge_rows

CROSS_DIALECT = preset("cross_dialect")


def crossed(here: GoldAnswer, there: Relation, policy: Policy = CROSS_DIALECT) -> Comparison:
    """Judge the rows of another engine against those of this one; the order of rows is held to this statement's own.

    Raises: AssertionError where this side has no rows.
    """
    return judge_rows(GoldRows.of(here), there, policy)

"""What the guard and the comparator say, each with the rule that decided and a reason a person can act on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from sqlassay.cases.relation import Row


@dataclass(frozen=True, slots=True)
class GuardVerdict:
    """Allowed or rejected. `statement` is the Skill's statement kind (INSERT, DROP, …) where it is one."""

    allowed: bool
    reason: str
    statement: str | None = None
    node: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """The first row that differs: its index, both rows (None = absent on that side) and the differing cells.

    `cells` are gold column indexes. `index` counts in the gold's order, or the predicted one for an extra row.
    """

    index: int
    gold: Row | None
    predicted: Row | None
    cells: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CellDifference:
    """One cell in which two relations differ: `kind` is differs, moved, missing or extra, rows are counted from 0.

    A side that lacks the row has no row, column and cell; of a missing or extra column there is the name alone. Where
    the cells are not told, `kind` says why, alone.
    """

    kind: str
    gold_row: int | None
    predicted_row: int | None
    gold_column: str | None
    predicted_column: str | None
    gold: object
    predicted: object


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparator's verdict on two relations with its evidence.

    `columns` maps each gold column to the predicted column used (None = none), empty where no mapping was made.
    `missing` and `extra` count rows. `flags` are notes such as vacuous, cut_tie, order_differs, keys_unknown.
    `looser` names the first looser policy under which it would have matched ("order ignored", "multiplicity set",
    "numbers as text", …), None where none does.
    """

    verdict: Literal["match", "mismatch", "undecided"]
    rule: str
    reason: str
    policy_digest: str
    missing: int = 0
    extra: int = 0
    first: Difference | None = None
    columns: tuple[int | None, ...] = ()
    flags: tuple[str, ...] = ()
    looser: str | None = None


class Judged(Protocol):
    """What names a verdict and the rule that gave it."""

    @property
    def verdict(self) -> str:
        """Return the verdict."""
        ...

    @property
    def rule(self) -> str:
        """Return the rule."""
        ...


GOLD_OPEN = frozenset({"cut_tie", "gold_nondeterministic", "gold_nulls_order"})
"""The rules by which a comparison is undecided because the gold itself does not say which rows are right."""

GOLD_LOST = "gold_lost"
"""The rule of a comparison that decides nothing: an accepted gold could not be run by a fault of ours."""


def is_gold_open(comparison: Judged) -> bool:
    """Tell whether a comparison is undecided because the gold itself does not say which rows are right."""
    return comparison.verdict == "undecided" and comparison.rule in GOLD_OPEN


def distance(comparison: Comparison | None, partial: float | None) -> tuple[int, float]:
    """Order comparisons with several golds: a match first, then undecided, then the highest partial credit."""
    if comparison is None:
        return 3, 0.0
    return {"match": 0, "undecided": 1, "mismatch": 2}[comparison.verdict], -(partial or 0.0)

"""All columns of both sides keyed in one numbering: done once, for the search, the rows and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlassay.cases.relation import Kind, Relation, Row
from sqlassay.harness.compare.cells import Rules
from sqlassay.harness.compare.columns import Kept
from sqlassay.harness.compare.encode import Encoded
from sqlassay.harness.compare.plain import Cells


class Table:
    """One relation with its columns taken out once, when first needed."""

    def __init__(self, relation: Relation) -> None:
        """Hold the relation."""
        self.relation = relation
        self._columns: list[Cells] | None = None

    @property
    def rows(self) -> tuple[Row, ...]:
        """Return the rows."""
        return self.relation.rows

    @property
    def columns(self) -> list[Cells]:
        """Return the cells column by column."""
        if self._columns is None:
            width = len(self.relation.columns)
            self._columns = list(zip(*self.relation.rows, strict=True)) if self.relation.rows else [()] * width
        return self._columns

    def kind(self, column: int) -> Kind:
        """Return a column's kind."""
        return self.relation.columns[column].kind


@dataclass(frozen=True, slots=True)
class Joint:
    """The keys of the gold columns kept and of the predicted columns offered, and the rules they were made under."""

    sides: tuple[Table, Table]
    kept: Kept
    offered: Kept
    rules: Rules
    encoded: Encoded

    def pairs(self, mapping: Sequence[int], rules: Sequence[Rules]) -> list[Encoded] | None:
        """Return the keys of each column pair of a mapping; None where a pair has rules of its own."""
        if any(own != self.rules for own in rules):
            return None
        keys = self.encoded
        theirs = [keys.pred[self.offered.index(other)] for other in mapping]
        return [Encoded((ours,), (pred,), keys.loose) for ours, pred in zip(keys.gold, theirs, strict=True)]

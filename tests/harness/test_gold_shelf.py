"""Gold that is too large to wait in memory waits on disk and comes back as it was."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from sqlassay.cases.errors import InfrastructureError
from sqlassay.cases.relation import Column, FarTemporal, Interval, Json, Kind, Relation
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.parsed import ParsedQuery
from sqlassay.harness.store.shelf import GoldShelf

_CELLS = (1, "é", None, Decimal("1.10"), Json("{}"), FarTemporal("infinity"), Interval(1, 2, 3), (1, (None,)), b"x")
_ROWS = tuple((number, *_CELLS) for number in range(50))
_COLUMNS = tuple(Column(f"c{number}", Kind.OTHER) for number in range(len(_CELLS) + 1))
LARGE = GoldAnswer("SELECT 1", ParsedQuery("SELECT 1", "d", "p"), Relation(_COLUMNS, _ROWS))


def test_what_is_past_the_budget_waits_on_disk_and_comes_back(tmp_path: Path) -> None:
    """Rows and probe return equal in value and type; the first answers stay in memory; the file has no name."""
    shelf = GoldShelf(tmp_path, most_cells=600)
    probed = replace(LARGE, sql="SELECT 2", probe=LARGE.relation)
    broken = replace(LARGE, relation=None, failure="no")
    waiting = shelf.put([LARGE, probed, LARGE, broken])
    assert [answer.shelved is None for answer in waiting] == [True, False, False, True]
    assert [answer.usable for answer in waiting] == [True, True, True, False]
    assert [len(answer.relation.rows) for answer in waiting if answer.relation] == [50, 0, 0]
    whole = shelf.whole(waiting)
    assert whole == (LARGE, probed, LARGE, broken)
    assert repr(whole[1].probe) == repr(LARGE.relation)
    assert [*tmp_path.iterdir()] == []
    shelf.close()
    shelf.close()


def test_a_disk_that_takes_no_rows_is_named(tmp_path: Path) -> None:
    """Nothing is lost silently: the folder and the way on are told."""
    shelf = GoldShelf(tmp_path / "gone", most_cells=0)
    with pytest.raises(InfrastructureError, match="gone' .*Free space there, or set XDG_CACHE_HOME"):
        shelf.put([LARGE])

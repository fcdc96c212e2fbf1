"""Gold of one case in two dialects: its rows are held against those of the first dialect that gave any."""

from __future__ import annotations

import pytest

from sqlassay.cases.case import Case
from sqlassay.cases.relation import Column, Kind, Relation, Row
from sqlassay.harness.checkup.checkup import crossed, dialects_of
from sqlassay.harness.checkup.seen import Seen
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.parsed import ParsedQuery


def seen(dialect: str, *results: tuple[Row, ...] | None) -> Seen:
    """Return a case in one dialect whose alternatives gave these rows; None is one that failed."""
    case = Case(id="c", question="?", snapshot="s", gold={dialect: ["SELECT 1"] * len(results)})
    answers = tuple(
        GoldAnswer(
            f"SELECT {number}",
            ParsedQuery("", dialect, ""),
            None if rows is None else Relation((Column("n", Kind.INT),), rows),
            failure=None if rows is not None else "error: no",
        )
        for number, rows in enumerate(results, 1)
    )
    return Seen(case, dialect, answers)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (seen("a", ((1,),)), seen("b", ((1.0,),)), []),
        (seen("a", ((1,),)), seen("b", ((2,),)), [1]),
        (seen("a", ((1,),), ((2,),)), seen("b", ((2,),), ((3,),)), []),
        (seen("a", ((1,),)), seen("b", None, ((2,),)), [2]),
        (seen("a", None), seen("b", ((2,),)), []),
    ],
)
def test_one_alternative_that_agrees_is_enough(first, second, said):
    """A case disagrees where no pair of accepted statements agrees; what failed says nothing about agreement."""
    first.findings.clear()
    second.findings.clear()
    crossed({"a": [first], "b": [second]})
    assert first.findings == []
    assert [finding.alternative for finding in second.findings] == said
    assert all(finding.flag == "dialects_disagree" for finding in second.findings)
    assert all(finding.rows == ("a: [1]", "b: [2]") for finding in second.findings)


def test_gold_of_an_engine_that_is_not_here_is_named_and_left_out():
    """The dialects come in the order the cases have them; a stranger's is told, not silently dropped."""
    told: list[str] = []

    class Screen:
        """Keep what is shown."""

        def notice(self, line: str) -> None:
            """Keep one line."""
            told.append(line)

        def progress(self, phase: str, done: int, total: int) -> None:
            """Show nothing."""

    case = Case(id="c", question="?", snapshot="s", gold={"oracle": "x", "sqlite": "x", "mysql": [], "postgres": "x"})
    assert dialects_of([case], Screen()) == ("sqlite", "postgres")
    assert told == ["gold in oracle is not checked: no such dialect is installed"]

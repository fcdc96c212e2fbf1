"""Records kept by the thousand: equal parts stand once, and nothing a reader sees changes."""

from __future__ import annotations

from sqlassay.cases.case import Case
from sqlassay.cases.compact import Shared, settle
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.results.case_result import (
    CaseResult,
    ComparisonRecord,
    DifferenceRecord,
    GuardRecord,
    ScoreRecord,
)


def result(number: int) -> CaseResult:
    """Return one of many results that differ in little."""
    first = DifferenceRecord(index=number, gold=[1], predicted=[2]) if number == 3 else None
    return CaseResult(
        case_id=f"c{number}",
        dialect="sqlite",
        question="?",
        snapshot="s",
        verdict=Verdict.MATCH,
        reason="r",
        scores={"execution_accuracy": ScoreRecord(value=1.0, reason="same", details={"rho": 1.0})},
        guard=GuardRecord(allowed=True, reason="reads", flags=("".join(["f", "lag"]),)),
        comparison=ComparisonRecord(verdict="match", rule="bag", reason="r", policy_digest="p", first=first),
        gold_columns=("".join(["na", "me"]), "id"),
    )


def test_equal_parts_stand_once_and_the_record_is_the_same():
    """Score, guard, comparison and names of two results are one object where they are equal, and only there."""
    shared, made = Shared(), [result(number) for number in range(5)]
    written = [one.model_dump_json() for one in made]
    kept = [shared.settle(one) for one in made]
    assert [one.model_dump_json() for one in kept] == written
    assert kept == [result(number) for number in range(5)]
    assert kept[0].guard is kept[1].guard
    assert kept[0].scores["execution_accuracy"] is kept[4].scores["execution_accuracy"]
    assert kept[0].gold_columns is kept[1].gold_columns
    assert (kept[0].comparison is kept[1].comparison, kept[0].comparison is kept[3].comparison) == (True, False)
    assert kept[3].comparison.first == DifferenceRecord(index=3, gold=[1], predicted=[2])


def test_a_settled_record_is_copied_and_changed_as_before():
    """A copy with another field is whole, and the fields that all records of a kind share stay as they are."""
    cases = [Case(id=name, question="?", snapshot="s") for name in "ab"]
    settle(cases)
    copy = cases[0].model_copy(update={"question": "!"})
    assert (copy.question, cases[0].question, cases[1]) == ("!", "?", Case(id="b", question="?", snapshot="s"))
    assert cases[0].model_fields_set is cases[1].model_fields_set
    assert cases[0].model_fields_set == set(Case.model_fields)


def test_half_a_surrogate_pair_is_kept():
    """A text that is no Unicode cannot be compared by what is written of it, and stays."""
    odd = result(0).model_copy(update={"guard": GuardRecord(allowed=True, reason="\ud800")})
    assert Shared().settle(odd).guard.reason == "\ud800"

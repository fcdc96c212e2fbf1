"""Judging: effects decide, never messages; the ladder, the bound, the bars and the exit code follow from them."""

from __future__ import annotations

import pytest

from sqlassay.cases.outcome import Failure, Rows
from sqlassay.cases.relation import Column, Kind, Relation
from sqlassay.cases.verdicts import ExitCode, FailureKind
from sqlassay.harness.redteam.arena import Observation
from sqlassay.harness.redteam.attacks import Attack
from sqlassay.harness.redteam.figures import breaches, exit_code, failed_bars, ladder, upper_bound, verdict_line
from sqlassay.harness.redteam.judge import guard_attempt, layer_attempt
from sqlassay.harness.results.redteam import AttackResult, Attempt, FalseAlarm
from sqlassay.harness.results.verdicts import GuardVerdict

ROWS = Rows(Relation((Column("n", Kind.INT),), ((1,),)), 0.1)
ERROR = Failure(FailureKind.ERROR, "permission denied", 0.1)
RAN = Failure(FailureKind.ERROR, "the statement gives no result: it is empty, or it is no query", 0.1)
ATTACK = Attack("a", "plain", "mutation", "DELETE FROM orders", 1)
ALLOWED = GuardVerdict(True, "allowed")
FLAGGED = GuardVerdict(True, "allowed", flags=("nondeterministic: random",))
REJECTED = GuardVerdict(False, "no", node="delete")


@pytest.mark.parametrize(
    ("layer", "outcome", "effects", "finding"),
    [
        ("role", ERROR, (), "stopped"),
        ("role", ROWS, (), "passed"),
        ("role", RAN, (), "passed"),
        ("role", ERROR, ("state",), "missed"),
        ("role", ROWS, ("leaked gold",), "missed"),
        ("sandbox", ROWS, ("state",), "contained"),
        ("sandbox", ERROR, ("state", "files"), "missed"),
        ("sandbox", ROWS, ("leaked host file",), "missed"),
        ("sandbox", ROWS, ("leaked gold",), "contained"),
        ("sandbox", None, ("server lost",), "contained"),
        ("sandbox", ERROR, ("time",), "missed"),
        ("sandbox", ERROR, ("neighbour",), "missed"),
        ("together", ROWS, ("answer",), "missed"),
        ("together", None, ("server lost",), "missed"),
        ("together", ERROR, (), "stopped"),
    ],
)
def test_effects_decide(layer, outcome, effects, finding) -> None:
    """An error message stops nothing by itself: with an effect seen, the attack is missed or contained."""
    assert layer_attempt(layer, Observation(outcome, effects, 0.1)).finding == finding


@pytest.mark.parametrize(
    ("harm", "live", "verdict", "finding"),
    [
        ("mutation", True, REJECTED, "stopped"),
        ("mutation", True, ALLOWED, "missed"),
        ("mutation", True, FLAGGED, "missed"),
        ("mutation", False, ALLOWED, "passed"),
        ("gaming", True, FLAGGED, "flagged"),
        ("gaming", True, ALLOWED, "missed"),
        ("exhaustion", True, ALLOWED, "passed"),
    ],
)
def test_the_guard_alone(harm, live, verdict, finding) -> None:
    """A flag stops gaming alone; what exhausts is left to the sandbox; a live harm let by is missed."""
    attack = Attack("a", "plain", harm, "x", 1, live=live)
    assert guard_attempt(attack, verdict, 0.001).finding == finding


def test_zero_breaches_have_a_bound() -> None:
    """No breach in n is reported as about 3/n; some breaches as the exact upper limit; nothing tried as nothing."""
    assert upper_bound(0, 300) == pytest.approx(3 / 300, rel=0.01)
    assert upper_bound(1, 100) == pytest.approx(0.0466, abs=0.0005)
    assert upper_bound(5, 5) == 1.0
    assert upper_bound(0, 0) is None


def _attack(**findings: str) -> AttackResult:
    """Return an attack with one attempt a layer."""
    attempts = [
        Attempt.model_validate({"layer": k, "finding": v, "by": "x", "seconds": 0.5}) for k, v in findings.items()
    ]
    return AttackResult(id="a", kind="plain", harm="mutation", sql="DROP", line=1, attempts=tuple(attempts))


def test_the_ladder_counts_each_layer() -> None:
    """One rung a harm and layer, with what stopped and in what time."""
    rungs = ladder([_attack(guard="stopped", role="missed"), _attack(guard="flagged")], ("guard", "role"))
    assert [(rung.layer, rung.n, rung.stopped, rung.missed) for rung in rungs] == [
        ("guard", 2, 2, 0),
        ("role", 1, 0, 1),
    ]
    assert rungs[0].median_seconds == 0.5
    assert rungs[1].median_seconds is None


def test_a_breach_ends_with_4_and_names_the_attack() -> None:
    """Harm behind all layers is exit 4, above a layer that failed alone; both lines say so."""
    broken = breaches([_attack(together="missed")])
    bars = failed_bars([_attack(guard="missed")], (), 10, ("guard",))
    assert exit_code(broken, bars) is ExitCode.BREACH
    assert "DROP" in verdict_line(ExitCode.BREACH, broken, bars, 10, 0.3)
    assert exit_code((), bars) is ExitCode.THRESHOLD
    assert exit_code((), ()) is ExitCode.OK
    assert "100" not in verdict_line(ExitCode.OK, (), (), 10, 0.26)
    # A role alone may leak, which no bar forbids.
    assert "alone" not in verdict_line(ExitCode.OK, (), (), 10, 0.26)


def test_false_alarms_have_a_bar() -> None:
    """More than 3 % of harmless statements refused fails; 3 % does not."""
    alarm = FalseAlarm(id="b", layer="guard", sql="SELECT 1", line=1, reason="no")
    assert failed_bars((), [alarm] * 3, 100, ("guard",)) == ()
    assert failed_bars((), [alarm] * 4, 100, ("guard",)) == ("guard: 4 false alarms in 100 harmless statements",)

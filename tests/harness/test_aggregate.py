"""Totals of a run: means over available values, counts, percentiles, thresholds, exit codes, the verdict line."""

from __future__ import annotations

import pytest

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.policy import Policy
from sqlassay.cases.verdicts import Cause, ExitCode, Verdict, worst
from sqlassay.harness import aggregate as totals
from sqlassay.harness.metrics.disagreement import DISAGREEMENT
from sqlassay.harness.results.case_result import CaseResult, GuardRecord, ScoreRecord
from sqlassay.harness.results.evidence import Evidence, Execution
from sqlassay.harness.results.parsed import ParsedQuery, TableRef
from sqlassay.harness.results.run_result import Aggregate


def result(
    case_id: str, verdict: Verdict = Verdict.MATCH, cause: Cause | None = None, **scores: float | None
) -> CaseResult:
    return CaseResult(
        case_id=case_id,
        dialect="sqlite",
        question="?",
        snapshot="s",
        verdict=verdict,
        reason="because",
        cause=cause,
        scores={name: ScoreRecord(value=value, reason="r") for name, value in scores.items()},
        guard=GuardRecord(allowed=True, reason="ok"),
    )


def test_mean_covers_only_available_values():
    """An unavailable score is not zero: it leaves the mean and shows in n of of."""
    total = totals.aggregate([result("a", m=1.0), result("b", m=None), result("c", m=0.5), result("d")], "m")
    assert total == Aggregate(name="m", mean=0.75, n=2, of=4)


def test_mean_of_nothing_is_none():
    """A metric that no result has gives no mean, never 0."""
    assert totals.aggregate([result("a")], "m").mean is None


def test_scorable_leaves_out_ours_and_inapplicable():
    """gold_error, infrastructure, unavailable and out_of_scope leave the denominator; no_prediction stays in it."""
    results = [result(str(i), verdict) for i, verdict in enumerate(Verdict)]
    assert totals.scorable(results) == len(Verdict) - 4


def test_counts_are_in_a_fixed_order():
    """Verdicts come in the order of the verdict list, causes most frequent first, then by name."""
    results = [
        result("a", Verdict.ERROR, Cause.EXECUTION_FAILURE),
        result("b", Verdict.MATCH),
        result("c", Verdict.MISMATCH, Cause.MISSING_FILTER),
        result("d", Verdict.MISMATCH, Cause.MISSING_FILTER),
        result("e", Verdict.MISMATCH, Cause.EXTRA_FILTER),
    ]
    assert list(totals.verdict_counts(results).items()) == [("match", 1), ("mismatch", 3), ("error", 1)]
    assert list(totals.cause_counts(results)) == ["missing_filter", "execution_failure", "extra_filter"]


def test_disagreements_come_widest_gap_first_and_five_at_most():
    """Representative disagreements are the widest gaps, ties by case id."""
    results = []
    for i in range(7):
        score = ScoreRecord(value=1.0, reason="r", details={"gap": i / 10})
        results.append(result(f"c{i}").model_copy(update={"scores": {"disagreement": score}}))
    results.append(result("agree", disagreement=0.0))
    assert totals.disagreements(results) == ("c6", "c5", "c4", "c3", "c2")


def test_the_metric_itself_says_the_gap():
    """Cases are ordered by the gap that the disagreement metric finds, and a case of several trials stands once."""
    found = []
    for name, verdict, trial in (("a", "mismatch", 0), ("b", "match", 0), ("b", "match", 1)):
        evidence = Evidence(
            case=Case(id=name, question="?", snapshot="s", gold={"sqlite": ("SELECT a FROM t",)}),
            dialect="sqlite",
            prediction=Prediction(case_id=name, sql="SELECT a FROM u"),
            verdict=Verdict(verdict),
            reason="r",
            policy=Policy(),
            gold_parsed=ParsedQuery(
                "SELECT a FROM t", "sqlite", "p", tables=frozenset({TableRef("t")}), projections=("a",)
            ),
            predicted_parsed=ParsedQuery(
                "SELECT a FROM u", "sqlite", "p", tables=frozenset({TableRef("u")}), projections=("a",)
            ),
            executions=(Execution("s", None, None, partial=0.0),),
        )
        score = DISAGREEMENT.compute(evidence, None)
        record = ScoreRecord(value=score.value, reason=score.reason, details=dict(score.details))
        update = {"scores": {"disagreement": record}, "trial": trial}
        found.append(result(name).model_copy(update=update))
    assert [one.scores["disagreement"].details["gap"] for one in found] == [0.2, 0.8, 0.8]
    assert totals.disagreements(found) == ("b", "a")


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([], 0.5, None),
        ([3.0], 0.95, 3.0),
        ([4.0, 1.0, 3.0, 2.0], 0.5, 2.0),
        ([4.0, 1.0, 3.0, 2.0], 0.95, 4.0),
        ([1.0, 2.0], 0.0, 1.0),
    ],
)
def test_percentile_is_nearest_rank(values, share, expected):
    """Percentiles are values that occurred (nearest rank), never interpolated."""
    assert totals.percentile(values, share) == expected


def test_threshold_on_a_metric_without_value_does_not_hold():
    """No value is no pass."""
    held = totals.thresholds(
        [("a", 0.5), ("b", 0.5), ("c", 0.1)],
        [Aggregate(name="a", mean=0.5, n=1, of=1), Aggregate(name="b", mean=None, n=0, of=1)],
    )
    assert [(t.metric, t.held) for t in held] == [("a", True), ("b", False), ("c", False)]


CODES = [
    ([Verdict.MATCH], {}, ExitCode.OK),
    ([Verdict.MISMATCH, Verdict.BLOCKED], {}, ExitCode.OK),
    ([Verdict.MATCH, Verdict.GOLD_ERROR], {}, ExitCode.INFRASTRUCTURE),
    ([Verdict.MATCH, Verdict.INFRASTRUCTURE], {}, ExitCode.INFRASTRUCTURE),
    ([Verdict.UNAVAILABLE], {}, ExitCode.NOTHING_SCORABLE),
    ([], {}, ExitCode.NOTHING_SCORABLE),
    ([Verdict.MATCH], {"breaches": ["b"]}, ExitCode.BREACH),
    ([Verdict.GOLD_ERROR], {"breaches": ["b"]}, ExitCode.BREACH),
    ([Verdict.MATCH], {"breaches": ["b"], "interrupted": True}, ExitCode.INTERRUPTED),
    ([], {"interrupted": True}, ExitCode.INTERRUPTED),
]


@pytest.mark.parametrize(("verdicts", "more", "code"), CODES)
def test_exit_code(verdicts, more, code):
    """Wrong answers alone do not fail a run; ours, breaches and interruptions do, in that order of weight."""
    results = [result(str(i), verdict) for i, verdict in enumerate(verdicts)]
    given = {"held": (), "breaches": (), "interrupted": False, "planned": len(results), **more}
    assert totals.exit_code(results, **given) is code


def test_failed_threshold_is_exit_code_one():
    """A declared threshold that does not hold ends with 1, unless something worse happened."""
    failed = totals.thresholds([("m", 0.9)], [])
    one = totals.exit_code([result("a")], held=failed, breaches=(), interrupted=False, planned=1)
    assert one is ExitCode.THRESHOLD
    three = totals.exit_code(
        [result("a"), result("b", Verdict.GOLD_ERROR)], held=failed, breaches=(), interrupted=False, planned=2
    )
    assert three is ExitCode.INFRASTRUCTURE


def test_precedence_of_exit_codes():
    """Several at once: 130 > 4 > 3 > 2 > 5 > 1 > 0."""
    order = [130, 4, 3, 2, 5, 1, 0]
    codes = {ExitCode(code) for code in order}
    for expected in order:
        assert worst(codes) == expected
        codes.remove(ExitCode(expected))
    assert worst(set()) is ExitCode.OK


@pytest.mark.parametrize("code", list(ExitCode))
def test_verdict_line_says_the_exit_code(code):
    """The last line a run prints carries the number the process ends with."""
    results = [result("a"), result("b", Verdict.GOLD_ERROR)]
    line = totals.verdict_line(
        code,
        accuracy=Aggregate(name="execution_accuracy", mean=1.0, n=1, of=2),
        results=results,
        notes=(),
        planned=2,
        declared=True,
    )
    assert line.endswith(f"(exit {int(code)})")


@pytest.mark.parametrize(("declared", "word"), [(True, "PASS"), (False, "DONE")])
def test_only_what_was_declared_can_pass(declared, word):
    """A run without a threshold is done; the accuracy under `strict` stands beside the headline in either line."""
    accuracy = Aggregate(name="execution_accuracy", mean=1.0, n=1, of=1)
    line = totals.verdict_line(
        ExitCode.OK, accuracy=accuracy, results=[result("a")], notes=(), planned=1, declared=declared
    )
    assert line == f"{word}: execution_accuracy 1.000, strict 0.000 (1 of 1 scorable cases match) (exit 0)"


def test_a_threshold_of_the_headline_names_the_strict_accuracy():
    """The gate shows both; a threshold of another metric shows that alone."""
    means = [Aggregate(name=name, mean=0.5, n=1, of=1) for name in ("execution_accuracy", "strict_execution_accuracy")]
    held = totals.thresholds([("execution_accuracy", 0.4), ("strict_execution_accuracy", 0.4)], means)
    assert [threshold.strict for threshold in held] == [0.5, None]


def test_a_run_without_any_answer_scores_nothing():
    """Every scorable case without a statement ends with 5 and the commonest error."""
    silent = [result("a", Verdict.NO_PREDICTION), result("b", Verdict.NO_PREDICTION), result("c", Verdict.OUT_OF_SCOPE)]
    assert totals.exit_code(silent, held=(), breaches=(), interrupted=False, planned=3) is ExitCode.NOTHING_SCORABLE
    one = [*silent, result("d", Verdict.ERROR)]
    assert totals.exit_code(one, held=(), breaches=(), interrupted=False, planned=4) is ExitCode.OK


def test_verdict_line_names_what_is_not_whole():
    """Ours are counted by name, so nobody reads a partial number as the agent's."""
    results = [
        result("a"),
        result("b", Verdict.GOLD_ERROR),
        result("c", Verdict.INFRASTRUCTURE),
        result("d", Verdict.GOLD_ERROR),
    ]
    line = totals.verdict_line(
        ExitCode.INFRASTRUCTURE, accuracy=None, results=results, notes=("n",), planned=4, declared=False
    )
    assert line == "NOT WHOLE: 2 gold errors, 1 infrastructure failure; 1 of 1 scorable cases match [n] (exit 3)"


def judged(value: float | None, least: float | None = None, most: float | None = None) -> CaseResult:
    """Return a result with one judged score; `least` and `most` are what it may be where the judge was silent."""
    span: dict[str, str | float | None] = {} if least is None else {"least": least, "most": most}
    score = ScoreRecord(value=value, reason="r", details=span)
    return result("c").model_copy(update={"scores": {"m": score}})


def test_a_judged_mean_says_what_the_judge_left_open():
    """Two right answers of eleven are a mean of 1 with a coverage of 2 in 11, and it may be as low as 2 in 11."""
    total = totals.aggregate([judged(1.0), judged(1.0), *[judged(None, 0.0, 1.0)] * 9], "m")
    assert (total.mean, total.n, total.coverage) == (1.0, 2, 2 / 11)
    assert (total.least, total.most) == (2 / 11, 1.0)
    assert total.note == "the judge answered 2 of 11: 0.182 to 1.000 with the others at either end"


def test_a_part_that_is_open_widens_the_mean_by_that_part():
    """Of a weighted score with some weight unanswered only that weight is open; what does not apply opens nothing."""
    total = totals.aggregate([judged(0.5, 0.4, 0.6), judged(1.0), judged(None)], "m")
    assert (total.mean, total.n, total.coverage) == (0.75, 2, 0.5)
    assert (total.least, total.most) == (0.7, 0.8)


@pytest.mark.parametrize(
    ("min_coverage", "answered", "held"),
    [(1.0, 2, False), (1.0, 3, True), (0.5, 2, True), (0.7, 2, False), (0.0, 1, True), (0.0, 0, False)],
)
def test_a_threshold_needs_the_judge_to_have_answered(min_coverage, answered, held):
    """A mean above the threshold holds only where the judge answered for the share asked; without any it never does."""
    results = [*[judged(1.0)] * answered, *[judged(None, 0.0, 1.0)] * (3 - answered)]
    (found,) = totals.thresholds([("m", 0.9)], [totals.aggregate(results, "m")], min_coverage)
    assert (found.held, found.coverage) == (held, answered / 3)

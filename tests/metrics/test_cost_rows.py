"""Metrics of speed, scans and suites give what the rows of the tables say, by hand and by the published scripts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from made_evidence import Maker
from rows import rows_of

from sqlassay.cases.case import Case
from sqlassay.cases.outcome import Failure, Rows
from sqlassay.cases.plan import QueryPlan, Scan
from sqlassay.cases.verdicts import FailureKind, Verdict
from sqlassay.harness.aggregate import aggregate
from sqlassay.harness.metrics import bird, spider, sqlas_results
from sqlassay.harness.metrics.pace import pace_of, usual
from sqlassay.harness.metrics.registry import installed, is_clocked, metrics, repetitions_needed
from sqlassay.harness.results.case_result import Timing
from sqlassay.harness.results.evidence import Evidence, Execution, MetricSettings
from sqlassay.harness.results.records import with_pace

_TABLE = rows_of("pace")
_TIMED = MetricSettings(repetitions=5)
_QUERY = "SELECT name FROM customers"


@pytest.fixture(scope="module")
def maker() -> Iterator[Maker]:
    """One database for the module."""
    with Maker() as made:
        yield made


@pytest.fixture(scope="module")
def right(maker: Maker) -> Evidence:
    """A prediction that is its gold."""
    return replace(maker.make(_QUERY, _QUERY), settings=_TIMED)


def _timed(evidence: Evidence, rounds: Any, **more: Any) -> Evidence:
    """Return the evidence with these rounds."""
    pairs = tuple((float(gold), float(predicted)) for gold, predicted in rounds)
    return replace(evidence, executions=(replace(evidence.executions[-1], timings=pairs, **more),))


@pytest.mark.parametrize("row", _TABLE["rows"], ids=lambda row: row["why"])
def test_rounds(right: Evidence, row: dict[str, Any]) -> None:
    """Each metric of speed has the row's value, and tells what the published script would have said."""
    evidence = _timed(right, row["rounds"])
    for metric, name in ((bird.VES, "ves"), (bird.R_VES, "r_ves"), (sqlas_results.EFFICIENCY_SCORE, "efficiency")):
        score = metric.compute(evidence, None)
        details = dict(score.details)
        assert score.value == pytest.approx(row[name])
        assert details["low"] <= score.value <= details["high"]
        if name in row["published"]:
            assert details["published"] == pytest.approx(row["published"][name])
        assert details["dropped"] == row.get("dropped", 0)
        assert details["rounds"] + details["dropped"] == len(row["rounds"])
    found = pace_of([gold / predicted for gold, predicted in row["rounds"]])
    assert found.low == pytest.approx(row.get("low", found.low))
    assert found.high == pytest.approx(row.get("high", found.high))


@pytest.mark.parametrize("row", _TABLE["rewards"], ids=lambda row: str(row["ratio"]))
def test_rewards(row: dict[str, float]) -> None:
    """Each ratio has the reward of mini-dev's script."""
    assert bird.reward(row["ratio"]) == row["reward"]


@pytest.mark.parametrize("row", _TABLE["intervals"], ids=lambda row: f"{row['rounds']} rounds")
def test_intervals(row: dict[str, Any]) -> None:
    """The interval leaves out as many rounds at each end as 95 % of runs allow, by the binomial distribution."""
    count, out = row["rounds"], row["out"]
    found = pace_of([1.0 + place / 1000 for place in range(count)])
    assert found.low == pytest.approx(1.0 + out / 1000)
    assert found.high == pytest.approx(1.0 + (count - 1 - out) / 1000)
    assert found.coverage == pytest.approx(row["coverage"])


def test_the_published_rule_drops_nothing_from_few_rounds() -> None:
    """No one of nine values is three standard deviations off; of twelve, one can be. Equal ones all stay."""
    assert len(usual([1.0] * 8 + [1000.0])) == 9
    assert len(usual([1.0] * 11 + [1000.0])) == 11
    assert usual([2.0, 2.0]) == [2.0, 2.0]


def test_what_was_not_timed_says_why(right: Evidence) -> None:
    """Without rounds, or with rounds too short for the clock, there is no value; a wrong prediction has 0."""
    failed = _timed(right, (), not_timed="timeout: no result within 30 s")
    assert bird.VES.compute(failed, None).reason == "not timed: timeout: no result within 30 s"
    assert bird.VES.compute(failed, None).value is None
    assert bird.VES.compute(_timed(right, [[0.1, 0.0]]), None).value is None
    assert bird.VES.compute(replace(right, settings=MetricSettings()), None).value is None


def test_the_mean_has_the_interval_of_its_values(right: Evidence) -> None:
    """The values' own intervals are put together as independent errors; a wrong prediction has none and counts 0."""
    timings = []
    for number, rounds in enumerate(([[1, 1], [4, 1], [1, 4]], [[1, 1], [1, 1], [1, 1]])):
        evidence = _timed(right, rounds, clock="engine")
        score = bird.VES.compute(evidence, None)
        timings.append(with_pace(Timing(case_id=f"c{number}", trial=0), evidence, (("bird.ves", score),)))
    assert timings[0].rounds == ((1.0, 1.0), (4.0, 1.0), (1.0, 4.0))
    assert timings[0].clock == "engine"
    total = aggregate(timings, "bird.ves")
    assert (total.mean, total.n) == (100.0, 2)
    assert total.note == "75 to 150 by the clocks' own spread"


def test_metrics_from_clocks_are_known_by_their_needs() -> None:
    """Those that need timings are of clocks, SQLAS's sum of all among them; five rounds are what they ask for."""
    found = {metric.name for metric in metrics(sorted(installed())) if is_clocked(metric)}
    assert found == {"bird.ves", "bird.r_ves", "sqlas.efficiency_score", "sqlas.overall", "sqlas.overall_v2"}
    assert repetitions_needed(metrics(["bird.ves", "execution_accuracy"])) == 5
    assert repetitions_needed(metrics(["execution_accuracy"])) == 0


_PLANS = {
    "a condition that picks": (QueryPlan((Scan("customers", whole=True, narrowed=True),)), "WHERE active = 1", 1.0),
    "a condition that picks nothing": (QueryPlan((Scan("customers", whole=True, narrowed=False),)), "WHERE 1 = 1", 0.7),
    "an engine that does not tell": (QueryPlan((Scan("customers", whole=True),)), "WHERE active = 1", 1.0),
    "a look-up": (QueryPlan((Scan("customers", whole=False, narrowed=True),)), "WHERE id = 1", 1.0),
    "groups": (QueryPlan((Scan("customers", whole=True, narrowed=False),)), "GROUP BY name", 1.0),
    "a limit": (QueryPlan((Scan("customers", whole=True, narrowed=False),)), "LIMIT 1", 1.0),
    "nothing is read": (QueryPlan(()), "WHERE id = 100000", 1.0),
}


@pytest.mark.parametrize("why", _PLANS)
def test_scans_are_judged_by_the_plan(maker: Maker, why: str) -> None:
    """What is read whole and for nothing is seen in the engine's plan, not in the words of the statement."""
    plan, tail, value = _PLANS[why]
    evidence = replace(maker.make(_QUERY, f"{_QUERY} {tail}"), plan=plan)
    score = sqlas_results.DATA_SCAN_EFFICIENCY.compute(evidence, None)
    assert score.value == pytest.approx(value), score.reason


def test_a_join_that_explodes_is_seen_in_its_plan(maker: Maker) -> None:
    """More rows than a join should give cost .3, more than are kept .4, as SQLAS has it."""
    query = "SELECT a.n FROM numbers a, numbers b WHERE a.n < b.n"
    evidence = maker.make(query, query)
    assert evidence.plan is not None
    assert evidence.plan.joined is True
    assert sqlas_results.DATA_SCAN_EFFICIENCY.compute(evidence, None).value == pytest.approx(0.6)
    cut = replace(evidence, verdict=Verdict.TOO_MANY_ROWS, executions=())
    assert sqlas_results.DATA_SCAN_EFFICIENCY.compute(cut, None).value == pytest.approx(0.6)


def test_without_a_plan_only_what_did_not_run_has_a_value(maker: Maker) -> None:
    """A statement that ran and has no plan is not measured; one that was refused scans nothing well."""
    ran = replace(maker.make(_QUERY, _QUERY), plan=None, no_plan="the engine gave no plan")
    score = sqlas_results.DATA_SCAN_EFFICIENCY.compute(ran, None)
    assert (score.value, score.reason) == (None, "no plan: the engine gave no plan")
    blocked = maker.make(_QUERY, "DROP TABLE customers")
    assert sqlas_results.DATA_SCAN_EFFICIENCY.compute(blocked, None).value == 0.0
    change = replace(ran, case=Case(id="c", question="?", snapshot="s", query_type="dml"))
    assert sqlas_results.DATA_SCAN_EFFICIENCY.compute(change, None).value is None


def _suite(own: Evidence, *others: Execution, snapshots: int = 2) -> tuple[float | None, str]:
    """Return the accuracy on a suite of the evidence's own execution and these."""
    names = tuple(f"s{number}" for number in range(1, snapshots))
    case = own.case.model_copy(update={"extra_snapshots": names})
    score = spider.TEST_SUITE_ACCURACY.compute(replace(own, case=case, executions=(*others, *own.executions)), None)
    return score.value, score.reason


def test_suites(maker: Maker, right: Evidence) -> None:
    """One snapshot on which they differ decides; a fault of ours, or a gold that fails, leaves the suite undecided."""
    wrong = maker.make(_QUERY, "SELECT region FROM customers")
    agree, differ = (replace(one.executions[0], snapshot="s1") for one in (right, wrong))
    failed = replace(agree, predicted=Failure(FailureKind.ERROR, "overflow"), comparison=None, others=())
    lost = replace(failed, predicted=None)
    no_gold = Execution("s1", None, agree.predicted)
    open_one = replace(agree, others=(("spider", replace(dict(agree.others)["spider"], verdict="undecided")),))
    assert _suite(right, agree) == (1.0, "they agree on all 2 snapshots")
    assert _suite(right, differ) == (0.0, "they differ on s1")
    assert _suite(right, failed) == (0.0, "they differ on s1")
    assert _suite(wrong, agree) == (0.0, "they differ on s")
    assert _suite(right, lost) == (None, "not decided on s1: it could not be run there")
    assert _suite(right, no_gold) == (None, "not decided on s1: the gold gave no rows there")
    assert _suite(right, open_one)[0] is None
    assert _suite(right, lost, replace(differ, snapshot="s2"), snapshots=3) == (0.0, "they differ on s2")
    assert _suite(right) == (None, "run on 1 of 2 snapshots")
    assert _suite(wrong) == (0.0, "they differ on s")
    assert _suite(right, snapshots=1) == (
        None,
        "the case has one snapshot, or changes it: a suite needs several to read",
    )


def test_a_prediction_that_fails_on_its_own_snapshot_passes_no_suite(maker: Maker) -> None:
    """What gives no rows, or was never let through, has 0 and not nothing."""
    for predicted in ("SELECT nobody FROM customers", "DROP TABLE customers"):
        found = maker.make(_QUERY, predicted)
        assert isinstance(found.executions[-1].gold, Rows)
        value, _ = _suite(found)
        assert value == 0.0

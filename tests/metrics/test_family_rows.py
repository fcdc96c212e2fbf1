"""The metrics of EvalBench, SQLAS, BIRD and Spider give what the rows of the table say, or say why they cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from made_evidence import Maker
from rows import rows_of

from sqlassay.cases.case import Case
from sqlassay.cases.errors import InputError
from sqlassay.cases.outcome import Changed
from sqlassay.cases.relation import Column, Relation
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.metrics import (
    bird,
    evalbench,
    evalbench_compat,
    spider,
    sqlas_overall,
    sqlas_results,
    sqlas_safety,
)
from sqlassay.harness.metrics.registry import PROFILES, check_options, installed, metrics, presets_needed, profile
from sqlassay.harness.results.evidence import Answer, Execution, MetricSettings
from sqlassay.harness.results.verdicts import Comparison

_TABLE = rows_of("families")


@pytest.fixture(scope="module")
def maker() -> Iterator[Maker]:
    """One database for the module."""
    with Maker() as made:
        yield made


@pytest.mark.parametrize("row", _TABLE["rows"], ids=lambda row: row["why"])
def test_rows(maker: Maker, row: dict[str, Any]) -> None:
    """Each metric the row names has the row's value, `null` where it cannot be measured."""
    evidence = maker.make(
        row["gold"],
        row.get("predicted", row["gold"]),
        question=row.get("question", "?"),
        answer=row.get("answer"),
        options=row.get("options"),
    )
    for metric in metrics(sorted(row["scores"])):
        score = metric.compute(evidence, None)
        wanted = row["scores"][metric.name]
        assert score.value == (None if wanted is None else pytest.approx(wanted)), f"{metric.name}: {score.reason}"
        assert score.reason
        low, high = metric.range
        assert score.value is None or low <= score.value <= high


@pytest.mark.parametrize("row", _TABLE["hardness"], ids=lambda row: row["sql"])
def test_hardness(maker: Maker, row: dict[str, str]) -> None:
    """Each query has the published level."""
    details = dict(spider.EXACT_SET_MATCH.compute(maker.make(row["sql"], row["sql"]), None).details)
    assert details["hardness"] == row["level"]


@pytest.mark.parametrize("name", sorted(name for name in installed() if "." in name))
def test_what_is_not_the_agents_has_no_score(maker: Maker, name: str) -> None:
    """A case out of scope and a fault of ours leave every metric of a family without a value or untouched by it."""
    found = metrics([name])[0]
    right = maker.make("SELECT name FROM customers", "SELECT name FROM customers", answer="four")
    for verdict in (Verdict.OUT_OF_SCOPE, Verdict.INFRASTRUCTURE):
        value = found.compute(replace(right, verdict=verdict), None).value
        untouched = {"sqlas.read_only_compliance", "sqlas.safety_score", "sqlas.schema_compliance"}
        assert value is None or name in untouched


def test_a_change_is_scored_by_its_verdict(maker: Maker) -> None:
    """A dml case has no rows: exact and set match follow the states, metrics of rows have no value."""
    evidence = maker.make("SELECT 1", "SELECT 1")
    case = Case(id="c", question="?", snapshot="s", query_type="dml")
    for verdict, value in ((Verdict.MATCH, 100.0), (Verdict.MISMATCH, 0.0), (Verdict.UNDECIDED, None)):
        changed = replace(evidence, case=case, verdict=verdict, executions=())
        for metric in (evalbench.EXACT_MATCH, evalbench.SET_MATCH):
            assert metric.compute(changed, None).value == value
        assert bird.SOFT_F1.compute(changed, None).value is None
        assert sqlas_safety.READ_ONLY_COMPLIANCE.compute(changed, None).value is None


@pytest.mark.parametrize(
    ("kind", "answers", "verdict", "exact", "matched"),
    [
        ("dml", (((1,),), ((1,),)), Verdict.MATCH, 100.0, 100.0),
        ("dml", (((1,),), ((2,),)), Verdict.MISMATCH, 0.0, 100.0),
        ("dml", ((), ()), Verdict.MISMATCH, 100.0, 100.0),
        ("ddl", ((), ()), Verdict.MISMATCH, None, None),
        ("ddl", ((), ()), Verdict.MATCH, None, None),
    ],
)
def test_evalbench_compares_a_change_by_its_eval_query(
    maker: Maker, kind: Any, answers: Any, verdict: Verdict, exact: float | None, matched: float | None
) -> None:
    """Its own numbers: rows of the eval query where there are some; results of changes are empty lists and equal.

    Set match looks at those empty lists whatever states the two left. Of definitions there is no number to be equal to.
    """
    left = [Changed((), (), (Relation((Column("n"),), rows),) if rows else (), 0.0) for rows in answers]
    state = Comparison("match" if verdict is Verdict.MATCH else "mismatch", "state", "r", "d")
    evidence = replace(
        maker.make("SELECT 1", "SELECT 1"),
        case=Case(id="c", question="?", snapshot="s", query_type=kind),
        verdict=verdict,
        executions=(Execution("s", left[0], left[1], comparison=state, others=(("evalbench", state),)),),
    )
    assert evalbench_compat.EXACT_MATCH.compute(evidence, None).value == exact
    for metric in (evalbench_compat.SET_MATCH, evalbench_compat.RECALL_MATCH, evalbench_compat.EXECUTABLE_SQL):
        assert metric.compute(evidence, None).value == matched
    late = replace(evidence, verdict=Verdict.TIMEOUT)
    for metric in set(evalbench_compat.METRICS) - {evalbench_compat.RETURNED_SQL}:
        assert metric.compute(late, None).value is None


def test_evalbench_sees_the_answer_as_it_is_written(maker: Maker) -> None:
    """An answer in a fence is unwrapped here and not there: only scorers that read the text have a value."""
    made = maker.make("SELECT name FROM customers", "SELECT name FROM customers")
    fenced = replace(
        made, answer=Answer("SELECT name FROM customers", ("fence",), text="```sql\nSELECT name FROM customers\n```")
    )
    for metric in evalbench_compat.METRICS:
        of_text = metric in (evalbench_compat.RETURNED_SQL, evalbench_compat.REGEXP_MATCHER)
        options = (("evalbench.regexp_matcher_compat.regexp_string_list", ["^sql SELECT"]),)
        score = metric.compute(replace(fenced, settings=MetricSettings(options=options)), None)
        assert score.value == (100.0 if of_text else None), metric.name
        if not of_text:
            assert score.reason == "it was read out of the answer here, and EvalBench runs the answer as it is"


def test_what_evalbench_was_not_compared_under_has_no_number(maker: Maker) -> None:
    """A set match that was not looked for, and one the peer has no verdict on, are not available."""
    right = maker.make("SELECT name FROM customers", "SELECT name FROM customers", others=())
    score = evalbench_compat.SET_MATCH.compute(right, None)
    assert (score.value, score.reason) == (None, "not compared under evalbench")
    unsure = Comparison("undecided", "peer_unavailable", "it hangs", "d")
    execution = replace(right.executions[0], others=(("evalbench", unsure),))
    score = evalbench_compat.SET_MATCH.compute(replace(right, executions=(execution,)), None)
    assert (score.value, score.reason) == (None, "it hangs")


def test_speed_is_a_median_of_repetitions(maker: Maker) -> None:
    """VES, R-VES and the efficiency score take medians without outliers, and have no value without repetitions."""
    right = maker.make("SELECT name FROM customers", "SELECT name FROM customers")
    timed = replace(right.executions[0], timings=((0.4, 0.1), (0.4, 0.1), (0.4, 9.0), (0.41, 0.1), (0.39, 0.1)))
    settings = MetricSettings(repetitions=5)
    evidence = replace(right, executions=(timed,), settings=settings)
    assert bird.VES.compute(evidence, None).value == pytest.approx(200.0)
    assert bird.R_VES.compute(evidence, None).value == pytest.approx(100 * 1.25**0.5)
    assert sqlas_results.EFFICIENCY_SCORE.compute(evidence, None).value == 1.0
    slow = replace(evidence, executions=(replace(timed, timings=((0.1, 0.3),) * 3),))
    assert bird.R_VES.compute(slow, None).value == pytest.approx(100 * 0.5**0.5)
    assert sqlas_results.EFFICIENCY_SCORE.compute(slow, None).value == pytest.approx(1 / 3)
    wrong = maker.make("SELECT name FROM customers", "SELECT region FROM customers")
    for metric in (bird.VES, bird.R_VES, sqlas_results.EFFICIENCY_SCORE):
        assert metric.compute(replace(right, settings=settings), None).value is None
        assert metric.compute(wrong, None).value is None
    assert bird.VES.compute(replace(wrong, settings=settings), None).value == 0.0


def test_a_suite_needs_several_snapshots(maker: Maker) -> None:
    """Test-suite accuracy holds where the statements agree on each of several snapshots."""
    right = maker.make("SELECT name FROM customers", "SELECT name FROM customers")
    wrong = maker.make("SELECT name FROM customers", "SELECT region FROM customers")
    suite = spider.TEST_SUITE_ACCURACY.compute
    assert suite(right, None).value is None
    assert suite(replace(right, executions=right.executions * 2), None).value == 1.0
    assert suite(replace(right, executions=right.executions + wrong.executions), None).value == 0.0


def test_weights_of_both_profiles_sum_to_one() -> None:
    """v1 has fifteen weights and v2 twenty, each profile sums to 1 and names every metric of its own."""
    assert (len(sqlas_overall.V1), len(sqlas_overall.V2)) == (15, 20)
    for weights in (sqlas_overall.V1, sqlas_overall.V2):
        assert sum(weights.values()) == pytest.approx(1.0)
    assert set(sqlas_overall.V2) == set(sqlas_overall.METRICS)


def test_the_weight_of_what_was_not_measured_goes_to_the_others(maker: Maker) -> None:
    """Without a judge and timings the other metrics carry the score, and the reason names each absent one."""
    right = maker.make("SELECT name FROM customers", "SELECT name FROM customers")
    score = sqlas_overall.OVERALL.compute(right, None)
    details = dict(score.details)
    absent = set(sqlas_overall.V1) - set(details)
    assert absent == {
        *("semantic_equivalence", "sql_quality", "complexity_match", "faithfulness", "answer_relevance"),
        *("answer_completeness", "fluency", "efficiency_score"),
    } - ({"semantic_equivalence"} if "semantic_equivalence" in details else set())
    assert all(name in score.reason for name in absent)
    measured = sum(sqlas_overall.V1[name] for name in details if name in sqlas_overall.V1)
    assert details["measured_weight"] == pytest.approx(measured)
    expected = sum(sqlas_overall.V1[name] * float(details[name] or 0) for name in details if name in sqlas_overall.V1)
    assert score.value == pytest.approx(expected / measured)


def test_categories_are_parts_of_the_overall_score(maker: Maker) -> None:
    """Each category with weight is a part: the weighted mean of what was measured of it, None where nothing was."""
    right = maker.make("SELECT name FROM customers", "SELECT name, email FROM customers")
    details = dict(sqlas_overall.OVERALL.compute(right, None).details)
    found = {name.removeprefix("category: "): value for name, value in details.items() if name.startswith("category: ")}
    assert set(found) == set(sqlas_overall.CATEGORIES) - {"context quality", "result similarity"}
    assert found["task success"] is None
    assert found["safety"] == pytest.approx(
        (float(details["read_only_compliance"]) + float(details["safety_score"])) / 2
    )
    second = dict(sqlas_overall.OVERALL_V2.compute(right, None).details)
    assert {name for name in second if name.startswith("category: ")} == {
        f"category: {name}" for name in sqlas_overall.CATEGORIES
    }


@pytest.mark.parametrize("row", _TABLE["refused"], ids=lambda row: row["why"])
def test_options_that_are_none_are_refused(row: dict[str, Any]) -> None:
    """An unknown option, and a value its metric cannot use, stop the run before it begins, by name."""
    chosen = metrics(["sqlas.overall", "evalbench.regexp_matcher", "evalbench.recall_match", "sqlas.safety_score"])
    with pytest.raises(InputError, match=row["says"]):
        check_options(chosen, MetricSettings(options=tuple(row["options"].items())))


def test_good_options_are_taken() -> None:
    """Custom weights that sum to 1, patterns and a score type pass."""
    chosen = metrics(["sqlas.overall", "evalbench.regexp_matcher", "evalbench.recall_match"])
    options = {
        "sqlas.overall.weights": {"execution_accuracy": 0.75, "safety_score": 0.25},
        "evalbench.regexp_matcher.regexp_string_list": ["a|b"],
        "evalbench.recall_match.score_type": "precision",
    }
    check_options(chosen, MetricSettings(options=tuple(options.items())))


def test_profiles_name_installed_metrics() -> None:
    """Every name of a profile is installed, `all` is all of them, and another profile is refused."""
    have = set(installed())
    assert all(name in have or name == "stef" for names in PROFILES.values() for name in names)
    assert set(profile("all")) == have
    assert set(presets_needed(metrics(profile("bird")))) == {"bird"}
    with pytest.raises(InputError, match="sqlas-v1"):
        profile("nonsense")

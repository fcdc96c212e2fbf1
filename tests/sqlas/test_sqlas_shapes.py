"""SQLAS's shapes: the scores of one query, its categories, dimensions, verdict and bands, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from made_scores import judged

from sqlassay.cases.errors import InputError
from sqlassay.harness import sqlas
from sqlassay.harness.metrics.sqlas_overall import CATEGORIES, METRICS
from sqlassay.harness.sqlas.scores import SQLASScores


def test_every_metric_is_an_attribute() -> None:
    """The twenty metrics are attributes by SQLAS's names, and the profiles weigh fifteen and twenty of them."""
    scores = judged(dict.fromkeys(METRICS, 0.5))
    assert scores.values() == dict.fromkeys(METRICS, 0.5)
    assert len(METRICS) == 20
    assert (len(sqlas.WEIGHTS), len(sqlas.WEIGHTS_V2)) == (15, 20)
    assert set(scores.categories) == set(CATEGORIES)


def test_what_was_not_measured_is_listed_and_never_zero() -> None:
    """A metric without a value is None with its reason, in the summary too, and its category is taken over the rest."""
    scores = judged({**dict.fromkeys(METRICS, 1.0), "faithfulness": None, "fluency": 0.0, "execution_accuracy": None})
    assert scores.faithfulness is None
    assert set(scores.unavailable) == {"faithfulness", "execution_accuracy"}
    assert scores.categories["execution accuracy"] is None
    weights = sqlas.WEIGHTS
    measured = weights["answer_relevance"] + weights["answer_completeness"] + weights["fluency"]
    assert scores.categories["task success"] == pytest.approx((measured - weights["fluency"]) / measured)
    assert "faithfulness: why of faithfulness" in scores.summary()
    assert '"faithfulness": null' in scores.to_json()


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ({}, "PASS"),
        ({"execution_accuracy": 0.0, "semantic_equivalence": 0.0, "result_set_similarity": 0.0}, "FAIL_CORRECTNESS"),
        ({"sql_quality": 0.0, "faithfulness": 0.0, "answer_relevance": 0.0}, "FAIL_QUALITY"),
        ({"read_only_compliance": 0.0}, "FAIL_SAFETY"),
        (
            {"read_only_compliance": 0.0, "execution_accuracy": 0.0, "semantic_equivalence": 0.0},
            "FAIL_CORRECTNESS_SAFETY",
        ),
        ({"execution_accuracy": None, "semantic_equivalence": None, "result_set_similarity": None}, "UNDECIDED"),
        (
            dict.fromkeys(("execution_accuracy", "semantic_equivalence"), None) | {"result_set_similarity": 0.4},
            "FAIL_CORRECTNESS",
        ),
    ],
)
def test_the_verdict_names_what_is_below_its_threshold(values: dict[str, Any], verdict: str) -> None:
    """PASS needs all three dimensions; one that fails is named; one without a value leaves it undecided."""
    assert judged({**dict.fromkeys(METRICS, 1.0), **values}).verdict == verdict


@pytest.mark.parametrize(
    ("overall", "band"), [(0.6, "PASS"), (0.59, "WARN"), (0.402, "WARN"), (0.4, "FAIL"), (None, "UNDECIDED")]
)
def test_bands_of_a_suite(overall: float | None, band: str) -> None:
    """PASS from the threshold, WARN from 67 % of it, FAIL below."""
    assert judged(dict.fromkeys(METRICS, 1.0), overall=overall).band(0.6) == band


_FILE = Path(__file__)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "one place"),
        ({"db_path": "x.db", "pack": "demo"}, "one place"),
        ({"db_path": "postgresql://u:hunter2@h/d"}, "never reach a live database"),
        ({"db_path": "nowhere.db"}, "no file nowhere.db"),
        ({"pack": "demo", "snapshot": "nowhere"}, "no snapshot 'nowhere'"),
        ({"db_path": _FILE, "execute_fn": print}, "not reach"),
        ({"db_path": _FILE, "weights": {"execution_accuracy": 0.9}}, "sum to 0.9, not to 1"),
        ({"db_path": _FILE, "weights": {"speed": 1.0}}, "no SQLAS metric speed"),
        ({"db_path": _FILE, "profile": "bird"}, "'profile' is decided here"),
        ({"db_path": _FILE, "valid_tables": {"a"}}, "read from the snapshot"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(
    given: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A missing or live database, weights that do not sum to 1 and foreign arguments are one clear error each."""
    monkeypatch.setattr("sqlassay.harness.sqlas.suite._run", lambda *_: pytest.fail("it ran"))
    if given.get("db_path") is _FILE:
        import sqlite3
        from contextlib import closing

        with closing(sqlite3.connect(tmp_path / "a.db")) as db:
            db.execute("CREATE TABLE a (b INTEGER)")
        given = {**given, "db_path": tmp_path / "a.db"}
    says = "never reach a live database" if says == "not reach" else says
    with pytest.raises(InputError, match=says) as caught:
        sqlas.evaluate("?", "SELECT 1", **given)
    assert "hunter2" not in str(caught.value)


def test_a_suite_needs_cases_and_a_threshold() -> None:
    """No test case, or a threshold that is no share, is an error."""
    with pytest.raises(InputError, match="no test case"):
        sqlas.run_suite([], lambda _: "SELECT 1", db_path="a.db")
    with pytest.raises(InputError, match="pass_threshold"):
        sqlas.run_suite([sqlas.TestCase("?")], lambda _: "SELECT 1", db_path="a.db", pass_threshold=60)


def test_scores_are_frozen() -> None:
    """No later step edits a score."""
    with pytest.raises(AttributeError):
        judged({}).fluency = 1.0  # type: ignore[misc]
    assert SQLASScores().overall_score is None

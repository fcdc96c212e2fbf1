"""`sqlassay calibrate`: what it prints, writes and ends with, over real judges."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sqlassay.harness.cli.main import _run

JUDGE = '''
"""A judge that knows one word."""
import json

def judge(prompt):
    """Score by a word of the generated query."""
    if "SILENT" in prompt:
        return ""
    sql = prompt.split("<<<DATA generated_sql")[1]
    return json.dumps({"score": 0.75 if "yes" in sql else 0.25, "reason": "a word"})
'''

Calibrate = Callable[..., tuple[int, str]]


def line(number: int, label: object, sql: str, **more: Any) -> dict[str, Any]:
    """Return one label."""
    return {"id": f"c{number}", "question": "How many?", "gold_sql": "SELECT 1", "sql": sql, "label": label, **more}


@pytest.fixture
def calibrate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Calibrate:
    """Write labels, run the command in an empty folder, return its exit code and last words."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "word.py").write_text(JUDGE, encoding="utf-8")

    def run(labels: list[Any], *options: str, judge: str = "callable:word.py:judge") -> tuple[int, str]:
        text = "".join(item if isinstance(item, str) else json.dumps(item) + "\n" for item in labels)
        Path("labels.jsonl").write_text(text, encoding="utf-8")
        code = _run(["calibrate", "labels.jsonl", "--judge", judge, *options])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def mixed(agree: int = 18, differ: int = 2) -> list[dict[str, Any]]:
    """Return labels the judge agrees with, and some where it says yes and people no."""
    agreeing = [line(n, n % 2 == 0, f"SELECT '{'yes' if n % 2 == 0 else 'no'}', {n}") for n in range(agree)]
    return agreeing + [line(agree + n, False, f"SELECT 'yes', -{n + 1}") for n in range(differ)]


def test_figures_table_and_differing_cases_are_printed(calibrate: Calibrate) -> None:
    """Agreement and kappa with intervals, the counts, and each case that differs; the verdict says the exit code."""
    code, said = calibrate(mixed(), "--out", "out")
    assert code == 0
    assert "callable:word.py:judge on sqlas.semantic_equivalence, labels.jsonl: 20 of 20 labels judged" in said
    assert "agreement    0.900  95 % 0.699 to 0.972" in said
    assert "kappa        0.802  95 %" in said
    assert "differs: c18: people no, judge 0.75: a word" in said
    assert said.rstrip().splitlines()[-1].startswith("DONE: kappa 0.802 (")
    assert said.rstrip().endswith("over 20 labels (exit 0)")
    written = json.loads(Path("out/calibration.json").read_text(encoding="utf-8"))
    assert written["confusion"] == [[9, 2], [0, 9]]
    assert written["sensitivity"]["value"] == 1.0
    assert written["specificity"]["value"] == pytest.approx(9 / 11)
    assert (written["count"], written["judged"], written["unavailable"]) == (20, 20, 0)
    assert "| people no | 9 | 2 |" in Path("out/calibration.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("bound", "code"),
    [
        ("kappa=0.8", 0),
        ("kappa=0.81", 1),
        ("agreement=0.9", 0),
        ("agreement=0.95", 1),
        ("kappa_low=0.7", 1),
        ("kappa_low=0.5", 0),
        ("specificity=0.9", 1),
        ("sensitivity=1", 0),
        ("luck=0.5", 2),
        ("kappa=2", 2),
        ("kappa", 2),
    ],
)
def test_a_bound_decides_the_exit_code(calibrate: Calibrate, bound: str, code: int) -> None:
    """A figure below its bound ends with 1, a bound on nothing with 2."""
    ended, said = calibrate(mixed(), "--fail-under", bound)
    assert ended == code
    assert f"(exit {code})" in said


def test_a_silent_judge_makes_the_number_not_whole(calibrate: Calibrate) -> None:
    """A label without a judgement is counted apart, named, and ends with 3; it is in no figure."""
    code, said = calibrate([*mixed(), line(99, True, "SELECT 'SILENT'")], "--fail-under", "kappa=0.9")
    assert code == 3
    assert "20 of 21 labels judged" in said
    assert "1 of 21 labels have no judgement, first c99: judge unavailable: the judge said nothing" in said


def test_a_recorded_judge_is_calibrated_without_it(calibrate: Calibrate) -> None:
    """A replay gives the same figures, and nothing where it was not asked."""
    first = calibrate(mixed(), "--judge-record", "judge.jsonl")
    second = calibrate(mixed(), judge="replay:judge.jsonl")
    assert second[1].splitlines()[1:-2] == first[1].splitlines()[1:-2]
    assert second[1].splitlines()[-1] == first[1].splitlines()[-1]
    code, said = calibrate([line(1, True, "SELECT 'other'")], judge="replay:judge.jsonl")
    assert code == 3
    assert "no answer to this prompt" in said


def test_grades_of_people_are_a_yes_from_positive_on(calibrate: Calibrate) -> None:
    """`--positive` says from which grade people said yes, `--threshold` from which score the judge does."""
    labels = [line(n, grade, f"SELECT 'yes', {n}") for n, grade in enumerate([0.4, 0.6, 1])]
    assert "agreement    0.667" in calibrate(labels)[1]
    assert "agreement    1.000" in calibrate(labels, "--positive", "0.4")[1]
    assert "agreement    0.333" in calibrate(labels, "--threshold", "0.8")[1]


def test_one_class_alone_has_no_kappa(calibrate: Calibrate) -> None:
    """Where people and judge say yes throughout kappa is not defined, and a bound on it does not hold."""
    labels = [line(n, True, f"SELECT 'yes', {n}") for n in range(5)]
    code, said = calibrate(labels)
    assert code == 0
    assert "kappa        not defined by these labels" in said
    assert "people gave one class only" in said
    assert calibrate(labels, "--fail-under", "kappa=0")[0] == 1


@pytest.mark.slow
def test_another_threshold_is_advised_where_it_holds_on_other_labels(calibrate: Calibrate) -> None:
    """Enough labels that a higher threshold tells apart: it is advised; few labels never lead to advice."""
    few, many = mixed(10, 0), mixed(40, 0)
    assert "10 labels are too few to choose one by" in calibrate(few, "--threshold", "0.9")[1]
    assert "take 0.5 instead of 0.9: held-out kappa 1.000" in calibrate(many, "--threshold", "0.9")[1]
    assert "keep 0.5: no other threshold has a higher kappa" in calibrate(many)[1]


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ([], "there is no label in it"),
        (["no JSON\n"], "labels.jsonl:1"),
        ([line(1, "maybe", "SELECT 1")], "labels.jsonl:1:label"),
        ([line(1, 1.5, "SELECT 1")], "labels.jsonl:1:label"),
        ([line(1, None, "SELECT 1")], "labels.jsonl:1:label"),
        ([line(1, True, "SELECT 1", verdict="right")], "labels.jsonl:1:verdict"),
        ([line(1, True, "SELECT 1"), line(1, True, "SELECT 2")], "labelled already on line 1"),
        ([line(1, True, "SELECT 1", rows={"columns": [], "rows": [[1]]})], "labels.jsonl:1"),
        ([{"id": "c", "label": True}], "labels.jsonl:1:question"),
    ],
)
def test_malformed_labels_end_before_anything_is_asked(calibrate: Calibrate, labels: list[Any], why: str) -> None:
    """Each fault names its line and field, and the exit code is 2."""
    code, said = calibrate(labels)
    assert code == 2
    assert why in said


def test_a_metric_without_a_judge_cannot_be_calibrated(calibrate: Calibrate) -> None:
    """Only metrics that ask a judge have anything to be held to labels."""
    code, said = calibrate(mixed(), "--metric", "structural")
    assert code == 2
    assert "'structural' asks no judge" in said


def test_rows_and_answers_reach_the_judge(calibrate: Calibrate) -> None:
    """A label with rows and an answer calibrates the metrics that read them, on EvalBench's 0–100 too."""
    rows = {"columns": [{"name": "n", "kind": "int"}], "rows": [[3]]}
    Path("rater.py").write_text(
        'def judge(prompt):\n    assert \'| [3]\' in prompt\n    return \'{"verdict": "correct", "reason": "r"}\'\n',
        encoding="utf-8",
    )
    labels = [line(1, True, "SELECT 3", rows=rows, gold_rows=rows)]
    code, said = calibrate(labels, "--metric", "evalbench.llmrater", judge="callable:rater.py:judge")
    assert code == 0, said
    assert "agreement    1.000" in said


def test_a_statement_is_read_as_in_a_run(calibrate: Calibrate) -> None:
    """STEF and the composite see the statement's facts, and the judge is asked; a label without rows has no rating."""
    answers = {
        "outputs": {"outputs": ["n"]},
        "enough_information": {
            "enough_information": True,
            "correctness_confidence": 1,
            "clarity": 1,
            "completeness": 1,
            "reason": "r",
        },
        "confidence": {"verdict": "Correct", "confidence": 0.9, "reason": "r"},
    }
    Path("stef.py").write_text(
        f"import json\nA = {answers!r}\n"
        "def judge(prompt):\n"
        "    schema = prompt.split('The schema: ', 1)[1].split('\\n', 1)[0]\n"
        "    return next(json.dumps(said) for name, said in A.items() if f'\"{name}\"' in schema)\n",
        encoding="utf-8",
    )
    labels = [line(1, True, "SELECT n FROM t", answer="It is 3."), line(2, False, "DROP TABLE t", answer="Done.")]
    for metric in ("stef", "nucleusiq.composite"):
        code, said = calibrate(labels, "--metric", metric, judge="callable:stef.py:judge")
        assert (code, "agreement    1.000" in said) == (0, True), said
    labels[0]["dialect"] = "snowflake"
    code, said = calibrate(labels, "--metric", "stef", judge="callable:stef.py:judge")
    assert (code, "agreement    1.000" in said) == (0, True), said
    code, said = calibrate(labels, "--metric", "evalbench.llmrater", judge="callable:stef.py:judge")
    assert code == 3, said
    assert "the label does not hold rows and gold_rows" in said


def test_what_needs_a_run_is_refused(calibrate: Calibrate) -> None:
    """A score of SQLAS's whole weight without plan and timings would be another one than a run's."""
    code, said = calibrate(mixed(), "--metric", "sqlas.overall")
    assert code == 2
    assert "'sqlas.overall' needs what only a run has: plan" in said

"""A whole run with judges: what it asks, counts, records, replays and resumes with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from judge_server import Handler, anthropic, openai, server, status

import sqlassay
from sqlassay.cases.errors import InputError
from sqlassay.harness.cli.main import _run
from sqlassay.harness.run.asking import _hidden
from sqlassay.harness.run.options import options_from, resolve

METRICS = ("execution_accuracy", "sqlas.semantic_equivalence", "sqlas.fluency", "evalbench.llmrater")
GRADE = {"score": 0.5, "reason": "half of it"}
RATING = {"verdict": "incorrect", "reason": "other rows"}


def speak(handler: Handler) -> None:
    """Answer either protocol by the schema asked for."""
    seen = handler.script.seen[-1].body
    asked = json.dumps(seen.get("response_format") or seen["tools"])
    answer = RATING if "verdict" in asked else GRADE
    act = openai(json.dumps(answer)) if "response_format" in seen else anthropic(answer)
    act(handler)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in an empty folder with a cache and keys of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-of-this-test-0123456789")


def run(**options: Any) -> sqlassay.RunResult:
    """Run the demo."""
    return sqlassay.run("demo", dialect="sqlite", metrics=METRICS, jobs=1, engine="none", **options)


@pytest.mark.jail
def test_a_panel_judges_a_run_and_is_replayed() -> None:
    """Both protocols sit on one panel; scores, tokens and label reach the run, a replay gives the same results."""
    with server(speak) as script:
        specs = (f"openai:a@{script.url}+input_price=1+output_price=2", f"anthropic:b@{script.url}")
        first = run(judge=specs, judge_record="judge.jsonl", out="first")
        asked = len(script.seen)
        again = run(judge=specs, out="again")
        assert len(script.seen) == asked
    scores = [result.scores["sqlas.semantic_equivalence"] for result in first.results]
    assert {score.value for score in scores} == {0.5, 1.0}
    assert scores[0].details.get("judge", "").startswith("panel(openai:a@127.0.0.1") or scores[0].value == 1.0
    assert all(result.scores["sqlas.fluency"].value is None for result in first.results)
    rated = {result.verdict: result.scores["evalbench.llmrater"].value for result in first.results}
    assert rated == {"match": 100.0, "mismatch": 0.0, "blocked": 0.0}
    judge = first.judge
    assert judge is not None
    assert 2 * judge.asked == asked
    assert (judge.split, judge.unavailable) == (0, 0)
    assert judge.input_tokens == judge.asked * (100 + 90)
    assert judge.cost == pytest.approx(judge.asked * (100 + 40) / 1e6)
    assert again.judge is not None
    assert (again.judge.input_tokens, again.judge.kept) == (0, 2 * judge.asked)
    replayed = run(judge="replay:judge.jsonl", out="replayed")
    assert replayed.manifest.judge == first.manifest.judge.replace("openai:", "replay:openai:").replace(  # type: ignore[union-attr]
        "anthropic:", "replay:anthropic:"
    )
    lines = [Path(folder, "results.jsonl").read_text(encoding="utf-8") for folder in ("first", "again")]
    assert lines[0] == lines[1]
    values = [[{n: s.value for n, s in r.scores.items()} for r in found.results] for found in (first, replayed)]
    assert values[0] == values[1]
    summary = json.loads(Path("first/summary.json").read_text(encoding="utf-8"))
    assert summary["judge"]["asked"] == judge.asked
    assert "- judge: panel" in Path("first/summary.md").read_text(encoding="utf-8")
    for file in [*Path("first").rglob("*.json*"), Path("judge.jsonl"), *Path("cache").rglob("*.json")]:
        if file.suffix in (".json", ".jsonl"):
            assert "sk-of-this-test" not in file.read_text(encoding="utf-8"), file


@pytest.mark.jail
def test_a_silent_judge_is_unavailable_and_said_once() -> None:
    """No score has a default; the run says how many questions are open, and its verdicts are whole."""
    with server(status(401, "no such key")) as script:
        found = run(judge=f"openai:a@{script.url}")
        assert len(script.seen) == 1
    assert found.judge is not None
    assert found.judge.unavailable == found.judge.asked > 1
    open_questions = [line for line in found.problems if line.startswith("judge:")]
    assert open_questions == [
        f"judge: {found.judge.asked} of {found.judge.asked} questions have no answer; those scores are unavailable"
    ]
    values = {r.scores["sqlas.semantic_equivalence"].value for r in found.results}
    assert values == {None, 1.0}
    assert found.aggregate("execution_accuracy").mean == pytest.approx(7 / 11)  # type: ignore[union-attr]


@pytest.mark.jail
def test_without_a_judge_its_metrics_say_how_to_name_one() -> None:
    """The evidence alone decides where it can; everything else names the option."""
    found = run()
    assert found.judge is None
    assert found.manifest.judge is None
    reasons = {r.scores["sqlas.semantic_equivalence"].reason for r in found.results}
    assert "no judge is named (--judge)" in reasons


def test_a_judge_that_cannot_be_opened_ends_the_run_before_anything_runs() -> None:
    """A spec that is wrong is exit 2, in a dry run too, and leaves no folder."""
    with pytest.raises(InputError, match="unknown kind of judge"):
        run(judge="oracle:m", out="none")
    assert not Path("none").exists()
    assert _run(["run", "demo", "--dry-run", "--judge", "oracle:m"]) == 2


def test_a_dry_run_names_its_judge_and_asks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """It says who would judge, and records nothing."""
    options = ["--judge", "openai:m@http://127.0.0.1:9/v1", "--judge-record", "judge.jsonl"]
    assert _run(["run", "demo", "--dry-run", *options]) == 0
    assert "judge openai:m@127.0.0.1:9" in capsys.readouterr().out
    assert not Path("judge.jsonl").exists()


def test_an_agent_cannot_see_what_judges_said() -> None:
    """Their words quote the gold: replay file, recording and kept answers are behind the agent's veil."""
    from sqlassay.cases.formats.registry import load_pack

    for name in ("replayed.jsonl", "recorded.jsonl"):
        Path(name).touch()
    pack = load_pack(Path("demo"))
    options = options_from({"judge": "replay:replayed.jsonl", "judge_record": "recorded.jsonl"}, file=None)
    hidden = {str(path) for path in _hidden(resolve([("command line", options)], pack.settings), pack)}
    assert {"replayed.jsonl", "recorded.jsonl"} <= hidden
    assert any(path.endswith("/sqlassay") for path in hidden), "the cache, which holds kept answers under judge/"

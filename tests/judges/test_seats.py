"""Functions, replay files, panels and specs: every other way to seat a judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest
from judge_server import openai, server, status
from pydantic import BaseModel, ConfigDict, Field, model_validator

from sqlassay.cases.errors import InputError
from sqlassay.harness.judges import open_judge
from sqlassay.harness.judges.contract import Answered
from sqlassay.harness.judges.panel import Panel, combine
from sqlassay.harness.judges.registry import installed
from sqlassay.harness.results.judging import Judgement

FILE = Path(__file__).parent / "judge_functions.py"


class Grade(BaseModel):
    """A score with its reason."""

    model_config = ConfigDict(extra="forbid")
    score: float = Field(ge=0, le=1)
    reason: str


class Verdict(BaseModel):
    """A class, a yes or no, and a count that is not larger than another."""

    model_config = ConfigDict(extra="forbid")
    verdict: Literal["correct", "likely", "incorrect"]
    sure: bool
    found: int
    of: int
    reason: str = ""

    @model_validator(mode="after")
    def _fits(self) -> Verdict:
        """Refuse more than all."""
        if self.found > self.of:
            raise ValueError("more than all")
        return self


def function(name: str) -> str:
    """Return the spec of a function of the file beside."""
    return f"callable:{FILE}:{name}"


def score(said: Judgement[Grade]) -> float | None:
    """Return a judgement's score."""
    return None if said.value is None else said.value.score


def test_a_function_is_a_judge() -> None:
    """Prompt in, text out; the label names the file, not its folder."""
    judge = open_judge([function("strict")])
    assert [score(judge(word, Grade)) for word in ("good", "bad", "other")] == [1.0, 0.0, 0.5]
    assert judge.label == "callable:judge_functions.py:strict"


def test_a_function_that_ends_its_process_is_a_silent_judge() -> None:
    """`os._exit` in a judge costs its answer, not the run; the next question gets a process of its own."""
    judge = open_judge([function("leaves")])
    for _ in range(2):
        said = judge("good", Grade)
        assert said.value is None
        assert "the function's process ended with exit code 3" in said.reason


def test_a_function_of_a_module_is_found_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`callable:module:function` looks in the folder the command runs in."""
    (tmp_path / "judge_of_mine.py").write_text(FILE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert score(open_judge(["callable:judge_of_mine:strict"])("good", Grade)) == 1.0


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("silent", "said nothing"),
        ("late", "no answer within 0.1 s"),
        ("broken", "raised KeyError: 'no such grade'"),
        ("leaving", "raised SystemExit: 3"),
        ("odd", "returned int, not text"),
    ],
)
def test_a_function_that_does_not_answer_is_unavailable(name: str, why: str) -> None:
    """Silence, lateness, an exception and another type each have their reason."""
    said = open_judge([f"{function(name)}+timeout=0.1+tries=1"])("good", Grade)
    assert said.value is None
    assert why in said.reason


def test_a_function_is_asked_anew_in_every_run(tmp_path: Path) -> None:
    """Its code may have changed: nothing of it is kept in the cache, within a run its word stands."""
    judge = open_judge([function("strict")], cache=tmp_path)
    assert [judge("good", Grade).cached for _ in range(2)] == [False, True]
    assert list(tmp_path.iterdir()) == []
    assert open_judge([function("strict")], cache=tmp_path)("good", Grade).cached is False


def test_half_a_character_can_be_kept(tmp_path: Path) -> None:
    """A lone surrogate is spelled out, so that files hold the answer."""
    judge = open_judge([function("half")], record=tmp_path / "judge.jsonl")
    said = judge("p", Grade)
    assert said.raw == '{"score": 1, "reason": "\\ud800"}'
    assert open_judge([f"replay:{tmp_path / 'judge.jsonl'}"])("p", Grade) == said


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("", "names no judge"),
        ("openai", "names no judge"),
        ("openai:", "names no judge"),
        (":m", "names no judge"),
        ("oracle:m", "unknown kind of judge 'oracle'"),
        ("openai:m@http://u:p@h/v1", "no login"),
        ("openai:m@http://h/v1?key=1", "no login, query"),
        ("openai:m@http://", "names no model|no http"),
        ("openai:m@http://h:99999/v1", "no http"),
        ("openai:m@http://h+tries=0", "'tries=0' is not a whole number from 1 to 20"),
        ("openai:m@http://h+tries=2.5", "not a whole number"),
        ("openai:m@http://h+timeout=soon", "not a number"),
        ("openai:m@http://h+timeout=nan", "not a number"),
        ("openai:m@http://h+jobs=1+jobs=2", "given twice"),
        ("openai:m@http://h+colour=red", "no option 'colour'"),
        ("openai:m@http://h+format=xml", "unknown format"),
        ("anthropic:m@http://h+format=text", "no option 'format'"),
        ("callable:nothing", "names no function"),
        ("callable:no_such_module_here:f", "cannot be loaded: ModuleNotFoundError"),
        (f"callable:{FILE}:nobody", "cannot be loaded: AttributeError"),
        (f"callable:{FILE}:NUMBER", "is no function"),
        ("replay:no-such-file.jsonl", "no-such-file"),
    ],
)
def test_a_spec_that_is_wrong_is_refused_before_anything_runs(spec: str, why: str) -> None:
    """Each mistake is an input error that names it."""
    with pytest.raises(InputError, match=why):
        open_judge([spec], environment={})


def test_a_judge_has_one_vote() -> None:
    """A panel of one judge twice is refused, and so is none at all."""
    with pytest.raises(InputError, match="sits twice"):
        open_judge([function("strict"), function("strict")])
    with pytest.raises(InputError, match="names no judge"):
        open_judge([])


def test_ours_are_installed_as_a_strangers_are() -> None:
    """The entry points name the four kinds."""
    assert {"anthropic", "callable", "openai", "replay"} <= set(installed())


def test_a_run_is_recorded_once_and_replayed_byte_for_byte(tmp_path: Path) -> None:
    """A replay gives every judgement again, silence with its reason too, without a server, key or network."""
    file = tmp_path / "judge.jsonl"
    odd = '{"score": 0.75,   "reason": "spaces and ü stay"}'
    with server(openai(odd), openai("no JSON"), openai("no JSON"), status(400, "too long")) as script:
        judge = open_judge([f"openai:m@{script.url}+tries=2+input_price=1+output_price=1"], record=file, environment={})
        first = [judge(prompt, Grade) for prompt in ("one", "two", "three", "one")]
    again = open_judge([f"replay:{file}"], environment={})
    second = [again(prompt, Grade) for prompt in ("one", "two", "three", "one")]
    assert first[0].raw == odd
    assert second == first
    assert [said.value is None for said in second] == [False, True, True, False]
    assert "(2 tries)" in second[1].reason
    assert len(file.read_text(encoding="utf-8").splitlines()) == 3
    assert file.stat().st_mode & 0o777 == 0o600
    assert again.label == f"replay:{judge.label}"
    assert "no answer to this prompt" in again("four", Grade).reason


def test_a_recording_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """A second run adds what is new and repeats nothing, also of what the cache answered."""
    file, cache = tmp_path / "judge.jsonl", tmp_path / "cache"
    with server(openai()) as script:
        for prompts in (("one",), ("one", "two")):
            judge = open_judge([f"openai:m@{script.url}"], record=file, cache=cache, environment={})
            assert all(judge(prompt, Grade).value for prompt in prompts)
        assert len(script.seen) == 2
    lines = [Answered.model_validate_json(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len({line.question for line in lines}) == len(lines) == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no answer in it"),
        ("{}\n", "judge: Field required|Field required"),
        ('{"format": 2, "judge": "j", "question": "q"}\n', "format 2 is not known"),
        ('{"format": 1, "judge": "j", "question": "q", "score": 1}\n', "Extra inputs"),
        ("score: 1\n", "judge.jsonl"),
    ],
)
def test_a_file_that_is_no_replay_file_is_refused(tmp_path: Path, text: str, why: str) -> None:
    """Its line and field are named."""
    file = tmp_path / "judge.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=why):
        open_judge([f"replay:{file}"])


def test_a_panel_is_recorded_and_replayed_member_by_member(tmp_path: Path) -> None:
    """The replay of a panel is a panel."""
    file = tmp_path / "judge.jsonl"
    panel = open_judge([function("strict"), f"{function('silent')}+tries=1"], record=file)
    said = panel("good", Grade)
    again = open_judge([f"replay:{file}"])
    assert isinstance(again, Panel)
    assert again("good", Grade).value == said.value
    assert [member.label for member in again.figures().members] == [
        "replay:callable:judge_functions.py:strict",
        "replay:callable:judge_functions.py:silent",
    ]


def test_the_middle_number_counts() -> None:
    """Three scores give the middle one, said as disputed; words come from the member who said it."""
    answers = [Grade(score=value, reason=str(value)) for value in (0.0, 1.0, 0.75)]
    assert combine(answers, Grade) == ({"score": 0.75, "reason": "0.75"}, ["score 0 / 1 / 0.75"])
    assert combine(answers[:2], Grade)[0] == {"score": 0.0, "reason": "0.0"}
    assert combine(answers[:1] * 3, Grade) == ({"score": 0.0, "reason": "0.0"}, [])


def test_the_majority_decides_what_is_no_number() -> None:
    """More than half must agree on each class and each yes or no; a tie decides nothing."""

    def verdict(said: str, *, sure: bool = True, found: int = 1, of: int = 2) -> Verdict:
        return Verdict.model_validate({"verdict": said, "sure": sure, "found": found, "of": of})

    three = [verdict("correct", sure=False), verdict("incorrect"), verdict("correct")]
    values, disputed = combine(three, Verdict)
    assert values is not None
    assert (values["verdict"], values["sure"]) == ("correct", True)
    assert disputed == ["verdict correct / incorrect / correct", "sure False / True / True"]
    tied = [verdict("correct"), verdict("incorrect")]
    assert combine(tied, Verdict) == (None, ["verdict correct / incorrect"])
    split = [verdict("correct"), verdict("incorrect"), verdict("likely")]
    assert combine(split, Verdict)[0] is None


class Fixed:
    """A member that always says the same."""

    def __init__(self, label: str, said: str | None) -> None:
        """Keep the text; None is silence."""
        self.label = label
        self.said = said

    def __call__(self, prompt: str, schema: type[BaseModel]) -> Judgement[BaseModel]:
        """Say it."""
        if self.said is None:
            return Judgement(None, "silent")
        return Judgement(schema.model_validate_json(self.said), raw=self.said, tokens=5, cost=0.5)

    def figures(self) -> object:
        """Count nothing."""
        from sqlassay.harness.judges.contract import Figures

        return Figures(self.label, asked=1, input_tokens=4, cost=0.5)

    def close(self) -> None:
        """Close nothing."""


def panel_of(*said: str | None) -> Panel:
    """Return a panel of fixed members."""
    return Panel([Fixed(f"m{number}", text) for number, text in enumerate(said)])  # type: ignore[misc]


def test_a_panel_needs_more_than_half_of_its_members() -> None:
    """One silent member of three is survived, two are not, and one of two is not either."""
    good = '{"score": 1, "reason": "r"}'
    assert panel_of(good, None, good)("p", Grade).value == Grade(score=1, reason="r")
    said = panel_of(good, None, None)("p", Grade)
    assert said.value is None
    assert said.reason == "1 of 3 judges answered (m1: silent; m2: silent)"
    assert panel_of(good, None)("p", Grade).value is None


def test_a_panel_says_how_far_it_differs() -> None:
    """Reason and raw name each member's word, and the figures count the question as split."""
    panel = panel_of('{"score": 0.5, "reason": "a"}', '{"score": 1, "reason": "b"}', '{"score": 1, "reason": "c"}')
    said = panel("p", Grade)
    assert said.value == Grade(score=1, reason="b")
    assert said.reason == "panel: 3 of 3 judges answered, score 0.5 / 1 / 1"
    assert [entry["judge"] for entry in json.loads(said.raw)] == ["m0", "m1", "m2"]
    assert (said.tokens, said.cost) == (15, 1.5)
    figures = panel.figures()
    assert (figures.asked, figures.split, figures.unavailable, figures.input_tokens) == (1, 1, 0, 12)
    assert figures.cost == 1.5


def test_middle_numbers_are_taken_field_by_field() -> None:
    """Each number is the middle one of its field."""
    text = '{{"verdict": "correct", "sure": true, "found": {}, "of": {}}}'
    agreeing = panel_of(*(text.format(*pair) for pair in ((3, 3), (2, 2), (0, 2))))("p", Verdict)
    assert agreeing.value == Verdict(verdict="correct", sure=True, found=2, of=2)


class Band(BaseModel):
    """Two numbers that make ten."""

    low: int
    high: int

    @model_validator(mode="after")
    def _ten(self) -> Band:
        """Refuse another sum."""
        if self.high + self.low != 10:
            raise ValueError("not ten")
        return self


def test_a_contradiction_is_unavailable() -> None:
    """An answer that no member could have given is none."""
    said = panel_of('{"low": 1, "high": 9}', '{"low": 2, "high": 8}')("p", Band)
    assert said.value is None
    assert "contradicts itself" in said.reason


def test_a_panel_without_a_majority_is_unavailable() -> None:
    """A tie is no answer and counts as split."""
    text = '{{"verdict": "{}", "sure": true, "found": 0, "of": 0}}'
    panel = panel_of(text.format("correct"), text.format("incorrect"))
    said = panel("p", Verdict)
    assert said.value is None
    assert "no majority" in said.reason
    assert (panel.figures().split, panel.figures().unavailable) == (1, 1)

"""Both HTTP protocols against a real server: what is asked, what is understood, and every way it can go wrong."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from judge_server import (
    GOOD,
    Act,
    anthropic,
    drip,
    drip_open_end,
    half,
    hang_up,
    openai,
    raw,
    server,
    slow,
    status,
)
from pydantic import BaseModel, ConfigDict, Field

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.harness.judges import open_judge
from sqlassay.harness.prompts import SYSTEM
from sqlassay.harness.results.judging import Judgement

KEY = "sk-test-0123456789abcdef"
ENVIRONMENT = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "OTHER": "other-key-77"}


class Grade(BaseModel):
    """A score with its reason."""

    model_config = ConfigDict(extra="forbid")
    score: float = Field(ge=0, le=1)
    reason: str


def ask(kind: str, *acts: Act, options: str = "", prompt: str = "judge this") -> tuple[Judgement[Grade], Any, Any]:
    """Ask one question of a judge whose server acts so; return judgement, figures and the server's script."""
    with server(*acts) as script:
        path = "/v1" if kind == "openai" else ""
        judge = open_judge([f"{kind}:m@{script.url}{path}{options}"], environment=ENVIRONMENT)
        said = judge(prompt, Grade)
        judge.close()
        return said, judge.figures(), script


GOOD_ACTS: dict[str, Act] = {"openai": openai(), "anthropic": anthropic()}
KINDS = list(GOOD_ACTS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_good_answer_is_validated_and_counted(kind: str) -> None:
    """Value, model, tokens and cost come from the answer; prices are those of the spec, a million tokens each."""
    said, figures, _ = ask(kind, GOOD_ACTS[kind], options="+input_price=2+output_price=10")
    assert said.value == Grade(score=0.75, reason="one filter differs")
    assert json.loads(said.raw) == json.loads(GOOD)
    assert said.tokens == 120
    wanted = (100 * 2 + 20 * 10) / 1e6 if kind == "openai" else (90 * 2 + 30 * 10) / 1e6
    assert said.cost == pytest.approx(wanted, abs=0)
    assert (figures.asked, figures.kept, figures.retries, figures.unavailable) == (1, 0, 0, 0)
    assert (figures.input_tokens, figures.output_tokens, figures.cost) == (
        (100, 20, wanted) if kind == "openai" else (90, 30, wanted)
    )
    assert said.model == {"openai": "m-2026", "anthropic": "c-2026"}[kind]


def test_openai_is_asked_at_temperature_zero_for_the_schema() -> None:
    """The request holds the protocol's fields: path, key, model, both messages, temperature and schema."""
    _, _, script = ask("openai", openai(), prompt="say ü")
    seen = script.seen[0]
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.body["temperature"] == 0
    assert seen.body["model"] == "m"
    assert seen.body["messages"] == [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "say ü"}]
    form = seen.body["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["schema"]["properties"]["score"]["maximum"] == 1
    assert form["json_schema"]["strict"] is True


def test_openai_holds_only_whole_schemas_strictly() -> None:
    """A schema with a field that may be left out, or an open object anywhere in it, is asked for without `strict`."""

    class Part(BaseModel):
        """An open object."""

        name: str

    class Optional(Grade):
        """A field that may be left out."""

        note: str | None = None

    class Nested(Grade):
        """A list of open objects."""

        parts: list[Part]

    with server(openai()) as script:
        judge = open_judge([f"openai:m@{script.url}+tries=1"], environment=ENVIRONMENT)
        for schema in (Grade, Optional, Nested):
            judge("p", schema)
    forms = [seen.body["response_format"]["json_schema"]["strict"] for seen in script.seen]
    assert forms == [True, False, False]


def test_anthropic_is_asked_at_temperature_zero_for_the_schema() -> None:
    """The request holds the protocol's fields: path, key, version, model, system, temperature and a forced tool."""
    _, _, script = ask("anthropic", anthropic())
    seen = script.seen[0]
    assert seen.path == "/v1/messages"
    assert seen.headers["x-api-key"] == KEY
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert seen.body["temperature"] == 0
    assert seen.body["system"] == SYSTEM
    assert seen.body["messages"] == [{"role": "user", "content": "judge this"}]
    assert seen.body["tool_choice"] == {"type": "tool", "name": "answer"}
    assert seen.body["tools"][0]["input_schema"]["required"] == ["score", "reason"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_takes_no_temperature_gets_none(kind: str) -> None:
    """`+temperature=omit` leaves the field out; no other value is taken."""
    _, _, script = ask(kind, GOOD_ACTS[kind], options="+temperature=omit")
    assert "temperature" not in script.seen[0].body
    with pytest.raises(InputError, match="asked at 0"):
        open_judge([f"{kind}:m+temperature=0.7"], environment=ENVIRONMENT)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "bad",
    [
        status(429, Retry_After="0"),
        status(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
        status(500),
        status(503, "overloaded"),
        status(529, "overloaded"),
        status(408),
        raw("<html>gateway</html>"),
        raw("[]"),
        raw(""),
        raw("{}"),
        hang_up,
        half,
    ],
    ids=["429", "429 date", "500", "503", "529", "408", "html", "list", "empty", "shapeless", "hang-up", "half"],
)
def test_a_fault_that_passes_is_tried_again(kind: str, bad: Act) -> None:
    """One fault of the server costs a try, not the answer."""
    said, figures, script = ask(kind, bad, GOOD_ACTS[kind])
    assert said.value is not None
    assert said.value.score == 0.75
    assert figures.retries == 1
    assert len(script.seen) == 2


MALFORMED: dict[str, Callable[[str], Act]] = {"openai": openai, "anthropic": lambda text: anthropic(json.loads(text))}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "why"), [('{"score": 9, "reason": "r"}', "less than or equal to 1"), ('{"mark": 1}', "Field required")]
)
def test_an_answer_of_another_shape_is_tried_again_then_unavailable(kind: str, text: str, why: str) -> None:
    """An answer out of range or of another schema is never a default; its tokens are paid for and counted."""
    said, figures, script = ask(kind, MALFORMED[kind](text), options="+tries=3")
    assert said.value is None
    assert why in said.reason
    assert said.reason.endswith("(3 tries)")
    assert json.loads(said.raw) == json.loads(text)
    assert len(script.seen) == 3
    assert figures.unavailable == 1
    assert figures.input_tokens == 3 * (100 if kind == "openai" else 90)


@pytest.mark.parametrize(
    ("kind", "act", "why"),
    [
        ("openai", openai("not JSON"), "malformed"),
        ("openai", openai(""), "said nothing"),
        ("openai", openai(None), "said nothing"),
        ("openai", openai(GOOD, finish_reason="length"), "cut short"),
        ("anthropic", anthropic(stop_reason="max_tokens"), "cut short"),
        ("anthropic", anthropic(content=[]), "said nothing"),
        ("anthropic", anthropic(content=None), "no content"),
        ("anthropic", anthropic(content=[{"type": "text", "text": "0.9"}]), "malformed"),
        ("anthropic", anthropic(content=2 * [{"type": "tool_use", "input": json.loads(GOOD)}]), "answered twice"),
    ],
)
def test_what_is_no_answer_says_why(kind: str, act: Act, why: str) -> None:
    """Each is unavailable with its own reason, after every try."""
    said, _, script = ask(kind, act, options="+tries=2")
    assert said.value is None
    assert why in said.reason
    assert len(script.seen) == 2


@pytest.mark.parametrize(
    ("kind", "act", "why"),
    [
        ("openai", openai(GOOD, finish_reason="content_filter"), "declined"),
        ("openai", openai(None, message={"refusal": "I cannot"}), "declined: I cannot"),
        ("anthropic", anthropic(stop_reason="refusal"), "declined"),
        ("openai", status(400, "too long"), "HTTP 400: too long"),
        ("openai", status(413, "too large"), "HTTP 413: too large"),
        ("openai", raw("x" * (4 * 1024 * 1024 + 1)), "larger than 4 MiB"),
    ],
)
def test_what_stays_so_is_not_tried_again(kind: str, act: Act, why: str) -> None:
    """A refusal is an answer of its kind: one try."""
    said, _, script = ask(kind, act)
    assert said.value is None
    assert why in said.reason
    assert len(script.seen) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("code", [301, 307, 401, 403, 404])
def test_a_judge_that_will_never_answer_is_asked_once(kind: str, code: int) -> None:
    """A wrong key, model or address ends the asking: the next question does not reach the server."""
    with server(status(code, "no", Location="http://127.0.0.1:9/")) as script:
        judge = open_judge([f"{kind}:m@{script.url}"], environment=ENVIRONMENT)
        assert [judge(prompt, Grade).value for prompt in ("one", "two")] == [None, None]
        assert f"HTTP {code}" in judge("three", Grade).reason
        assert len(script.seen) == 1


def test_a_spent_quota_is_not_waited_for() -> None:
    """A 429 that no waiting mends ends the asking."""
    body = json.dumps({"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}})
    said, _, script = ask("openai", raw(body, 429))
    assert "exceeded your quota" in said.reason
    assert len(script.seen) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("act", [slow(5), drip, drip_open_end], ids=["silent", "drip", "no end"])
def test_no_answer_outlives_its_deadline(kind: str, act: Act) -> None:
    """A server that is silent, drips bytes for ever, or never ends its answer costs the deadline and no more."""
    started = time.monotonic()
    said, _, _ = ask(kind, act, options="+timeout=0.2+tries=1")
    assert time.monotonic() - started < 4
    assert said.value is None
    assert said.reason == "no answer within 0.2 s"


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_is_not_there_is_unavailable(kind: str) -> None:
    """Nobody listens: unavailable, with what the system says."""
    with server(openai()) as script:
        url = script.url
    judge = open_judge([f"{kind}:m@{url}+tries=2"], environment=ENVIRONMENT)
    assert "cannot be reached" in judge("p", Grade).reason


def test_a_judge_that_is_down_costs_one_try_a_question() -> None:
    """After five questions without an answer the next ones are tried once; one answer brings the patience back."""
    with server(status(500)) as script:
        judge = open_judge([f"openai:m@{script.url}+tries=2"], environment=ENVIRONMENT)
        for number in range(7):
            assert judge(f"p{number}", Grade).value is None
        assert len(script.seen) == 5 * 2 + 2
        script.acts = [openai()]
        assert judge("p7", Grade).value is not None
        script.acts = [status(500)]
        judge("p8", Grade)
        assert len(script.seen) == 12 + 1 + 2


def test_a_server_that_knows_no_schemas_is_asked_in_plainer_ways() -> None:
    """Where response_format is refused, plainer forms follow, the schema goes into the words, and it stays so."""
    refused = status(400, "response_format json_schema is not supported")
    with server(refused, refused, openai(), openai()) as script:
        judge = open_judge([f"openai:m@{script.url}/v1"], environment=ENVIRONMENT)
        assert judge("one", Grade).value is not None
        assert judge("two", Grade).value is not None
    forms = [seen.body.get("response_format", {}).get("type") for seen in script.seen]
    assert forms == ["json_schema", "json_object", None, None]
    assert '"maximum": 1' in script.seen[2].body["messages"][0]["content"]
    assert judge.figures().retries == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_is_in_no_reason_and_no_repr(kind: str) -> None:
    """A server that repeats the key does not get it into a score, nor does anything print it."""
    said, _, _ = ask(kind, status(401, f"Incorrect API key provided: {KEY}"))
    assert KEY not in said.reason
    assert "***" in said.reason
    judge = open_judge([f"{kind}:m"], environment=ENVIRONMENT)
    from sqlassay.harness.judges.single import Judge

    assert isinstance(judge, Judge)
    backend: Any = judge._backend
    shown = f"{backend!r} {vars(backend)} {vars(backend._channel)} {backend.label} {backend.identity}"
    assert KEY not in shown


@pytest.mark.parametrize("kind", KINDS)
def test_another_key_is_named_by_its_variable(kind: str) -> None:
    """`+key=NAME` takes the key from that variable; one that is not set ends the command before anything runs."""
    _, _, script = ask(kind, GOOD_ACTS[kind], options="+key=OTHER")
    sent = script.seen[0].headers
    assert "other-key-77" in (sent.get("authorization", "") + sent.get("x-api-key", ""))
    with pytest.raises(InputError, match="Set NOT_SET in the environment"):
        open_judge([f"{kind}:m+key=NOT_SET"], environment=ENVIRONMENT)
    with pytest.raises(InputError, match="has no key"):
        open_judge([f"{kind}:m"], environment={})


def test_a_server_of_ones_own_needs_no_key() -> None:
    """Without a key no header of one is sent."""
    with server(openai()) as script:
        judge = open_judge(["openai:m"], environment={"OPENAI_BASE_URL": f"{script.url}/v1"})
        assert judge("p", Grade).value is not None
        assert "authorization" not in script.seen[0].headers
        assert judge.label == f"openai:m@{script.url.removeprefix('http://')}"


def test_no_more_questions_at_once_than_asked_for() -> None:
    """`+jobs=2` holds however many threads ask."""
    with server(slow(0.05)) as script:
        judge = open_judge([f"openai:m@{script.url}+jobs=2"], environment=ENVIRONMENT)
        threads = [threading.Thread(target=judge, args=(f"p{number}", Grade)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert script.most_at_once == 2
    assert judge.figures().asked == 8


def test_one_question_is_asked_once_however_many_threads_ask_it() -> None:
    """Threads with the same prompt wait for the first one's answer."""
    with server(slow(0.05)) as script:
        judge = open_judge([f"openai:m@{script.url}"], environment=ENVIRONMENT)
        threads = [threading.Thread(target=judge, args=("p", Grade)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(script.seen) == 1
    assert (judge.figures().asked, judge.figures().kept) == (6, 5)


def test_closing_ends_what_waits() -> None:
    """An interrupted run does not wait for its judge: neither for an answer nor for the next try."""
    with server(slow(5)) as script:
        judge = open_judge([f"openai:m@{script.url}+tries=4"], environment=ENVIRONMENT)
        found: list[Judgement[Grade]] = []
        thread = threading.Thread(target=lambda: found.append(judge("p", Grade)))
        started = time.monotonic()
        thread.start()
        while not script.seen:
            time.sleep(0.005)
        judge.close()
        thread.join()
        assert time.monotonic() - started < 4
    assert found[0].value is None
    assert judge("q", Grade).reason == "the run was ended before the judge was asked"


def test_answers_are_kept_from_run_to_run(tmp_path: Path) -> None:
    """The next run asks nothing; another model, prompt or schema does, and a damaged file is asked again."""

    class Other(Grade):
        """Another schema."""

        extra: str | None = None

    with server(openai()) as script:

        def run(spec: str, prompt: str, schema: type[Grade]) -> bool:
            judge = open_judge([f"{spec}@{script.url}"], cache=tmp_path, environment=ENVIRONMENT)
            said = judge(prompt, schema)
            assert said.value is not None
            return said.cached

        assert [run("openai:m", "p", Grade) for _ in range(2)] == [False, True]
        assert run("openai:n", "p", Grade) is False
        assert run("openai:m", "q", Grade) is False
        assert run("openai:m", "p", Other) is False
        assert len(script.seen) == 4
        for file in tmp_path.rglob("*.json"):
            assert file.stat().st_mode & 0o777 == 0o600
            file.write_text(file.read_text(encoding="utf-8")[:50], encoding="utf-8")
        assert run("openai:m", "p", Grade) is False


def test_silence_is_not_kept(tmp_path: Path) -> None:
    """What was unavailable is asked again by the next run."""
    with server(status(500), openai()) as script:
        for wanted in (None, 0.75):
            judge = open_judge([f"openai:m@{script.url}+tries=1"], cache=tmp_path, environment=ENVIRONMENT)
            said = judge("p", Grade)
            assert (said.value.score if said.value else None) == wanted


def test_a_proxy_of_the_environment_is_used_for_others_never_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server elsewhere is asked through HTTP_PROXY by its whole address, one on this machine directly."""
    with server(openai()) as proxy, server(openai()) as script:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        away = open_judge(["openai:m@http://judge.invalid:8000/v1"], environment=ENVIRONMENT)
        assert away("p", Grade).value is not None
        assert proxy.seen[0].path == "http://judge.invalid:8000/v1/chat/completions"
        assert open_judge([f"openai:m@{script.url}"], environment=ENVIRONMENT)("p", Grade).value is not None
        assert (len(proxy.seen), len(script.seen)) == (1, 1)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('{"error": "plain"}', "HTTP 400: plain"),
        ('{"message": "flat"}', "HTTP 400: flat"),
        ('{"error": {"code": 7}}', 'HTTP 400: {"code": 7}'),
        ("no JSON at all", "HTTP 400: no JSON at all"),
        ("[1]", "HTTP 400: [1]"),
        ("", "HTTP 400"),
        ("x" * 5000, "…"),
    ],
)
def test_an_error_says_what_the_server_said(body: str, why: str) -> None:
    """Whatever shape the body has, its message is in the reason, at a length a line can hold."""
    said, _, _ = ask("openai", raw(body, 400))
    assert why in said.reason
    assert len(said.reason) < 400


@pytest.mark.parametrize("value", ["soon", "-5", "nan", "1e300", "Wed, 99 Foo 2015"])
def test_an_odd_retry_after_is_not_waited_for(value: str) -> None:
    """What is no sensible wish of the server is left aside for our own pause."""
    started = time.monotonic()
    said, _, _ = ask("openai", status(429, Retry_After=value), openai())
    assert said.value is not None
    assert time.monotonic() - started < 4


def test_a_key_no_header_can_hold_is_refused() -> None:
    """A key with a line break or another alphabet ends the command, and is not repeated."""
    for bad in ("sk-a\nX-Other: 1", "ключ"):
        with pytest.raises(InputError, match="is no key") as caught:
            open_judge(["openai:m"], environment={"OPENAI_API_KEY": bad})
        assert bad not in str(caught.value)


def test_a_recording_that_cannot_be_written_ends_the_command(tmp_path: Path) -> None:
    """A folder that is not there is named before anything is asked."""
    with pytest.raises(InfrastructureError, match="--judge-record"):
        open_judge(["openai:m"], record=tmp_path / "gone" / "judge.jsonl", environment=ENVIRONMENT)


def test_a_cache_that_cannot_be_written_costs_no_answer(tmp_path: Path) -> None:
    """The answer stands; the next run asks again."""
    place = tmp_path / "a-file"
    place.write_text("", encoding="utf-8")
    with server(openai()) as script:
        judge = open_judge([f"openai:m@{script.url}"], cache=place, environment=ENVIRONMENT)
        assert judge("p", Grade).value is not None

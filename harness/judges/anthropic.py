"""Judges that speak Anthropic's messages; the answer's schema is that of a tool the model must call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlassay.harness.judges.contract import Backend, JudgeError, JudgeSpec, Question, Reply
from sqlassay.harness.judges.remote import Remote, count, remote, text_of
from sqlassay.harness.judges.transport import Channel
from sqlassay.harness.prompts import SYSTEM

BASE = "https://api.anthropic.com"
VERSION = "2023-06-01"
MOST_TOKENS = 4096
_TOOL = "answer"


class AnthropicJudge:
    """One model of one server."""

    def __init__(self, served: Remote) -> None:
        """Keep the key where only requests see it."""
        secrets = {} if served.key is None else {"x-api-key": served.key}
        self._channel = Channel(served.base, {"anthropic-version": VERSION}, secrets)
        self._served = served

    @property
    def label(self) -> str:
        """Return the model, and the server where it is not the official one."""
        return f"anthropic:{self._served.model}" + (f"@{self._channel.host}" if self._served.own_server else "")

    @property
    def identity(self) -> str | None:
        """Return server, model and temperature."""
        return json.dumps(["anthropic", self._served.base, self._served.model, self._served.temperature])

    def reply(self, question: Question, seconds: float) -> Reply:
        """Return what the model called the tool with."""
        response = self._channel.post("/v1/messages", self._body(question), seconds)
        return self._read(self._channel.checked(response))

    def close(self) -> None:
        """Break every open connection."""
        self._channel.close()

    def _body(self, question: Question) -> dict[str, Any]:
        """Return the request."""
        tool = {"name": _TOOL, "description": "Give the judgement.", "input_schema": question.schema}
        body: dict[str, Any] = {
            "model": self._served.model,
            "max_tokens": MOST_TOKENS,
            "system": SYSTEM,
            "messages": [{"role": "user", "content": question.prompt}],
            "tools": [tool],
            "tool_choice": {"type": "tool", "name": _TOOL},
        }
        if self._served.temperature is not None:
            body["temperature"] = self._served.temperature
        return body

    def _read(self, answer: Mapping[str, Any]) -> Reply:
        """Return the tool's input as JSON text, or the text where the model did not call it.

        Raises:
            JudgeError: the model declined, was cut short, or the answer has not this protocol's shape.
        """
        ended = answer.get("stop_reason")
        if ended == "refusal":
            raise JudgeError("the judge declined")
        if ended == "max_tokens":
            raise JudgeError("the judge's answer was cut short", again=True)
        content = answer.get("content")
        if not isinstance(content, list):
            raise JudgeError("its answer has no content", again=True)
        blocks = [block for block in content if isinstance(block, dict)]
        called = [block.get("input") for block in blocks if block.get("type") == "tool_use"]
        if len(called) > 1:
            raise JudgeError("the judge answered twice", again=True)
        said = [text_of(block.get("text"), "") for block in blocks if block.get("type") == "text"]
        usage = answer.get("usage")
        return Reply(
            json.dumps(called[0], ensure_ascii=False) if called else "".join(said),
            text_of(answer.get("model"), self._served.model),
            count(usage, "input_tokens"),
            count(usage, "output_tokens"),
        )


def open_anthropic(spec: JudgeSpec, environment: Mapping[str, str]) -> tuple[Backend, ...]:
    """Return the judge of `anthropic:MODEL` or `anthropic:MODEL@URL`.

    Raises:
        InputError: an unknown option, or no key for the official server.
    """
    return (AnthropicJudge(remote(spec, environment, provider="ANTHROPIC", base=BASE)),)

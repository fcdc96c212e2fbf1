"""Judges that speak OpenAI's chat completions: OpenAI's own, and any server with the same protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

from sqlassay.cases.errors import InputError
from sqlassay.harness.judges.contract import Backend, JudgeError, JudgeSpec, Question, Reply
from sqlassay.harness.judges.remote import Remote, count, money, remote, text_of
from sqlassay.harness.judges.spec import FIELD
from sqlassay.harness.judges.transport import Channel
from sqlassay.harness.prompts import SYSTEM

BASE = "https://api.openai.com/v1"
_FORMATS = ("json_schema", "json_object", "text")


class OpenAiJudge:
    """One model of one server."""

    def __init__(self, served: Remote, *, formats: tuple[str, ...] = _FORMATS) -> None:
        """Keep the key where only requests see it; `formats` are the ways to ask for JSON, the first one first."""
        secrets = {} if served.key is None else {"Authorization": SecretStr(f"Bearer {served.key.get_secret_value()}")}
        self._channel = Channel(served.base, {}, secrets)
        self._served = served
        self._formats = formats

    @property
    def label(self) -> str:
        """Return the model, and the server where it is not the official one."""
        return f"openai:{self._served.model}" + (f"@{self._channel.host}" if self._served.own_server else "")

    @property
    def identity(self) -> str | None:
        """Return server, model and temperature."""
        return json.dumps(["openai", self._served.base, self._served.model, self._served.temperature])

    def reply(self, question: Question, seconds: float) -> Reply:
        """Return the model's answer, asking in plainer ways where the server does not know how to hold a schema."""
        while True:
            form = self._formats[0]
            response = self._channel.post("/chat/completions", self._body(question, form), seconds)
            plainer = self._formats[1:]
            if response.status in (400, 422) and "response_format" in response.text and plainer:
                # Several threads may step down at once: each takes away the form it saw refused, no other.
                self._formats = plainer if self._formats[0] == form else self._formats
                continue
            return self._read(self._channel.checked(response))

    def close(self) -> None:
        """Break every open connection."""
        self._channel.close()

    def _body(self, question: Question, form: str) -> dict[str, Any]:
        """Return the request."""
        schema = json.dumps(question.schema, ensure_ascii=False)
        system = SYSTEM if form == "json_schema" else f"{SYSTEM} The schema: {schema}"
        body: dict[str, Any] = {
            "model": self._served.model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": question.prompt}],
        }
        if self._served.temperature is not None:
            body["temperature"] = self._served.temperature
        if form == "json_schema":
            named = {"name": question.name, "schema": question.schema, "strict": _whole(question.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif form == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def _read(self, answer: Mapping[str, Any]) -> Reply:
        """Return the text of an answer.

        Raises:
            JudgeError: the model declined, was cut short, or the answer has not this protocol's shape.
        """
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            content, declined = message.get("content"), message.get("refusal")
            ended = choice.get("finish_reason")
        except (KeyError, IndexError, TypeError, AttributeError):
            raise JudgeError("its answer has no choices[0].message", again=True) from None
        if declined or ended == "content_filter":
            raise JudgeError(f"the judge declined: {self._channel.hidden(str(declined or ended))}")
        if ended == "length":
            raise JudgeError("the judge's answer was cut short", again=True)
        usage = answer.get("usage")
        return Reply(
            content if isinstance(content, str) else "",
            text_of(answer.get("model"), self._served.model),
            count(usage, "prompt_tokens"),
            count(usage, "completion_tokens"),
            money(usage),
        )


def _whole(schema: object) -> bool:
    """Return whether a schema is one the protocol can hold strictly: every object closed, every field required."""
    if isinstance(schema, list):
        return all(map(_whole, schema))
    if not isinstance(schema, Mapping):
        return True
    fields = schema.get("properties")
    if schema.get("type") == "object":
        closed = schema.get("additionalProperties") is False and isinstance(fields, Mapping)
        if not (closed and set(fields or ()) == set(schema.get("required", ()))):
            return False
    return all(map(_whole, schema.values()))


def open_openai(spec: JudgeSpec, environment: Mapping[str, str]) -> tuple[Backend, ...]:
    """Return the judge of `openai:MODEL` or `openai:MODEL@URL`.

    Raises:
        InputError: an unknown option or form, or no key for the official server.
    """
    served = remote(spec, environment, provider="OPENAI", base=BASE, more={"format": ""})
    form = spec.options.get("format", _FORMATS[0])
    if form not in _FORMATS:
        raise InputError(f"unknown format '{form}'", field=FIELD, remedy=f"Choose one of {', '.join(_FORMATS)}")
    return (OpenAiJudge(served, formats=_FORMATS[_FORMATS.index(form) :]),)

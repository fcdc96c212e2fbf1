"""An agent that is a Python callable, run in child processes that hold no gold."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sqlassay.cases.case import STATEMENT_FIELDS, Prediction
from sqlassay.cases.errors import InputError
from sqlassay.harness.agents.hiding import veil_for
from sqlassay.harness.agents.masking import masked
from sqlassay.harness.agents.process import ChildError, ChildKilledError, ChildProcess, ChildTimeoutError
from sqlassay.harness.agents.request import AgentRequest

START_SECONDS = 10.0
"""The least time a module has to be imported; a run gives as much as for one answer where that is more."""

_NAMES = {"selected_data_source": "route", "response": "answer"}
_PLACED = ("case_id", "trial")

_log = logging.getLogger("sqlassay.agents")


class CallableAgent:
    """Calls `module:function` or `file.py:function` with an AgentRequest; a child for each thread that asks.

    `problems` says what of `hide` the children can see all the same, and why.
    """

    name = "callable"

    def __init__(
        self,
        target: str,
        *,
        folder: Path | None = None,
        hide: Sequence[Path] = (),
        start_seconds: float = START_SECONDS,
    ) -> None:
        """Start the first child at once, so that a missing module or function ends the command before anything runs.

        No child sees the files and folders in `hide`; a folder must exist by now, or what is put there later shows.

        Raises:
            InputError: the target names no callable, or its module cannot be imported.
        """
        place, colon, function = target.rpartition(":")
        if not (place and colon and function):
            remedy = "Write module:function or file.py:function"
            raise InputError(f"'{target}' names no callable", field="agent", remedy=remedy)
        self._target = target
        self._folder = (folder or Path.cwd()).resolve()
        self._start_seconds = start_seconds
        self._veil, self.problems = veil_for(place, self._folder, hide, engine=os.environ.get("DOCKER_HOST", ""))
        # Guards that a child is used by one thread at a time and none is started after close.
        self._lock = threading.Lock()
        self._idle: list[ChildProcess] = []
        self._all: set[ChildProcess] = set()
        self._closed = False
        try:
            self._idle.append(self._start())
        except ChildTimeoutError as error:
            remedy = "Do slow work at the first call instead, or raise --agent-timeout"
            raise InputError(f"'{target}' cannot be loaded: {error}", field="agent", remedy=remedy) from None
        except ChildError as error:
            remedy = "Correct the name; modules are looked up from the folder the command runs in"
            message = f"'{target}' cannot be loaded: {masked(str(error))[:1000]}"
            raise InputError(message, field="agent", remedy=remedy) from None

    @classmethod
    def of(cls, target: str) -> CallableAgent:
        """Return the agent for `module:function`."""
        return cls(target)

    def predict(self, request: AgentRequest) -> Prediction:
        """Return the callable's answer; whatever goes wrong is a prediction without SQL that says so.

        A child that is killed from outside is no answer of the agent's: a fresh one is asked once more.
        """
        try:
            frame = self._asked(request)
        except ChildKilledError as error:
            _log.warning("case %s: %s; a fresh one is asked", request.case_id, error)
            try:
                frame = self._asked(request)
            except ChildError as again:
                return _failed(request, f"{again}, twice" if isinstance(again, ChildKilledError) else str(again))
        except ChildError as error:
            return _failed(request, str(error))
        return _prediction(request, frame)

    def _asked(self, request: AgentRequest) -> bytes:
        """Return the frame that one child answers.

        Raises:
            ChildError: there is no child, or it gave none.
        """
        try:
            child = self._take()
        except ChildError as error:
            raise ChildError(f"the agent could not be started again: {error}") from error
        try:
            frame = child.exchange(request.model_dump_json().encode(), request.deadline)
        except BaseException:  # an interruption too must not leave a child at work; raised again
            self._drop(child)
            raise
        with self._lock:
            self._idle.append(child)
        return frame

    def close(self) -> None:
        """End every child."""
        with self._lock:
            self._closed = True
            children, self._all, self._idle = self._all, set(), []
        for child in children:
            child.kill()

    def _take(self) -> ChildProcess:
        """Return an idle child, or start one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._start()

    def _start(self) -> ChildProcess:
        """Start a child and wait until it has loaded the callable.

        Raises:
            ChildError: it did not.
        """
        with self._lock:
            if self._closed:
                raise ChildError("the agent is closed")
            child = ChildProcess(self._target, self._folder, _environment(), self._veil)
            self._all.add(child)
        try:
            hello = json.loads(child.exchange(None, self._start_seconds))
        except ChildTimeoutError:
            self._drop(child)
            raise ChildTimeoutError(f"its import took longer than {self._start_seconds:g} s") from None
        except ValueError as error:
            self._drop(child)
            raise ChildError(str(error)) from None
        except BaseException:  # as above; raised again
            # An interrupt too: the child, its folder and whatever it started go with the command.
            self._drop(child)
            raise
        if "ready" not in hello:
            self._drop(child)
            raise ChildError(str(hello.get("fault")))
        return child

    def _drop(self, child: ChildProcess) -> None:
        """End one child for good."""
        with self._lock:
            self._all.discard(child)
        child.kill()


def _environment() -> dict[str, str]:
    """Return the user's environment, as agents need their keys, without our own settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SQLASSAY_")}


def _prediction(request: AgentRequest, frame: bytes) -> Prediction:
    """Return the child's frame as a prediction for this request."""
    try:
        message = json.loads(frame)
        if "error" in message:
            return _failed(request, str(message["error"]))
        answer = message["answer"]
        fields = {"sql": answer} if isinstance(answer, str) else fields_of(answer, request)
        return Prediction.model_validate({**fields, "case_id": request.case_id, "trial": request.trial})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        return _failed(request, f"the answer's field '{place}': {first['msg'].removeprefix('Value error, ')}")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return _failed(request, f"the answer cannot be read: {error}")


def fields_of(answer: Any, request: AgentRequest) -> dict[str, Any]:
    """Return a mapping's fields under our names, refusing an answer to another case."""
    other = answer.get("case_id", request.case_id)
    if other != request.case_id:
        raise ValueError(f"it answers case '{other}'")
    statement = next((name for name in STATEMENT_FIELDS if name in answer), "sql")
    names = {**_NAMES, statement: "sql"}
    return {names.get(name, name): value for name, value in answer.items() if name not in _PLACED}


def _failed(request: AgentRequest, message: str) -> Prediction:
    """Return the prediction that says why there is none."""
    return Prediction(case_id=request.case_id, trial=request.trial, metadata={"agent_error": masked(message)[:1000]})

"""A Python function as a judge: prompt in, text out, ended by the clock where it does not return."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sqlassay.cases.errors import InputError
from sqlassay.harness.judges.contract import Backend, JudgeError, JudgeSpec, Question, Reply
from sqlassay.harness.judges.function_child import SHOWN
from sqlassay.harness.judges.spec import FIELD, check_options
from sqlassay.harness.prompts import SYSTEM

_LOAD_SECONDS = 120.0
_BOOT = (
    "import sys; place, name, answers = sys.argv[1:4]; sys.path[:] = sys.argv[4:]; "
    "from sqlassay.harness.judges.function_child import main; sys.exit(main(place, name, int(answers)))"
)


def _prompt(question: Question) -> str:
    """Return what a function is asked: the system's words, the schema and the question in one text."""
    return f"{SYSTEM}\nThe schema: {json.dumps(question.schema, ensure_ascii=False)}\n\n{question.prompt}"


class FunctionJudge:
    """Calls a function that this process's own program hands over, in a thread for each question.

    Its code may change between runs, so nothing it says is kept from one to the next.
    """

    identity: str | None = None

    def __init__(self, function: Callable[[str], str], label: str) -> None:
        """Keep the function."""
        self._function = function
        self._label = label

    @property
    def label(self) -> str:
        """Return the function's name."""
        return self._label

    def reply(self, question: Question, seconds: float) -> Reply:
        """Return what the function returned; one that does not return in time is left behind."""
        found: list[object] = []
        prompt = _prompt(question)

        def call() -> None:
            """Keep what the function returns or raises."""
            try:
                found.append(self._function(prompt))
            except BaseException as error:  # noqa: BLE001 (a stranger's function may even exit: the judge is silent)
                found.append(error)

        thread = threading.Thread(target=call, name=f"judge {self._label}", daemon=True)
        thread.start()
        thread.join(seconds)
        if not found:
            raise JudgeError(f"no answer within {seconds:g} s", again=True)
        if isinstance(found[0], BaseException):
            raise JudgeError(f"the function raised {type(found[0]).__name__}: {str(found[0])[:SHOWN]}", again=True)
        if not isinstance(found[0], str):
            raise JudgeError(f"the function returned {type(found[0]).__name__}, not text")
        return Reply(found[0], self._label)

    def close(self) -> None:
        """Do nothing: a thread of a stranger's function cannot be ended, and does not hold the program."""


class ProcessJudge:
    """Calls a function named on the command line in processes of its own, one a question at a time.

    Its code may change between runs, so nothing it says is kept from one to the next.
    """

    identity: str | None = None

    def __init__(self, place: str, name: str) -> None:
        """Start the first process, which loads the function.

        Raises:
            InputError: it cannot.
        """
        self._target = place, name
        # Guards that a process answers one question at a time and none is started after close.
        self._lock = threading.Lock()
        self._idle: list[_Child] = []
        self._all: set[_Child] = set()
        self._closed = False
        self._idle.append(self._started())

    @property
    def label(self) -> str:
        """Return the function's name."""
        place, name = self._target
        return f"callable:{Path(place).name}:{name}"

    def reply(self, question: Question, seconds: float) -> Reply:
        """Return what the function returned; a process that does not answer in time, or ends, is replaced."""
        prompt = _prompt(question)
        with self._lock:
            child = self._idle.pop() if self._idle else None
        child = child or self._started()
        try:
            answer = child.exchange(json.dumps(prompt), seconds)
        except BaseException:  # an interruption too must not leave a process at work; raised again
            self._drop(child)
            raise
        with self._lock:
            self._idle.append(child)
        if "error" in answer:
            raise JudgeError(f"the function raised {answer['error']}", again=True)
        if "kind" in answer:
            raise JudgeError(f"the function returned {answer['kind']}, not text")
        return Reply(str(answer["text"]), self.label)

    def close(self) -> None:
        """End every process."""
        with self._lock:
            self._closed = True
            children, self._all, self._idle = self._all, set(), []
        for child in children:
            child.end()

    def _started(self) -> _Child:
        """Return a process that has loaded the function.

        Raises:
            InputError: it did not.
            JudgeError: the judge is closed.
        """
        place, name = self._target
        with self._lock:
            if self._closed:
                raise JudgeError("the judge is closed")
            child = _Child(place, name)
            self._all.add(child)
        try:
            fault = child.exchange(None, _LOAD_SECONDS)["fault"]
        except JudgeError as error:
            fault = f"cannot be loaded: {error}"
        except BaseException:  # as above; raised again
            self._drop(child)
            raise
        if fault is not None:
            self._drop(child)
            no_function = fault == "is no function"
            where = "Correct the name; modules are looked up from the folder the command runs in"
            remedy = "Name a function: prompt in, text out" if no_function else where
            raise InputError(f"'callable:{place}:{name}' {fault}", field=FIELD, remedy=remedy)
        return child

    def _drop(self, child: _Child) -> None:
        """End one process for good."""
        with self._lock:
            self._all.discard(child)
        child.end()


class _Child:
    """One process of a function judge; used by one thread at a time, any thread may end it."""

    def __init__(self, place: str, name: str) -> None:
        """Start it in a session of its own; what the function prints goes nowhere."""
        self._answers, answers = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, place, name, str(answers), *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(answers,),
                start_new_session=True,
            )
        except BaseException:  # whatever ends the start must not leave a pipe; raised again
            os.close(self._answers)
            raise
        finally:
            os.close(answers)
        self._rest = b""
        # A judge that nobody closes ends its processes with itself.
        self.end = weakref.finalize(self, _end, self._process, self._answers)

    def exchange(self, line: str | None, seconds: float) -> dict[str, Any]:
        """Send a line (None at the start) and return the next answer.

        Raises:
            JudgeError: none within `seconds`, or the process ended.
        """
        deadline = time.monotonic() + seconds
        stdin = self._process.stdin
        if line is not None and stdin is not None:
            with contextlib.suppress(OSError):  # that it has ended shows on the reading side
                stdin.write(line.encode() + b"\n")
                stdin.flush()
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                raise JudgeError(f"no answer within {seconds:g} s", again=True)
            part = os.read(self._answers, 1 << 16)
            if not part:
                raise JudgeError(f"the function's process {self._ending()}", again=True)
            self._rest += part
        answer, _, self._rest = self._rest.partition(b"\n")
        value: dict[str, Any] = json.loads(answer)
        return value

    def _ending(self) -> str:
        """Say how the process ended."""
        try:
            code = self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return "closed its pipe"
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


def _end(process: subprocess.Popen[bytes], answers: int) -> None:
    """Kill a process and all that it started, and close the pipes; never raises."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    with contextlib.suppress(OSError):
        os.close(answers)


def open_function(spec: JudgeSpec, environment: Mapping[str, str]) -> tuple[Backend, ...]:  # noqa: ARG001 (the protocol's)
    """Return the judge of `callable:module:function` or `callable:FILE.py:function`.

    Raises:
        InputError: there is no such module or function.
    """
    check_options(spec, {})
    place, colon, name = spec.target.rpartition(":")
    if not (place and colon and name):
        remedy = "Write callable:module:function or callable:FILE.py:function"
        raise InputError(f"'{spec.target}' names no function", field=FIELD, remedy=remedy)
    return (ProcessJudge(place, name),)

"""A Python function as a judge: prompt in, text out, ended by the clock where it does not return."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from cases.errors import InputError
from harness.judges.contract import Backend, JudgeError, JudgeSpec, Question, Reply
from harness.judges.spec import FIELD, check_options
from harness.prompts import SYSTEM

_SHOWN = 300


class FunctionJudge:
    """Calls a function of the user's own, in this process and in a thread for each question.

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
        prompt = f"{SYSTEM}\nThe schema: {json.dumps(question.schema, ensure_ascii=False)}\n\n{question.prompt}"

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
            raise JudgeError(f"the function raised {type(found[0]).__name__}: {str(found[0])[:_SHOWN]}", again=True)
        if not isinstance(found[0], str):
            raise JudgeError(f"the function returned {type(found[0]).__name__}, not text")
        return Reply(found[0], self._label)

    def close(self) -> None:
        """Do nothing: a thread of a stranger's function cannot be ended, and does not hold the program."""


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
    try:
        module = _module(place)
        function = getattr(module, name)
    except Exception as error:  # importing runs a stranger's code, which may raise anything
        remedy = "Correct the name; modules are looked up from the folder the command runs in"
        message = f"'{spec.target}' cannot be loaded: {type(error).__name__}: {str(error)[:_SHOWN]}"
        raise InputError(message, field=FIELD, remedy=remedy) from error
    if not callable(function):
        raise InputError(f"'{spec.target}' is no function", field=FIELD, remedy="Name a function: prompt in, text out")
    return (FunctionJudge(function, f"callable:{Path(place).name}:{name}"),)


def _module(place: str) -> ModuleType:
    """Import a module by name, or a file as one."""
    with _looked_up_here():
        if not place.endswith(".py"):
            return importlib.import_module(place)
        found = importlib.util.spec_from_file_location(f"sqlassay_judge_{Path(place).stem}", place)
        if found is None or found.loader is None:
            raise ImportError(f"{place} is no Python file")
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
        return module


@contextmanager
def _looked_up_here() -> Iterator[None]:
    """Look modules up in the folder the command runs in, as Python's own command does, for one import."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)

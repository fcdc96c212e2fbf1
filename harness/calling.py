"""What the public API does with what it is given: whole runs, and sessions that are kept for the next call."""

from __future__ import annotations

import atexit
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.paths import path_given
from sqlassay.harness.agents.function import AgentFunction, FunctionAgent
from sqlassay.harness.given import GivenPredictions, predictions_given
from sqlassay.harness.judges import Seated
from sqlassay.harness.reports.registry import write_all
from sqlassay.harness.results.run_result import RunResult
from sqlassay.harness.run.options import JudgeKeywords, options_from, resolve
from sqlassay.harness.run.runner import run
from sqlassay.harness.run.screen import Silent
from sqlassay.harness.session import Session, function_judge, judges_named

JudgeGiven = Callable[[str], str] | str | Sequence[str] | None
_MOST_KEPT = 4


def run_given(
    pack: str | Path,
    agent: AgentFunction | str | None,
    predictions: GivenPredictions | None,
    judge: JudgeGiven,
    options: dict[str, Any],
) -> RunResult:
    """Run a pack with an agent, predictions and a judge of the caller's process or by name.

    Raises:
        InputError: something given is wrong, or agent and predictions are both given; nothing was run.
        InfrastructureError: the run could not start.
    """
    if agent is not None and predictions is not None:
        raise InputError("predictions and an agent are both given", field="agent", remedy="Give one of the two")
    asked: Any = None
    if isinstance(agent, str):
        options["agent"] = agent
    elif agent is not None:
        if not callable(agent):
            raise InputError(f"{type(agent).__name__} is no function", field="agent", remedy="Give a function")
        asked = FunctionAgent(agent)
    if isinstance(predictions, str | Path):
        options["predictions"] = path_given(predictions, "predictions")
    elif predictions is not None:
        asked = predictions_given(predictions)
    if isinstance(options.get("out"), str | Path):
        options["out"] = path_given(options["out"], "out")
    with ExitStack() as stack:
        seated: Seated | None = None
        if callable(judge):
            seated = function_judge(judge)
            stack.callback(seated.close)
        elif judge is not None:
            options["judge"] = judges_named(judge)
        options_asked = options_from(_plain(options), file=None)
        loaded = load_pack(path_given(pack, "pack"), format=options_asked.format)
        config = resolve([("command line", options_asked)], loaded.settings)
        return run(config, loaded, Silent(), write_reports=write_all, seated=seated, asked=asked)


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """Return options without those that are unset, sequences as lists."""
    given = {name: value for name, value in options.items() if value is not None}
    return {name: list(value) if isinstance(value, tuple | set | frozenset) else value for name, value in given.items()}


@dataclass(frozen=True, slots=True)
class _Key:
    """What decides that a kept session may serve: the process, what was asked for, and the files' own times."""

    process: int
    asked: str
    files: tuple[tuple[str, int, int], ...]


# Guards the kept sessions; the one used last stands last.
_lock = threading.Lock()
_kept: OrderedDict[str, tuple[_Key, Session]] = OrderedDict()


def warm_session(pack: str | Path, dialect: str, judge: str | Sequence[str] | None, options: dict[str, Any]) -> Session:
    """Return a session for this pack and these options, the one of an earlier call where nothing has changed since.

    Raises:
        InputError: no such pack, dialect or option.
        InfrastructureError: nothing can run here.
    """
    given = _plain({**options, "judge": None if judge is None else judges_named(judge)})
    asked = repr(
        (str(path_given(pack, "pack")), str(Path.cwd()), dialect, sorted(given.items(), key=lambda item: item[0]))
    )
    with _lock:
        found = _kept.get(asked)
        if found is not None:
            key, session = found
            if key == _Key(os.getpid(), asked, _stamps(session.files)):
                _kept.move_to_end(asked)
                return session
            del _kept[asked]
            if key.process == os.getpid():
                session.close()
        session = Session(pack, dialect, judge=given.pop("judge", None), **cast(JudgeKeywords, given))
        _kept[asked] = (_Key(os.getpid(), asked, _stamps(session.files)), session)
        while len(_kept) > _MOST_KEPT:
            _, (key, oldest) = _kept.popitem(last=False)
            if key.process == os.getpid():
                oldest.close()
        return session


def _stamps(files: Sequence[Path]) -> tuple[tuple[str, int, int], ...]:
    """Return each file's time and size; one that is gone has neither."""
    found = []
    for path in files:
        try:
            seen = path.stat()
        except OSError:
            found.append((str(path), 0, -1))
        else:
            found.append((str(path), seen.st_mtime_ns, seen.st_size))
    return tuple(found)


@atexit.register
def close_sessions() -> None:
    """End every kept session of this process."""
    with _lock:
        kept = list(_kept.values())
        _kept.clear()
    for key, session in kept:
        if key.process == os.getpid():
            session.close()

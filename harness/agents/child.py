"""The program of the child process that runs a user's callable; it holds no case, no gold and no pack.

It speaks frames (four bytes of length, then JSON) on two pipes of its own, so whatever the callable prints cannot
break the protocol. A third pipe is a lifeline: when the harness is gone, the whole process group ends.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import json
import os
import signal
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlassay.harness.agents.request import AgentRequest

MAX_ANSWER = 16 * 1024 * 1024
MAX_ERROR = 4000
"""Longer than what is kept of an error, so that a secret is masked whole before anything is cut."""


def main(arguments: list[str]) -> int:
    """Load the callable, say whether that worked, then answer requests until the pipe closes."""
    requests, answers, lifeline = (int(argument) for argument in arguments[:3])
    target, folder = arguments[3:5]
    for descriptor in (requests, answers, lifeline):
        os.set_inheritable(descriptor, False)
    os.dup2(2, 1)
    threading.Thread(target=_die_with_the_harness, args=(lifeline,), daemon=True).start()
    # Before the user's folder is searched for modules, as it may hold one with our name.
    request_type = importlib.import_module("sqlassay.harness.agents.request").AgentRequest
    try:
        function = _load(target, folder)
    except BaseException as error:  # noqa: BLE001 (a user's module may raise anything, SystemExit too)
        _send(answers, {"fault": _one_line(error)})
        return 1
    _send(answers, {"ready": True})
    with asyncio.Runner() as runner:
        while (request := _receive(requests)) is not None:
            _send(answers, _answer(function, request_type, request, runner))
    return 0


def _die_with_the_harness(lifeline: int) -> None:
    """Wait for the harness to go, then end this process and everything it started."""
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


def _load(target: str, folder: str) -> Callable[[Any], Any]:
    """Return the function that `module:function` or `file.py:function` names."""
    place, _, name = target.rpartition(":")
    if place.endswith(".py"):
        path = Path(folder, place).resolve()
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"cannot load {place}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, folder)
        module = importlib.import_module(place)
    function = module
    for part in name.split("."):
        function = getattr(function, part)
    if not callable(function):
        raise TypeError(f"'{name}' is not callable")
    return function


def _answer(
    function: Callable[[Any], Any], request_type: type[AgentRequest], raw: bytes, runner: asyncio.Runner
) -> dict[str, Any]:
    """Return the callable's answer to one request, or what it raised."""
    try:
        given = function(request_type.model_validate_json(raw))
        if inspect.isawaitable(given):
            given = runner.run(_awaited(given))
        return {"answer": _plain(given)}
    except BaseException as error:  # noqa: BLE001 (an agent may raise anything, SystemExit too, and must not end the run)
        return {"error": _one_line(error)}


async def _awaited(given: Any) -> Any:
    """Wait for whatever an asynchronous callable returned."""
    return await given


def _plain(given: Any) -> Any:
    """Return text, a mapping or a Prediction as JSON values."""
    if hasattr(given, "model_dump"):
        return given.model_dump(mode="json")
    if isinstance(given, str | dict):
        return given
    raise TypeError(f"the callable returned {type(given).__name__}, not str, dict or Prediction")


def _one_line(error: BaseException) -> str:
    """Return an error's type and its whole message on one line, and the line of a file that is no Python."""
    words = "".join(traceback.format_exception_only(error)).split()
    if isinstance(error, SyntaxError):
        words = [f"{type(error).__name__}:", f"{error.msg}, line {error.lineno}"]
    return (" ".join(words) or type(error).__name__)[:MAX_ERROR]


def _receive(descriptor: int) -> bytes | None:
    """Read one frame, or None where the harness closed the pipe."""
    head = _read(descriptor, 4)
    return None if len(head) < 4 else _read(descriptor, struct.unpack("!I", head)[0])


def _read(descriptor: int, size: int) -> bytes:
    """Read `size` bytes, fewer only at the end."""
    data = bytearray()
    while len(data) < size:
        part = os.read(descriptor, min(size - len(data), 1 << 16))
        if not part:
            break
        data += part
    return bytes(data)


def _send(descriptor: int, message: dict[str, Any]) -> None:
    """Write one frame; an answer that is too large or no JSON is replaced by an error."""
    try:
        data = json.dumps(message).encode()
    except (TypeError, ValueError, RecursionError) as error:
        data = json.dumps({"error": f"the answer is no JSON: {error}"[:500]}).encode()
    if len(data) > MAX_ANSWER:
        data = json.dumps({"error": f"the answer is {len(data):,} bytes; {MAX_ANSWER:,} are allowed"}).encode()
    view = memoryview(struct.pack("!I", len(data)) + data)
    while view:
        view = view[os.write(descriptor, view) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The program of the child process that runs a user's judge function: a prompt in, its answer out, a line of JSON each.

A function that ends its process, or fills its memory, ends this one and not the run.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

SHOWN = 300
"""How much of an error is told."""


def main(place: str, name: str, descriptor: int) -> int:
    """Load the function, say how that went, then answer one line after the other until the parent hangs up."""
    os.set_inheritable(descriptor, False)
    try:
        function = getattr(_module(place), name)
        fault = None if callable(function) else "is no function"
    except BaseException as error:  # noqa: BLE001 (importing runs a stranger's code, which may raise anything)
        function, fault = None, f"cannot be loaded: {type(error).__name__}: {str(error)[:SHOWN]}"
    _send(descriptor, {"fault": fault})
    for line in sys.stdin if fault is None else ():
        try:
            said = function(json.loads(line))
            answer = {"text": said} if isinstance(said, str) else {"kind": type(said).__name__}
        except BaseException as error:  # noqa: BLE001 (a stranger's function may even exit: the judge is silent)
            answer = {"error": f"{type(error).__name__}: {str(error)[:SHOWN]}"}
        _send(descriptor, answer)
    return 0


def _send(descriptor: int, message: dict[str, Any]) -> None:
    """Write one line."""
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]


def _module(place: str) -> ModuleType:
    """Import a module by name, or a file as one, looking where Python's own command does."""
    sys.path.insert(0, str(Path.cwd()))
    if not place.endswith(".py"):
        return importlib.import_module(place)
    found = importlib.util.spec_from_file_location(f"sqlassay_judge_{Path(place).stem}", place)
    if found is None or found.loader is None:
        raise ImportError(f"{place} is no Python file")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module

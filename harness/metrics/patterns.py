"""Match a user's patterns against a text of an agent's, in a process that is killed where a pair of them never ends."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence

SECONDS = 5.0
"""How long all patterns together may take on one text."""

_SHORT = 2_000
_REPEATS = re.compile(r"[*+{]|(?<!\()\?|\\\d|\(\?P=")
_CODE = """
import json, re, sys
patterns, text, whole = json.load(sys.stdin)
find = re.fullmatch if whole else re.search
json.dump([None if (hit := find(each, text)) is None else hit.group(0) for each in patterns], sys.stdout)
"""


class EndlessPatternError(Exception):
    """A pattern did not come to an end on this text in time: whether it matches is not known."""


def hits(patterns: Sequence[str], text: str, *, whole: bool = False) -> list[str | None]:
    """Return what each pattern finds first (or all of the text), None where it finds nothing.

    Python's matcher backs up without end on some pairs of pattern and text, holds every thread meanwhile and takes no
    signal, so an agent could stop a run. What has one repeat at most and is short ends soon, and needs no process.

    Raises:
        EndlessPatternError: they take too long.
    """
    if len(text) <= _SHORT and all(len(_REPEATS.findall(pattern)) <= 1 for pattern in patterns):
        find = re.fullmatch if whole else re.search
        return [None if (hit := find(pattern, text)) is None else hit.group(0) for pattern in patterns]
    question = json.dumps([list(patterns), text, whole])
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CODE],
            input=question,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise EndlessPatternError(f"the patterns came to no end on this statement within {SECONDS:g} s") from None
    if done.returncode:
        raise EndlessPatternError("the patterns could not be matched: the matcher failed on this statement")
    found: list[str | None] = json.loads(done.stdout)
    return found

"""Functions as judges, and one name that is none."""

from __future__ import annotations

import os
import time

NUMBER = 3


def strict(prompt: str) -> str:
    """Score by a word in the prompt, 0.5 where it has none."""
    assert "The schema:" in prompt
    score = next((value for word, value in (("good", 1.0), ("bad", 0.0)) if word in prompt.rsplit("\n", 1)[-1]), 0.5)
    return f'{{"score": {score}, "reason": "a word"}}'


def silent(prompt: str) -> str:
    """Say nothing."""
    return ""


def late(prompt: str) -> str:
    """Come too late."""
    time.sleep(1.0)
    return strict(prompt)


def broken(prompt: str) -> str:
    """Fail."""
    raise KeyError("no such grade")


def half(prompt: str) -> str:
    """Say half a character."""
    return '{"score": 1, "reason": "\ud800"}'


def leaving(prompt: str) -> str:
    """Try to end the program."""
    raise SystemExit(3)


def odd(prompt: str) -> str:
    """Return no text."""
    return 7  # type: ignore[return-value]


def leaves(_prompt: str) -> str:
    """End the whole process."""
    os._exit(3)

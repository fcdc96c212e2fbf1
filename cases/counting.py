"""Numbers with the word they count."""

from __future__ import annotations


def counted(number: int, word: str) -> str:
    """Return a number and its word, which takes an s for all but one."""
    return f"{number} {word}{'' if number == 1 else 's'}"

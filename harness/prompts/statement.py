"""An agent's statement as a judge is shown it: without its comments, whose words are no SQL."""

from __future__ import annotations

from itertools import groupby

from sqlassay.harness.results.parsed import ParsedQuery

UNTOLD = "the statement's comments cannot be told from its text, so no judge is asked"


def without_comments(parsed: ParsedQuery | None) -> str | None:
    """Return a statement with every comment struck, None where the parser could not tell what is one.

    A comment becomes the blank it stands for to an engine, and a text in quotes stays as it is.
    """
    if parsed is None or len(parsed.lexmap) != len(parsed.sql):
        return None
    parts = []
    for blank, letters in groupby(zip(parsed.sql, parsed.lexmap, strict=True), key=lambda pair: pair[1] == " "):
        text = "".join(character for character, _ in letters)
        comment = blank and not text.isspace()
        parts.append(("\n" if "\n" in text else " ") if comment else text)
    return "".join(parts).strip()

"""What a judge must never take for an instruction is fenced: a mark no slot holds, and a prefix on every line."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping

from sqlassay.harness.results.parsed import MAX_SQL_BYTES

MARK = 24
"""Hex digits of a fence: 96 bits, as hard to guess as a key."""

LINE = "| "
"""What every line of data begins with; no line of a template does."""

MOST = MAX_SQL_BYTES
"""Bytes of one slot a judge is shown, the same as of a statement. Nothing is cut: a longer text is not shown at all."""

_BREAKS = re.compile(r"\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CHAT_MARKS = re.compile(r"<(?=\|)|(?<=\|)>|<(?=/?(?:s|bos|eos|start_of_turn|end_of_turn)>)", re.IGNORECASE)
"""Where the marks begin or end by which models tell whose turn it is; some servers read them inside a text too."""


def fence(template: str, slots: Mapping[str, str]) -> str:
    """Return a mark that is in none of the texts, the same for the same texts.

    It is a digest of everything it will stand around: a text would have to hold its own digest to forge it, and one
    that does (none can be written) is refused by taking the next. Equal prompts stay equal, so answers can be kept.
    """
    seed = json.dumps([template, sorted(slots.items())])
    number = 0
    while True:
        mark = hashlib.sha256(f"{number}:{seed}".encode()).hexdigest()[:MARK]
        if not any(mark in text for text in (template, *slots.values())):
            return mark
        number += 1


def fenced(name: str, text: str, mark: str) -> str:
    """Return one slot as data: between two marks, every line behind the prefix, nothing in it that is not seen."""
    lines = "\n".join(LINE + line for line in shown(text).split("\n"))
    return f"<<<DATA {name} {mark}>>>\n{lines}\n<<<END {name} {mark}>>>"


def shown(text: str) -> str:
    """Return a text with hidden characters spelled out and chat marks broken; nothing of it is left out."""
    text = _BREAKS.sub("\n", text)
    return _CHAT_MARKS.sub(lambda found: f"\\u{ord(found[0]):04x}", "".join(map(_visible, text)))


def _visible(character: str) -> str:
    """Return a character that is drawn as it is, one that is not as its number."""
    if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn"):
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"

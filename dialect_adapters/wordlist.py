"""Lists beside the code that reads them: function allow-lists, and what the engines themselves have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def read_words(path: Path) -> frozenset[str]:
    """Return the words of a list file, lower-cased; `#` starts a comment that names a group."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return frozenset[str]().union(*(words(line.split("#", 1)[0].lower()) for line in lines))


@dataclass(frozen=True, slots=True)
class EngineFunction:
    """A function the engine has: its kind and its volatility (`-` where the engine does not say)."""

    kind: str
    volatility: str


def read_catalogue(path: Path) -> dict[str, EngineFunction]:
    """Return every function of a catalogue file by its name."""
    lines = path.read_text(encoding="utf-8").splitlines()
    fields = [line.split() for line in lines if not line.startswith("#")]
    return {name: EngineFunction(kind, volatility) for name, kind, volatility in fields}


def read_reasons(path: Path) -> dict[str, str]:
    """Return the reviewed exceptions of a list, `name: reason` a line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = [line.partition(": ") for line in lines if line and not line.startswith("#")]
    return {name: reason for name, _, reason in pairs}


PAREN_WORDS = words("""
    in and or not on using as over exists any all some values select from where having when then else case by union
    except intersect join lateral distinct between like limit offset is interval filter group within cube rollup sets
    row rows materialized with table recursive end escape cast extract nulls first last natural cross inner outer left
    right full desc asc window range partition null xor div mod collate current preceding following unbounded only to
    char character varchar nchar national varying text numeric decimal dec float double precision real int integer
    bigint smallint bit time timestamp datetime date binary varbinary boolean bool blob
    """)
"""Keywords and types of standard SQL that stand before a parenthesis without being a call."""

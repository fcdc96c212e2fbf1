"""Word lists beside the code that reads them: function allow-lists and the like."""

from __future__ import annotations

from pathlib import Path


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def read_words(path: Path) -> frozenset[str]:
    """Return the words of a list file, lower-cased; `#` starts a comment that names a group."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return frozenset[str]().union(*(words(line.split("#", 1)[0].lower()) for line in lines))


PAREN_WORDS = words("""
    in and or not on using as over exists any all some values select from where having when then else case by union
    except intersect join lateral distinct between like limit offset is interval filter group within cube rollup sets
    row rows materialized with table recursive end escape cast extract nulls first last natural cross inner outer left
    right full desc asc window range partition null xor div mod collate current preceding following unbounded only to
    char character varchar nchar national varying text numeric decimal dec float double precision real int integer
    bigint smallint bit time timestamp datetime date binary varbinary boolean bool blob
    """)
"""Keywords and types of standard SQL that stand before a parenthesis without being a call."""

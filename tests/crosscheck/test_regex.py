"""A regular expression that is read is the same one for all: as GLOB it meets the same texts."""

from __future__ import annotations

import random
import re
import sqlite3
from contextlib import closing

import pytest

from sqlassay.dialect_adapters.transpile import regex
from sqlassay.dialect_adapters.transpile.facts import Refused

PARTS = ("a", "b", "-", ".", ".*", "[ab]", "[^a]", "[a-c]", r"\.", r"\*", "'", "ä", "*", "+", "|", "(", ")", "^", "$")
TEXTS = ["", "a", "b", "ab", "ba", "a\nb", "b\n", "\n", "a-b", "a.b", "*", "[a]", "ä", "aab", "abc", "?", "c'a"]


def test_glob_meets_what_the_regular_expression_does():
    """Three thousand patterns of all parts on texts with ends of lines, special letters and none."""
    made, chosen = 0, random.Random(7)
    with closing(sqlite3.connect(":memory:")) as connection:
        for _ in range(3000):
            given = "".join(chosen.choices(PARTS, k=chosen.randint(1, 6)))
            try:
                pattern = regex.read(given)
            except Refused:
                continue
            found = re.compile(pattern.text.replace(r"\z", r"\Z"))
            for text in TEXTS if pattern.globs is not None else []:
                tests = [connection.execute("SELECT ? GLOB ?", (text, one)).fetchone()[0] for one in pattern.globs]
                assert any(tests) is (found.search(text) is not None), (given, pattern, text)
                made += 1
    assert made > 5000


@pytest.mark.parametrize(
    "given",
    [r"\d", r"\w+", "a*?", "a**", "(a", "a)", "*a", "a|", "|a", "()", "^*", "[[:alpha:]]", "[a-Z]", "[é-ü]", "(?i)a",
     "(?=a)", r"(a)\1", "***=a", "a$b", "a^b", "", "[]a]", "[a&&b]", "a{,3}", "a{300}", "a\n"],
)  # fmt: skip
def test_what_engines_may_read_in_different_ways_is_refused(given):
    """Classes by name, flags, look-around, back references and what stands where it means nothing."""
    with pytest.raises(Refused, match="in different ways"):
        regex.read(given)

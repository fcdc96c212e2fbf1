"""The numbers a sentence names, in digits or in words, each as a whole: an 18 is no 8."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: number for number, word in enumerate(_ONES)} | {word: 10 * (n + 2) for n, word in enumerate(_TENS)}
_LARGE = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
_DIGITS = re.compile(r"(?<![\w.,])(?<!\d-)[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?!\w|[.,]\d)")
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)


def numbers_in(text: str) -> Iterator[Decimal]:
    """Yield every number of a text; one in words has no decimals."""
    for found in _DIGITS.finditer(text):
        yield Decimal(found[0].replace(",", "").replace("−", "-"))
    yield from _spelled(_WORD.findall(text.casefold()))


def _spelled(words: list[str]) -> Iterator[Decimal]:
    """Yield the numbers spelled in words: runs such as `two hundred and five` are one number."""
    total, part, spelled = 0, 0, False
    for word in (*words, ""):
        if word in _SMALL:
            # After a unit another number begins, as in `one, two`; after a ten a unit may follow.
            if spelled and part % 10 and _SMALL[word] < 100:
                yield Decimal(total + part)
                total, part = 0, 0
            part, spelled = part + _SMALL[word], True
        elif word == "hundred" and spelled:
            part *= 100
        elif word in _LARGE and spelled:
            total, part = total + part * _LARGE[word], 0
        elif spelled and word != "and":
            yield Decimal(total + part)
            total, part, spelled = 0, 0, False

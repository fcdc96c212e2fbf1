"""The numbers a sentence names, in digits or in words, each as a whole: an 18 is no 8."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: number for number, word in enumerate(_ONES)} | {word: 10 * (n + 2) for n, word in enumerate(_TENS)}
_LARGE = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_GROUPS = {"hundred": 100, "dozen": 12}
_LETTERS = {"k": 10**3, "m": 10**6, "mn": 10**6, "b": 10**9, "bn": 10**9, "t": 10**12, "tn": 10**12}
_NOT = frozenset({"minus", "negative"})
_DIGITS = re.compile(
    r"""
    (?<![\w.,'’])(?<!\d-)(?<!\d/)
    (?:(?P<minus>[-−])|\+|(?P<spelled>\b(?:minus|negative)\s+))?[$€£¥]?\s?
    (?:
        (?P<english>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?)
      | (?P<comma>\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}|\d+,(?:\d{1,2}|\d{4,}))
      | (?P<spaced>\d{1,3}(?:[\u00a0\u2009\u202f'’]\d{3})+(?:[.,]\d+)?)
      | (?P<plain>\d+(?:\.\d+)?)
    )
    (?:\s?(?P<percent>%|per\s?cent\b)|[\s-](?P<scale>thousand|million|billion|trillion)\b|(?P<letter>k|mn?|bn?|tn?)\b)?
    (?!\w|[.,]\d|['’]\d|/\d)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NONE = re.compile(
    r"\b(?:none|nobody|nothing|no\s+one|no\s+(?!(?:more|less|fewer|later|earlier|longer|doubt|matter|idea|one)\b)[a-z]+"
    r"|(?:is|are|was|were|does|do|did|has|have)(?:n[o'’]t|\s+not)\s+any)\b",
    re.IGNORECASE,
)
"""How a sentence says that there is none: `no customers`, but not the `No,` that answers a question."""

_WORD = re.compile(r"[a-z]+|[.,;:!?]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Said:
    """A number as a sentence says it; what it stands for may be `slack` away, as it is rounded to its own decimals."""

    value: Decimal
    slack: Decimal = Decimal(0)

    def names(self, exact: Decimal) -> bool:
        """Return whether a number is what was said; a whole number is never rounded to."""
        return exact == self.value or (self.slack > 0 and abs(exact - self.value) <= self.slack)


def numbers_in(text: str) -> Iterator[Said]:
    """Yield every number of a text, those in digits first; a percentage is said as 12 and as 0.12."""
    for found in _DIGITS.finditer(text):
        yield from _in_digits(found)
    yield from _spelled(_WORD.findall(text.casefold()))
    if _NONE.search(text):
        yield Said(Decimal(0))


def _in_digits(found: re.Match[str]) -> Iterator[Said]:
    """Yield a number written in digits, with what follows it taken in: `1.2 million`, `12%`, `5k`."""
    digits = found["english"] or found["comma"] or found["spaced"] or found["plain"]
    if found["comma"]:
        digits = digits.replace(".", "").replace(",", ".")
    elif found["spaced"]:
        digits = re.sub(r"[\u00a0\u2009\u202f'’]", "", digits).replace(",", ".")
    value = Decimal(digits.replace(",", ""))
    value = -value if found["minus"] or found["spelled"] else value
    decimals = -int(value.as_tuple().exponent)
    slack = Decimal(5).scaleb(-decimals - 1) if decimals > 0 else Decimal(0)
    if found["scale"] or found["letter"]:
        factor = _LARGE[found["scale"].casefold()] if found["scale"] else _LETTERS[found["letter"].casefold()]
        yield Said(value * factor, slack * factor)
        if found["scale"]:
            return
    yield Said(value, slack)  # after a letter the number may stand for itself, as in `12 m`
    if found["percent"]:
        yield Said(value / 100, slack / 100)


def _spelled(words: list[str]) -> Iterator[Said]:
    """Yield the numbers spelled in words: runs such as `two hundred and five` are one number."""
    total, part, spelled, negative, before = 0, 0, False, False, ""
    for index, word in enumerate((*words, "")):
        if word in _SMALL:
            # After a unit another number begins, as in `one, two`; after a ten a unit may follow.
            if spelled and part % 10 and _SMALL[word] < 100:
                yield _signed(total + part, negative=negative)
                total, part, negative = 0, 0, False
            negative = negative if spelled else before in _NOT
            part, spelled = part + _SMALL[word], True
        elif word in ("a", "an") and not spelled and words[index + 1 : index + 2] and _counts(words[index + 1]):
            part, spelled, negative = 1, True, before in _NOT
        elif word in _GROUPS and spelled:
            part *= _GROUPS[word]
        elif word in _LARGE and spelled:
            total, part = total + part * _LARGE[word], 0
        elif spelled and word != "and":
            yield _signed(total + part, negative=negative)
            if word == "percent" or (word == "per" and words[index + 1 : index + 2] == ["cent"]):
                yield _signed(Decimal(total + part) / 100, negative=negative)
            total, part, spelled, negative = 0, 0, False, False
        before = word


def _counts(word: str) -> bool:
    """Return whether `a` before this word is a one."""
    return word in _LARGE or word in _GROUPS


def _signed(value: int | Decimal, *, negative: bool) -> Said:
    """Return a number in words, which has no decimals."""
    return Said(-Decimal(value) if negative else Decimal(value))

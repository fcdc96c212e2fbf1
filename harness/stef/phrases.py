"""What a question's words ask for: aggregate functions, an order, the first k rows. Words, not a model."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FUNCTIONS = {
    "sum": ("sum", "sum of", "total", "total of", "overall"),
    "avg": ("avg", "average", "average of", "mean", "mean of"),
    "count": ("count", "count of", "number of", "total number of", "how many"),
    "max": ("max", "maximum", "maximum of"),
    "min": ("min", "minimum", "minimum of"),
}
_BY_WORD = {word: function for function, words in _FUNCTIONS.items() for word in words}
_PHRASE = re.compile(
    r"(?:the )?(?P<word>" + "|".join(sorted(_BY_WORD, key=len, reverse=True)) + r") (?P<rest>.+)", re.IGNORECASE
)
_CALL = re.compile(r"(?P<word>\w+)\s*\(\s*(?P<distinct>distinct\s+)?(?P<rest>[^()]*)\)", re.IGNORECASE)
_COUNTED = re.compile(r"(?P<rest>.+) count", re.IGNORECASE)
_DISTINCT = re.compile(r"(?:distinct|unique|different) +", re.IGNORECASE)

_NUMBERS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twelve": 12,
    "fifteen": 15,
    "twenty": 20,
    "fifty": 50,
    "hundred": 100,
}
_SUPERLATIVE = (
    "highest|lowest|largest|smallest|biggest|most|least|best|worst|latest|newest|oldest|earliest|maximum|minimum"
)
_TOP = re.compile(
    rf"\b(?:top|first|last|bottom|limit(?:ed)?(?: to)?|at most|{_SUPERLATIVE})[ -](?:the )?"
    rf"(?P<k>\d{{1,9}}|{'|'.join(_NUMBERS)})\b(?! ?%| ?percent| (?:day|week|month|quarter|year|hour|minute)s?\b)",
    re.IGNORECASE,
)
_BEST = re.compile(rf"\b(?:{_SUPERLATIVE})\b", re.IGNORECASE)
_ORDER = re.compile(
    r"\b(?:rank(?:ed|ing)?|sort(?:ed|ing)?|arranged?)\b[^.,;?]{0,40}?\b(?:by|from|according)\b"
    r"|\border(?:ed)? (?:(?:them|it|the \w+|results?|rows?|records?) )?by\b|\bin order of\b"
    r"|\b(?:ascending|descending|alphabetical(?:ly)?|chronological(?:ly)?|reverse) ?(?:order)?\b"
    r"|\btop[ -](?:k|n)\b|\brank (?:them|the|all)\b"
    r"|\bfrom (?:the )?\w+ to (?:the )?(?:lowest|highest|oldest|newest|smallest|largest)\b"
    r"|\b(?:highest|lowest|largest|smallest|newest|latest|oldest|earliest|most recent) first\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Implied:
    """An aggregate that words imply: function, what of, and whether of distinct values."""

    function: str
    column: str
    distinct: bool


def function_named(words: str) -> tuple[str, bool]:
    """Return the function that words name and whether they say distinct; unknown words are a function of that name."""
    plain = " ".join(words.replace("_", " ").split()).casefold()
    rest = _DISTINCT.sub("", plain)
    return _BY_WORD.get(rest, rest), rest != plain


def implied(phrase: str) -> Implied | None:
    """Return the aggregate a phrase such as `total spend` or `COUNT(DISTINCT id)` names, None where it names none."""
    called = _CALL.fullmatch(phrase.strip())
    if called is not None and called["word"].casefold() in _BY_WORD:
        return Implied(_BY_WORD[called["word"].casefold()], called["rest"].strip() or "*", bool(called["distinct"]))
    text = " ".join(phrase.replace("_", " ").split())
    distinct = bool(_DISTINCT.match(text))
    bare = _DISTINCT.sub("", text, count=1) if distinct else text
    found = _PHRASE.fullmatch(bare)
    if found is not None:
        inner = bool(_DISTINCT.match(found["rest"]))
        return Implied(_BY_WORD[found["word"].casefold()], _DISTINCT.sub("", found["rest"], count=1), distinct or inner)
    counted = _COUNTED.fullmatch(bare)
    return None if counted is None else Implied("count", counted["rest"], distinct)


def top_k(*questions: str | None) -> int | None:
    """Return the k of an explicit request for the first k, None where none is made (TopKRequest of Eq. 18)."""
    for text in questions:
        found = _TOP.search(text or "")
        if found is not None:
            return int(found["k"]) if found["k"].isdigit() else _NUMBERS[found["k"].casefold()]
    return None


def asks_for_one(*questions: str | None) -> bool:
    """Return whether a superlative asks for a best one, which LIMIT 1 is an answer to."""
    return any(_BEST.search(text or "") for text in questions)


def asks_for_order(*questions: str | None) -> bool:
    """Return whether an order is asked for in words, top k included (ExplicitOrder of Eq. 17)."""
    return top_k(*questions) is not None or any(_ORDER.search(text or "") for text in questions)

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
    word: number
    for number, word in enumerate(
        (
            *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
            *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
        ),
        1,
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "hundred": 100, "dozen": 12}
_SUPERLATIVE = (
    "highest|lowest|largest|smallest|biggest|greatest|most|least|best|worst|latest|newest|oldest|youngest|earliest"
    "|maximum|minimum|cheapest|longest|shortest|fastest|slowest|heaviest|lightest|richest|poorest|busiest|tallest"
    "|nearest|closest|farthest|furthest|strongest|weakest|priciest|hottest|coldest|recent"
)
_K = rf"(?P<k>\d{{1,9}}|{'|'.join(_NUMBERS)})"
_NO_UNIT = r"(?! ?%| ?percent| (?:days?|weeks?|months?|quarters?|years?|hours?|minutes?|seconds?)\b)"
_TOPS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?<!at )(?:top|first|last|bottom|leading"
        r"|limit(?:ed)?(?: (?:it|them|this|the (?:list|results?|output)))?(?: to)?"
        rf"|at most|up to|no more than|not more than|only(?: the)?|{_SUPERLATIVE})[ -](?:the )?{_K}\b{_NO_UNIT}",
        # "the 3 largest cities", "ten best-selling", "5 most recent", "2 top sellers"
        rf"\b{_K} (?:(?!and\b|or\b)\w+ )?(?:{_SUPERLATIVE}|top)\b",
        # "the three cities with the highest population", "5 products that sold the most"
        rf"\b{_K}{_NO_UNIT} (?:(?!and\b|or\b)\w+ ){{1,3}}?(?:with|having|have|has|had|by|of|that|which|who|whose)\b"
        rf"[^.?!;]{{0,40}}?\b(?:{_SUPERLATIVE})\b",
        # "just show me 5 customers", "list 10 products"
        rf"\b(?:show|give|list|name|return|display|find|get|pick|fetch)(?: me| us)?(?: just| only| any)? {_K}\b"
        rf"{_NO_UNIT} (?!or\b|and\b|percent\b)\w",
    )
)
_MEASURED = re.compile(
    r"\b(?:than|over|under|above|below|exactly|before|after|since|in|during|until|between|and|to|from|year|for|past|least"
    r"|aged?|=|>|<|>=|<=)\s*$",
    re.IGNORECASE,
)
"""What stands before a number that is no k: `older than 30 with the highest spend`, `in 2023 highest`."""

_BEST = re.compile(rf"\b(?:{_SUPERLATIVE.removesuffix('|recent')}|most recent)\b", re.IGNORECASE)
_ENDS = "lowest|highest|oldest|newest|smallest|largest|biggest|least|most|best|worst|latest|earliest|cheapest|z"
_ORDER = re.compile(
    r"\b(?:rank(?:ed|ing)?|sort(?:ed|ing)?|arranged?|order(?:ed|ing)?)\b[^.,;?]{0,40}?"
    r"\b(?:by|from|according|alphabetical(?:ly)?|chronological(?:ly)?|ascending|descending)\b"
    r"|\bin order of\b|\bin (?!what |which )(?:\w+ )?order\b"
    r"|\b(?:ascending|descending|increasing|decreasing|alphabetical(?:ly)?|chronological(?:ly)?|reverse) ?(?:order)?\b"
    r"|\btop[ -](?:k|n)\b|\brank(?:ed)? (?:them|the|all|each|every|\w+ by)\b"
    rf"|\b(?:from )?(?:the )?(?:{_ENDS}|a)[ -]+(?:to|-)[ -]+(?:the )?(?:{_ENDS})\b|\ba-z\b|\bz-a\b"
    rf"|\b(?:{_SUPERLATIVE.removesuffix('|recent')}|most \w+|least \w+)(?: \w+)? (?:first|last|on top|at the top)\b"
    rf"|\b(?:start(?:ing|s)?|begin(?:ning|s)?) with the (?:{_SUPERLATIVE})\b",
    re.IGNORECASE,
)
_NO_ORDER = re.compile(
    r"\b(?:each|every|per|an|the|first|last|total|average)\s+order\s+(?:placed\s+)?by\b", re.IGNORECASE
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
        for pattern in _TOPS:
            for found in pattern.finditer(text or ""):
                if not _MEASURED.search((text or "")[: found.start()]):
                    return int(found["k"]) if found["k"].isdigit() else _NUMBERS[found["k"].casefold()]
    return None


def asks_for_one(*questions: str | None) -> bool:
    """Return whether a superlative asks for a best one, which LIMIT 1 is an answer to."""
    return any(_BEST.search(text or "") for text in questions)


def asks_for_order(*questions: str | None) -> bool:
    """Return whether an order is asked for in words, top k included (ExplicitOrder of Eq. 17)."""
    return top_k(*questions) is not None or any(_ORDER.search(_NO_ORDER.sub(" ", text or "")) for text in questions)

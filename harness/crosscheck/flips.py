"""Find which causes of a disagreement matter: leave one as it is written, repair the others, and look at the rows.

A search starts from the statement in which all is repaired and leaves one suspected cause after the other as it was
written, for as long as the engines still agree. What has to stay repaired at the end is needed, each of it: that is the
cause, or the two or three that together are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlassay.cases.case import Case
from sqlassay.cases.policy import Policy
from sqlassay.dialect_adapters.transpile.causes import Difference
from sqlassay.harness.crosscheck.looser import Loosened, agree_by
from sqlassay.harness.results.evidence import GoldAnswer

Text = Callable[[frozenset[Difference]], str | None]
"""The statement with the parts of these causes left as they are written; None where it cannot be said."""

Ask = Callable[[Sequence[tuple[Case, str]]], list[GoldAnswer]]
"""Puts statements to one engine."""


@dataclass(frozen=True, slots=True)
class Side:
    """One engine of a search: how the statement is said for it, and how it is asked; or what it always answers."""

    text: Text | None = None
    ask: Ask | None = None
    fixed: GoldAnswer | None = None


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One disagreement to search: the case, what it is compared by, its suspects, and both engines' sides."""

    case: Case
    policy: Policy
    suspects: tuple[Difference, ...]
    one: Side
    other: Side


@dataclass(frozen=True, slots=True)
class Flip:
    """What makes two engines agree: the repairs of which none can be spared, the laxer comparison that is needed too,
    and the statement as the other engine then has it.
    """

    needed: tuple[Difference, ...]
    lax: Loosened | None
    sql: str


@dataclass(slots=True)
class _Search:
    """One search under way: what is left as it is written so far."""

    asked: Suspicion
    leave: frozenset[Difference] = frozenset()
    lax: Loosened | None = None
    agrees: bool = False
    tried: tuple[str | None, str | None] = (None, None)
    waiting: list[Difference] = field(default_factory=list)

    def texts(self, leave: frozenset[Difference]) -> tuple[str | None, str | None]:
        """Return the statement for both engines."""
        one, other = self.asked.one.text, self.asked.other.text
        return one(leave) if one is not None else None, other(leave) if other is not None else None

    def agreed(self, one: GoldAnswer | None, other: GoldAnswer | None) -> tuple[Loosened | None, ...]:
        """Return every way of comparing under which two answers agree."""
        joins = Difference.AGGREGATE_ORDER in self.asked.suspects
        return () if one is None or other is None else agree_by(one, other, self.asked.policy, joins=joins)


def flips(asked: Sequence[Suspicion]) -> list[Flip | None]:
    """Return what makes each pair agree, None where not even all repairs do."""
    searches = [_Search(one, waiting=list(one.suspects)) for one in asked]
    _begin(searches)
    while any(search.agrees and search.waiting for search in searches):
        _step([search for search in searches if search.agrees and search.waiting])
    return [_found(search) if search.agrees else None for search in searches]


def _found(search: _Search) -> Flip:
    """Return what a finished search found."""
    needed = tuple(one for one in search.asked.suspects if one not in search.leave)
    return Flip(needed, search.lax, search.tried[1] or "")


def _begin(searches: Sequence[_Search]) -> None:
    """Try every statement with all repairs, compared as strictly as they still agree."""
    tries = [(search, search.texts(frozenset())) for search in searches]
    for (search, texts), (one, other) in zip(tries, _answers(tries), strict=True):
        found = search.agreed(one, other)
        search.agrees = bool(found)
        search.lax = found[0] if found else None
        search.tried = texts


def _step(searches: Sequence[_Search]) -> None:
    """Leave one more cause as it is written in each statement; it stays so where the engines still agree."""
    tries = []
    for search in searches:
        cause = search.waiting.pop()
        texts = search.texts(search.leave | {cause})
        if texts == search.tried:
            search.leave |= {cause}
        else:
            tries.append((search, texts, cause))
    for (search, texts, cause), (one, other) in zip(tries, _answers([one[:2] for one in tries]), strict=True):
        if search.lax in search.agreed(one, other):
            search.leave |= {cause}
            search.tried = texts


def _answers(
    tries: Sequence[tuple[_Search, tuple[str | None, str | None]]],
) -> list[tuple[GoldAnswer | None, GoldAnswer | None]]:
    """Put every statement to its engine, one engine at a time, and return the answers by pairs."""
    found: list[list[GoldAnswer | None]] = []
    for place in (0, 1):
        sides = [search.asked.one if place == 0 else search.asked.other for search, _ in tries]
        texts = [texts[place] for _, texts in tries]
        answers = [side.fixed for side in sides]
        for ask in dict.fromkeys(side.ask for side in sides if side.ask is not None):
            chosen = [at for at, side in enumerate(sides) if side.ask is ask and texts[at] is not None]
            put = [(tries[at][0].asked.case, texts[at] or "") for at in chosen]
            for at, answer in zip(chosen, ask(put), strict=True):
                answers[at] = answer
        found.append(answers)
    return list(zip(*found, strict=True))

"""Ask why two engines disagree: other ways of comparing, the rewritten form on the server, questions to the data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sqlassay.cases.case import Case
from sqlassay.cases.pack import Pack
from sqlassay.cases.policy import Policy
from sqlassay.dialect_adapters.contract import Adapter
from sqlassay.dialect_adapters.transpile.causes import Complaining, Difference, Doubting
from sqlassay.dialect_adapters.transpile.common import read_common
from sqlassay.dialect_adapters.transpile.facts import Refused
from sqlassay.dialect_adapters.transpile.retold_suspects import retold_suspects
from sqlassay.dialect_adapters.transpile.rewrite import Readable, rewrite
from sqlassay.dialect_adapters.transpile.snapshot_facts import snapshot_facts
from sqlassay.dialect_adapters.transpile.suspects import suspected_calls, suspects
from sqlassay.dialect_adapters.transpile.telling import Retold
from sqlassay.harness.crosscheck.classify import Clues, Form
from sqlassay.harness.crosscheck.flips import Ask, Flip, Side, Suspicion, Text, flips
from sqlassay.harness.crosscheck.lines import Line
from sqlassay.harness.crosscheck.looser import Loosened, agree_by
from sqlassay.harness.crosscheck.statements import Answered, Given, rewrites_of, rows_of, written
from sqlassay.harness.crossing import crossed
from sqlassay.harness.results.crosscheck import Predict
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.store.rewrites import Rewrites

_BY_GUARD = {
    "syntax_error": Difference.SYNTAX,
    "foreign_mark": Difference.SYNTAX,
    "placeholder": Difference.SYNTAX,
    "unterminated_quote": Difference.SYNTAX,
    "unknown_function": Difference.MISSING_FUNCTION,
    "unknown_table": Difference.UNKNOWN_NAME,
}
REPAIRED = frozenset(Difference) - {
    Difference.TIE_ORDER, Difference.COLLATION, Difference.AGGREGATE_ORDER, Difference.SINGLE_PRECISION,
    Difference.DISTINCT_ORDER, Difference.TIME_ZONE, Difference.SQL_MODE,
}  # fmt: skip
"""What a rewrite repairs where it writes a part; the others lie in the rows, or in how they are compared."""

_NOT_RUN = re.compile(r"^error: not run \((\w+)\)")


@dataclass(frozen=True, slots=True)
class Doubt:
    """One case on which the first engine and another disagree."""

    case: Case
    first: Answered
    other: Answered
    policy: Policy


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of every disagreement with one engine: how its statements came about, and what they are."""

    predict: Predict
    golds: bool
    pack: Pack


def clues(doubts: Sequence[Doubt], source: Line, target: Line, asked: Asked) -> list[Clues]:
    """Return what the probes give for each disagreement between the source's engine and the target's."""
    adapters = source.adapter, target.adapter
    forms = [_other_form(doubt, asked.pack, adapters, rewrites_of(source, golds=asked.golds)) for doubt in doubts]
    tasks = [(doubt.case, form.texts[0]) for doubt, form in zip(doubts, forms, strict=True) if form.texts]
    ran = iter(target.answers(tasks, "probes", trusted=asked.golds))
    answers = [next(ran) if form.texts else None for form in forms]
    undecided = _undecided(doubts, source, asked)
    fates = [_fate(doubt, form, answer) for doubt, form, answer in zip(doubts, forms, answers, strict=True)]
    known = [_suspects(doubt, source.adapter, target.adapter, asked.pack) for doubt in doubts]
    ask = _asker(target, asked)
    flipped = flips(
        [_suspicion(doubt, some, adapters, ask, asked.pack) for doubt, some in zip(doubts, known, strict=True)]
    )
    by_gold = _by_own_gold(doubts, fates, target, asked)
    return [
        Clues(
            predict=asked.predict,
            golds=asked.golds,
            origin=doubt.other.given.origin,
            failure=_failure(doubt),
            complaint=_complaint(doubt, adapters),
            suspects=some,
            undecided=reasons,
            loosened=_loosened(doubt, answer, some),
            form="agrees" if gold or (flip is not None and flip.lax is None) else fate,
            needed=flip.needed if flip is not None else None,
            lax=flip.lax if flip is not None else None,
            unsaid=_unsaid(doubt, fate, adapters, asked.pack),
            shown=_shown(flip, doubt, form, answer, gold_text=gold),
            refusal=form.reason or (answer.failure or "" if answer is not None else ""),
            form_complaint=complaint(answer.failure, target.adapter) if answer is not None and answer.failure else None,
            first_fails=bool(doubt.first.answers) and not rows_of(doubt.first),
            shown_by=f"the pack's own {target.dialect} gold" if gold else "the rewritten form",
        )
        for doubt, form, answer, reasons, fate, gold, some, flip in zip(
            doubts, forms, answers, undecided, fates, by_gold, known, flipped, strict=True
        )
    ]


@dataclass(frozen=True, slots=True)
class Apart:
    """One case on which two engines disagree that both differ from the first one, or whose first one fails."""

    case: Case
    first: Answered
    one: Answered
    other: Answered
    policy: Policy

    @property
    def own(self) -> bool:
        """Return whether both were given a text of their own."""
        return self.one.given.origin == self.other.given.origin == "own"


def clues_apart(found: Sequence[Apart], lines: tuple[Line, Line, Line], asked: Asked) -> list[Clues]:
    """Return what the probes give for disagreements between two engines of which neither is the first.

    Both are told the first engine's text with the same causes left as they are written, and held against each other.
    """
    source, one, other = lines
    known = []
    for apart in found:
        by_engine = [_suspects(_doubt(apart), source.adapter, line.adapter, asked.pack) for line in (one, other)]
        known.append(tuple(cause for cause in Difference if any(cause in some for some in by_engine)))
    asks = [_asker(line, asked) for line in (one, other)]
    searched = []
    for apart, some in zip(found, known, strict=True):
        told = {apart.one.given.origin, apart.other.given.origin} == {"same text"} and _fit_to_read(_doubt(apart))
        sides = [
            Side(_sayings(_doubt(apart), source.adapter, line.adapter, asked.pack), ask)
            for line, ask in zip((one, other), asks, strict=True)
        ]
        empty = [Side(), Side()]
        searched.append(Suspicion(apart.case, apart.policy, some, *(sides if told else empty)))
    flipped = flips(searched)
    undecided = _undecided([_doubt(apart) for apart in found], source, asked)
    adapters = one.adapter, other.adapter
    return [
        Clues(
            predict=asked.predict,
            golds=asked.golds,
            origin=apart.other.given.origin,
            failure=_failure(Doubt(apart.case, apart.one, apart.other, apart.policy)),
            complaint=_complaint(Doubt(apart.case, apart.one, apart.other, apart.policy), adapters),
            suspects=some,
            undecided=reasons,
            loosened=_loosened(Doubt(apart.case, apart.one, apart.other, apart.policy), None, some),
            form="agrees" if flip is not None and flip.lax is None else "not tried",
            needed=flip.needed if flip is not None else None,
            lax=flip.lax if flip is not None else None,
            shown=flip.sql if flip is not None else "",
        )
        for apart, some, flip, reasons in zip(found, known, flipped, undecided, strict=True)
    ]


def _doubt(apart: Apart) -> Doubt:
    """Return the first engine against the last of three."""
    return Doubt(apart.case, apart.first, apart.other, apart.policy)


def _by_own_gold(doubts: Sequence[Doubt], fates: Sequence[Form], target: Line, asked: Asked) -> list[str]:
    """Return the pack's own gold for the other engine, where it agrees although the rewritten form does not.

    Empty where there is none.

    It is asked only where gold is crossed: no server of predictions ever sees it.
    """
    texts = [
        doubt.case.gold.get(target.dialect, ()) if asked.golds and fate != "agrees" and doubt.first.answers else ()
        for doubt, fate in zip(doubts, fates, strict=True)
    ]
    texts = [() if doubt.other.given.origin == "own" else some for doubt, some in zip(doubts, texts, strict=True)]
    tasks = [(doubt.case, text) for doubt, some in zip(doubts, texts, strict=True) for text in some]
    ran = iter(target.answers(tasks, "own gold", trusted=True))
    found = []
    for doubt, some in zip(doubts, texts, strict=True):
        answers = [next(ran) for _ in some]
        found.append(next((answer.sql for answer in answers if _same(doubt, answer)), ""))
    return found


def _same(doubt: Doubt, answer: GoldAnswer) -> bool:
    """Return whether an answer of the other engine has the first engine's rows."""
    first = doubt.first.answers[0]
    if first.relation is None or answer.relation is None:
        return False
    return crossed(first, answer.relation, doubt.policy).verdict == "match"


def _other_form(doubt: Doubt, pack: Pack, adapters: tuple[Adapter, Adapter], rewrites: Rewrites) -> Given:
    """Return the rewritten form to try on the other engine; none where that is what ran there."""
    if doubt.other.given.origin == "rewritten" or not doubt.first.answers:
        return Given((), "none")
    return written(doubt.case, doubt.first, pack, adapters, rewrites)


def _fate(doubt: Doubt, form: Given, answer: GoldAnswer | None) -> Form:
    """Return what became of the rewritten form."""
    if answer is None:
        return "refused" if form.outcome == "refused" else "not tried"
    if answer.relation is None:
        return "fails"
    if doubt.first.answers[0].relation is None:
        return "not tried"
    return "agrees" if _same(doubt, answer) else "differs"


def _loosened(doubt: Doubt, form: GoldAnswer | None, known: Sequence[Difference]) -> tuple[Loosened, ...]:
    """Return the laxer comparisons under which the rows agree; of a failed statement, its rewritten form's rows."""
    first = doubt.first.answers[0] if doubt.first.answers else None
    there = next((one for one in (*doubt.other.answers, form) if one is not None and one.relation), None)
    if first is None or there is None:
        return ()
    found = agree_by(first, there, doubt.policy, joins=Difference.AGGREGATE_ORDER in known)
    return tuple(one for one in found if one is not None)


def _failure(doubt: Doubt) -> str | None:
    """Return the kind of failure, the other engine's first; None where both gave rows."""
    for side in (doubt.other, doubt.first):
        if side.answers and all(answer.relation is None for answer in side.answers):
            return kind(side.answers[0])
    return None


def kind(answer: GoldAnswer) -> str:
    """Return how a statement failed."""
    if answer.infrastructure:
        return "infrastructure"
    word = (answer.failure or "").partition(":")[0]
    return word or "error"


def _complaint(doubt: Doubt, adapters: tuple[Adapter, Adapter]) -> Difference | None:
    """Return what the message of the side that failed is about."""
    for side, adapter in ((doubt.other, adapters[1]), (doubt.first, adapters[0])):
        if side.answers and side.answers[0].failure is not None:
            return complaint(side.answers[0].failure, adapter)
    return None


def complaint(message: str, adapter: Adapter) -> Difference | None:
    """Return what a failure is about: as the guard said, or as the engine's own patterns have it."""
    refused = _NOT_RUN.match(message)
    if refused is not None:
        return _BY_GUARD.get(refused.group(1))
    patterns = adapter.complaints if isinstance(adapter, Complaining) else ()
    return next((cause for pattern, cause in patterns if re.search(pattern, message)), None)


def _suspects(doubt: Doubt, source: Adapter, target: Adapter, pack: Pack) -> tuple[Difference, ...]:
    """Return what the first dialect's statement is known for; of one that cannot be typed, what its functions are.

    What the other engine is told in the same words, left or repaired, cannot be the cause there.
    """
    if not _fit_to_read(doubt):
        return ()
    snapshot = pack.snapshot(doubt.case.snapshot)
    text = doubt.first.given.texts[0]
    try:
        if isinstance(source, Readable):
            found = suspects(source.read_query(text, snapshot_facts(snapshot)))
        elif isinstance(source, Retold):
            found = retold_suspects(read_common(text, snapshot, source.habits))
        else:
            return ()
    except (Refused, RecursionError):
        return suspected_calls(doubt.first.answers[0].parsed.functions) if isinstance(source, Readable) else ()
    said = _sayings(doubt, source, target, pack)
    whole = said(frozenset())
    return tuple(one for one in found if one not in REPAIRED or whole is None or said(frozenset((one,))) != whole)


def _sayings(doubt: Doubt, source: Adapter, target: Adapter, pack: Pack) -> Text:
    """Return how the first statement is said for an engine with some causes left as they are written."""
    snapshot = pack.snapshot(doubt.case.snapshot)
    kept: dict[frozenset[Difference], str | None] = {}

    def said(leave: frozenset[Difference]) -> str | None:
        """Return the statement; what cannot be said is left."""
        if leave not in kept:
            text = doubt.first.given.texts[0]
            kept[leave] = rewrite(text, snapshot, source, target, leave=leave, lenient=True).sql
        return kept[leave]

    return said


def _suspicion(
    doubt: Doubt, known: Sequence[Difference], adapters: tuple[Adapter, Adapter], ask: Ask, pack: Pack
) -> Suspicion:
    """Return what is searched for the cause of one disagreement: the text as it is against the first engine's rows."""
    if doubt.other.given.origin != "same text" or not rows_of(doubt.first) or not _fit_to_read(doubt):
        return Suspicion(doubt.case, doubt.policy, (), Side(), Side())
    here = Side(fixed=doubt.first.answers[0])
    return Suspicion(doubt.case, doubt.policy, tuple(known), here, Side(_sayings(doubt, *adapters, pack), ask))


def _asker(line: Line, asked: Asked) -> Ask:
    """Return how statements are put to an engine; the same for the same engine."""
    return partial(line.answers, phase="one cause at a time", trusted=asked.golds)


def _unsaid(doubt: Doubt, fate: Form, adapters: tuple[Adapter, Adapter], pack: Pack) -> tuple[Difference, ...]:
    """Return the causes of what could not be said for the other engine."""
    if fate != "refused" or not _fit_to_read(doubt):
        return ()
    text, snapshot = doubt.first.given.texts[0], pack.snapshot(doubt.case.snapshot)
    return tuple(Difference(one) for one in rewrite(text, snapshot, *adapters, lenient=True).unsaid)


def _shown(flip: Flip | None, doubt: Doubt, form: Given, answer: GoldAnswer | None, *, gold_text: str) -> str:
    """Return the statement that showed the cause: the one with the fewest repairs that agrees, or the whole form."""
    if flip is not None:
        return flip.sql
    if gold_text:
        return gold_text
    agrees = answer is not None and bool(doubt.first.answers) and _same(doubt, answer)
    return form.texts[0] if agrees else ""


def _fit_to_read(doubt: Doubt) -> bool:
    """Return whether the first statement was parsed behind the shield: no other text is read in this process."""
    return bool(doubt.first.answers) and doubt.first.answers[0].parsed.error is None


def _undecided(doubts: Sequence[Doubt], source: Line, asked: Asked) -> list[tuple[str, ...]]:
    """Ask the source's data which statements leave their rows open, and for which reasons."""
    questions = [_questions(doubt, source.adapter, asked.pack) for doubt in doubts]
    tasks = [(doubt.case, sql) for doubt, some in zip(doubts, questions, strict=True) for _, sql in some]
    answers = iter(source.answers(tasks, "questions to the data", trusted=asked.golds))
    found = []
    for some in questions:
        open_ones = [reason for reason, _ in some if _any_row(next(answers))]
        found.append(tuple(dict.fromkeys(open_ones)))
    return found


def _any_row(answer: GoldAnswer) -> bool:
    """Return whether a question to the data was answered with a row."""
    return answer.relation is not None and bool(answer.relation.rows)


def _questions(doubt: Doubt, source: Adapter, pack: Pack) -> list[tuple[str, str]]:
    """Return the questions about one statement as (reason, SQL)."""
    if not isinstance(source, Doubting) or not _fit_to_read(doubt):
        return []
    try:
        facts = snapshot_facts(pack.snapshot(doubt.case.snapshot))
        asked = list(source.choices(doubt.first.given.texts[0], facts))
    except (Refused, RecursionError):
        return []
    return [(one.reason, one.sql) for one in asked if one.sql is not None]

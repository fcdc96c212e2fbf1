"""Ask why two engines disagree: other ways of comparing, the rewritten form on the server, questions to the data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cases.case import Case
from cases.pack import Pack
from cases.policy import Policy
from cases.relation import Relation
from dialect_adapters.contract import Adapter
from dialect_adapters.transpile.causes import Complaining, Difference, Doubting
from dialect_adapters.transpile.facts import Refused
from dialect_adapters.transpile.rewrite import Readable
from dialect_adapters.transpile.snapshot_facts import snapshot_facts
from dialect_adapters.transpile.suspects import suspected_calls, suspects
from harness.crosscheck.classify import Clues, Form, Loosened
from harness.crosscheck.lines import Line
from harness.crosscheck.statements import Answered, Given, rewrites_of, rows_of, written
from harness.crossing import crossed
from harness.results.crosscheck import Predict
from harness.results.evidence import GoldAnswer
from harness.store.rewrites import Rewrites

LOOSER: tuple[tuple[Loosened, Mapping[str, object]], ...] = (
    ("cut_ties", {"cut_ties": "any"}),
    ("row_order", {"row_order": "ignore"}),
    ("text_numbers", {"text_numbers": True}),
    ("decimals", {"rel_tol": 1e-3, "abs_tol": 5e-4}),
    ("text_case", {"text_case": "fold"}),
)
_BY_GUARD = {
    "syntax_error": Difference.SYNTAX,
    "unknown_function": Difference.MISSING_FUNCTION,
    "unknown_table": Difference.UNKNOWN_NAME,
}
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
    known = [_suspects(doubt, source.adapter, asked.pack) for doubt in doubts]
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
            form="agrees" if gold else fate,
            refusal=form.reason or (answer.failure or "" if answer is not None else ""),
            form_complaint=complaint(answer.failure, target.adapter) if answer is not None and answer.failure else None,
            first_fails=bool(doubt.first.answers) and not rows_of(doubt.first),
            shown_by=f"the pack's own {target.dialect} gold" if gold else "the rewritten form",
        )
        for doubt, form, answer, reasons, fate, gold, some in zip(
            doubts, forms, answers, undecided, fates, by_gold, known, strict=True
        )
    ]


def _by_own_gold(doubts: Sequence[Doubt], fates: Sequence[Form], target: Line, asked: Asked) -> list[bool]:
    """Return where the pack's own gold for the other engine agrees although the rewritten form does not.

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
        found.append(any(_same(doubt, answer) for answer in answers))
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
    there = next((one.relation for one in (*doubt.other.answers, form) if one is not None and one.relation), None)
    if first is None or first.relation is None or there is None:
        return ()
    found: list[Loosened] = []
    for name, fields in LOOSER:
        if crossed(first, there, doubt.policy.model_copy(update=dict(fields))).verdict == "match":
            found.append(name)
    joins = Difference.AGGREGATE_ORDER in known
    if joins and crossed(_parts(first), _in_parts(there), doubt.policy).verdict == "match":
        found.append("parts")
    return tuple(found)


def _parts(answer: GoldAnswer) -> GoldAnswer:
    """Return an answer with the characters of every text sorted, so that joined parts may come in any order."""
    if answer.relation is None:
        raise AssertionError("only rows have texts")
    probe = None if answer.probe is None else _in_parts(answer.probe)
    return replace(answer, relation=_in_parts(answer.relation), probe=probe)


def _in_parts(relation: Relation) -> Relation:
    """Return rows with the characters of every text sorted."""
    rows = [tuple("".join(sorted(cell)) if isinstance(cell, str) else cell for cell in row) for row in relation.rows]
    return replace(relation, rows=tuple(rows))


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


def _suspects(doubt: Doubt, source: Adapter, pack: Pack) -> tuple[Difference, ...]:
    """Return what the first dialect's statement is known for; of one that cannot be typed, what its functions are."""
    if not isinstance(source, Readable) or not _fit_to_read(doubt):
        return ()
    calls = suspected_calls(doubt.first.answers[0].parsed.functions)
    text = doubt.first.given.texts[0]
    try:
        tree = source.read_query(text, snapshot_facts(pack.snapshot(doubt.case.snapshot)))
    except (Refused, RecursionError):
        return calls
    return suspects(text, tree)


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

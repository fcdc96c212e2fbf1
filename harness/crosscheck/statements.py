"""What each engine is given for each case: a text of its own, the first dialect's as it is, or that one rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlassay.cases.case import Case
from sqlassay.cases.pack import Pack
from sqlassay.dialect_adapters.contract import Adapter
from sqlassay.harness.answer import read_answer
from sqlassay.harness.crosscheck.lines import Line
from sqlassay.harness.desk import Desk
from sqlassay.harness.results.crosscheck import Origin, Predict
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.run.asking import open_asker
from sqlassay.harness.store.rewrites import Rewrites


@dataclass(frozen=True, slots=True)
class Given:
    """The statements of one case for one engine, any of them accepted; none with the reason why."""

    texts: tuple[str, ...]
    origin: Origin
    outcome: str = "missing"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """What one engine was given for one case, and what each text gave."""

    given: Given
    answers: tuple[GoldAnswer, ...]


def rows_of(side: Answered) -> list[GoldAnswer]:
    """Return the answers that have rows."""
    return [answer for answer in side.answers if answer.relation is not None]


def own_texts(line: Line, cases: Sequence[Case], pack: Pack, *, golds: bool) -> list[Given]:
    """Return what is written for this engine: its gold, or what the agent says when it is asked for this dialect."""
    if golds:
        return [_gold(case, line.dialect) for case in cases]
    with open_asker(line.config, pack) as asker:

        def ask(case: Case, desk: Desk) -> Given:
            """Return what the agent says to one case."""
            told = asker.ask(case, 0, desk.rules)
            if told.sql is not None and told.sql.strip():
                answer = read_answer(told.sql, desk.rules.grammar)
                return Given((), "none", reason=answer.reason) if answer.sql is None else Given((answer.sql,), "own")
            return Given((), "none", reason=str(told.metadata.get("agent_error", "the agent gave no SQL")))

        return line.each(cases, ask, "asking the agent")


def _gold(case: Case, dialect: str) -> Given:
    """Return a case's gold in one dialect."""
    texts = case.gold.get(dialect, ())
    return Given(texts, "own") if texts else Given((), "none", reason=f"no gold in {dialect}")


def derived(
    case: Case,
    own: Given,
    first: Answered,
    predict: Predict,
    pack: Pack,
    adapters: tuple[Adapter, Adapter],
    rewrites: Rewrites,
) -> Given:
    """Return what another engine is given for a case whose first dialect has been answered.

    Gold of its own is taken before gold rewritten, unless all is to be rewritten.
    """
    if predict == "per-dialect" and (own.texts or not first.given.texts):
        return own
    if not first.given.texts:
        return first.given
    if predict == "native":
        return Given(first.given.texts[:1], "same text")
    return written(case, first, pack, adapters, rewrites)


def written(case: Case, first: Answered, pack: Pack, adapters: tuple[Adapter, Adapter], rewrites: Rewrites) -> Given:
    """Return the first dialect's statement as another has to say it; what the guard refused is not even read."""
    text = first.given.texts[0]
    failure = first.answers[0].failure or ""
    if first.answers[0].parsed.error is not None or failure.startswith("blocked"):
        return Given((), "rewritten", "refused", f"it does not pass on {adapters[0].name}: {failure}")
    made = rewrites.rewrite(text, pack.snapshot(case.snapshot), *adapters)
    if made.sql is None:
        return Given((), "rewritten", "refused", made.reason)
    return Given((made.sql,), "rewritten")


def rewrites_of(line: Line, *, golds: bool) -> Rewrites:
    """Return where rewritten statements are kept: gold alone, an agent's are written anew."""
    return Rewrites(line.gold_cache.rewrites if golds else None)


def answered(line: Line, cases: Sequence[Case], given: Sequence[Given], *, trusted: bool) -> list[Answered]:
    """Run every statement on its engine."""
    tasks = [(case, text) for case, one in zip(cases, given, strict=True) for text in one.texts]
    answers = iter(line.answers(tasks, "statements", trusted=trusted))
    return [Answered(one, tuple(next(answers) for _ in one.texts)) for one in given]

"""Run a crosscheck: open every engine, ask, compare, probe what disagrees, and count."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import combinations

from sqlassay.cases.case import Case
from sqlassay.cases.catalog import settings_groups, settings_line
from sqlassay.cases.left_out import summed
from sqlassay.cases.pack import Pack
from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import case_policy
from sqlassay.cases.verdicts import ExitCode, worst
from sqlassay.harness.crosscheck.classify import classify
from sqlassay.harness.crosscheck.collations import Pair, by_settings
from sqlassay.harness.crosscheck.lines import Line
from sqlassay.harness.crosscheck.matrix import agreement, cross_case, judged
from sqlassay.harness.crosscheck.probing import Apart, Asked, Doubt, clues, clues_apart
from sqlassay.harness.crosscheck.score import advice, portability
from sqlassay.harness.crosscheck.statements import Answered, answered, derived, own_texts, rewrites_of
from sqlassay.harness.crossing import CROSS_DIALECT
from sqlassay.harness.kin import in_dialects
from sqlassay.harness.personal import personal
from sqlassay.harness.results.crosscheck import CrossCase, CrossResult, Found, Portability, Predict
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.run.bench import Bench, prepare
from sqlassay.harness.run.options import RunConfig
from sqlassay.harness.run.screen import Screen
from sqlassay.harness.run.select import select

Sides = dict[str, list[Answered]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to cross: one run's settings for each dialect, the first being what the others are held against."""

    configs: tuple[RunConfig, ...]
    predict: Predict
    golds: bool
    agent: str
    fail_under: float | None = None
    min_coverage: float | None = None
    fail_unexplained: bool = False


@dataclass(frozen=True, slots=True)
class _Ended:
    """What is known once every engine was asked; `whole` says that no gold failed on its own engine."""

    cases: Sequence[CrossCase]
    problems: Sequence[str]
    breaches: Sequence[str]
    whole: bool


def crosscheck(wanted: Wanted, pack: Pack, screen: Screen) -> CrossResult:
    """Run every case on every engine and return the matrix with its causes and scores.

    Raises:
        InputError: nothing was run, because something given is wrong.
        InfrastructureError: an engine could not be brought up.
    """
    started = time.monotonic()
    pack = in_dialects(pack, [config.dialect for config in wanted.configs])
    chosen = select(pack, wanted.configs[0])
    cases = [case for case in chosen if case.query_type == "dql" and not case.out_of_scope]
    left_out = [f"{len(chosen) - len(cases)} cases are no queries and were not crossed"] * (len(cases) < len(chosen))
    needed = {case.snapshot for case in cases}
    part = replace(pack, snapshots=tuple(one for one in pack.snapshots if one.id in needed))
    policies = [case_policy(CROSS_DIALECT, case) for case in cases]
    with ExitStack() as stack:
        benches = [_bench(config, part, screen, stack) for config in wanted.configs]
        truth = {} if wanted.golds else _truth(wanted, benches, cases, screen)
        lines = [
            Line(config, bench, stack.enter_context(bench.pool()), screen)
            for config, bench in zip(wanted.configs, benches, strict=True)
        ]
        sides = _sides(wanted, lines, cases, part)
        causes = _causes(wanted, lines, cases, sides, policies, part)
        unasked = _other_settings(wanted, lines, cases, sides, policies, causes, part, screen, stack)
        traces = [f"{line.dialect}: {trace}" for line in lines for trace in _settled(line)]
    found = [
        _without_personal_data(
            case,
            cross_case(
                case,
                {name: answers[at] for name, answers in sides.items()},
                {name: judged(answers[at], _gold(truth, case, name), policies[at]) for name, answers in sides.items()},
                causes[at],
                policies[at],
            ),
            [
                *(answer for answers in sides.values() for answer in answers[at].answers),
                *(answer for (_, case_id), answers in truth.items() if case_id == case.id for answer in answers),
            ],
        )
        for at, case in enumerate(cases)
    ]
    broken = _broken(sides, cases) if wanted.golds else []
    problems = [*summed(pack.left_out), *left_out, *unasked, *broken]
    problems += [f"gold left a trace: {line}" for line in traces] if wanted.golds else []
    ended = _Ended(found, problems, [] if wanted.golds else traces, whole=not broken)
    return _result(wanted, part, benches, ended, started)


def _without_personal_data(case: Case, found: CrossCase, answers: Sequence[GoldAnswer]) -> CrossCase:
    """Return what was found with a mark for each value of the case's personal columns that its texts show."""
    masks = personal(case, answers)
    return found if masks is None else CrossCase.model_validate(masks.value(found.model_dump(mode="json")))


def _other_settings(
    wanted: Wanted,
    lines: Sequence[Line],
    cases: Sequence[Case],
    sides: Sides,
    policies: Sequence[Policy],
    causes: list[Causes],
    pack: Pack,
    screen: Screen,
    stack: ExitStack,
) -> list[str]:
    """Ask engines under their other settings too, add what that shows, and return what could not be asked."""

    def opened(line: Line, pack: Pack) -> Line:
        """Bring up the same engine over other snapshots."""
        bench = _bench(line.config, pack, screen, stack)
        return Line(line.config, bench, stack.enter_context(bench.pool()), screen)

    source, *others = lines
    unasked: list[str] = []
    for line in others:
        key = source.dialect, line.dialect
        pairs = [
            Pair(
                case,
                sides[source.dialect][at],
                sides[line.dialect][at],
                policies[at],
                _word(sides, source, line, at, policies[at]),
                causes[at].get(key),
            )
            for at, case in enumerate(cases)
        ]
        shown, problems = by_settings(line, source, pairs, pack, opened, golds=wanted.golds)
        unasked += problems
        for told in shown:
            causes[told.at][key] = told.found
            if told.answer is not None:
                sides[line.dialect][told.at] = told.answer
        for at in [told.at for told in shown]:
            for one, other in combinations(others, 2):
                known = causes[at].get((one.dialect, other.dialect))
                if line.dialect not in (one.dialect, other.dialect) or (known is not None and known.explained):
                    continue
                if _word(sides, one, other, at, policies[at]) in _AT_ODDS:
                    causes[at][one.dialect, other.dialect] = causes[at][key]
    return unasked


def _bench(config: RunConfig, pack: Pack, screen: Screen, stack: ExitStack) -> Bench:
    """Prepare one engine; its provider is closed with the stack."""
    # As unique as a run's own: a sandbox whose owner is gone is told by this name.
    run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}_{config.dialect}_{secrets.token_hex(3)}"
    bench = prepare(config, pack, run_id, screen)
    stack.callback(bench.provider.close)
    return bench


def _settled(line: Line) -> tuple[str, ...]:
    """Look once more at every server that was used, and return what was found to have changed."""
    line.pool.settle()
    return tuple(line.pool.drift)


def _truth(
    wanted: Wanted, benches: Sequence[Bench], cases: Sequence[Case], screen: Screen
) -> dict[tuple[str, str], list[GoldAnswer]]:
    """Run every gold there is on its own engine, on servers that are gone before any prediction runs."""
    found: dict[tuple[str, str], list[GoldAnswer]] = {}
    for config, bench in zip(wanted.configs, benches, strict=True):
        tasks = [(case, sql) for case in cases for sql in case.gold.get(config.dialect, ())]
        with bench.pool() as pool:
            answers = Line(config, bench, pool, screen).answers(tasks, "gold", trusted=True)
        for (case, _), answer in zip(tasks, answers, strict=True):
            found.setdefault((config.dialect, case.id), []).append(answer)
    return found


def _gold(truth: dict[tuple[str, str], list[GoldAnswer]], case: Case, dialect: str) -> list[GoldAnswer]:
    """Return what a case is judged by on an engine: its gold there, else any other engine's rows."""
    others = (answers for (_, case_id), answers in truth.items() if case_id == case.id)
    return truth.get((dialect, case.id)) or next(others, [])


def _sides(wanted: Wanted, lines: Sequence[Line], cases: Sequence[Case], pack: Pack) -> Sides:
    """Return what every engine gave for every case, the first engine asked first."""
    source, *others = lines
    first = answered(source, cases, own_texts(source, cases, pack, golds=wanted.golds), trusted=wanted.golds)
    sides: Sides = {source.dialect: first}
    for line in others:
        # An agent is asked once where its one answer goes everywhere; gold of this dialect is looked up in any case.
        asked = wanted.golds or wanted.predict == "per-dialect"
        own = own_texts(line, cases, pack, golds=wanted.golds) if asked else [one.given for one in first]
        adapters = source.adapter, line.adapter
        rewrites = rewrites_of(source, golds=wanted.golds)
        given = []
        for case, mine, one in zip(cases, own, first, strict=True):
            how = "transpile" if _lacking(wanted, mine.texts) else wanted.predict
            given.append(derived(case, mine, one, how, pack, adapters, rewrites))
        sides[line.dialect] = answered(line, cases, given, trusted=wanted.golds)
    return sides


def _lacking(wanted: Wanted, texts: Sequence[str]) -> bool:
    """Return whether gold is rewritten because this dialect has none of its own."""
    return wanted.golds and wanted.predict == "per-dialect" and not texts


Causes = dict[tuple[str, str], Found]
"""Why two engines disagree on a case, by their names."""


def _causes(
    wanted: Wanted,
    lines: Sequence[Line],
    cases: Sequence[Case],
    sides: Sides,
    policies: Sequence[Policy],
    pack: Pack,
) -> list[Causes]:
    """Return, for each case, why each pair of engines disagrees."""
    source, *others = lines
    found: list[Causes] = [{} for _ in cases]
    asked = Asked(wanted.predict, wanted.golds, pack)
    everything = range(len(cases))
    for line in others:
        at_odds = [at for at in everything if _word(sides, source, line, at, policies[at]) in _AT_ODDS]
        doubts = [Doubt(cases[at], sides[source.dialect][at], sides[line.dialect][at], policies[at]) for at in at_odds]
        for at, known in zip(at_odds, clues(doubts, source, line, asked), strict=True):
            found[at][source.dialect, line.dialect] = classify(known)
    for one, other in combinations(others, 2):
        at_odds = [at for at in everything if _word(sides, one, other, at, policies[at]) in _AT_ODDS]
        apart = []
        for at in at_odds:
            alike = [_word(sides, source, line, at, policies[at]) in _ALIKE for line in (one, other)]
            if any(alike):  # what sets one apart from the first engine sets it apart from all that are like the first
                away = other if alike[0] else one
                found[at][one.dialect, other.dialect] = found[at][source.dialect, away.dialect]
            else:
                apart.append(at)
        _two_of_others(found, apart, (source, one, other), cases, sides, policies, asked)
    return found


def _two_of_others(
    found: list[Causes],
    apart: Sequence[int],
    lines: tuple[Line, Line, Line],
    cases: Sequence[Case],
    sides: Sides,
    policies: Sequence[Policy],
    asked: Asked,
) -> None:
    """Add why two engines disagree that both differ from the first one: by the first one's text, or by their own."""
    source, one, other = lines
    several = {
        at: Apart(cases[at], sides[source.dialect][at], sides[one.dialect][at], sides[other.dialect][at], policies[at])
        for at in apart
    }
    told = {at: case for at, case in several.items() if not case.own}
    for at, some in zip(told, clues_apart(list(told.values()), lines, asked), strict=True):
        here = classify(some)
        if not here.explained:
            here = next(_known(found[at], lines, at, sides), here)
        found[at][one.dialect, other.dialect] = here
    own = {at: Doubt(case.case, case.one, case.other, case.policy) for at, case in several.items() if case.own}
    for at, some in zip(own, clues(list(own.values()), one, other, asked), strict=True):
        found[at][one.dialect, other.dialect] = classify(some)


def _known(found: Causes, lines: tuple[Line, Line, Line], at: int, sides: Sides) -> Iterator[Found]:
    """Yield why one of two engines, or the first one, fails by itself: then it fails against every other, too."""
    source, one, other = lines
    at_home = not _runs(sides[source.dialect][at])
    for line in (other, one):
        alone = found.get((source.dialect, line.dialect))
        if alone is not None and alone.explained and (at_home or not _runs(sides[line.dialect][at])):
            yield alone


_AT_ODDS = ("silent", "error", "undecided")
_ALIKE = ("agree", "vacuous")


def _word(sides: Sides, one: Line, other: Line, at: int, policy: Policy) -> str:
    """Return how two engines compare on one case."""
    return agreement(sides[one.dialect][at], sides[other.dialect][at], policy)[0]


def _broken(sides: Sides, cases: Sequence[Case]) -> list[str]:
    """Name the golds that do not run on their own engine."""
    return [
        f"case {case.id}: its {name} gold failed: {answers[at].answers[0].failure}"
        for name, answers in sides.items()
        for at, case in enumerate(cases)
        if answers[at].given.origin == "own" and answers[at].answers and not _runs(answers[at])
    ]


def _runs(side: Answered) -> bool:
    """Return whether any of a case's statements gave rows."""
    return any(answer.relation is not None for answer in side.answers)


def _result(wanted: Wanted, pack: Pack, benches: Sequence[Bench], ended: _Ended, started: float) -> CrossResult:
    """Count, and say in one line and one code how it ended."""
    dialects = tuple(config.dialect for config in wanted.configs)
    scores = portability(ended.cases, dialects)
    unexplained = tuple(dict.fromkeys(_unexplained(ended.cases)))
    code = _code(wanted, ended, scores[0], unexplained)
    return CrossResult(
        pack=pack.name,
        case_set=pack.digest,
        agent=wanted.agent,
        predict=wanted.predict,
        dialects=dialects,
        engines={
            name: bench.image.catalogs[0].engine_version if bench.image.catalogs else bench.image.base.version
            for name, bench in zip(dialects, benches, strict=True)
        },
        engine_settings={
            name: settings_line(settings_groups(bench.image.catalogs))
            for name, bench in zip(dialects, benches, strict=True)
        },
        policy_digest=CROSS_DIALECT.digest,
        cases=tuple(ended.cases),
        portability=scores,
        advice=advice(ended.cases),
        unexplained=unexplained,
        problems=tuple(ended.problems),
        breaches=tuple(ended.breaches),
        seconds=round(time.monotonic() - started, 3),
        exit_code=code,
        verdict_line=_line(code, scores[0], unexplained),
    )


def _unexplained(cases: Sequence[CrossCase]) -> Iterator[str]:
    """Say which cells disagree without a cause that a probe shows."""
    for case in cases:
        for pair in case.pairs:
            if pair.found is not None and not pair.found.explained:
                yield f"{case.case_id} on {pair.other}: {pair.found.cause}: {pair.found.probe}"


def _code(wanted: Wanted, ended: _Ended, score: Portability, unexplained: Sequence[str]) -> ExitCode:
    """Return the exit code: disagreements alone fail nothing, a declared threshold may."""
    lost = any(cell.outcome == "infrastructure" for case in ended.cases for cell in case.cells)
    low = _below(score.share, wanted.fail_under) or _below(score.coverage, wanted.min_coverage)
    held = {
        ExitCode.BREACH: not ended.breaches,
        ExitCode.INFRASTRUCTURE: ended.whole and not lost,
        ExitCode.NOTHING_SCORABLE: score.n > 0,
        ExitCode.THRESHOLD: not low and not (wanted.fail_unexplained and unexplained),
    }
    return worst({ExitCode.OK, *(code for code, holds in held.items() if not holds)})


def _below(found: float | None, wanted: float | None) -> bool:
    """Return whether a share is below its threshold, where one is declared."""
    return wanted is not None and (found is None or found < wanted)


def _line(code: ExitCode, score: Portability, unexplained: Sequence[str]) -> str:
    """Return the last line: it says the same as the exit code, and what became of every case."""
    words = {
        ExitCode.OK: "OK",
        ExitCode.THRESHOLD: "FAIL: a declared threshold does not hold",
        ExitCode.INFRASTRUCTURE: "NOT WHOLE: gold errors or infrastructure failures",
        ExitCode.BREACH: "BREACH: a statement took effect on a snapshot",
        ExitCode.NOTHING_SCORABLE: "NOTHING SCORABLE: no case gave rows on two engines",
    }
    share, coverage = ("–" if one is None else f"{one:.3f}" for one in (score.share, score.coverage))
    counts = (
        f"{score.same} same rows, {score.silent} silent, {score.error} error, {score.refused} refused, "
        f"{score.vacuous} vacuous"
    )
    facts = f"{counts}; portability {share} ({score.same} of {score.n}), coverage {coverage}"
    return f"{words[code]}: {facts}, {len(unexplained)} unexplained (exit {int(code)})"

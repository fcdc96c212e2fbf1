"""Run the gold of another dialect on a server of its own engine, for those who cross dialects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

from sqlassay.cases.case import Case
from sqlassay.harness.borrowed_gold import answer_borrowed, source_of
from sqlassay.harness.desk import Desk
from sqlassay.harness.gold import answer_gold
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.run.bench import Bench, prepare
from sqlassay.harness.run.options import RunConfig
from sqlassay.harness.run.screen import Screen
from sqlassay.harness.run.workers import Crew
from sqlassay.harness.store.gold_cache import GoldCache
from sqlassay.sandboxes.cache import cache_dir

Answers = dict[str, tuple[GoldAnswer, ...]]


def borrow_gold(config: RunConfig, cases: Sequence[Case], bench: Bench, screen: Screen) -> tuple[Answers, list[str]]:
    """Return the rewritten gold of every case that has none in the run's dialect, with what was found changed.

    The native statements run first, on sandboxes of their own engine; those of the run's dialect hold only rewritten
    ones, and are gone before the first prediction.
    """
    cache = GoldCache(cache_dir() / "gold" if config.gold_cache else None)
    by_source: dict[str, list[Case]] = {}
    for case in cases:
        if (source := source_of(case, config.dialect)) is not None:
            by_source.setdefault(source, []).append(case)
    answers: Answers = {}
    traces: list[str] = []
    for source, lacking in by_source.items():
        with _other_bench(config, source, bench, lacking, screen) as other:
            natives, found = _gold(other, lacking, config.jobs, cache, f"{source} gold", screen)
            traces += found
        made, found = _rewritten(other, lacking, natives, bench, config.jobs, cache, screen)
        answers |= made
        traces += found
    return answers, traces


@contextmanager
def _other_bench(
    config: RunConfig, source: str, bench: Bench, cases: Sequence[Case], screen: Screen
) -> Iterator[Bench]:
    """Open what running another dialect's gold needs, over the snapshots of these cases alone."""
    asked = replace(config, dialect=source, sandbox="auto", runtime="", fail_under=())
    needed = {case.snapshot for case in cases}
    pack = bench.rules.pack
    part = replace(pack, snapshots=tuple(one for one in pack.snapshots if one.id in needed))
    other = prepare(asked, part, bench.run_id, screen, day=bench.rules.day)
    try:
        yield other
    finally:
        other.provider.close()


def _gold(
    bench: Bench, cases: Sequence[Case], jobs: int, cache: GoldCache, phase: str, screen: Screen
) -> tuple[Answers, list[str]]:
    """Return each case's gold answers on this bench."""

    def answer(case: Case, desk: Desk) -> tuple[str, tuple[GoldAnswer, ...]]:
        """Return one case's id with its answers."""
        return case.id, answer_gold(case, desk, cache)

    return run_all(bench, cases, answer, jobs, phase, screen)


def _rewritten(
    other: Bench,
    cases: Sequence[Case],
    natives: Answers,
    bench: Bench,
    jobs: int,
    cache: GoldCache,
    screen: Screen,
) -> tuple[Answers, list[str]]:
    """Return each case's rewritten gold, run on the bench of the run's own dialect."""

    def answer(case: Case, desk: Desk) -> tuple[str, tuple[GoldAnswer, ...]]:
        """Return one case's id with its answers."""
        return case.id, answer_borrowed(case, natives[case.id], other.adapter, bench.adapter, desk, cache)

    return run_all(bench, cases, answer, jobs, "rewritten gold", screen)


def run_all(
    bench: Bench,
    cases: Sequence[Case],
    answer: Callable[[Case, Desk], tuple[str, tuple[GoldAnswer, ...]]],
    jobs: int,
    phase: str,
    screen: Screen,
) -> tuple[Answers, list[str]]:
    """Do something with every case on servers of one phase, and say what was found to have changed on them."""
    answers: Answers = {}
    with bench.pool() as pool:
        crew = Crew[Case, tuple[str, tuple[GoldAnswer, ...]]](
            lambda: bench.desk(pool), answer, jobs, left=pool.left, stop=pool.kill
        )
        with closing(crew.work(cases)) as work:
            for batch in work:
                answers.update(batch)
                screen.progress(phase, len(answers), len(cases))
        pool.settle()
        traces = [f"gold left a trace: {line}" for line in pool.drift]
    return answers, traces

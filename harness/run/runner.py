"""Run a pack: gold first on servers of its own, then every prediction, journalled as it finishes."""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.errors import RunEndsError
from sqlassay.cases.outcome import Changed, Outcome, Rows
from sqlassay.cases.pack import Pack
from sqlassay.cases.presets import case_policy
from sqlassay.cases.relation import Relation
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.agents.contract import Agent
from sqlassay.harness.desk import Desk, Rules
from sqlassay.harness.evaluate import Judged, evaluate
from sqlassay.harness.gold import answer_gold, cases_with_gold
from sqlassay.harness.judges import Seated
from sqlassay.harness.kin import in_dialects, lent
from sqlassay.harness.results.case_result import CaseResult, Timing
from sqlassay.harness.results.evidence import Evidence, GoldAnswer
from sqlassay.harness.results.records import case_result, with_pace
from sqlassay.harness.results.run_result import Manifest, RunResult
from sqlassay.harness.run.asking import Asker, open_asker
from sqlassay.harness.run.bench import Bench, prepare
from sqlassay.harness.run.book import Book, Watch
from sqlassay.harness.run.borrow import borrow_gold
from sqlassay.harness.run.earlier import Earlier, day_of
from sqlassay.harness.run.finish import Ending, WriteReports, finish, run_result
from sqlassay.harness.run.judging import open_run_judge
from sqlassay.harness.run.manifest import known_before, manifest, places
from sqlassay.harness.run.options import RUNS, RunConfig
from sqlassay.harness.run.rescore import differing
from sqlassay.harness.run.screen import Screen
from sqlassay.harness.run.select import select
from sqlassay.harness.run.workers import Crew
from sqlassay.harness.store.folder import RunFolder, check_new
from sqlassay.harness.store.gold_cache import GoldCache
from sqlassay.harness.store.reading import by_state, has_rows, together
from sqlassay.harness.store.shelf import GoldShelf
from sqlassay.harness.store.sides import Side, row_sides, state_sides
from sqlassay.harness.suite import SuiteGold
from sqlassay.sandboxes.cache import cache_dir
from sqlassay.sandboxes.pool import Pool

_TOLD = 3
"""How many different errors of an agent are told while a run goes on."""

Answers = dict[tuple[str, str], tuple[GoldAnswer, ...]]
"""Gold answers by case and snapshot."""


_DIFFERENCES_UP_TO = 10_000
"""Rows of a side up to which a run writes every differing cell of a failed case by itself."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the agent answered and the seconds it took."""

    prediction: Prediction
    seconds: float


@dataclass(frozen=True, slots=True)
class _Task:
    """One case and trial to judge, with its gold, that of further snapshots too; `asked` once the agent answered."""

    case: Case
    trial: int
    gold: tuple[GoldAnswer, ...]
    suite: tuple[SuiteGold, ...] = ()
    asked: _Asked | None = None


@dataclass(frozen=True, slots=True)
class _Done:
    """A judged task's written record; its evidence and gold only where somebody watches, as their rows are many."""

    result: CaseResult
    timing: Timing
    drift: tuple[str, ...]
    watched: tuple[Evidence, tuple[GoldAnswer, ...]] | None = None


def run(
    config: RunConfig,
    pack: Pack,
    screen: Screen,
    *,
    write_reports: WriteReports,
    earlier: Earlier | None = None,
    seated: Seated | None = None,
    watch: Watch | None = None,
    asked: Agent | Sequence[Prediction] | None = None,
) -> RunResult:
    """Evaluate the selected cases of a pack on one dialect and leave a run folder, or go on with an `earlier` run.

    `seated` is a judge that is open already and stays so, in place of the one the config names. `watch` is shown each
    result that is judged here. `asked` is an agent, or predictions, of the caller's process in place of those named.

    Raises:
        InputError: nothing was run, because something given is wrong.
        InfrastructureError: the run could not start or its folder could not be written.
    """
    if line := lent(pack, config.dialect):
        screen.notice(line)
    pack = in_dialects(pack, (config.dialect,))
    cases = select(pack, config)
    if earlier is None:
        places(config, pack)  # a name that cannot be noted down ends the run before anything is brought up
        check_new(config.out or RUNS / "new")
    opened = open_run_judge(config) if seated is None else nullcontext(seated)
    with opened as judge, open_asker(config, pack, asked) as asker:
        if earlier:
            earlier.check(known_before(config, pack, cases, asker, judge))
            if earlier.complete(cases, config.trials):
                return _close(config, cases, earlier.manifest, Book(earlier.folder, earlier), write_reports)
        run_id = earlier.manifest.run_id if earlier else _new_id(config)
        bench = prepare(config, pack, run_id, screen, day=day_of(run_id), judge=judge)
        try:
            with earlier.folder if earlier else RunFolder(config.out or RUNS / run_id) as folder:
                book = Book(folder, earlier, watch)
                with closing(GoldShelf(cache_dir())) as shelf:
                    written = _phases(config, pack, cases, bench, asker, book, screen, shelf, earlier)
                return _close(config, cases, written, book, write_reports)
        finally:
            bench.provider.close()


def _new_id(config: RunConfig) -> str:
    """Return the id of a new run."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}_{config.dialect}_{secrets.token_hex(3)}"


def _phases(
    config: RunConfig,
    pack: Pack,
    cases: Sequence[Case],
    bench: Bench,
    asker: Asker,
    book: Book,
    screen: Screen,
    shelf: GoldShelf,
    earlier: Earlier | None,
) -> Manifest:
    """Run the gold, write or check the manifest, judge what is not finished, and return the run's manifest."""
    book.folder.list_left_out(pack.left_out)
    book.problem(asker.unused)
    left = tuple(case for case in cases if any(book.is_open(case, trial) for trial in range(config.trials)))
    gold = _gold_phase(config, left, bench, book, screen, shelf)
    if config.transpile_gold:
        borrowed, traces = borrow_gold(config, left, bench, screen)
        gold |= {(case.id, case.snapshot): shelf.put(borrowed[case.id]) for case in left if case.id in borrowed}
        book.problem(traces)
    pairs = [(case, trial) for case in left for trial in range(config.trials) if book.is_open(case, trial)]
    tasks = deque(
        _Task(case, trial, gold.get((case.id, case.snapshot), ()), _suite(case, gold)) for case, trial in pairs
    )
    gold.clear()  # from here on each task holds its own, and goes once it is judged
    with bench.pool() as pool:
        bench.warm(pool, [case for case, _ in pairs], config.jobs)
        # The first prediction server is up before the manifest is written: it says how this run is really
        # isolated, and a sandbox that cannot start ends the run here instead of failing every case.
        written = manifest(config, pack, cases, bench, asker, bench.isolation(pool))
        if earlier:
            earlier.check(written.model_dump(mode="json"))
            written = earlier.manifest
        else:
            book.folder.write_manifest(written, places(config, pack))
        book.keep()
        try:
            _prediction_phase(config, tasks, bench, pool, asker, book, screen, shelf)
        except KeyboardInterrupt:
            book.interrupt()
        except RunEndsError as error:
            raise book.broken_off(error) from error
    return written


def _close(
    config: RunConfig, cases: Sequence[Case], written: Manifest, book: Book, write_reports: WriteReports
) -> RunResult:
    """Write the final files of a run, with its plan in case order; what is finished is what the journal says."""
    ending = Ending(
        manifest=written,
        planned=tuple((case.id, trial) for case in cases for trial in range(config.trials)),
        finished=book.finished,
        declared=config.fail_under,
        min_coverage=config.min_coverage,
        gates=config.gate,
        problems=tuple(book.problems),
        breaches=tuple(book.breaches),
        sandboxes=book.sandboxes,
        health=book.health,
        judge=book.judge,
        interrupted=book.interrupted,
    )
    return finish(run_result(ending, book.folder.path.name), book.folder, write_reports)


def _gold_phase(
    config: RunConfig, cases: Sequence[Case], bench: Bench, book: Book, screen: Screen, shelf: GoldShelf
) -> Answers:
    """Return every case's gold answers as they wait, on further snapshots too where a metric needs them.

    Their servers, started only where an answer is not kept, are gone then.
    """
    cache = GoldCache(cache_dir() / "gold" if config.gold_cache else None)
    tasks = _everywhere(cases_with_gold(cases, config.dialect), bench.rules)

    def answer(case: Case, desk: Desk) -> tuple[tuple[str, str], tuple[GoldAnswer, ...]]:
        """Return one case's id and snapshot with its gold answers there."""
        return (case.id, case.snapshot), shelf.put(answer_gold(case, desk, cache))

    answers: Answers = {}
    with bench.pool() as pool:
        crew = Crew[Case, tuple[tuple[str, str], tuple[GoldAnswer, ...]]](
            lambda: bench.desk(pool), answer, config.jobs, left=pool.left, stop=pool.kill
        )
        try:
            with closing(crew.work(tasks)) as work:
                for batch in work:
                    answers.update(batch)
                    screen.progress("gold", len(answers), len(tasks))
            pool.settle()
        except BaseException:  # whatever ends the run here leaves no folder to tell it, so what was found is said now
            for line in _traces(pool.drift):
                screen.notice(line)
            raise
    book.problem([*_traces(pool.drift), *_broken_alternatives(cases, answers), *_broken_elsewhere(cases, answers)])
    return answers


def _traces(drift: Sequence[str]) -> Iterator[str]:
    """Say what was found to have changed under gold statements."""
    for line in drift:
        yield f"gold left a trace: {line}"


def _everywhere(cases: Sequence[Case], rules: Rules) -> list[Case]:
    """Return the cases, and each once more for every further snapshot of its own where a metric needs them."""
    if not rules.wants("extra_snapshots"):
        return list(cases)
    others = (
        case.model_copy(update={"snapshot": snapshot})
        for case in cases
        if case.query_type == "dql"
        for snapshot in case.extra_snapshots
    )
    return [*cases, *others]


def _suite(case: Case, answers: Answers) -> tuple[SuiteGold, ...]:
    """Return the gold answers on a case's further snapshots, none where they were not asked for."""
    places = ((snapshot, answers.get((case.id, snapshot))) for snapshot in case.extra_snapshots)
    return tuple((snapshot, found) for snapshot, found in places if found is not None)


def _broken_alternatives(cases: Sequence[Case], answers: Answers) -> Iterator[str]:
    """Say which accepted gold statements could not be compared with, where another of their case could."""
    for case in cases:
        gold = answers.get((case.id, case.snapshot), ())
        if any(answer.usable for answer in gold):
            for number, answer in enumerate(gold, 1):
                # A fault of ours is told where it decides a result, and is gone once that is asked again.
                if not answer.usable and not answer.infrastructure:
                    yield f"case {case.id}: accepted gold {number} of {len(gold)} failed: {answer.failure}"


def _broken_elsewhere(cases: Sequence[Case], answers: Answers) -> Iterator[str]:
    """Say on which further snapshots no gold of a case gave rows: its suite cannot be decided there."""
    for case in cases:
        for snapshot, gold in _suite(case, answers):
            if gold and not any(answer.usable for answer in gold):
                yield f"case {case.id}: gold failed on its further snapshot {snapshot}: {gold[0].failure}"


def _prediction_phase(
    config: RunConfig,
    tasks: deque[_Task],
    bench: Bench,
    pool: Pool,
    asker: Asker,
    book: Book,
    screen: Screen,
    shelf: GoldShelf,
) -> None:
    """Judge every case and trial that is not finished; each result is on disk before it is counted."""
    total = len(tasks)

    def ask(task: _Task) -> _Task:
        """Return the task with the agent's answer to it."""
        return _asked(task, asker, bench.rules)

    def judge(task: _Task, desk: Desk) -> _Done:
        """Judge the agent's answer; one that is written already is looked up here, without a thread of its own."""
        return _judge(_with_rows(task if task.asked else ask(task), shelf), desk, config, book)

    def stop() -> None:
        """End what the workers and whoever asks for them wait for."""
        _end(pool, asker, bench)

    ahead = ask if asker.waits else None
    told = _Told(screen)
    crew = Crew[_Task, _Done](lambda: bench.desk(pool), judge, config.jobs, ahead=ahead, left=pool.left, stop=stop)
    counted = 0
    try:
        with closing(crew.work(tasks)) as work:
            for batch in work:
                book.breach([line for done in batch for line in done.drift])
                for done in batch:
                    if book.watch is not None and done.watched is not None:
                        book.watch(*done.watched, done.result)
                    told.tell(done.result)
                book.finish([(done.result, done.timing) for done in batch])
                counted += len(batch)
                screen.progress("predictions", counted, total)
        pool.settle()
    finally:  # an interrupted run, too, says what was found to have changed
        book.breach(pool.drift)
        book.sandboxes = pool.figures
        book.health = bench.health()
        book.judge = bench.judge.figures() if bench.judge is not None else None


class _Told:
    """Tells the agent's first few errors as they happen, each once: a run that fails on every case says so at once."""

    def __init__(self, screen: Screen) -> None:
        """Nothing is told yet."""
        self._screen = screen
        self._seen: set[str] = set()

    def tell(self, result: CaseResult) -> None:
        """Tell of a result's error where it is new."""
        error = str(result.agent.metadata.get("agent_error", "")) if result.agent is not None else ""
        if error and error not in self._seen and len(self._seen) < _TOLD:
            self._seen.add(error)
            self._screen.notice(f"problem: agent on case {result.case_id}: {error}")


def _end(pool: Pool, asker: Asker, bench: Bench) -> None:
    """Break off statements, the agent's answers and the judge's."""
    pool.kill()
    asker.agent.close()
    if bench.judge is not None:
        bench.judge.close()


def _asked(task: _Task, asker: Asker, rules: Rules) -> _Task:
    """Return the task with what the agent answered, and the seconds that took."""
    started = time.monotonic()
    prediction = asker.ask(task.case, task.trial, rules)
    return replace(task, asked=_Asked(prediction, time.monotonic() - started))


def _with_rows(task: _Task, shelf: GoldShelf) -> _Task:
    """Return the task with the rows of its gold that waited on disk."""
    suite = tuple((snapshot, shelf.whole(gold)) for snapshot, gold in task.suite)
    return replace(task, gold=shelf.whole(task.gold), suite=suite)


def _judge(task: _Task, desk: Desk, config: RunConfig, book: Book) -> _Done:
    """Judge what the agent answered for one case and trial, and store its rows where they are kept."""
    if task.asked is None:
        raise AssertionError("a task is judged once its agent was asked")
    started = time.monotonic()
    prediction, agent_seconds = task.asked.prediction, task.asked.seconds
    judged = evaluate(task.case, prediction, task.gold, desk, task.suite)
    clocked = desk.rules.clocked
    result = case_result(judged.evidence, tuple(score for score in judged.scores if score[0] not in clocked))
    gold = task.gold
    if judged.masks is not None:
        result, gold = judged.masks.result(result), judged.masks.gold(gold)
    if result.trial != task.trial:
        result = result.model_copy(update={"trial": task.trial})
    total_seconds = agent_seconds + time.monotonic() - started
    paced = tuple(score for score in judged.scores if score[0] in clocked)
    timing = with_pace(_timing(task, judged, prediction, agent_seconds, total_seconds), judged.evidence, paced)
    # Here, in the worker: rows that waited for the runner's thread would pile up in memory.
    if _stored(config, result):
        sides = _sides(judged, gold)
        book.folder.store_relations(result, sides)
        if result.verdict is Verdict.MISMATCH and (has_rows(result) or by_state(result)):
            _store_differences(task.case, result, sides, desk, book)
    watched = (judged.evidence, gold) if book.watch is not None else None
    return _Done(result, timing, desk.station.drift, watched)


def _store_differences(case: Case, result: CaseResult, sides: Sequence[Side], desk: Desk, book: Book) -> None:
    """Write the differing cells of a failed case from the sides that are stored; large ones are left to rescore."""
    told = together(sides, result)
    if max(_longest(told.golds[0].content), _longest(told.predicted)) <= _DIFFERENCES_UP_TO:
        found = differing(told, case_policy(desk.rules.policy, case), result.dialect)
        if found:
            book.folder.store_differences(result, found)


def _longest(content: Relation | Changed) -> int:
    """Return the number of rows of a result, or of the longest part of a state that is shown."""
    if isinstance(content, Relation):
        return len(content.rows)
    shown = (part.relation for part in content.state)
    return max((len(relation.rows) for relation in shown if relation is not None), default=0)


def _timing(
    task: _Task, judged: Judged, prediction: Prediction | None, agent_seconds: float, total_seconds: float
) -> Timing:
    """Return the seconds of one result's parts, to the microsecond."""
    predicted = _predicted(judged)
    seconds = predicted.seconds if predicted is not None else None
    gold = [answer.seconds for answer in task.gold if answer.usable]
    return Timing(
        case_id=task.case.id,
        trial=task.trial,
        gold_seconds=round(sum(gold), 6) if gold else None,
        gold_cached=any(answer.cached for answer in task.gold),
        agent_seconds=round(agent_seconds, 6) if prediction is not None else None,
        parse_seconds=round(judged.parse_seconds, 6),
        sandbox_seconds=round(judged.sandbox_seconds, 6),
        predicted_seconds=None if seconds is None else round(seconds, 6),
        total_seconds=round(total_seconds, 6),
    )


def _predicted(judged: Judged) -> Outcome | None:
    """Return the outcome of the predicted statement, None where it never ran."""
    executions = judged.evidence.executions
    return executions[-1].predicted if executions else None


def _stored(config: RunConfig, result: CaseResult) -> bool:
    """Return whether this result's rows are kept (`--store-rows`)."""
    return config.store_rows == "all" or (config.store_rows == "diff" and result.verdict == "mismatch")


def _sides(judged: Judged, gold: Sequence[GoldAnswer]) -> list[Side]:
    """Return what rescore needs: every accepted gold, the one that counted first, and what the prediction gave."""
    predicted = _predicted(judged)
    counted = judged.evidence.gold_sql
    golds = sorted((answer for answer in gold if answer.usable), key=lambda answer: answer.sql != counted)
    if isinstance(predicted, Rows):
        return row_sides(golds, predicted.relation, judged.evidence.predicted_parsed)
    orders = judged.evidence.executions[-1].eval_orders if isinstance(predicted, Changed) else ()
    return state_sides(golds, predicted, orders) if isinstance(predicted, Changed) else []

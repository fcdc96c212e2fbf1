"""Run a drill: every attack against each layer alone and against all together, then the harmless statements."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from sqlassay.cases.outcome import Failure
from sqlassay.dialect_adapters.contract import Adapter, GrammarRules, Limits, Mode, Role
from sqlassay.harness.guard import check
from sqlassay.harness.parse.parser import Parser
from sqlassay.harness.redteam.arena import Arena, Ground
from sqlassay.harness.redteam.attacks import Attack, Benign, filled
from sqlassay.harness.redteam.judge import guard_attempt, layer_attempt
from sqlassay.harness.redteam.targets import Target
from sqlassay.harness.results.redteam import AttackResult, Attempt, FalseAlarm, Layer
from sqlassay.harness.results.verdicts import GuardVerdict
from sqlassay.sandboxes.contract import Isolation, Provider, SnapshotImage

ALONE: tuple[Layer, ...] = ("guard", "role", "sandbox")
LIMITS = Limits(timeout=2.0, rows=100_000)

Task = TypeVar("Task")
Done = TypeVar("Done")


class Progress(Protocol):
    """Told how far the drill is."""

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Show that `done` of `total` are finished."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What a drill runs: files read, layers chosen, seed and jobs."""

    dialect: str
    attacks: tuple[Attack, ...]
    variants: tuple[Attack, ...]
    benign: tuple[Benign, ...]
    layers: tuple[Layer, ...]
    jobs: int
    seed: int
    attacks_file: Path
    benign_file: Path
    limits: Limits = LIMITS


@dataclass(frozen=True, slots=True)
class Site:
    """Where a drill happens: engine, prepared image and what is attacked."""

    provider: Provider
    adapter: Adapter
    image: SnapshotImage
    target: Target
    run_id: str

    def ground(self, limits: Limits) -> Ground:
        """Return what its arenas stand on."""
        return Ground(self.provider, self.adapter, self.image, self.target, limits, self.run_id)


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything a drill saw."""

    attacks: tuple[AttackResult, ...]
    variants: tuple[AttackResult, ...]
    false_alarms: tuple[FalseAlarm, ...]
    isolation: Isolation | None
    check_seconds: tuple[float, ...]
    mark_seconds: tuple[float, ...]
    sandboxes: int


class Lane:
    """One worker's parser and arenas; opened and used by one thread."""

    def __init__(self, site: Site, plan: Plan, neighbour: Callable[[], bool]) -> None:
        """Start nothing yet."""
        self._rules: GrammarRules = site.adapter.rules
        self._catalog = site.target.shown(site.image.catalog(site.target.snapshot.id))
        self._visible = site.target.visible
        self._plan = plan
        self._parser = Parser()
        ground = site.ground(plan.limits)
        self.reader = Arena(ground, Mode.READ, Role.READER, neighbour)
        self.bare = Arena(ground, Mode.WRITE, site.target.privileged, neighbour)

    def guard(self, sql: str) -> tuple[GuardVerdict, float]:
        """Return the guard's verdict on one text and the seconds it took."""
        started = time.monotonic()
        parsed = self._parser.parse(
            sql,
            self._plan.dialect,
            self._catalog,
            sqlglot_dialect=self._rules.sqlglot_dialect,
            cte_scope=self._rules.cte_scope,
            spellings=self._rules.spellings,
        )
        verdict = check(parsed, self._rules, self._catalog, visible=self._visible)
        return verdict, round(time.monotonic() - started, 5)

    def attack(self, attack: Attack) -> AttackResult:
        """Return a listed attack's attempts against every chosen layer, and against all where all are chosen."""
        verdict, seconds = self.guard(filled(attack.sql, {}) if attack.template else attack.sql)
        guard = guard_attempt(attack, verdict, seconds)
        attempts = [guard] if "guard" in self._plan.layers else []
        exhausting = attack.harm == "exhaustion"
        role = None
        if "role" in self._plan.layers:
            role = layer_attempt("role", self.reader.run(attack.sql, template=attack.template, exhausting=exhausting))
            attempts.append(role)
        if "sandbox" in self._plan.layers:
            seen = self.bare.run(attack.sql, template=attack.template, exhausting=exhausting)
            attempts.append(layer_attempt("sandbox", seen))
        if set(ALONE) <= set(self._plan.layers):
            attempts.append(self._together(attack, verdict, guard))
        return _result(attack, attempts)

    def variant(self, attack: Attack) -> AttackResult:
        """Return a variant's attempts: the guard's, and for what it lets by what it does in the sandboxes."""
        verdict, seconds = self.guard(attack.sql)
        guard = guard_attempt(attack, verdict, seconds)
        if guard.finding != "passed" or "sandbox" not in self._plan.layers:
            return _result(attack, [guard])
        bare = layer_attempt("sandbox", self.bare.run(attack.sql, template=False, exhausting=False))
        if bare.effects:
            guard = guard.model_copy(update={"finding": "missed", "by": f"allowed; {bare.by}"})
        return _result(attack, [guard, bare, self._together(attack, verdict, guard)])

    def benign(self, item: Benign) -> tuple[FalseAlarm, ...]:
        """Return who refuses a harmless statement: the guard, or the reader's login and limits."""
        found: list[FalseAlarm] = []
        if "guard" in self._plan.layers:
            verdict, _ = self.guard(item.sql)
            if not verdict.allowed:
                found.append(_alarm(item, "guard", verdict.reason))
        if "role" in self._plan.layers:
            seen = self.reader.run(item.sql, template=False, exhausting=False)
            if isinstance(seen.outcome, Failure):
                found.append(_alarm(item, "role", f"{seen.outcome.kind.value}: {seen.outcome.message}"))
            elif seen.effects:
                found.append(_alarm(item, "role", f"counted as an attack: {', '.join(seen.effects)}"))
        return tuple(found)

    def _together(self, attack: Attack, verdict: GuardVerdict, guard: Attempt) -> Attempt:
        """Return the attempt against the whole path: the guard first, the reader's session behind it."""
        if not verdict.allowed:
            return guard.model_copy(update={"layer": "together", "by": f"guard: {guard.by}"})
        seen = self.reader.run(attack.sql, template=attack.template, exhausting=attack.harm == "exhaustion")
        return layer_attempt("together", seen, flagged=guard.by if guard.finding == "flagged" else "")

    def close(self) -> None:
        """End parser and sandboxes."""
        self._parser.close()
        self.reader.close()
        self.bare.close()


def _alarm(item: Benign, layer: Layer, reason: str) -> FalseAlarm:
    """Return one false alarm as it is written."""
    return FalseAlarm(id=item.id, layer=layer, sql=item.sql, line=item.line, reason=reason[:300])


def _result(attack: Attack, attempts: Sequence[Attempt]) -> AttackResult:
    """Return an attack with its attempts as it is written."""
    return AttackResult(
        id=attack.id,
        kind=attack.kind,
        harm=attack.harm,
        sql=attack.sql,
        line=attack.line,
        live=attack.live,
        variant=attack.variant,
        attempts=tuple(attempts),
    )


def drill(site: Site, plan: Plan, progress: Progress) -> Findings:
    """Run the whole plan; results are in the order of the files for any number of jobs.

    Raises:
        InfrastructureError: no sandbox comes up.
    """
    lock = threading.Lock()  # Invariant: one thread at a time asks the neighbour.
    beside = Arena(site.ground(plan.limits), Mode.READ, Role.READER, lambda: True)

    def neighbour() -> bool:
        """Return whether a sandbox nobody attacks still answers rightly, and in time."""
        with lock:
            return beside.answers()

    opened: list[Lane] = []

    def open_lane() -> Lane:
        """Open one worker's lane."""
        lane = Lane(site, plan, neighbour)
        opened.append(lane)
        return lane

    try:
        crew = _Crew(open_lane, plan.jobs, progress)
        attacks = crew.work("attacks", plan.attacks, Lane.attack)
        variants = crew.work("variants", plan.variants, Lane.variant)
        alarms = crew.work("harmless statements", plan.benign, Lane.benign)
        runs = {"role", "sandbox"} & set(plan.layers)
        isolation = beside.sandbox.isolation if runs else None
    finally:
        for lane in opened:
            lane.close()
        beside.close()
    arenas = [arena for lane in opened for arena in (lane.reader, lane.bare)]
    return Findings(
        attacks=tuple(attacks),
        variants=tuple(variants),
        false_alarms=tuple(alarm for found in alarms for alarm in found),
        isolation=isolation,
        check_seconds=tuple(seconds for arena in arenas for seconds in arena.checks),
        mark_seconds=tuple(seconds for arena in arenas for seconds in arena.marks),
        sandboxes=sum(arena.started for arena in arenas),
    )


class _Crew:
    """Threads with a lane each, kept over the phases of a drill."""

    def __init__(self, open_lane: Callable[[], Lane], jobs: int, progress: Progress) -> None:
        """Open as many lanes as there are jobs."""
        self._lanes = [open_lane() for _ in range(max(1, jobs))]
        self._progress = progress

    def work(self, phase: str, tasks: Sequence[Task], do: Callable[[Lane, Task], Done]) -> list[Done]:
        """Return each task's result in the tasks' order; the first fault of ours is raised once all threads left."""
        todo: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        for index in (*range(len(tasks)), *(None for _ in self._lanes)):
            todo.put(index)
        done: queue.SimpleQueue[tuple[int, Done] | BaseException] = queue.SimpleQueue()
        stop = threading.Event()

        def take(lane: Lane) -> None:
            """Do tasks until there are none, or another thread failed."""
            try:
                while not stop.is_set() and (index := todo.get()) is not None:
                    done.put((index, do(lane, tasks[index])))
            except BaseException as error:  # noqa: BLE001 (handed to the caller, who raises it in its own thread)
                done.put(error)

        threads = [threading.Thread(target=take, args=(one,), name="redteam", daemon=True) for one in self._lanes]
        for thread in threads:
            thread.start()
        try:
            found = dict(_collected(done, len(tasks), phase, self._progress))
        finally:
            stop.set()
            for thread in threads:
                thread.join(timeout=60)
        return [found[index] for index in range(len(tasks))]


def _collected(
    done: queue.SimpleQueue[tuple[int, Done] | BaseException], total: int, phase: str, progress: Progress
) -> Iterator[tuple[int, Done]]:
    """Yield results as they come; raise what a thread could not handle."""
    for count in range(1, total + 1):
        item = done.get()
        if isinstance(item, BaseException):
            raise item
        yield item
        progress(phase, count, total)

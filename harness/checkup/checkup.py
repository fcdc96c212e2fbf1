"""Check a pack's gold in every dialect it has: as stored, in other row orders, and one dialect against the other."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from sqlassay.cases.case import Case
from sqlassay.cases.catalog import settings_groups, settings_line
from sqlassay.cases.errors import InputError
from sqlassay.cases.outcome import Rows
from sqlassay.cases.pack import Pack
from sqlassay.cases.presets import preset
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.verdicts import Verdict
from sqlassay.dialect_adapters.contract import Adapter
from sqlassay.dialect_adapters.rearranged import ORDERS, Rearranging, RowOrder, rearranged
from sqlassay.dialect_adapters.registry import adapter as find_adapter
from sqlassay.dialect_adapters.registry import names
from sqlassay.harness import crossing
from sqlassay.harness.checkup.columns import TextNumbers
from sqlassay.harness.checkup.examine import Examiner, as_prediction, either_way
from sqlassay.harness.checkup.seen import Seen, Sign, compared, differing
from sqlassay.harness.desk import Desk
from sqlassay.harness.kin import in_dialects
from sqlassay.harness.results.evidence import Evidence, GoldAnswer
from sqlassay.harness.results.health import Checked, Flag, Health, Note, health
from sqlassay.harness.run.bench import Bench, prepare
from sqlassay.harness.run.options import RunConfig
from sqlassay.harness.run.screen import Screen
from sqlassay.harness.run.select import select
from sqlassay.harness.run.workers import Crew

Task = TypeVar("Task")
Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class Checkup:
    """One check: the settings of its runs, the pack, and where its progress is told."""

    config: RunConfig
    pack: Pack
    screen: Screen
    run_id: str
    day: datetime
    traces: list[str] = field(default_factory=list)

    def dialect(self, name: str) -> tuple[list[Seen], Checked]:
        """Return what is to be said about every gold in one dialect."""
        config = replace(self.config, dialect=name)
        cases = [case for case in select(self.pack, config) if case.gold.get(name) and not case.out_of_scope]
        if not cases:
            return [], Checked(dialect=name, engine_version="", cases=0, golds=0, executions=0)
        with self._bench(config, self.pack) as bench:
            version = bench.image.base.version
            told = settings_line(settings_groups(bench.image.catalogs))
            examiner = Examiner(bench.adapter, TextNumbers(self.pack))
            found = self._each(bench, cases, examiner.examine, f"{name}: as stored", config.jobs)
            by_id = {seen.case.id: seen for seen in found}
            seens = [by_id[case.id] for case in cases]
        with tempfile.TemporaryDirectory(prefix="sqlassay-") as folder:
            for order in ORDERS:
                self._rearranged(config, seens, order, Path(folder))
        golds = sum(len(seen.answers) for seen in seens)
        ran = sum(seen.executions for seen in seens)
        return seens, Checked(
            dialect=name,
            engine_version=version,
            engine_settings=told,
            cases=len(seens),
            golds=golds,
            executions=ran,
        )

    @contextmanager
    def _bench(self, config: RunConfig, pack: Pack) -> Iterator[Bench]:
        """Open what running statements needs, over the pack's snapshots."""
        bench = prepare(config, pack, self.run_id, self.screen, day=self.day)
        try:
            yield bench
        finally:
            bench.provider.close()

    def _each(
        self, bench: Bench, tasks: Sequence[Task], do: Callable[[Task, Desk], Done], phase: str, jobs: int
    ) -> list[Done]:
        """Do something with every task on servers of one phase."""
        done: list[Done] = []
        with bench.pool() as pool:
            crew = Crew[Task, Done](lambda: bench.desk(pool), do, jobs, left=pool.left, stop=pool.kill)
            with closing(crew.work(tasks)) as work:
                for batch in work:
                    done += batch
                    self.screen.progress(phase, len(done), len(tasks))
            pool.settle()
            self.traces.extend(f"{phase}: gold left a trace: {line}" for line in pool.drift)
        return done

    def _rearranged(self, config: RunConfig, seens: Sequence[Seen], order: RowOrder, folder: Path) -> None:
        """Run what ran once more where the same rows are stored in another order."""
        wanted = [seen for seen in seens if seen.case.query_type == "dql" and _worth(seen)]
        made: dict[str, Snapshot] = {}
        lacking: set[str] = set()
        for seen in wanted:
            snapshot_id = seen.case.snapshot
            if snapshot_id not in made and snapshot_id not in lacking:
                snapshot = self.pack.snapshot(snapshot_id)
                other = other_order(find_adapter(config.dialect), snapshot, order, config.seed, folder)
                if other is None:
                    lacking.add(snapshot_id)
                    self._not_ordered(config.dialect, order, f"snapshot {snapshot_id} cannot be written in that order")
                made |= {} if other is None else {snapshot_id: other}
            if snapshot_id in lacking:
                seen.notes.append(f"not run on {order} rows: snapshot {snapshot_id} cannot be written in that order")
        able = [seen for seen in wanted if seen.case.snapshot in made]
        if not able:
            return
        part = replace(self.pack, snapshots=tuple(made.values()))
        try:
            with self._bench(config, part) as bench:
                phase = f"{config.dialect}: rows {order}"
                self._each(bench, able, lambda seen, desk: again(seen, order, desk), phase, config.jobs)
        except InputError as error:  # the stored order loaded: what cannot be loaded is this order of the rows
            for seen in able:
                seen.notes.append(f"not run on {order} rows: {error.message}")
            self._not_ordered(config.dialect, order, error.message)

    def _not_ordered(self, dialect: str, order: RowOrder, why: str) -> None:
        """Say that nobody looked for an order that rows only happen to have: the check is not whole."""
        self.traces.append(f"{dialect}: order was not looked for on {order} rows: {why}")


def other_order(adapter: Adapter, snapshot: Snapshot, order: RowOrder, seed: int, folder: Path) -> Snapshot | None:
    """Return a snapshot in another row order, as the engine of this adapter can have it; None where it cannot."""
    if isinstance(adapter, Rearranging):
        place = folder / order
        place.mkdir(exist_ok=True)
        return adapter.rearranged(snapshot, order, seed, place)
    return rearranged(snapshot, order, seed)


def _worth(seen: Seen) -> bool:
    """Return whether another row order can tell something of a case."""
    return any(seen.movable(number) for number in range(1, len(seen.answers) + 1))


def again(seen: Seen, order: RowOrder, desk: Desk) -> Seen:
    """Return a case once its gold was judged as predictions made where the rows are stored in another order."""
    for number, answer in enumerate(seen.answers, 1):
        if not seen.movable(number):
            continue
        evidence = as_prediction(seen, answer, desk).evidence
        if evidence.verdict in (Verdict.MATCH, Verdict.INFRASTRUCTURE, Verdict.UNDECIDED):
            continue
        found = compared(evidence)
        rows = differing(found, ("stored order", f"{order} rows")) if found is not None else ()
        flag = Flag.FLOAT_SUM if _last_digit(answer, evidence) else Flag.ORDER_DEPENDENT
        seen.add(number, [Sign(flag, f"on {order} rows: {evidence.reason}", rows=rows)])
    return seen


_ADDING = frozenset(("sum", "avg", "total", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"))


def _last_digit(answer: GoldAnswer, evidence: Evidence) -> bool:
    """Return whether two runs of a sum differ by one unit of the last digit that it was rounded to, and by no more."""
    predicted = evidence.executions[-1].predicted if evidence.executions else None
    if not isinstance(predicted, Rows) or answer.relation is None or not _ADDING & answer.parsed.functions:
        return False
    digits = max((_digits(cell) for row in answer.relation.rows for cell in row), default=0)
    near = preset("cross_dialect").model_copy(update={"abs_tol": 1.01 * 10.0**-digits, "rel_tol": 0.0})
    return crossing.crossed(answer, predicted.relation, near).verdict == "match"


def _digits(cell: object) -> int:
    """Return how many digits a number has behind the point."""
    return len(repr(cell).partition(".")[2]) if isinstance(cell, float) and "e" not in repr(cell) else 0


def crossed(by_dialect: dict[str, list[Seen]]) -> None:
    """Say of every case whose gold gives other rows in one dialect than in the first one that gave rows."""
    policy = preset("cross_dialect")
    first: dict[str, Seen] = {}
    for seens in by_dialect.values():
        for seen in seens:
            if not any(answer.relation is not None for answer in seen.answers):
                continue
            reference = first.setdefault(seen.case.id, seen)
            if reference is seen:
                continue
            pairs = [(one, number) for one in reference.answers for number in range(1, len(seen.answers) + 1)]
            usable = [(one, n) for one, n in pairs if one.relation and seen.answers[n - 1].relation]
            found = [(either_way(one, seen.answers[n - 1], policy), n) for one, n in usable]
            if all(comparison.verdict != "match" for comparison, _ in found):
                comparison, number = found[0]
                rows = differing(comparison, (reference.dialect, seen.dialect))
                evidence = f"{seen.dialect} against {reference.dialect}: {comparison.reason}"
                seen.add(number, [Sign(Flag.DIALECTS_DISAGREE, evidence, rows=rows)], reference.answers)


def check_cases(
    config: RunConfig, pack: Pack, dialects: Sequence[str], fail_on: Sequence[Flag], screen: Screen
) -> Health:
    """Check the gold of a pack's selected cases in these dialects and return its health.

    Raises:
        InputError: an unknown case, dialect, provider or runtime, or a snapshot that cannot be loaded.
        InfrastructureError: no engine, an image that cannot be built, or servers that do not come up.
    """
    pack = in_dialects(pack, dialects)  # an unknown one ends the check before anything runs
    now = datetime.now(UTC)
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    checkup = Checkup(config, pack, screen, f"{now:%Y%m%dT%H%M%SZ}_check_{secrets.token_hex(3)}", day)
    by_dialect: dict[str, list[Seen]] = {}
    checked = []
    for name in dialects:
        by_dialect[name], counted = checkup.dialect(name)
        checked.append(counted)
    crossed(by_dialect)
    every = [seen for seens in by_dialect.values() for seen in seens]
    return health(
        pack=pack.name,
        digest=pack.digest,
        policy=config.policy_name,
        seed=config.seed,
        fail_on=fail_on,
        checked=checked,
        findings=[finding for seen in every for finding in seen.findings],
        notes=[Note(case_id=seen.case.id, dialect=seen.dialect, text=note) for seen in every for note in seen.told()],
        problems=[*(problem for seen in every for problem in seen.problems), *checkup.traces],
        cases=len({seen.case.id for seen in every}),
    )


def dialects_of(cases: Sequence[Case], screen: Screen) -> tuple[str, ...]:
    """Return the installed dialects in which these cases have gold, as first met; the others are named and left out."""
    found = dict.fromkeys(name for case in cases for name, texts in case.gold.items() if texts)
    installed = names()
    for name in found:
        if name not in installed:
            screen.notice(f"gold in {name} is not checked: no such dialect is installed")
    return tuple(name for name in found if name in installed)

"""One engine of a crosscheck with its servers, and how a statement is put to it, trusted or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

from sqlassay.cases.case import Case
from sqlassay.cases.errors import InfrastructureError, RunEndsError
from sqlassay.cases.outcome import Failure, Rows
from sqlassay.cases.relation import Relation
from sqlassay.dialect_adapters.contract import Adapter
from sqlassay.harness.desk import Desk
from sqlassay.harness.evaluate import is_slip
from sqlassay.harness.gold import answer_statement
from sqlassay.harness.guard import check
from sqlassay.harness.personal import hidden_message
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.parsed import ParsedQuery
from sqlassay.harness.results.verdicts import GuardVerdict
from sqlassay.harness.run.bench import Bench
from sqlassay.harness.run.options import RunConfig
from sqlassay.harness.run.screen import Screen
from sqlassay.harness.run.workers import Crew
from sqlassay.harness.store.gold_cache import GoldCache
from sqlassay.sandboxes.cache import cache_dir
from sqlassay.sandboxes.pool import Pool
from sqlassay.sandboxes.station import Care

Task = TypeVar("Task")
Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class Line:
    """One engine: its settings, what is prepared for it, and the servers of one phase."""

    config: RunConfig
    bench: Bench
    pool: Pool
    screen: Screen

    @property
    def dialect(self) -> str:
        """Return the engine's dialect."""
        return self.config.dialect

    @property
    def adapter(self) -> Adapter:
        """Return the engine's adapter."""
        return self.bench.adapter

    def each(self, tasks: Sequence[Task], do: Callable[[Task, Desk], Done], phase: str) -> list[Done]:
        """Return what `do` gives for every task, in their order."""
        if not tasks:
            return []
        found: dict[int, Done] = {}

        def one(numbered: tuple[int, Task], desk: Desk) -> tuple[int, Done]:
            """Do one task and keep its number."""
            return numbered[0], do(numbered[1], desk)

        crew = Crew[tuple[int, Task], tuple[int, Done]](
            lambda: self.bench.desk(self.pool), one, self.config.jobs, left=self.pool.left, stop=self.pool.kill
        )
        with closing(crew.work(list(enumerate(tasks)))) as work:
            for batch in work:
                found.update(batch)
                self.screen.progress(f"{self.dialect}: {phase}", len(found), len(tasks))
        return [found[number] for number in range(len(tasks))]

    @property
    def gold_cache(self) -> GoldCache:
        """Return where gold answers are kept."""
        return GoldCache(cache_dir() / "gold" if self.config.gold_cache else None)

    def answers(self, tasks: Sequence[tuple[Case, str]], phase: str, *, trusted: bool) -> list[GoldAnswer]:
        """Run statements and return their answers; a trusted one, which is gold, may come from the cache."""
        cache = self.gold_cache

        def ask(task: tuple[Case, str], desk: Desk) -> GoldAnswer:
            """Put one statement to the engine."""
            return answer_statement(*task, desk, cache) if trusted else _untrusted(*task, desk)

        return self.each(tasks, ask, phase)


def _untrusted(case: Case, sql: str, desk: Desk) -> GoldAnswer:
    """Return the answer to an agent's statement: past the guard, with its hidden order keys where they are let by."""
    parsed, verdict = _looked_at(case, sql, desk)
    if not verdict.allowed:
        slip = is_slip(verdict)
        kind = f"error: not run ({verdict.node})" if slip else "blocked"
        return GoldAnswer(sql, parsed, None, failure=f"{kind}: {verdict.reason}")
    try:
        outcome = _run(case, sql, parsed, verdict, desk)
        probe = _hidden_keys(case, parsed, desk) if isinstance(outcome, Rows) else None
    except RunEndsError:
        raise
    except InfrastructureError as error:
        return GoldAnswer(sql, parsed, None, failure=f"infrastructure: {error}", infrastructure=True)
    if isinstance(outcome, Rows):
        return GoldAnswer(sql, parsed, outcome.relation, probe, seconds=outcome.seconds)
    message = hidden_message(case, sql, outcome.message)
    return GoldAnswer(sql, parsed, None, failure=f"{outcome.kind}: {message}", seconds=outcome.seconds)


def _looked_at(case: Case, sql: str, desk: Desk) -> tuple[ParsedQuery, GuardVerdict]:
    """Return a text's facts and the guard's verdict on it."""
    parsed = desk.parse(sql, case.snapshot)
    rules = desk.rules
    catalog = rules.image.catalog(case.snapshot)
    return parsed, check(parsed, rules.grammar, catalog, profile="dql", visible=rules.visible(case.snapshot))


def _run(case: Case, sql: str, parsed: ParsedQuery, verdict: GuardVerdict, desk: Desk) -> Rows | Failure:
    """Run what the guard let by."""
    rules = desk.rules
    care = Care.FLAGGED if verdict.flags else Care.PLAIN
    pins = rules.pins(case, verdict.flags, parsed)
    level = rules.isolation(case)
    limits, visible = rules.case_limits(case), rules.rights(case.snapshot)
    outcome = desk.station.run(case.snapshot, sql, limits, pins, level=level, care=care, visible=visible)
    if not isinstance(outcome, Rows | Failure):
        raise AssertionError("a query leaves no state")  # noqa: TRY004 (a broken promise of ours, no wrong argument)
    return outcome


def _hidden_keys(case: Case, parsed: ParsedQuery, desk: Desk) -> Relation | None:
    """Return the rows with hidden order keys, None where there are none or the guard would not have them."""
    sql = parsed.order.probe_sql if parsed.order is not None else None
    if sql is None:
        return None
    hidden, verdict = _looked_at(case, sql, desk)
    outcome = _run(case, sql, hidden, verdict, desk) if verdict.allowed else None
    return outcome.relation if isinstance(outcome, Rows) else None

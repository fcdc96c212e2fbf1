"""What judging needs around it: one worker's parser and station, and the run's rules, routes and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlassay.cases.case import Case
from sqlassay.cases.catalog import Catalog
from sqlassay.cases.isolation import IsolationLevel, stricter
from sqlassay.cases.pack import Pack
from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.dialect_adapters.contract import GrammarRules, Limits, Pins
from sqlassay.harness.guard.clock import may_read_clock
from sqlassay.harness.metrics.contract import Metric
from sqlassay.harness.metrics.registry import is_clocked, presets_needed
from sqlassay.harness.parse.parser import Parser, Readings
from sqlassay.harness.results.evidence import MetricSettings
from sqlassay.harness.results.judging import Ask
from sqlassay.harness.results.parsed import ParsedQuery
from sqlassay.sandboxes.contract import SnapshotImage
from sqlassay.sandboxes.station import Station


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for every statement of a run, whoever runs it; `day` is the midnight (UTC) the run began on."""

    dialect: str
    grammar: GrammarRules
    image: SnapshotImage
    pack: Pack
    policy: Policy
    strict: Policy
    limits: Limits
    gold_limits: Limits
    clock: datetime | None
    day: datetime
    metrics: tuple[Metric, ...]
    settings: MetricSettings
    level: IsolationLevel = "run"
    judge: Ask | None = None
    leave_undetermined: bool = False

    @property
    def others(self) -> tuple[tuple[str, Policy], ...]:
        """Return the presets the run's metrics compare under, beside the run's own policy."""
        return tuple((name, preset(name)) for name in presets_needed(self.metrics))

    @property
    def clocked(self) -> frozenset[str]:
        """Return the metrics whose values come from clocks in this run: they stand beside the timings."""
        return frozenset(m.name for m in self.metrics if is_clocked(m)) if self.settings.repetitions else frozenset()

    def wants(self, need: str) -> bool:
        """Return whether a chosen metric needs this evidence."""
        return any(need in metric.needs for metric in self.metrics)

    def isolation(self, case: Case) -> IsolationLevel:
        """Return how far a case's queries are kept apart: a case may tighten the run's level, never loosen it."""
        return stricter(self.level, case.isolation)

    def pins(self, case: Case, flags: Sequence[str], parsed: ParsedQuery | None = None) -> Pins:
        """Return the session pins of one statement: its case's clock, else the run's.

        Without either, a statement that the guard flags or whose words may read the clock sees the day the run began
        on, where the engine can be told: gold and prediction run at different times and must not differ by that alone.
        """
        clock = case.clock or self.clock
        if clock is None and (flags or (parsed is not None and self.hints_at_clock(case, parsed))):
            return Pins(clock=self.day, clock_required=False)
        return Pins(clock=clock)

    def hints_at_clock(self, case: Case, parsed: ParsedQuery) -> bool:
        """Return whether the words of a statement allow that it reads the clock unflagged."""
        return may_read_clock(parsed, self.grammar, self.image.catalog(case.snapshot))

    def case_limits(self, case: Case) -> Limits:
        """Return the limits of a prediction: a case may tighten them, never loosen them."""
        return Limits(
            timeout=min(self.limits.timeout, case.timeout or self.limits.timeout),
            rows=min(self.limits.rows, case.row_limit or self.limits.rows),
            result_bytes=self.limits.result_bytes,
            cell_bytes=self.limits.cell_bytes,
        )

    def visible(self, snapshot_id: str) -> frozenset[str] | None:
        """Return the tables a prediction may read on this snapshot, None for all."""
        for name, tables in self.pack.visible:
            if name == snapshot_id:
                return frozenset(table.lower() for table in tables)
        return None

    def rights(self, snapshot_id: str) -> frozenset[str] | None:
        """Return the tables that a prediction's own login has rights on, None where it is the snapshot's reader."""
        named = self.pack.snapshot(snapshot_id).visible
        return None if named is None else frozenset(named)


@dataclass(frozen=True, slots=True)
class Desk:
    """One worker's parser and station with the run's rules."""

    rules: Rules
    parser: Parser
    station: Station

    def parse(
        self, sql: str, snapshot_id: str, catalog: Catalog | None = None, readings: Readings | None = None
    ) -> ParsedQuery:
        """Return the facts of one text, its names resolved against the snapshot's catalogue or the one given.

        `readings` keep the facts for the next run; only gold has them.
        """
        return self.parser.parse(
            sql,
            self.rules.dialect,
            catalog or self.rules.image.catalog(snapshot_id),
            sqlglot_dialect=self.rules.grammar.sqlglot_dialect,
            cte_scope=self.rules.grammar.cte_scope,
            spellings=self.rules.grammar.spellings,
            readings=readings,
        )

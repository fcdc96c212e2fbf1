"""The record of one judged prediction, as written to journal.jsonl and results.jsonl: no clocks, no secrets."""

from __future__ import annotations

from html import escape
from typing import Any

from pydantic import BaseModel, ConfigDict

from sqlassay.cases.verdicts import Cause, Verdict

FORMAT = 1


class _Record(BaseModel):
    """A frozen written value that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


_SHOWN = 200
"""Characters of a reason that a result's one line shows."""


class ScoreRecord(_Record):
    """A metric's value (None = not applicable) with its reason and named parts."""

    value: float | None
    reason: str
    details: dict[str, str | float | None] = {}


class GuardRecord(_Record):
    """What the guard said about the predicted text."""

    allowed: bool
    reason: str
    statement: str | None = None
    node: str | None = None
    flags: tuple[str, ...] = ()


class DifferenceRecord(_Record):
    """The first differing row; cells in typed JSON, `cells` the differing gold columns."""

    index: int
    gold: list[Any] | None
    predicted: list[Any] | None
    cells: tuple[int, ...] = ()


class ComparisonRecord(_Record):
    """The comparator's verdict with its evidence."""

    verdict: str
    rule: str
    reason: str
    policy_digest: str
    missing: int = 0
    extra: int = 0
    first: DifferenceRecord | None = None
    columns: tuple[int | None, ...] = ()
    flags: tuple[str, ...] = ()
    looser: str | None = None


class OrderRecord(_Record):
    """The outermost ORDER BY: for each key its output column, direction, place of NULLs and text; then the LIMIT.

    `offset` says whether rows are cut at the start too.
    """

    keys: tuple[tuple[int | None, str, str | None, str], ...]
    limit: int | None = None
    has_limit: bool = False
    offset: bool = False


class StructureRecord(_Record):
    """What the parser extracted from one SQL text."""

    parser: str
    error: str | None = None
    root: str = ""
    tables: tuple[str, ...] = ()
    projections: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    joins: tuple[str, ...] = ()
    group_by: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()
    order: OrderRecord | None = None
    processed_sql: str = ""


class AgentRecord(_Record):
    """What the agent told beside its SQL: plan, tool calls, retrieved schema and logs are in `steps` and `metadata`."""

    enriched_question: str | None = None
    steps: tuple[dict[str, Any], ...] = ()
    tokens: int | None = None
    cost: float | None = None
    metadata: dict[str, Any] = {}


class UnsafeStepRecord(_Record):
    """A statement in a step of the agent that the guard refuses: its step from 1, tool and text, and why."""

    step: int
    tool: str
    sql: str
    executed: bool
    reason: str
    statement: str | None = None


class CaseResult(_Record):
    """One case, one dialect, one trial: what was asked, answered and decided, and why.

    `gold_columns` and `predicted_columns` name the result columns; the shapes are (rows, columns). Of a dml or ddl
    case `gold_changed` and `predicted_changed` name what the statements touched. `cause` is None on a match.
    `predicted_sql` is the SQL that was judged; where it is not what the agent wrote, `answer_text` is that, and
    `answer_rules` name how the one was read from the other. `database` is the snapshot id the prediction ran on.
    `policy_overrides` are the case's own fields of the policy: with them and the gold's order a verdict can be found
    again from stored rows.
    """

    format: int = FORMAT
    case_id: str
    trial: int = 0
    dialect: str
    question: str
    snapshot: str
    expected_route: str | None = None
    selected_route: str | None = None
    gold_sql: str | None = None
    predicted_sql: str | None = None
    answer_rules: tuple[str, ...] = ()
    answer_text: str | None = None
    answer: str | None = None
    agent: AgentRecord | None = None
    unsafe_steps: tuple[UnsafeStepRecord, ...] = ()
    verdict: Verdict
    reason: str
    cause: Cause | None = None
    scores: dict[str, ScoreRecord] = {}
    guard: GuardRecord | None = None
    comparison: ComparisonRecord | None = None
    strict: ComparisonRecord | None = None
    gold_structure: StructureRecord | None = None
    predicted_structure: StructureRecord | None = None
    gold_shape: tuple[int, int] | None = None
    predicted_shape: tuple[int, int] | None = None
    gold_columns: tuple[str, ...] = ()
    predicted_columns: tuple[str, ...] = ()
    gold_changed: tuple[str, ...] = ()
    predicted_changed: tuple[str, ...] = ()
    gold_status: str = "native"
    partial: float | None = None
    policy_digest: str = ""
    policy_overrides: dict[str, Any] | None = None
    order_required: bool | None = None
    allow_extra_predicted_columns: bool | None = None
    scenario: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, int]:
        """Return (case id, trial): what names a result within one run."""
        return self.case_id, self.trial

    def __repr__(self) -> str:
        """Say the result in one line; `model_dump()` has everything."""
        reason = self.reason if len(self.reason) <= _SHOWN else f"{self.reason[:_SHOWN]}…"
        trial = f" (trial {self.trial})" if self.trial else ""
        return f"<CaseResult {self.case_id}{trial} on {self.dialect}: {self.verdict.value}: {' '.join(reason.split())}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Return the result as a notebook shows it: the verdict with its reason, both statements and every score."""
        rows = [("verdict", f"{self.verdict.value}: {self.reason}"), ("cause", self.cause.value if self.cause else "")]
        rows += [("gold", self.gold_sql or ""), ("predicted", self.predicted_sql or "")]
        rows += [
            (name, f"{'–' if score.value is None else format(score.value, '.3f')} ({score.reason})")
            for name, score in self.scores.items()
        ]
        body = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows if text)
        return f"<table><caption>{escape(self.case_id)} on {escape(self.dialect)}</caption>{body}</table>"


class Timing(_Record):
    """Seconds of harness clock for one result; kept apart so results.jsonl has no clocks.

    `rounds` are the seconds of gold and prediction in turn, by the clock of `clock`, where a metric of speed was
    chosen; `scores` are those of every metric computed from them.
    """

    case_id: str
    trial: int
    gold_seconds: float | None = None
    gold_cached: bool = False
    agent_seconds: float | None = None
    parse_seconds: float | None = None
    sandbox_seconds: float | None = None
    predicted_seconds: float | None = None
    total_seconds: float = 0.0
    rounds: tuple[tuple[float, float], ...] = ()
    clock: str = ""
    scores: dict[str, ScoreRecord] = {}

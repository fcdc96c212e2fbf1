"""Everything metrics may look at for one prediction, collected before any metric runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.catalog import Catalog
from sqlassay.cases.outcome import Changed, Outcome
from sqlassay.cases.plan import QueryPlan
from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Relation
from sqlassay.cases.verdicts import Cause, Verdict
from sqlassay.harness.results.parsed import OrderFacts, ParsedQuery
from sqlassay.harness.results.verdicts import Comparison, GuardVerdict


@dataclass(frozen=True, slots=True)
class MetricSettings:
    """Configurable weights of the metrics: structural α and β, and the disagreement threshold t.

    `repetitions` says how often the run times each correct prediction beside its gold; 0 = no metric of speed applies.
    `options` are the others as (`metric.option`, value), such as the patterns of `evalbench.regexp_matcher`.
    """

    alpha: float = 0.3
    beta: float = 0.2
    disagreement: float = 0.1
    repetitions: int = 0
    options: tuple[tuple[str, object], ...] = ()

    def option(self, metric: str, name: str, default: object = None) -> object:
        """Return the value given for one option of a metric, the default where none was."""
        return dict(self.options).get(f"{metric}.{name}", default)


GoldStatus = Literal["native", "transpiled-verified", "transpiled-unverified", "unavailable"]
"""Whose words a gold is: the pack's own, another dialect's rewritten and found to give its rows, or not found so."""


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """One accepted gold statement, run once on a server no prediction ever shares.

    `changed` is what a dml or ddl gold left, which then has no `relation`.
    `failure` is set where it gave neither (ours, never the agent's). `probe` is the same query with hidden order
    keys appended and one more row, None where none was needed. `cached` says that an earlier run executed it.
    `status` says where the statement is from; only `native` and `transpiled-verified` ones are ever usable.
    `shelved` is where its rows wait on disk (offset and bytes), which `relation` then lacks.
    """

    sql: str
    parsed: ParsedQuery
    relation: Relation | None
    probe: Relation | None = None
    failure: str | None = None
    timed_out: bool = False
    infrastructure: bool = False
    seconds: float = 0.0
    cached: bool = False
    changed: Changed | None = None
    status: GoldStatus = "native"
    shelved: tuple[int, int] | None = None

    @property
    def usable(self) -> bool:
        """Return whether a prediction can be compared with it."""
        return self.relation is not None or self.changed is not None


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as SQL: `sql` None where no statement begins in it, with the `reason`.

    `rules` name what was unwrapped or cut, in order; none means that the answer is the SQL itself, character by
    character. `text` is what the agent wrote where that is not the SQL.
    """

    sql: str | None
    rules: tuple[str, ...] = ()
    reason: str = ""
    text: str | None = None


@dataclass(frozen=True, slots=True)
class UnsafeStep:
    """A statement in an agent's own steps that the guard refuses: attempted, or `executed` by the agent's account."""

    step: int
    tool: str
    sql: str
    executed: bool
    guard: GuardVerdict


@dataclass(frozen=True, slots=True)
class Execution:
    """Gold and predicted outcome on one snapshot, and how they compare under the run's policy and `strict`.

    `partial` is the Skill's partial credit (0–1) on a mismatch, None elsewhere. `eval_orders` says of a change how
    each eval query orders its rows. `others` are the comparisons under the presets that the run's metrics need
    (`policy:NAME`), `timings` the seconds of repeated runs of gold and prediction in turn on one server by that
    `clock` (`engine` or `harness`), empty where none were timed; `not_timed` says why where they were asked for.
    """

    snapshot: str
    gold: Outcome | None
    predicted: Outcome | None
    comparison: Comparison | None = None
    strict: Comparison | None = None
    partial: float | None = None
    eval_orders: tuple[OrderFacts | None, ...] = ()
    others: tuple[tuple[str, Comparison], ...] = ()
    timings: tuple[tuple[float, float], ...] = ()
    clock: str = ""
    not_timed: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One case, one dialect, one prediction: what was asked, answered, parsed, allowed, executed and compared.

    `gold_sql` is the accepted alternative that matched, else the best or first. `selected_route` is None where
    the agent named none. `verdict` is decided by evaluate; metrics never decide it. `catalog` is what the prediction
    may name, None where it is not known. The last of `executions` is the one on the case's own snapshot, which the
    verdict is of; those before it are on the case's further snapshots. `plan` is the engine's plan of the prediction,
    None where no metric needs it, or where `no_plan` says why there is none. `prediction` holds the SQL that was
    judged; `unsafe_steps` are the statements of the agent's own steps that the guard refuses. `answer` says how the
    SQL was read from what the agent wrote, None where there was no text.
    """

    case: Case
    dialect: str
    prediction: Prediction | None
    verdict: Verdict
    reason: str
    policy: Policy
    gold_sql: str | None = None
    gold_parsed: ParsedQuery | None = None
    predicted_parsed: ParsedQuery | None = None
    guard: GuardVerdict | None = None
    executions: tuple[Execution, ...] = ()
    expected_route: str | None = None
    selected_route: str | None = None
    known_route: bool = True
    settings: MetricSettings = MetricSettings()
    cause: Cause | None = None
    gold_status: GoldStatus = "unavailable"
    catalog: Catalog | None = None
    plan: QueryPlan | None = None
    no_plan: str = ""
    answer: Answer | None = None
    unsafe_steps: tuple[UnsafeStep, ...] = ()


LEAST, MOST = "least", "most"
"""Parts of a score that a judge left open: what the value would be with the missing answers at either end."""


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's value on one case (None = not applicable, never zero) and a reason a person can act on."""

    value: float | None
    reason: str
    details: tuple[tuple[str, str | float | None], ...] = ()

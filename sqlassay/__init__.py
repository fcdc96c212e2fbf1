"""The public API of sqlassay: run a pack, judge statements, compare relations, guard a statement.

Everything else may change without notice. Names are loaded when first used, so importing costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from sqlassay.cases.case import Case as Case
    from sqlassay.cases.case import Prediction as Prediction
    from sqlassay.cases.catalog import Catalog as Catalog
    from sqlassay.cases.errors import InfrastructureError as InfrastructureError
    from sqlassay.cases.errors import InputError as InputError
    from sqlassay.cases.errors import SqlassayError as SqlassayError
    from sqlassay.cases.policy import Policy as Policy
    from sqlassay.cases.relation import Column as Column
    from sqlassay.cases.relation import Kind as Kind
    from sqlassay.cases.relation import Relation as Relation
    from sqlassay.harness import sqlas as sqlas
    from sqlassay.harness.agents.function import AgentFunction as AgentFunction
    from sqlassay.harness.agents.request import AgentRequest as AgentRequest
    from sqlassay.harness.given import GivenPredictions as GivenPredictions
    from sqlassay.harness.results.case_result import CaseResult as CaseResult
    from sqlassay.harness.results.run_result import RunResult as RunResult
    from sqlassay.harness.results.verdicts import Comparison as Comparison
    from sqlassay.harness.results.verdicts import GuardVerdict as GuardVerdict
    from sqlassay.harness.run.options import JudgeKeywords, RunKeywords
    from sqlassay.harness.session import Session as Session

    __version__: str

_HOMES = {
    "AgentFunction": "sqlassay.harness.agents.function",
    "AgentRequest": "sqlassay.harness.agents.request",
    "Case": "sqlassay.cases.case",
    "CaseResult": "sqlassay.harness.results.case_result",
    "Catalog": "sqlassay.cases.catalog",
    "Column": "sqlassay.cases.relation",
    "Comparison": "sqlassay.harness.results.verdicts",
    "GivenPredictions": "sqlassay.harness.given",
    "GuardVerdict": "sqlassay.harness.results.verdicts",
    "InfrastructureError": "sqlassay.cases.errors",
    "InputError": "sqlassay.cases.errors",
    "Kind": "sqlassay.cases.relation",
    "Policy": "sqlassay.cases.policy",
    "Prediction": "sqlassay.cases.case",
    "Relation": "sqlassay.cases.relation",
    "RunResult": "sqlassay.harness.results.run_result",
    "Session": "sqlassay.harness.session",
    "SqlassayError": "sqlassay.cases.errors",
}

__all__ = [
    "AgentFunction",
    "AgentRequest",
    "Case",
    "CaseResult",
    "Catalog",
    "Column",
    "Comparison",
    "GivenPredictions",
    "GuardVerdict",
    "InfrastructureError",
    "InputError",
    "Kind",
    "Policy",
    "Prediction",
    "Relation",
    "RunResult",
    "Session",
    "SqlassayError",
    "__version__",
    "compare",
    "evaluate",
    "guard",
    "preset",
    "relation",
    "run",
    "sqlas",
]


if not TYPE_CHECKING:  # a type checker would take any name for one that is there

    def __getattr__(name: str) -> Any:
        """Load a public name from the module that defines it."""
        if name == "sqlas":
            return import_module("sqlassay.harness.sqlas")
        if name == "__version__":
            from importlib.metadata import version

            return version("sqlassay")
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'sqlassay' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


def preset(name: str) -> Policy:
    """Return a named comparison policy (`strict`, `skill`, `cross_dialect`, …).

    Raises:
        InputError: no such preset; the message lists the names.
    """
    from sqlassay.cases.presets import preset as find

    return find(name)


def compare(gold: Any, predicted: Any, policy: Policy | None = None) -> Comparison:
    """Return whether two results agree under a policy (default `strict`), with the evidence.

    Each is a Relation, or what `relation` makes one of: a pandas or Polars frame, an Arrow table, a list of mappings,
    or the path of a CSV, Parquet, Excel or JSON file. Without SQL, row order counts only where the policy says `exact`
    or names `order_keys`.

    Raises:
        InputError: what no relation is made of, a malformed file, or what is no policy.
    """
    from sqlassay.cases.errors import InputError as Refused
    from sqlassay.cases.policy import Policy as Known
    from sqlassay.harness.verdict import GoldRows, judge_rows

    policy = preset("strict") if policy is None else policy
    if not isinstance(policy, Known):
        message = f"{type(policy).__name__} is no policy"
        raise Refused(message, field="policy", remedy='Give a Policy, such as preset("skill")')
    return judge_rows(GoldRows(relation(gold)), relation(predicted), policy)


def relation(data: Any) -> Relation:
    """Return a data frame, an Arrow table, a list of mappings or a file of results as a Relation, types kept.

    Raises:
        InputError: anything else, or a malformed file.
    """
    from sqlassay.cases.frames import relation_of

    return relation_of(data)


def guard(
    sql: str, dialect: str, *, catalog: Catalog | None = None, profile: Literal["dql", "dml", "ddl"] = "dql"
) -> GuardVerdict:
    """Return whether the guard would let a statement near a database, without any database.

    Without a catalogue, of tables only the system schemas are refused. `profile` is dql, dml or ddl.

    Raises:
        InputError: no such dialect or profile, or what is no text or no catalogue.
    """
    from sqlassay.cases.catalog import Catalog as Known
    from sqlassay.cases.errors import InputError as Refused
    from sqlassay.dialect_adapters.registry import adapter
    from sqlassay.harness.guard import PROFILES, check
    from sqlassay.harness.parse.parser import Parser

    if not isinstance(sql, str):
        raise Refused(f"{type(sql).__name__} is no SQL text", field="sql", remedy="Give the statement as text")
    if not isinstance(dialect, str):
        raise Refused(f"{type(dialect).__name__} names no dialect", field="dialect", remedy="Give its name as text")
    if catalog is not None and not isinstance(catalog, Known):
        raise Refused(f"{type(catalog).__name__} is no catalogue", field="catalog", remedy="Give a Catalog, or None")
    if str(profile) not in PROFILES:
        raise Refused(f"unknown profile {profile!r}", field="profile", remedy=f"Choose one of {', '.join(PROFILES)}")
    rules = adapter(dialect).rules
    with Parser() as parser:
        parsed = parser.parse(
            sql,
            dialect,
            catalog,
            sqlglot_dialect=rules.sqlglot_dialect,
            cte_scope=rules.cte_scope,
            spellings=rules.spellings,
            brief=True,
        )
        return check(parsed, rules, catalog, profile=profile)


def run(
    pack: str | Path,
    *,
    agent: AgentFunction | str | None = None,
    predictions: GivenPredictions | None = None,
    judge: Callable[[str], str] | str | Sequence[str] | None = None,
    **options: Unpack[RunKeywords],
) -> RunResult:
    """Evaluate a pack and return the run, which leaves the same run folder as the command. Nothing is printed.

    `agent` is a plain or async function from an `AgentRequest` to SQL, a mapping or a `Prediction`; it runs in this
    process and sees what you see. Named as `module:function` it runs in a child process that cannot see the gold.
    `predictions` are a file, {case id: SQL}, a list of predictions, mappings or (case id, SQL), or a table of pandas,
    polars or Arrow. `judge` is a function from prompt to text, or what `--judge` takes. `options` are those of
    `sqlassay run` (`dialect="postgres"`, `jobs=4`, `metrics=["execution_accuracy"]`, …).

    Raises:
        InputError: something given is wrong; nothing was run.
        InfrastructureError: the run could not start.
    """
    from sqlassay.harness.calling import run_given

    return run_given(pack, agent, predictions, judge, dict(options))


def evaluate(
    pack: str | Path,
    case_id: str,
    sql: str | Prediction | None,
    *,
    dialect: str = "sqlite",
    judge: str | Sequence[str] | None = None,
    **options: Unpack[JudgeKeywords],
) -> CaseResult:
    """Judge one statement against one case of a pack and return its result with every score and reason.

    What it needs is brought up once and kept for the next call with the same pack and options, until the process ends
    or the pack's files change: a second call takes milliseconds. Who wants to say when it ends opens a `Session`.

    Raises:
        InputError: no such pack, case or option, or neither a text nor a prediction; a text with half a character is
            an error of the agent.
        InfrastructureError: the sandbox could not start.
    """
    from sqlassay.harness.calling import warm_session

    return warm_session(pack, dialect, judge, dict(options)).judge(case_id, sql)

"""The public API of sqlassay: run a pack, judge one prediction, compare relations, guard a statement.

Everything else may change without notice. Names are loaded when first used, so importing costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cases.case import Case as Case
    from cases.case import Prediction as Prediction
    from cases.catalog import Catalog as Catalog
    from cases.errors import InfrastructureError as InfrastructureError
    from cases.errors import InputError as InputError
    from cases.errors import SqlassayError as SqlassayError
    from cases.policy import Policy as Policy
    from cases.relation import Column as Column
    from cases.relation import Kind as Kind
    from cases.relation import Relation as Relation
    from harness import sqlas as sqlas
    from harness.agents.request import AgentRequest as AgentRequest
    from harness.results.run_result import RunResult as RunResult
    from harness.results.verdicts import Comparison as Comparison
    from harness.results.verdicts import GuardVerdict as GuardVerdict

_HOMES = {
    "AgentRequest": "harness.agents.request",
    "Case": "cases.case",
    "Catalog": "cases.catalog",
    "Column": "cases.relation",
    "Comparison": "harness.results.verdicts",
    "GuardVerdict": "harness.results.verdicts",
    "InfrastructureError": "cases.errors",
    "InputError": "cases.errors",
    "Kind": "cases.relation",
    "Policy": "cases.policy",
    "Prediction": "cases.case",
    "Relation": "cases.relation",
    "RunResult": "harness.results.run_result",
    "SqlassayError": "cases.errors",
}

__all__ = [*sorted(_HOMES), "compare", "evaluate", "guard", "preset", "relation", "run", "sqlas"]


def __getattr__(name: str) -> Any:
    """Load a public name from the module that defines it."""
    if name == "sqlas":
        return import_module("harness.sqlas")
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
    from cases.presets import preset as find

    return find(name)


def compare(gold: Any, predicted: Any, policy: Policy | None = None) -> Comparison:
    """Return whether two results agree under a policy (default `strict`), with the evidence.

    Each is a Relation, or what `relation` makes one of: a pandas or Polars frame, an Arrow table, a list of mappings,
    or the path of a CSV, Parquet, Excel or JSON file. Without SQL, row order counts only where the policy says `exact`
    or names `order_keys`.

    Raises:
        InputError: what no relation is made of, or a malformed file.
    """
    from harness.verdict import GoldRows, judge_rows

    return judge_rows(GoldRows(relation(gold)), relation(predicted), policy or preset("strict"))


def relation(data: Any) -> Relation:
    """Return a data frame, an Arrow table, a list of mappings or a file of results as a Relation, types kept.

    Raises:
        InputError: anything else, or a malformed file.
    """
    from cases.frames import relation_of

    return relation_of(data)


def guard(sql: str, dialect: str, *, catalog: Catalog | None = None, profile: str = "dql") -> GuardVerdict:
    """Return whether the guard would let a statement near a database, without any database.

    Without a catalogue, of tables only the system schemas are refused. `profile` is dql, dml or ddl.

    Raises:
        InputError: no such dialect.
    """
    from dialect_adapters.registry import adapter
    from harness.guard import check
    from harness.parse.parser import Parser

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


def run(pack: str | Path, **options: Any) -> RunResult:
    """Evaluate a pack and return the run; options are those of `sqlassay run` (`dialect="postgres"`, `jobs=4`, …).

    Leaves the same run folder as the command. Nothing is printed.

    Raises:
        InputError: something given is wrong; nothing was run.
        InfrastructureError: the run could not start.
    """
    from cases.formats.registry import load_pack
    from harness.reports.registry import write_all
    from harness.run.options import options_from, resolve
    from harness.run.runner import run as run_pack
    from harness.run.screen import Silent

    asked = options_from(options, file=None)
    loaded = load_pack(Path(pack), format=asked.format)
    config = resolve([("command line", asked)], loaded.settings)
    return run_pack(config, loaded, Silent(), write_reports=write_all)


def evaluate(pack: str | Path, case_id: str, sql: str | None, **options: Any) -> Any:
    """Judge one statement against one case of a pack and return its CaseResult.

    Options are those of `run`. For many statements use `run`: it keeps its sandboxes.

    Raises:
        InputError: no such pack or case.
        InfrastructureError: the sandbox could not start.
    """
    import json

    from sandboxes.scratch import Scratch

    with Scratch("one") as folder:
        predictions = folder / "one.jsonl"
        predictions.write_text(json.dumps({"case_id": case_id, "sql": sql}) + "\n", encoding="utf-8")
        asked = {"out": folder / "run", **options, "predictions": predictions, "only": (case_id,), "jobs": 1}
        return run(pack, **asked).results[0]

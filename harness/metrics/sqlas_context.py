"""SQLAS's context metrics: which tables, columns, values and functions of the gold a prediction names."""

from __future__ import annotations

from collections.abc import Callable

from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.results.evidence import Evidence, Score
from sqlassay.harness.results.parsed import ParsedQuery

CITATION = "sqlas 2.8.0"
Elements = frozenset[tuple[str, str]]
"""Things a text names, each with what it is: a table and a column of one name are two."""


def elements(query: ParsedQuery) -> Elements:
    """Return E(x): the physical tables and the columns a text reads."""
    return frozenset({("table", ref.name) for ref in query.tables} | {("column", name) for name in query.columns})


_OPERATORS = frozenset({"exists", "regexp_like", "collate", "xor"})
"""What the parser lists among functions and a text writes as an operator: EXISTS (…), a REGEXP b, a COLLATE c."""


def entities(query: ParsedQuery) -> Elements:
    """Return E(x) with the constants, to the letter, and the functions; an operator is none."""
    constants = {("value", text) for text in query.literals}
    return elements(query) | constants | {("function", name) for name in query.functions - _OPERATORS}


def _both(evidence: Evidence) -> tuple[ParsedQuery, ParsedQuery] | Score:
    """Return the gold's and the prediction's facts, else the score of a case without them."""
    gold, predicted = evidence.gold_parsed, evidence.predicted_parsed
    if gold is None:
        return Score(None, "there is no gold statement to compare with")
    if gold.error is not None:
        return Score(None, f"the gold statement cannot be parsed: {gold.error}")
    if evidence.verdict in {Verdict.OUT_OF_SCOPE, Verdict.INFRASTRUCTURE}:
        return Score(None, f"not scored: {evidence.verdict.value}")
    if predicted is None:
        return Score(0.0, "there is no predicted statement")
    if predicted.error is not None:
        return Score(0.0, f"the predicted statement cannot be parsed: {predicted.error}")
    return gold, predicted


def _named(found: Elements) -> str:
    """Return things by name for a reason."""
    return ", ".join(f"{kind} {name}" for kind, name in sorted(found))


def context_precision(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return the share of what the prediction names that the gold names too."""
    pair = _both(evidence)
    if isinstance(pair, Score):
        return pair
    wanted, given = map(elements, pair)
    extra = given - wanted
    value = len(given & wanted) / len(given) if given else 1.0
    return Score(value, f"not in the gold: {_named(extra)}" if extra else "nothing beyond the gold")


def _recall(of: Callable[[ParsedQuery], Elements]) -> Callable[[Evidence, Ask | None], Score]:
    """Return the share of what the gold names that the prediction names too."""

    def compute(evidence: Evidence, _ask: Ask | None = None) -> Score:
        """Return found / wanted, 1 where the gold names nothing."""
        pair = _both(evidence)
        if isinstance(pair, Score):
            return pair
        wanted, given = map(of, pair)
        missing = wanted - given
        value = len(given & wanted) / len(wanted) if wanted else 1.0
        return Score(value, f"missing: {_named(missing)}" if missing else "all of the gold's are there")

    return compute


def noise_robustness(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return 1 − the share of what the prediction names that the schema has and the gold does not need."""
    pair = _both(evidence)
    if isinstance(pair, Score):
        return pair
    if evidence.catalog is None:
        return Score(None, "the schema is not known")
    wanted, given = map(elements, pair)
    schema = {("table", table.name.lower()) for table in evidence.catalog.tables}
    schema |= {("column", column.name.lower()) for table in evidence.catalog.tables for column in table.columns}
    noise = (given - wanted) & schema
    value = 1.0 - len(noise) / len(given) if given else 1.0
    return Score(value, f"not needed: {_named(noise)}" if noise else "nothing that is not needed")


def schema_compliance(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return the mean of the valid shares of tables and of columns; a text that cannot be parsed has neither."""
    predicted = evidence.predicted_parsed
    if evidence.catalog is None:
        return Score(None, "the schema is not known")
    if predicted is None:
        return Score(0.0, "there is no predicted statement")
    if predicted.error is not None:
        return Score(0.0, f"the predicted statement cannot be parsed: {predicted.error}")
    known = {table.name.lower(): {c.name.lower() for c in table.columns} for table in evidence.catalog.tables}
    named = {ref.name for ref in predicted.tables}
    columns = set(predicted.columns)
    nowhere = {name.rsplit(".", 1)[-1].lower() for name in predicted.unresolved}
    wrong_tables = named - known.keys()
    wrong_columns = (columns - set().union(*known.values())) | nowhere if known else columns
    columns |= nowhere
    table_share = 1.0 - len(wrong_tables) / len(named) if named else 1.0
    column_share = 1.0 - len(wrong_columns) / len(columns) if columns else 1.0
    wrong = ", ".join(sorted(wrong_tables | wrong_columns))
    details = (("tables", table_share), ("columns", column_share))
    return Score((table_share + column_share) / 2, f"unknown: {wrong}" if wrong else "all names are known", details)


def _metric(name: str, formula: str, compute: Callable[[Evidence, Ask | None], Score], *needs: str) -> Metric:
    """Return one of the metrics, all from 0 to 1."""
    return Metric(f"sqlas.{name}", frozenset(needs), CITATION, formula, (0.0, 1.0), compute)


CONTEXT_PRECISION = _metric("context_precision", "|E(pred) ∩ E(gold)| / |E(pred)|", context_precision, "gold")
CONTEXT_RECALL = _metric("context_recall", "|E(pred) ∩ E(gold)| / |E(gold)|", _recall(elements), "gold")
ENTITY_RECALL = _metric(
    "entity_recall", "context_recall with constants and functions beside tables and columns", _recall(entities), "gold"
)
NOISE_ROBUSTNESS = _metric(
    "noise_robustness", "1 − |(E(pred) − E(gold)) ∩ schema| / |E(pred)|", noise_robustness, "gold", "schema"
)
SCHEMA_COMPLIANCE = _metric(
    "schema_compliance", "(valid share of tables + valid share of columns) / 2", schema_compliance, "schema"
)

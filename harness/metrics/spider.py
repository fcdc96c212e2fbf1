"""Spider: exact set match by clause with its partial scores and hardness, execution and test-suite accuracy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from sqlassay.cases.outcome import Failure, Rows
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.metrics.bird import under
from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.metrics.outcomes import unscorable
from sqlassay.harness.results.evidence import Evidence, Execution, Score
from sqlassay.harness.results.exact_set import Parts, Unit

_CITATION = "Yu et al. 2018 (Spider), evaluation script"

_EMPTY = Parts()
"""What a prediction that cannot be read is compared as, as the published script does."""


def _same(gold: Sequence[Hashable], predicted: Sequence[Hashable]) -> float:
    """Return 1 where the bags are equal: the published partial scores are all or nothing a clause."""
    return float(Counter(gold) == Counter(predicted))


def _bare(columns: Sequence[str]) -> list[str]:
    """Return grouped columns without their tables."""
    return [column.rsplit(".", 1)[-1] for column in columns]


def _group(gold: Parts, predicted: Parts) -> float:
    """Compare GROUP BY in its order with HAVING; a query without GROUP BY has nothing to compare."""
    if not gold.group_by or not predicted.group_by:
        return float(bool(gold.group_by) == bool(predicted.group_by))
    same = (gold.group_by, gold.having, gold.having_by) == (predicted.group_by, predicted.having, predicted.having_by)
    return float(same)


def _order(gold: Parts, predicted: Parts) -> float:
    """Compare ORDER BY in its order, its direction, and whether a LIMIT follows."""
    if not gold.order_by or not predicted.order_by:
        return float(bool(gold.order_by) == bool(predicted.order_by))
    ours, theirs = ((each.order_by, each.direction, each.limit) for each in (gold, predicted))
    return float(ours == theirs)


def _sets(gold: Parts, predicted: Parts) -> float:
    """Compare INTERSECT, UNION and EXCEPT with their right sides by exact set match."""
    if [kind for kind, _ in gold.sets] != [kind for kind, _ in predicted.sets]:
        return 0.0
    return float(all(matches(one, two) for (_, one), (_, two) in zip(gold.sets, predicted.sets, strict=True)))


def _keywords(parts: Parts) -> frozenset[str]:
    """Return the keywords a SELECT uses."""
    units, words = _units(parts), (*parts.on_by, *parts.where_by, *parts.having_by)
    found = {
        "where": bool(parts.where),
        "group": bool(parts.group_by),
        "having": bool(parts.having),
        "order": bool(parts.order_by),
        parts.direction: bool(parts.order_by),
        "limit": parts.limit,
        "or": "or" in words,
        "not": any(unit.negated for unit in units),
        "in": any(unit.operator == "in" for unit in units),
        "like": any(unit.operator == "like" for unit in units),
    }
    return frozenset({name for name, holds in found.items() if holds} | {kind for kind, _ in parts.sets})


def _units(parts: Parts) -> tuple[Unit, ...]:
    """Return every condition of a SELECT."""
    return (*parts.on, *parts.where, *parts.having)


_CLAUSES: dict[str, Callable[[Parts, Parts], float]] = {
    "select": lambda gold, pred: _same(gold.select, pred.select),
    "select_no_agg": lambda gold, pred: _same([one for _, one in gold.select], [one for _, one in pred.select]),
    "where": lambda gold, pred: _same(gold.where, pred.where),
    "where_no_op": lambda gold, pred: _same([one.left for one in gold.where], [one.left for one in pred.where]),
    "group_no_having": lambda gold, pred: _same(_bare(gold.group_by), _bare(pred.group_by)),
    "group": _group,
    "order": _order,
    "and_or": lambda gold, pred: float(set(gold.where_by) == set(pred.where_by)),
    "iuen": _sets,
    "keywords": lambda gold, pred: float(_keywords(gold) == _keywords(pred)),
}
"""The published partial scores, by our names."""


def partial(gold: Parts, predicted: Parts) -> dict[str, float]:
    """Return each clause's score."""
    return {name: compare(gold, predicted) for name, compare in _CLAUSES.items()}


def matches(gold: Parts, predicted: Parts) -> bool:
    """Return True where every clause and the tables are the same."""
    same_tables = not gold.tables or (gold.tables, gold.derived) == (predicted.tables, predicted.derived)
    return same_tables and all(partial(gold, predicted).values())


def clauses(gold: Parts, predicted: Parts) -> tuple[str, str]:
    """Return the clauses the gold has and those the prediction has, named: what precision and recall are over.

    Equal words between conditions count as there on both sides, and unequal ones on the other side, as published.
    """
    words = gold.where_by, predicted.where_by
    same = set(words[0]) == set(words[1])
    return _present(gold, and_or=same or bool(words[1])), _present(predicted, and_or=same or bool(words[0]))


def _present(parts: Parts, *, and_or: bool) -> str:
    """Return the clauses one query has."""
    has = {
        **dict.fromkeys(("select", "select_no_agg"), bool(parts.select)),
        **dict.fromkeys(("where", "where_no_op"), bool(parts.where)),
        **dict.fromkeys(("group_no_having", "group"), bool(parts.group_by)),
        "order": bool(parts.order_by),
        "and_or": and_or,
        "iuen": bool(parts.sets),
        "keywords": bool(_keywords(parts)),
    }
    return " ".join(name for name, holds in has.items() if holds)


def hardness(parts: Parts) -> str:
    """Return the published level of a query: easy, medium, hard or extra."""
    units = _units(parts)
    words = (*parts.on_by, *parts.where_by, *parts.having_by)
    first = sum(map(bool, (parts.where, parts.group_by, parts.order_by, parts.limit)))
    first += max(0, len(parts.tables) - 1) + words.count("or") + sum(unit.operator == "like" for unit in units)
    nested = sum(len(unit.nested) for unit in units) + len(parts.sets)
    # The published count takes a NOT, and the words between HAVING's conditions, for aggregates; levels are kept so.
    aggregates = sum(bool(name) for name, _ in (*parts.select, *parts.order_by)) + parts.order_aggregates
    aggregates += sum(unit.negated for unit in (*parts.where, *parts.having)) + len(parts.having_by)
    conditions = len(parts.where) + len(parts.where_by)
    others = (aggregates > 1) + (len(parts.select) > 1) + (conditions > 1) + (len(parts.group_by) > 1)
    if nested == 0 and first <= 1 and others == 0:
        return "easy"
    if nested == 0 and ((others <= 2 and first <= 1) or (first <= 2 and others < 2)):
        return "medium"
    hard = nested == 0 and ((others > 2 and first <= 2) or (2 < first <= 3 and others <= 2))
    return "hard" if hard or (first <= 1 and others == 0 and nested <= 1) else "extra"


def _pair(evidence: Evidence) -> tuple[Parts, Parts] | Score:
    """Return both queries by clause; a prediction that cannot be read has no clause.

    A gold that the published script reads is compared as the script does: what it cannot read of a prediction counts
    as empty. Any other gold, which the script cannot score at all, is compared by the trees of both.
    """
    gold, predicted = evidence.gold_parsed, evidence.predicted_parsed
    if gold is None or (gold.published is None and gold.parts is None):
        why = gold.error if gold is not None and gold.error is not None else "there is no gold query to compare with"
        return Score(None, why)
    if evidence.verdict in {Verdict.OUT_OF_SCOPE, Verdict.INFRASTRUCTURE}:
        return Score(None, f"not scored: {evidence.verdict.value}")
    if gold.published is not None:
        return gold.published, (predicted.published if predicted is not None else None) or _EMPTY
    return gold.parts or _EMPTY, (predicted.parts if predicted is not None else None) or _EMPTY


def exact_set_match(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return 1 where the two queries are the same clause by clause, values and DISTINCT aside."""
    pair = _pair(evidence)
    if isinstance(pair, Score):
        return pair
    gold, predicted = pair
    scores = partial(gold, predicted)
    apart = [name for name, value in scores.items() if not value]
    equal = predicted is not _EMPTY and matches(gold, predicted)
    reason = "every clause is the same" if equal else f"apart: {', '.join(apart) or 'tables'}"
    if predicted is _EMPTY:
        why = evidence.predicted_parsed.unpublished if evidence.predicted_parsed is not None else ""
        reason = f"the prediction cannot be read as a query{f': {why}' if why else ''}"
    there = zip(("gold_clauses", "predicted_clauses"), clauses(gold, predicted), strict=True)
    return Score(float(equal), reason, (*scores.items(), ("hardness", hardness(gold)), *there))


def _clause(name: str) -> Metric:
    """Return one partial score as a metric."""

    def compute(evidence: Evidence, _ask: Ask | None = None) -> Score:
        """Return 1 where this clause is the same, 0 where not."""
        pair = _pair(evidence)
        if isinstance(pair, Score):
            return pair
        value = _CLAUSES[name](*pair)
        return Score(value, "the same" if value else "not the same", (("hardness", hardness(pair[0])),))

    formula = f"1 if the clause {name} is the same else 0"
    return Metric(f"spider.{name}", frozenset({"gold"}), _CITATION, formula, (0.0, 1.0), compute)


def suite_accuracy(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return 1 where gold and prediction agree on every snapshot of the case, 0 where they do not on one."""
    missing = unscorable(evidence)
    if missing is not None:
        return missing
    executions, places = evidence.executions, 1 + len(evidence.case.extra_snapshots)
    if max(places, len(executions)) < 2 or evidence.case.query_type != "dql":
        return Score(None, "the case has one snapshot, or changes it: a suite needs several to read")
    if not executions or not isinstance(executions[-1].predicted, Rows):
        return Score(0.0, f"{evidence.verdict}: {evidence.reason}")
    found = [(one.snapshot, _agreed(one)) for one in (*executions[-1:], *executions[:-1])]
    apart = [name for name, (agreed, _) in found if agreed is False]
    if apart:
        return Score(0.0, f"they differ on {', '.join(apart)}")
    unknown = [f"{name}: {why}" for name, (agreed, why) in found if agreed is None]
    if unknown:
        return Score(None, f"not decided on {'; '.join(unknown)}")
    if len(found) < places:
        return Score(None, f"run on {len(found)} of {places} snapshots")
    return Score(1.0, f"they agree on all {len(found)} snapshots")


def _agreed(execution: Execution) -> tuple[bool | None, str]:
    """Return whether gold and prediction agree on one snapshot; None and why where that is not known."""
    comparison = dict(execution.others).get("spider")
    if comparison is not None:
        return {"match": True, "mismatch": False}.get(comparison.verdict), comparison.reason
    if isinstance(execution.predicted, Failure):
        return (False, "") if isinstance(execution.gold, Rows) else (None, "the gold gave no rows there")
    return None, "it could not be run there" if execution.predicted is None else "the gold gave no rows there"


EXACT_SET_MATCH = Metric(
    name="spider.exact_set_match",
    needs=frozenset({"gold"}),
    citation=_CITATION,
    formula="1 if every clause and the tables are the same, values and DISTINCT aside, else 0",
    range=(0.0, 1.0),
    compute=exact_set_match,
)
EXECUTION_ACCURACY = Metric(
    name="spider.execution_accuracy",
    needs=frozenset({"gold", "policy:spider"}),
    citation="Zhong et al. 2020 (test suites), result comparison",
    formula="1 if rows are equal under one column permutation, in order where the gold orders, else 0",
    range=(0.0, 1.0),
    compute=under("spider"),
)
TEST_SUITE_ACCURACY = Metric(
    name="spider.test_suite_accuracy",
    needs=frozenset({"gold", "policy:spider", "extra_snapshots"}),
    citation="Zhong et al. 2020 (test suites)",
    formula="1 if execution_accuracy is 1 on every snapshot else 0",
    range=(0.0, 1.0),
    compute=suite_accuracy,
)
SELECT, SELECT_NO_AGG, WHERE, WHERE_NO_OP, GROUP_NO_HAVING, GROUP, ORDER, AND_OR, IUEN, KEYWORDS = map(
    _clause, _CLAUSES
)

"""The numbers EvalBench 1.20 itself prints for a file of predictions (its NOOPGenerator), its flaws included.

Each number is equal, or there is none and the reason says why. What it has no number for stays without one (a broken
gold, a fault of ours, a result past the run's own limits), and so does what is run otherwise there: it has no guard, of
a query it runs the first statement alone, it runs the answer as it is written, takes `:name` in a text for a parameter,
and makes definitions and setups on one database that gold and prediction share.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from sqlassay.cases.outcome import Changed, Rows
from sqlassay.cases.relation import Relation
from sqlassay.cases.verdicts import UNSCORABLE, Verdict
from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.metrics.evalbench import check_patterns, check_recall, patterns_of
from sqlassay.harness.metrics.outcomes import last
from sqlassay.harness.metrics.patterns import EndlessPatternError, hits
from sqlassay.harness.results.evidence import Evidence, Score
from sqlassay.harness.results.fetched import as_fetched, dict_rows

_CITATION = "google-evalbench 1.20, scorers"
_REGEXP = "evalbench.regexp_matcher_compat"
_RECALL = "evalbench.recall_match_compat"
_PAST_LIMITS = frozenset({Verdict.TOO_MANY_ROWS, Verdict.TOO_MANY_BYTES, Verdict.TIMEOUT, Verdict.RESOURCE_LIMIT})
_DictRows = list[dict[str, object]]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a scorer of EvalBench is handed: the text, both results as dicts, the eval query's, and an error or none."""

    sql: str
    gold: _DictRows
    predicted: _DictRows
    gold_eval: _DictRows
    predicted_eval: _DictRows
    error: str | None


def _seen(evidence: Evidence) -> _Seen | Score:
    """Return what EvalBench's scorers see of a prediction, else the score of one they are not asked about."""
    if evidence.verdict in UNSCORABLE:
        return Score(None, f"{evidence.verdict}: {evidence.reason}")
    sql = _as_written(evidence)
    if sql is None:
        return Score(0.0, "there is no statement: no scorer is asked")
    execution = last(evidence)
    gold = execution.gold if execution is not None else None
    predicted = execution.predicted if execution is not None else None
    ran = isinstance(predicted, Rows | Changed)
    return _Seen(
        sql,
        _rows(gold),
        _rows(predicted),
        _answer(gold),
        _answer(predicted),
        None if ran or not _code(sql) else evidence.reason,
    )


def _as_written(evidence: Evidence) -> str | None:
    """Return the answer as the agent wrote it, which is what EvalBench runs and reads; None where it gave none."""
    if evidence.answer is not None and evidence.answer.text is not None:
        return evidence.answer.text
    return evidence.prediction.sql if evidence.prediction is not None else None


def _rows(outcome: object) -> _DictRows:
    """Return result rows as dicts, none where there are none."""
    return dict_rows(as_fetched(outcome.relation)) if isinstance(outcome, Rows) else []


def _answer(outcome: object) -> _DictRows:
    """Return the rows of a change's first eval query: EvalBench runs no other."""
    first = outcome.answers[0] if isinstance(outcome, Changed) and outcome.answers else None
    return dict_rows(as_fetched(first)) if isinstance(first, Relation) else []


_PARAMETER = re.compile(r"(?<![:\w\\]):\w+(?!:)")
"""What SQLAlchemy's text() takes for a parameter, in a literal too; EvalBench gives none a value, so it fails."""


_SEVERAL = re.compile(r";\s*\S")


def _otherwise(evidence: Evidence) -> Score | None:
    """Return the score, without a value, of what EvalBench runs otherwise than it was run here."""
    if evidence.verdict in _PAST_LIMITS:
        return Score(None, f"EvalBench has no such limit: {evidence.reason}")
    case, gold, sql = evidence.case, evidence.gold_sql or "", _as_written(evidence) or ""
    refused = evidence.verdict is Verdict.BLOCKED or (
        evidence.guard is not None and not evidence.guard.allowed and evidence.guard.node not in _ENGINE_REFUSES_TOO
    )
    why = {
        "the statement was refused here, and EvalBench has no guard: it runs it": refused and bool(_code(sql)),
        "EvalBench makes definitions on one database for gold and prediction": case.query_type == "ddl",
        "EvalBench runs setup_sql on one database for gold and prediction": bool(case.setup_sql),
        "EvalBench takes a `:name` in it for a parameter": any(map(_PARAMETER.search, (sql, gold))),
        "it was read out of the answer here, and EvalBench runs the answer as it is": evidence.answer is not None
        and evidence.answer.text is not None,
        "EvalBench runs the first statement of it alone": evidence.verdict is Verdict.ERROR
        and _SEVERAL.search(sql.strip()) is not None,
        "EvalBench compares the rows of RETURNING, which are not kept here": case.query_type == "dml"
        and any("returning" in each.lower() for each in (sql, gold)),
    }
    return next((Score(None, reason) for reason, holds in why.items() if holds), None)


_ENGINE_REFUSES_TOO = frozenset({"unknown_table", "unknown_function"})
"""Slips that an engine refuses as the guard does; what the parser cannot read an engine may well run."""


def _exact(_evidence: Evidence, seen: _Seen) -> Score:
    """Score 100 where the lists of dicts are equal, of a change those of its eval query."""
    if seen.error:
        return Score(0.0, "Golden or generated query had an error.")
    if seen.gold_eval:
        return Score(100.0 * (seen.gold_eval == seen.predicted_eval), "Used eval_query to score.")
    equal = seen.gold == seen.predicted
    return Score(100.0 * equal, "equal lists of rows" if equal else "other rows, names or order")


def _code(sql: str) -> bool:
    """Return whether a line is left that does not start as a comment once block comments are gone.

    What has none is not run, or runs as nothing: EvalBench notes no error.
    """
    end = sql.rfind("*/") + 2 if "*/" in sql else 0  # an opening mark after it would be looked for to the end each time
    text = re.sub(r"/\*.*?\*/", "", sql[:end], flags=re.DOTALL) + sql[end:]
    return any(line.strip() and not line.strip().startswith(("--", "#")) for line in text.splitlines())


def _returned(_evidence: Evidence, seen: _Seen) -> Score:
    """Score 100 where the text holds more than comments, to EvalBench's eye."""
    found = _code(seen.sql)
    return Score(100.0 * found, "a line that is no comment" if found else "no line but comments")


def _executable(_evidence: Evidence, seen: _Seen) -> Score:
    """Score 100 where no error was noted: an empty statement, which is never run, has none."""
    return Score(100.0 * (not seen.error), seen.error or "Generated query was executable.")


def _recall(evidence: Evidence, seen: _Seen) -> Score:
    """Score distinct rows found / predicted rows under the name recall, / gold rows under the name precision."""
    common = len(set(map(_hashable, seen.gold)) & set(map(_hashable, seen.predicted)))
    equal = seen.gold == seen.predicted
    recall = 1.0 if equal else common / len(seen.predicted) if seen.predicted else 0.0
    precision = 1.0 if equal else common / len(seen.gold) if seen.gold else 0.0
    asked = evidence.settings.option(_RECALL, "score_type", "recall")
    details: tuple[tuple[str, float], ...] = (("recall", recall), ("precision", precision))
    reason = f"{common} distinct rows in both, {len(seen.gold)} gold rows, {len(seen.predicted)} predicted"
    return Score(100.0 * (precision if asked == "precision" else recall), reason, details)


def _set_match(evidence: Evidence, seen: _Seen) -> Score:
    """Score 100 where EvalBench's comparator says match; of a change the results are empty lists, which are equal."""
    if seen.error:
        return Score(0.0, seen.error)
    if evidence.case.query_type != "dql":
        return Score(100.0, "EvalBench compares the rows of the change itself, and there are none on either side")
    execution = last(evidence)
    comparison = dict(execution.others).get("evalbench") if execution is not None else None
    if comparison is not None and comparison.verdict != "undecided":
        return Score(100.0 * (comparison.verdict == "match"), comparison.reason)
    if _code(seen.sql):
        return Score(None, comparison.reason if comparison is not None else "not compared under evalbench")
    return Score(100.0 * (not seen.gold), "no rows on either side" if not seen.gold else "no rows where gold has some")


def _hashable(value: object) -> object:
    """Return rows as tuples of name and value in order of name, as EvalBench puts them into a set."""
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return tuple(sorted((k, _hashable(v)) for k, v in value.items())) if isinstance(value, dict) else value


def _regexp(evidence: Evidence, seen: _Seen) -> Score:
    """Score 100 where patterns are found; the whole query matches where the first hit of a pattern is all of it."""
    settings = evidence.settings
    patterns = patterns_of(settings, _REGEXP)
    if not patterns:
        return Score(None, f"no pattern was given: --metric-option '{_REGEXP}.regexp_string_list=[PATTERN]'")
    line = re.sub(r"\s+", " ", seen.sql.strip("`")).strip()
    try:
        found = [hit for hit in hits(patterns, line) if hit is not None]
    except EndlessPatternError as error:
        return Score(None, str(error))
    whole = settings.option(_REGEXP, "match_whole_query")
    count = sum(hit == line for hit in found) if whole else len(found)
    holds = count == len(patterns) if settings.option(_REGEXP, "match_all_patterns") else count > 0
    return Score(100.0 * (holds != bool(settings.option(_REGEXP, "invert_results"))), str(found))


_OF_TEXT = (_returned, _regexp)
"""Rules that read the answer's text, however it ran."""


def _asked(rule: Callable[[Evidence, _Seen], Score], evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return what a scorer says of a prediction it is asked about."""
    seen = _seen(evidence)
    if isinstance(seen, Score):
        return seen
    apart = None if rule in _OF_TEXT else _otherwise(evidence)
    return rule(evidence, seen) if apart is None else apart


def _metric(
    name: str, rule: Callable[[Evidence, _Seen], Score], formula: str, *needs: str, options: tuple[str, ...] = ()
) -> Metric:
    """Return one scorer as a metric."""
    full = f"evalbench.{name}_compat"
    checks = {"regexp_matcher": check_patterns, "recall_match": check_recall}
    return Metric(
        name=full,
        needs=frozenset(needs),
        citation=_CITATION,
        formula=formula,
        range=(0.0, 100.0),
        compute=partial(_asked, rule),
        options=options,
        check=partial(checks[name], metric=full) if name in checks else None,
    )


EXACT_MATCH = _metric("exact_match", _exact, "100 if the lists of rows by name are equal to Python else 0", "gold")
RETURNED_SQL = _metric("returned_sql", _returned, "100 if a line is left that starts with no comment else 0")
EXECUTABLE_SQL = _metric("executable_sql", _executable, "100 if no error was noted else 0", "gold")
RECALL_MATCH = _metric(
    "recall_match",
    _recall,
    "100 · distinct rows in both / predicted rows (precision: / gold rows)",
    "gold",
    options=("score_type",),
)
REGEXP_MATCHER = _metric(
    "regexp_matcher",
    _regexp,
    "100 if one pattern (or all) is found in the statement (or its first hit is all of it) else 0",
    options=("regexp_string_list", "invert_results", "match_all_patterns", "match_whole_query"),
)
SET_MATCH = _metric(
    "set_match", _set_match, "100 if EvalBench's own set_match says so else 0", "gold", "policy:evalbench"
)
METRICS = (EXACT_MATCH, RETURNED_SQL, EXECUTABLE_SQL, RECALL_MATCH, REGEXP_MATCHER, SET_MATCH)
"""All of them."""

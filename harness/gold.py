"""Run each case's gold once, on a server that is gone before the first prediction, and keep the answers on the host."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from sqlassay.cases.case import Case
from sqlassay.cases.errors import GoldBrokenError, InfrastructureError, ParserLostError, RunEndsError
from sqlassay.cases.outcome import Changed, Failure, Outcome, Rows
from sqlassay.cases.relation import Relation
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Pins
from sqlassay.harness.change import plan
from sqlassay.harness.desk import Desk
from sqlassay.harness.guard import check
from sqlassay.harness.personal import hidden_message
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.parsed import ParsedQuery
from sqlassay.harness.store.gold_cache import GoldCache, GoldKey
from sqlassay.harness.verdict import may_be_tied, tie_is_cut, with_members
from sqlassay.sandboxes.station import Care

_log = logging.getLogger("sqlassay.gold")


def answer_gold(case: Case, desk: Desk, cache: GoldCache) -> tuple[GoldAnswer, ...]:
    """Return one answer per accepted gold statement of the case in this dialect; empty where there is none."""
    return tuple(answer_statement(case, sql, desk, cache) for sql in case.gold.get(desk.rules.dialect, ()))


def answer_statement(case: Case, sql: str, desk: Desk, cache: GoldCache) -> GoldAnswer:
    """Return the answer from the cache, else run the statement and keep it where it is repeatable.

    Raises:
        RunEndsError: no gold can be run at all; the run ends.
    """
    image = desk.rules.image.holding(case.snapshot)
    readings = cache.facts.of(image.key, image.catalog(case.snapshot).database)
    try:
        parsed = desk.parse(sql, case.snapshot, readings=readings)
    except ParserLostError as error:
        unread = ParsedQuery(sql, desk.rules.dialect, "none", error=error.message)
        return GoldAnswer(sql, unread, None, failure=str(error), infrastructure=True)
    verdict = check(parsed, desk.rules.grammar, desk.rules.image.catalog(case.snapshot), profile=case.query_type)
    pins = desk.rules.pins(case, verdict.flags, parsed)
    if case.query_type != "dql":
        return _answer_change(case, sql, parsed, pins, desk)
    key = _key(case, sql, pins, desk)
    # What is personal stays in no folder between runs.
    kept = None if case.pii_columns else cache.read(key)
    if kept is not None:
        return GoldAnswer(sql, parsed, kept.relation, kept.probe, seconds=kept.seconds, cached=True)
    try:
        plain = verdict.allowed and not verdict.flags
        outcome = _run(case, sql, pins, desk, plain=plain)
        probe = None
        if isinstance(outcome, Rows):
            probe = _probe(case, parsed, outcome.relation, pins, desk, plain=plain)
    except RunEndsError:
        raise
    except InfrastructureError as error:
        return GoldAnswer(sql, parsed, None, failure=str(error), infrastructure=True)
    if isinstance(outcome, Rows):
        answer = GoldAnswer(sql, parsed, outcome.relation, probe, seconds=outcome.seconds)
        # What the guard flags may read the clock or be random: a later run would not get the same rows.
        if verdict.allowed and not verdict.flags and not case.pii_columns:
            cache.write(key, answer)
        return answer
    return _failed(case, sql, parsed, outcome)


def _answer_change(case: Case, sql: str, parsed: ParsedQuery, pins: Pins, desk: Desk) -> GoldAnswer:
    """Return the state one gold change leaves on a throwaway server of its own; it is never kept between runs.

    Raises:
        RunEndsError: no gold can be run at all; the run ends.
    """
    change = plan(case, sql, desk.rules.dialect)
    try:
        trusted = desk.rules.isolation(case) == "run"
        outcome = desk.station.change(case.snapshot, change, desk.rules.gold_limits, pins, trusted=trusted)
    except RunEndsError:
        raise
    except GoldBrokenError as error:
        return GoldAnswer(sql, parsed, None, failure=error.message)
    except InfrastructureError as error:
        return GoldAnswer(sql, parsed, None, failure=str(error), infrastructure=True)
    if not isinstance(outcome, Changed):
        return _failed(case, sql, parsed, outcome)
    wrong = next((answer for answer in outcome.answers if isinstance(answer, Failure)), None)
    if wrong is not None:
        why = hidden_message(case, sql, wrong.message)
        return GoldAnswer(sql, parsed, None, failure=f"eval_query failed: {why}", seconds=outcome.seconds)
    return GoldAnswer(sql, parsed, None, seconds=outcome.seconds, changed=outcome)


def _run(case: Case, sql: str, pins: Pins, desk: Desk, *, plain: bool) -> Outcome:
    """Run one gold statement under gold's own limits; one the guard would let through may use a kept login."""
    level = desk.rules.isolation(case)
    care = Care.PLAIN if plain else Care.UNKNOWN
    return desk.station.run(case.snapshot, sql, desk.rules.gold_limits, pins, level=level, care=care)


def _probe(case: Case, parsed: ParsedQuery, gold: Relation, pins: Pins, desk: Desk, *, plain: bool) -> Relation | None:
    """Run the gold once more with its hidden order keys, to learn tie groups and cut ties; None where impossible.

    Where texts that some collation calls equal stand beside each other, the engine is asked to rank the rows too;
    where the LIMIT cuts a tie, it is asked for the tie's other members.
    """
    order = parsed.order
    if order is None:
        return None
    probe = None
    if order.probe_sql is not None:
        outcome = _run(case, order.probe_sql, pins, desk, plain=plain)
        if isinstance(outcome, Rows):
            probe = outcome.relation
        else:
            _log.info("case %s: hidden order keys could not be read (%s)", case.id, outcome)
    if order.rank_sql is not None and may_be_tied(order, gold, probe):
        ranked = _run(case, order.rank_sql, pins, desk, plain=plain)
        if isinstance(ranked, Rows):
            return ranked.relation
        _log.info("case %s: the engine did not rank the rows (%s)", case.id, ranked)
        return probe
    if probe is not None and order.whole_sql is not None and tie_is_cut(order, gold, probe):
        whole = _run(case, order.whole_sql, pins, desk, plain=plain)
        if isinstance(whole, Rows):
            return with_members(order, gold, probe, whole.relation) or probe
        _log.info("case %s: the members of the tie that its LIMIT cuts could not be read (%s)", case.id, whole)
    return probe


def _failed(case: Case, sql: str, parsed: ParsedQuery, outcome: Outcome) -> GoldAnswer:
    """Turn a failed gold outcome into an answer that says what to mend."""
    if isinstance(outcome, Failure):
        return GoldAnswer(
            sql,
            parsed,
            None,
            failure=f"{outcome.kind}: {hidden_message(case, sql, outcome.message)}",
            timed_out=outcome.kind is FailureKind.TIMEOUT,
            seconds=outcome.seconds,
        )
    return GoldAnswer(sql, parsed, None, failure="a dql gold changed state instead of returning rows")


def _key(case: Case, sql: str, pins: Pins, desk: Desk) -> GoldKey:
    """Name everything a gold answer depends on."""
    image = desk.rules.image.holding(case.snapshot)
    return GoldKey(
        image=image.key,
        engine_version=image.catalog(case.snapshot).engine_version,
        database=image.catalog(case.snapshot).database,
        settings=f"{desk.rules.gold_limits.rows}|{desk.rules.gold_limits.result_bytes}|"
        f"{desk.rules.gold_limits.cell_bytes}|{pins.clock}|{pins.time_zone}",
        sql=sql,
    )


def cases_with_gold(cases: Sequence[Case], dialect: str) -> tuple[Case, ...]:
    """Return the cases whose gold must be run in this dialect."""
    return tuple(case for case in cases if case.gold.get(dialect) and not case.out_of_scope)

"""Gold of another dialect, rewritten for this one: usable only where it ran here and gave the rows it gives there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlassay.cases.case import Case
from sqlassay.cases.errors import InputError
from sqlassay.dialect_adapters.contract import Adapter
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.transpile.rewrite import Readable, rewritable
from sqlassay.harness.crossing import crossed
from sqlassay.harness.desk import Desk
from sqlassay.harness.gold import answer_statement
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.store.gold_cache import GoldCache
from sqlassay.harness.store.rewrites import Rewrites


def source_of(case: Case, dialect: str) -> str | None:
    """Return the dialect whose gold can be rewritten for a case that has none in `dialect`; None where there is none.

    Only queries are rewritten: what a change leaves is compared by states, which no two engines have alike.
    """
    if case.out_of_scope or case.query_type != "dql" or case.gold.get(dialect):
        return None
    lenders = [name for name, texts in case.gold.items() if texts and _rewritable(name)]
    # SQLite's is read whole; of the others only what every engine has.
    return min(lenders, key=lambda name: not isinstance(adapter(name), Readable), default=None)


def _rewritable(name: str) -> bool:
    """Return whether statements of this dialect can be rewritten."""
    try:
        return rewritable(adapter(name))
    except InputError:  # gold of an engine that is not installed here is no gold to borrow
        return False


def answer_borrowed(
    case: Case, natives: Sequence[GoldAnswer], source: Adapter, target: Adapter, desk: Desk, cache: GoldCache
) -> tuple[GoldAnswer, ...]:
    """Return one answer per gold of the source dialect, written for this one, run and compared with `natives`."""
    return tuple(_borrowed(case, native, source, target, desk, cache) for native in natives)


def _borrowed(
    case: Case, native: GoldAnswer, source: Adapter, target: Adapter, desk: Desk, cache: GoldCache
) -> GoldAnswer:
    """Return one rewritten gold's answer with its status; only a verified one keeps its rows."""
    made = Rewrites(cache.rewrites).rewrite(native.sql, desk.rules.pack.snapshot(case.snapshot), source, target)
    if made.sql is None:
        return GoldAnswer(
            native.sql,
            native.parsed,
            None,
            failure=f"the {source.name} gold cannot be rewritten: {made.reason}",
            status="unavailable",
        )
    answer = answer_statement(case, made.sql, desk, cache)
    if answer.infrastructure:
        return answer
    return verified(native, answer, source.name, target.name)


def verified(native: GoldAnswer, answer: GoldAnswer, source: str, target: str) -> GoldAnswer:
    """Return a rewritten gold's answer, with its rows where they are those of the native one, else with the reason."""
    if answer.relation is None:
        return replace(answer, failure=f"the rewritten {source} gold failed: {answer.failure}", status="unavailable")
    if native.relation is None:
        reason = f"the {source} gold gave no rows to compare with: {native.failure}"
        return replace(answer, relation=None, probe=None, failure=reason, status="transpiled-unverified")
    found = crossed(native, answer.relation)
    if found.verdict == "match":
        return replace(answer, status="transpiled-verified")
    if found.verdict == "undecided":
        reason = f"whether the rewritten {source} gold gives the same rows is undecided: {found.reason}"
        return replace(answer, relation=None, probe=None, failure=reason, status="transpiled-unverified")
    reason = f"the rewritten {source} gold gives other rows on {target}: {found.reason}"
    return replace(answer, relation=None, probe=None, failure=reason, status="unavailable")

"""One statement of one dialect as another has to say it, or the reason why it cannot be said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sqlglot import exp

from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Adapter
from sqlassay.dialect_adapters.transpile import collating
from sqlassay.dialect_adapters.transpile.causes import Difference
from sqlassay.dialect_adapters.transpile.common import read_common
from sqlassay.dialect_adapters.transpile.facts import Refused, SchemaFacts
from sqlassay.dialect_adapters.transpile.retelling import Retelling
from sqlassay.dialect_adapters.transpile.snapshot_facts import snapshot_facts
from sqlassay.dialect_adapters.transpile.spelling import Spelling
from sqlassay.dialect_adapters.transpile.telling import Habits, Retold, Tells
from sqlassay.dialect_adapters.transpile.writing import Writer

MOST_CHARACTERS = 64 * 1024
"""The longest statement that is written: nobody reads a longer one, and servers take seconds to read it."""

_COMMON = MOST_CHARACTERS // 2
_GROWTH = 100
"""Up to the half of that, every length is; beyond, what is a hundred times as long as the gold is refused."""


def _most(given: int) -> int:
    """Return how many characters may be written for so many; a statement that is long itself may double."""
    return max(_COMMON, min(_GROWTH * given, MOST_CHARACTERS), 2 * given)


@runtime_checkable
class Readable(Protocol):
    """An adapter whose statements can be read into a typed tree, to be written for other engines."""

    def read_query(self, sql: str, facts: SchemaFacts) -> exp.Expr:
        """Return the typed tree; raises Refused."""
        ...


@runtime_checkable
class Spelled(Protocol):
    """An adapter for which statements of other dialects can be written."""

    @property
    def spelling(self) -> Spelling:
        """Return the engine's own words."""
        ...


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The statement for the other engine; `sql` None means refused, and `reason` says why.

    `unsaid` are the causes of what had to be left as it was written.
    """

    sql: str | None
    reason: str = ""
    unsaid: tuple[str, ...] = ()


def rewrite(
    sql: str,
    snapshot: Snapshot,
    source: Adapter,
    target: Adapter,
    *,
    leave: frozenset[Difference] = frozenset(),
    lenient: bool = False,
) -> Rewritten:
    """Return `sql`, written for `source` and this snapshot, as `target` has to say it to give the same rows.

    What comes back is a candidate: it is gold only once it has been executed and agrees with the native one. For those
    who ask which cause matters, parts of the causes in `leave` stay as they are written; `lenient` leaves what cannot
    be written too.
    """
    if source.name == target.name:
        return Rewritten(sql)
    made = _written(sql, snapshot, source, target, leave=leave, lenient=lenient)
    if made.sql is not None and len(made.sql) > _most(len(sql)):
        reason = f"it grows from {len(sql):,} to {len(made.sql):,} characters, as some parts are said several times"
        return Rewritten(None, reason, made.unsaid)
    return made


def _written(
    sql: str, snapshot: Snapshot, source: Adapter, target: Adapter, *, leave: frozenset[Difference], lenient: bool
) -> Rewritten:
    """Return a statement of one engine as another has to say it, of any length."""
    if isinstance(source, Retold):
        return _retold(sql, snapshot, source, source.habits, target, leave=leave, lenient=lenient)
    if not isinstance(source, Readable):
        return Rewritten(None, f"statements of {source.name} are not rewritten")
    if not isinstance(target, Spelled):
        return Rewritten(None, f"nothing is rewritten for {target.name}")
    try:
        facts = snapshot_facts(snapshot)
        tree = source.read_query(sql, facts)
        by_letters = collating.folds(snapshot, target) and Difference.COLLATION not in leave
        writer = Writer(target.spelling, leave=leave, lenient=lenient)
        if by_letters:
            collating.refuse_shared_names(tree, facts.tables)
            writer.by_letters = facts
        text = writer.query(tree)
        return Rewritten(text, unsaid=tuple(one.value for one in writer.unsaid))
    except Refused as refusal:
        return Rewritten(None, str(refusal))
    except RecursionError:
        return Rewritten(None, "it is nested too deeply")


def _retold(
    sql: str,
    snapshot: Snapshot,
    source: Adapter,
    habits: Habits,
    target: Adapter,
    *,
    leave: frozenset[Difference],
    lenient: bool,
) -> Rewritten:
    """Return a statement of an engine other than SQLite as the target has to say it, or the reason why not."""
    if not isinstance(target, Tells):
        return Rewritten(None, f"nothing is retold for {target.name}")
    try:
        tree, by_letters = read_common(sql, snapshot, habits), False
        there, here = collating.folds(snapshot, source), collating.folds(snapshot, target)
        if there and not here and not lenient:
            collating.refuse_what_matters(tree, snapshot, snapshot.settings_for(source.name).collation)
        if here and not there and Difference.COLLATION not in leave:
            tree, by_letters = collating.by_code_points(tree, snapshot, target.telling), True
        hand = Retelling(habits, target.telling, leave=leave, lenient=lenient, by_letters=by_letters)
        text = hand.statement(tree)
        return Rewritten(text, unsaid=tuple(one.value for one in hand.unsaid))
    except Refused as refusal:
        return Rewritten(None, str(refusal))
    except RecursionError:
        return Rewritten(None, "it is nested too deeply")


def rewritable(source: Adapter) -> bool:
    """Return whether statements of an engine can be written for others."""
    return isinstance(source, (Readable, Retold))

"""The routines of a snapshot's own and which of them its pack lets queries call; the same on every engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlassay.cases.catalog import CatalogRoutine
from sqlassay.cases.errors import InputError
from sqlassay.cases.snapshot import Snapshot


def with_allowed(
    found: Sequence[CatalogRoutine], snapshot: Snapshot, dialect: str, home: str
) -> tuple[CatalogRoutine, ...]:
    """Return the routines with those marked that the pack allows; a name without a schema is one of `home`.

    Every overload of an allowed name is allowed. An engine without scripts of the snapshot has no routines of it, so
    that one pack may list those of another engine.

    Raises:
        InputError: the pack allows what is no function here, or two that differ in case alone.
    """
    if not snapshot.scripts.get(dialect):
        return tuple(found)
    wanted = {_placed(name, home): name for name in snapshot.functions}
    for place, name in wanted.items():
        _check(name, [one for one in found if _place(one) == place], found, snapshot)
    return tuple(
        one.model_copy(update={"allowed": True}) if one.callable and _place(one) in wanted else one for one in found
    )


def _placed(name: str, home: str) -> tuple[str, str]:
    """Return a listed name as schema and name, both lower-case."""
    schema, _, bare = name.lower().rpartition(".")
    return schema or home.lower(), bare


def _place(routine: CatalogRoutine) -> tuple[str, str]:
    """Return a routine's schema and name, both lower-case."""
    return (routine.schema_name or "").lower(), routine.name.lower()


def _check(name: str, same: Sequence[CatalogRoutine], found: Sequence[CatalogRoutine], snapshot: Snapshot) -> None:
    """Refuse a name that names nothing a query can call, or more than it says."""
    callable_ones = [one for one in same if one.callable]
    field = f"allowed_functions.{snapshot.id}"
    if not callable_ones:
        listed = sorted({one.name for one in found if one.callable})
        kind = f"'{name}' is a {_kind(same[0])}, which no query calls" if same else f"no function '{name}'"
        remedy = f"The snapshot's functions: {', '.join(listed) or 'none'}"
        raise InputError(kind, file=snapshot.id, field=field, remedy=remedy)
    if len({one.name for one in callable_ones}) > 1:
        message = f"two functions are called '{name}' but for the case of their letters"
        raise InputError(message, file=snapshot.id, field=field, remedy="Rename one of them in the scripts")


def _kind(routine: CatalogRoutine) -> str:
    """Return what a routine is, in words."""
    return "trigger function" if routine.kind == "trigger" else routine.kind


def described(routines: Sequence[CatalogRoutine]) -> str:
    """Return the allowed functions as comments beside the tables' DDL, where an agent reads what it may use."""
    return "\n".join(_lines(routines))


def _lines(routines: Sequence[CatalogRoutine]) -> Iterator[str]:
    """Yield one line for each extension, whose manual tells of its functions, and for each other allowed function."""
    yield from (f"-- extension {name}" for name in sorted({one.extension for one in routines if one.allowed} - {""}))
    for one in routines:
        if one.allowed and not one.extension:
            returns = f" RETURNS {one.returns}" if one.returns else ""
            yield " ".join(f"-- function {one.name}({one.arguments}){returns}".split())

"""What the engine's types are to the host, and which of them must be written as text not to lose anything on the way.

The engine's Python module gives dates without end as those of the year 9999, cuts nanoseconds off and turns months
into days: whatever is a moment or a span is asked for as text, and so is what has no counterpart on the host.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Spec: TypeAlias = str | list[Any]
"""A kind's name, or ["array", spec of the elements]."""

_NATIVE = {
    "boolean": "bool",
    "float": "float32",
    "double": "float64",
    "decimal": "decimal",
    "varchar": "text",
    "blob": "bytes",
    "bit": "bits",
    "uuid": "uuid",
    "enum": "text",
    "bignum": "bignum",
    "null": "other",
} | dict.fromkeys(
    ["tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"],
    "int",
)
_AS_TEXT = {
    "date": "date",
    "time": "time",
    "time_ns": "time",
    "time with time zone": "timetz",
    "timestamp": "timestamp",
    "timestamp_s": "timestamp",
    "timestamp_ms": "timestamp",
    "timestamp_ns": "timestamp",
    "timestamp with time zone": "timestamptz",
    "timestamptz_ns": "timestamptz",
    "interval": "interval",
}
_LISTS = frozenset({"list", "array"})


def described(kind: Any) -> tuple[Spec, str]:
    """Return a type's spec, and the type its values are cast to on the way ("" = they travel as they are)."""
    name = str(kind.id).lower()
    if name in _LISTS:
        spec, cast = described(dict(kind.children)["child"])
        return ["array", spec], f"{cast}[]" if cast else ""
    if name == "varchar" and str(kind) == "JSON":
        return "json", ""
    if name in _NATIVE:
        return _NATIVE[name], ""
    return _AS_TEXT.get(name, "other"), "VARCHAR"


def selected(sql: str, casts: list[str]) -> str:
    """Return a query that gives the rows of another in its order, with the columns that need it as text."""
    columns = ", ".join(f"#{place}::{cast}" if cast else f"#{place}" for place, cast in enumerate(casts, 1))
    return f"SELECT {columns} FROM (\n{sql}\n) AS q"  # noqa: S608 - one statement by the engine's own reading

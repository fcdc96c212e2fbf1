"""What the engine's types are to the host, and which of them must be written as text not to lose anything on the way.

The engine's Python module gives dates without end as those of the year 9999, cuts nanoseconds off and turns months
into days: whatever is a moment or a span is asked for as text, and so is what has no counterpart on the host.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Spec: TypeAlias = str | list[Any]
"""A kind's name, ["array", spec of the elements], ["struct", [[name, spec], …]] or ["map", spec of the values]."""

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
    if name == "struct" and all(field for field, _ in kind.children):
        return _of_struct(kind)
    found = _of_map(kind) if name == "map" else None
    if found is not None:
        return found
    if name == "varchar" and str(kind) == "JSON":
        return "json", ""
    if name in _NATIVE:
        return _NATIVE[name], ""
    return _AS_TEXT.get(name, "other"), "VARCHAR"


def _of_struct(kind: Any) -> tuple[Spec, str]:
    """Return the spec of a STRUCT, and its cast where a field needs one."""
    fields = [(str(name), child, described(child)) for name, child in kind.children]
    spec: Spec = ["struct", [[name, inner] for name, _, (inner, _) in fields]]
    if not any(cast for _, _, (_, cast) in fields):
        return spec, ""
    quoted = (f"{_quoted(name)} {cast or child}" for name, child, (_, cast) in fields)
    return spec, f"STRUCT({', '.join(quoted)})"


def _of_map(kind: Any) -> tuple[Spec, str] | None:
    """Return the spec of a MAP whose keys are texts, whole numbers or moments, and its cast; None for other keys."""
    parts = dict(kind.children)
    (key, key_cast), (value, value_cast) = described(parts["key"]), described(parts["value"])
    if key not in ("text", "int", "date", "timestamp"):
        return None
    cast = f"MAP({key_cast or parts['key']}, {value_cast or parts['value']})" if key_cast or value_cast else ""
    return ["map", value], cast


def _quoted(name: str) -> str:
    """Return a name as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def flat(cell: Any, spec: Spec) -> Any:
    """Return a cell as it travels: a STRUCT as the list of its values, a MAP as one of pairs."""
    if cell is None or isinstance(spec, str):
        return cell
    name, inner = spec
    if name == "array":
        return [flat(one, inner) for one in cell]
    if name == "struct":
        return [flat(cell[field], child) for field, child in inner]
    return [[str(key), flat(value, inner)] for key, value in cell.items()]


def selected(sql: str, casts: list[str]) -> str:
    """Return a query that gives the rows of another in its order, with the columns that need it as text."""
    columns = ", ".join(f"#{place}::{cast}" if cast else f"#{place}" for place, cast in enumerate(casts, 1))
    return f"SELECT {columns} FROM (\n{sql}\n) AS q"  # noqa: S608 - one statement by the engine's own reading

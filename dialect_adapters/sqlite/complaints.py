"""What SQLite's error messages are about, for those who ask why a statement of another engine failed here."""

from __future__ import annotations

from sqlassay.dialect_adapters.transpile.causes import Difference

COMPLAINTS: tuple[tuple[str, Difference], ...] = (
    (r"no such function", Difference.MISSING_FUNCTION),
    (r"wrong number of arguments", Difference.FUNCTION_MEANING),
    (r"no such (column|table)", Difference.UNKNOWN_NAME),
    (r"integer overflow", Difference.OVERFLOW),
    (
        r"syntax error|ORDER BY term does not match|unrecognized token|incomplete input|ambiguous column",
        Difference.SYNTAX,
    ),
    (r"no such collation", Difference.COLLATION),
)

"""What DuckDB's error messages are about, for those who ask why a statement of another engine failed here."""

from __future__ import annotations

from sqlassay.dialect_adapters.transpile.causes import Difference

COMPLAINTS: tuple[tuple[str, Difference], ...] = (
    (r"must appear in the GROUP BY clause", Difference.BARE_COLUMN),
    (r"for SELECT DISTINCT, ORDER BY expressions must appear", Difference.DISTINCT_ORDER),
    (r"Function with name .* does not exist", Difference.MISSING_FUNCTION),
    (r"Conversion Error|Cannot compare values of type|Could not convert", Difference.TYPE_ERROR),
    (r"No function matches the given name and argument types", Difference.TYPE_ERROR),
    (r"Table with name .* does not exist|Referenced (column|table) .* not found", Difference.UNKNOWN_NAME),
    (r"does not have a column named|Values list .* does not have", Difference.UNKNOWN_NAME),
    (r"Out of Range|Overflow", Difference.OVERFLOW),
    (r"collation", Difference.COLLATION),
    (r"Parser Error|syntax error|Ambiguous reference", Difference.SYNTAX),
)

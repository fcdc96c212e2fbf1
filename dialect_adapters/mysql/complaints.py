"""What MySQL's error messages are about, for those who ask why a statement of another engine failed here."""

from __future__ import annotations

from sqlassay.dialect_adapters.transpile.causes import Difference

COMPLAINTS: tuple[tuple[str, Difference], ...] = (
    (r"isn't in GROUP BY|nonaggregated column|only_full_group_by", Difference.BARE_COLUMN),
    (r"ORDER BY clause is not in SELECT list|incompatible with DISTINCT", Difference.DISTINCT_ORDER),
    (r"[Dd]erived table must have its own alias", Difference.DERIVED_TABLE),
    (r"LIMIT & IN/ALL/ANY/SOME subquery", Difference.LIMIT_IN_SUBQUERY),
    (r"denied .* for routine '.*\.(strftime|datetime|julianday|unixepoch)'", Difference.DATE_FUNCTION),
    (r"denied .* for routine|FUNCTION .* can.t be found", Difference.MISSING_FUNCTION),
    (r"FUNCTION [\w.`]*\b(strftime|datetime|julianday|unixepoch)\b", Difference.DATE_FUNCTION),
    (r"FUNCTION .* does not exist", Difference.MISSING_FUNCTION),
    (r"Incorrect parameter count|Incorrect arguments to", Difference.FUNCTION_MEANING),
    (r"Incorrect (DATE|TIME|DATETIME) value", Difference.DATE_FUNCTION),
    (r"Incorrect .* value|Truncated incorrect|Data truncat", Difference.TEXT_AND_NUMBER),
    (r"Illegal mix of collations|Unknown collation|COLLATION .* is not valid for", Difference.COLLATION),
    (r"out of range", Difference.OVERFLOW),
    (r"Unknown (column|table)|doesn't exist", Difference.UNKNOWN_NAME),
    (r"Subquery returns more than 1 row", Difference.NOT_DECIDED),
    (r"error in your SQL syntax|is ambiguous|Incorrect usage of", Difference.SYNTAX),
)

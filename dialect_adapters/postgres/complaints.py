"""What Postgres' error messages are about, for those who ask why a statement of another engine failed here."""

from __future__ import annotations

from sqlassay.dialect_adapters.transpile.causes import Difference

_TEXT = r"\b(?:text|character|unknown)\b"
_NO_NUMBER_NO_TEXT = r"\b(?:boolean|date|time|timestamp|interval|uuid|jsonb?|bytea)\b"
"""Types that are neither: what does not fit them is no matter of texts and numbers."""

COMPLAINTS: tuple[tuple[str, Difference], ...] = (
    (r"must appear in the GROUP BY clause|subquery uses ungrouped column", Difference.BARE_COLUMN),
    (r"for SELECT DISTINCT, ORDER BY expressions must appear", Difference.DISTINCT_ORDER),
    (r"subquery in FROM must have an alias", Difference.DERIVED_TABLE),
    (r"function round\(", Difference.ROUNDING),
    (r"function (strftime|date|time|datetime|julianday|unixepoch)\(", Difference.DATE_FUNCTION),
    (rf"function (sum|avg|min|max)\({_TEXT}", Difference.TEXT_AND_NUMBER),
    (r"function (sum|avg|min|max)\(", Difference.TYPE_ERROR),
    (
        r"function (substr|substring|length|lower|upper|trim|ltrim|rtrim|btrim|replace|left|right|abs|floor|ceil|mod"
        r"|sqrt|power|concat_ws|string_agg|position|strpos)\(.+\) does not exist",
        Difference.TYPE_ERROR,
    ),
    (r"function [\w.]+\(.*\) does not exist", Difference.MISSING_FUNCTION),
    (r"operator does not exist: \w[\w ]* \|\| \w", Difference.CONCATENATION),
    (r"operator does not exist: (date|timestamp[\w ]*) [-+]", Difference.DATE_ARITHMETIC),
    (rf"operator does not exist: (?!.*{_TEXT})", Difference.TYPE_ERROR),
    (
        r"(operator does not exist:|invalid input syntax for type|types|could not convert type) .*"
        rf"{_NO_NUMBER_NO_TEXT}",
        Difference.TYPE_ERROR,
    ),
    (r"operator does not exist|operator is not unique|invalid input syntax for type", Difference.TEXT_AND_NUMBER),
    (r"types .* cannot be matched|could not convert type", Difference.TEXT_AND_NUMBER),
    (r"must be type boolean|is of type .* but expression|cannot cast type|could not determine", Difference.TYPE_ERROR),
    (r"division by zero", Difference.INTEGER_DIVISION),
    (r"out of range|overflow", Difference.OVERFLOW),
    (r"(column|relation|table) .* does not exist|missing FROM-clause|invalid reference", Difference.UNKNOWN_NAME),
    (r"is ambiguous|is not supported|syntax error|unterminated|zero-length delimited", Difference.SYNTAX),
    (r"UNION/INTERSECT/EXCEPT|ORDER BY .* is not in select list", Difference.SYNTAX),
    (r"more than one row returned by a subquery", Difference.NOT_DECIDED),
    (r"could not determine which collation|collation mismatch|collation .* does not exist", Difference.COLLATION),
)

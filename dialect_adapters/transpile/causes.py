"""Why two engines give different answers to one question: the closed list, and what an adapter may know of it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol, runtime_checkable

from sqlassay.dialect_adapters.transpile.facts import SchemaFacts


class Difference(StrEnum):
    """The causes of a disagreement between engines; `other` is the one that explains nothing."""

    QUOTED_STRING = "quoted string"
    QUOTED_NAME = "quoted name"
    LIKE_CASE = "LIKE case"
    INTEGER_DIVISION = "integer division"
    DIVISION_SCALE = "division scale"
    TEXT_AND_NUMBER = "text and number"
    DATE_FUNCTION = "date function"
    DATE_ARITHMETIC = "date arithmetic"
    FUNCTION_MEANING = "function meaning"
    CAST = "cast"
    AVG_DECIMALS = "AVG decimals"
    ROUNDING = "rounding"
    SINGLE_PRECISION = "single precision"
    LITERAL = "literal"
    CONCATENATION = "concatenation"
    BARE_COLUMN = "bare column"
    LIMIT_TIE = "limit tie"
    TIE_ORDER = "tie order"
    NOT_DECIDED = "rows not decided"
    NULL_ORDER = "NULL order"
    COLLATION = "collation"
    TIME_ZONE = "time zone"
    SQL_MODE = "sql_mode"
    MIXED_COLUMN = "mixed column as text"
    AGGREGATE_ORDER = "order inside an aggregate"
    DISTINCT_ORDER = "DISTINCT ORDER BY"
    DERIVED_TABLE = "derived table without alias"
    LIMIT_IN_SUBQUERY = "LIMIT in a subquery"
    MISSING_FUNCTION = "missing function"
    TYPE_ERROR = "type error"
    SYNTAX = "syntax"
    UNKNOWN_NAME = "unknown name"
    OVERFLOW = "overflow"
    LIMITS = "time or size limit"
    BLOCKED = "blocked by the guard"
    OTHER_QUESTION = "another question asked"
    OTHER = "other"


@runtime_checkable
class Complaining(Protocol):
    """An adapter that knows what its engine's error messages are about."""

    @property
    def complaints(self) -> tuple[tuple[str, Difference], ...]:
        """Return (regex, cause) pairs, the first that is found in a message names its cause."""
        ...


class Question(Protocol):
    """One question to the data: where `sql` gives a row, the rows of a statement are not decided, for `reason`."""

    @property
    def reason(self) -> str:
        """Return what is not decided."""
        ...

    @property
    def sql(self) -> str | None:
        """Return the statement that finds out, None where it cannot be asked alone."""
        ...

    @property
    def cuts(self) -> bool:
        """Return whether what is not decided is which rows a LIMIT keeps."""
        ...


@runtime_checkable
class Doubting(Protocol):
    """An adapter that can tell which rows a statement of its dialect may choose among."""

    def choices(self, sql: str, facts: SchemaFacts) -> Iterable[Question]:
        """Return the questions to ask; raises Refused."""
        ...

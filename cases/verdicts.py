"""The closed lists every report speaks in: verdicts, failure kinds, causes and exit codes."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Verdict(StrEnum):
    """What one evaluation ended as."""

    MATCH = "match"
    MISMATCH = "mismatch"
    UNDECIDED = "undecided"
    BLOCKED = "blocked"
    ERROR = "error"
    TIMEOUT = "timeout"
    TOO_MANY_ROWS = "too_many_rows"
    TOO_MANY_BYTES = "too_many_bytes"
    RESOURCE_LIMIT = "resource_limit"
    NO_PREDICTION = "no_prediction"
    UNAVAILABLE = "unavailable"
    OUT_OF_SCOPE = "out_of_scope"
    GOLD_ERROR = "gold_error"
    INFRASTRUCTURE = "infrastructure"


UNSCORABLE = frozenset({Verdict.UNAVAILABLE, Verdict.OUT_OF_SCOPE, Verdict.GOLD_ERROR, Verdict.INFRASTRUCTURE})
"""Verdicts that leave the denominator of execution accuracy and are counted beside it."""


class FailureKind(StrEnum):
    """Why an agent's statement gave no rows; each has the verdict of the same name."""

    BLOCKED = "blocked"
    ERROR = "error"
    TIMEOUT = "timeout"
    TOO_MANY_ROWS = "too_many_rows"
    TOO_MANY_BYTES = "too_many_bytes"
    RESOURCE_LIMIT = "resource_limit"


class Cause(StrEnum):
    """The likely cause of a failed case, decided from evidence."""

    WRONG_ROUTE = "wrong_route"
    TABLE_MISMATCH = "table_mismatch"
    MISSING_FILTER = "missing_filter"
    EXTRA_FILTER = "extra_filter"
    TEMPORAL_GROUNDING = "temporal_grounding"
    AGGREGATION_MISMATCH = "aggregation_mismatch"
    JOIN_MISMATCH = "join_mismatch"
    WRONG_ORDER = "wrong_order"
    TYPE_ONLY = "type_only"
    EXECUTION_FAILURE = "execution_failure"
    TIMEOUT = "timeout"
    UNSAFE_BLOCK = "unsafe_block"
    UNREADABLE_ANSWER = "unreadable_answer"
    SEVERAL_STATEMENTS = "several_statements"
    NO_STATEMENT = "no_statement"
    TOO_LONG = "too_long"
    GOLD_ERROR = "gold_error"
    INFRASTRUCTURE = "infrastructure"
    NO_PREDICTION = "no_prediction"
    PROJECTION_MISMATCH = "projection_mismatch"
    FILTER_VALUE_MISMATCH = "filter_value_mismatch"
    LIMIT_MISMATCH = "limit_mismatch"
    CUT_TIE = "cut_tie"
    DUPLICATES = "duplicates"
    UNKNOWN = "unknown"


class ExitCode(IntEnum):
    """Exit codes of every command; `worst` picks the one to report when several apply."""

    OK = 0
    THRESHOLD = 1
    INPUT = 2
    INFRASTRUCTURE = 3
    BREACH = 4
    NOTHING_SCORABLE = 5
    INTERRUPTED = 130


_PRECEDENCE = (
    ExitCode.INTERRUPTED,
    ExitCode.BREACH,
    ExitCode.INFRASTRUCTURE,
    ExitCode.INPUT,
    ExitCode.NOTHING_SCORABLE,
    ExitCode.THRESHOLD,
    ExitCode.OK,
)


def worst(codes: set[ExitCode]) -> ExitCode:
    """Return the exit code to end with when several hold: 130 > 4 > 3 > 2 > 5 > 1 > 0."""
    return next((code for code in _PRECEDENCE if code in codes), ExitCode.OK)

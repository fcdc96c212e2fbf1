"""How an engine is set for one snapshot: what decides how text compares, what is an error, and what a moment is."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

BINARY = "binary"
"""The collation that compares text code point by code point, by one word for every engine."""

DEFAULT = "default"
"""The engine's own collation, by a word, where something else would be chosen."""

_NAME = r"^[A-Za-z][A-Za-z0-9_.@-]*$"
SQL_MODES = frozenset(
    {
        "ALLOW_INVALID_DATES",
        "ERROR_FOR_DIVISION_BY_ZERO",
        "HIGH_NOT_PRECEDENCE",
        "NO_AUTO_CREATE_USER",
        "NO_AUTO_VALUE_ON_ZERO",
        "NO_DIR_IN_CREATE",
        "NO_ENGINE_SUBSTITUTION",
        "NO_UNSIGNED_SUBTRACTION",
        "NO_ZERO_DATE",
        "NO_ZERO_IN_DATE",
        "ONLY_FULL_GROUP_BY",
        "PAD_CHAR_TO_FULL_LENGTH",
        "PIPES_AS_CONCAT",
        "REAL_AS_FLOAT",
        "STRICT_ALL_TABLES",
        "STRICT_TRANS_TABLES",
        "TIME_TRUNCATE_FRACTIONAL",
        "TRADITIONAL",
    }
)
"""Modes that change what a statement means, not where its words begin and end: the guard reads those of every other
mode (ANSI_QUOTES, NO_BACKSLASH_ESCAPES, IGNORE_SPACE and what holds them) otherwise than the server would."""


def split_modes(text: str) -> tuple[str, ...]:
    """Return the modes of an sql_mode, upper-cased, each once."""
    return tuple(dict.fromkeys(word for word in re.split(r"[\s,]+", text.upper()) if word))


def _safe_modes(text: str) -> str:
    """Return an sql_mode as a server takes it.

    Raises:
        ValueError: a mode that is not to be had.
    """
    modes = split_modes(text)
    if wrong := [mode for mode in modes if mode not in SQL_MODES]:
        raise ValueError(
            f"sql_mode {wrong[0]} is not to be had: the guard could not read statements as the server then does"
        )
    return ",".join(modes)


class EngineSettings(BaseModel):
    """One engine's settings for one snapshot; what is None is the engine's own default.

    In a pack they are what is asked for, in a catalogue what holds. `version` and `lower_case_table_names` are those of
    the server the data came from, where that is known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    collation: str | None = Field(
        default=None,
        pattern=_NAME,
        max_length=64,
        description="`binary`, `default`, or a collation by the engine's own name",
    )
    sql_mode: Annotated[str, AfterValidator(_safe_modes)] | None = Field(default=None, max_length=500)
    time_zone: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_+:/-]+$", max_length=64)
    lower_case_table_names: Literal[0, 1, 2] | None = None
    version: str | None = Field(default=None, max_length=100)
    image: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9][a-z0-9._:/-]*:[A-Za-z0-9_][A-Za-z0-9_.-]*$",
        max_length=200,
        description="official image of another version to run in, as `postgres:14`",
    )

    @property
    def told(self) -> str:
        """Return the settings that are set in one line, for a report."""
        named = {
            "collation": self.collation,
            "sql_mode": None if self.sql_mode is None else self.sql_mode or "(none)",
            "time zone": self.time_zone,
            "lower_case_table_names": _CASED if self.lower_case_table_names == 0 else self.lower_case_table_names,
            "from version": self.version,
            "image": self.image,
        }
        return ", ".join(f"{name} {value}" for name, value in named.items() if value is not None)


_CASED = "0 where the data comes from (a table's name in another case fails there and is found here)"

DEFAULTS = EngineSettings()

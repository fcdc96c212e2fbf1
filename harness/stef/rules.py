"""An application's rules (the paper's R_app) and the tolerances of the evaluation, several profiles side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from sqlassay.cases.errors import InputError
from sqlassay.harness.stef.answers import WantedFilter

DEFAULT = "default"
"""The profile of a row that names none, where the rules have one of that name."""

_Model = TypeVar("_Model", bound=BaseModel)
_REMEDY = "Write {profiles: {NAME: {column_mappings, benign_filters, ignore_filters, tolerance}}}, or one profile alone"


class _Rules(BaseModel):
    """A part of a rules file: what it does not know is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Tolerance(_Rules):
    """Every threshold of the score and the normalisation rules; the defaults are the paper's.

    `pinned` decides which filters pin a group key (R2): `strict` an equality alone, `paper` LIKE and ILIKE with any
    pattern too (Eq. 16 to the letter). `wildcards` decides whether `LIKE '%x%'` is the equality with x that a
    question asks for: `paper` yes (Listings 2 to 6), `strict` no (section 3.2.3).
    """

    lambda_min: int = Field(default=1000, ge=1)
    pinned: Literal["strict", "paper"] = "strict"
    wildcards: Literal["strict", "paper"] = "paper"
    high: float = Field(default=0.85, ge=0, le=1)
    moderate: float = Field(default=0.65, ge=0, le=1)
    multipliers: tuple[float, float, float] = (1.0, 0.8, 0.5)
    excellent: float = Field(default=90, ge=0, le=100)
    good: float = Field(default=75, ge=0, le=100)
    marginal: float = Field(default=50, ge=0, le=100)

    @model_validator(mode="after")
    def _descend(self) -> Tolerance:
        """Refuse thresholds and multipliers that do not go down: the score would not be monotone."""
        first, second, third = self.multipliers
        if not 1 >= first >= second >= third >= 0:
            raise ValueError("multipliers must go down from at most 1 to at least 0")
        if not (self.high >= self.moderate and self.excellent >= self.good >= self.marginal):
            raise ValueError("thresholds must go down: high, moderate; excellent, good, marginal")
        return self


class RuleProfile(_Rules):
    """One application's rules: names mapped to columns, filters that are harmless, filters that do not count."""

    column_mappings: dict[str, str] = Field(default_factory=dict)
    benign_filters: tuple[WantedFilter, ...] = ()
    ignore_filters: tuple[str, ...] = ()
    tolerance: Tolerance = Tolerance()

    @field_validator("column_mappings")
    @classmethod
    def _named(cls, given: dict[str, str]) -> dict[str, str]:
        """Refuse a mapping from or to nothing."""
        if any(not name.strip() or not column.strip() for name, column in given.items()):
            raise ValueError("a mapping needs a name and a column")
        return given


class RuleBook(_Rules):
    """The profiles of several applications by name."""

    profiles: dict[str, RuleProfile] = Field(default_factory=dict)

    def profile(self, name: str | None) -> RuleProfile:
        """Return one profile; without a name the default one, or no rules at all.

        Raises:
            InputError: no profile of that name.
        """
        if name is None:
            return self.profiles.get(DEFAULT, RuleProfile())
        if name not in self.profiles:
            known = ", ".join(sorted(self.profiles)) or "there are none"
            raise InputError(f"unknown rule profile '{name}'", field="rules", remedy=f"Known profiles: {known}")
        return self.profiles[name]


def book_from(given: object, file: str | None = None) -> RuleBook:
    """Return the rule book of a mapping: one of `profiles`, or one profile alone, then the default.

    Raises:
        InputError: it is neither; the message names the field.
    """
    if isinstance(given, Mapping) and "profiles" not in given:
        return RuleBook(profiles={DEFAULT: checked(RuleProfile, given, file)})
    return checked(RuleBook, given, file)


def read_rules(path: Path) -> RuleBook:
    """Return the rule book of a JSON or YAML file.

    Raises:
        InputError: the file cannot be read or is no rule book.
    """
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError("the rules cannot be read", file=path, remedy=_REMEDY) from error
    return book_from(given, str(path))


def profile_from(given: str, book: RuleBook) -> RuleProfile:
    """Return the profile a case's `rules` mean: a name, or the rules themselves as JSON.

    Raises:
        InputError: an unknown name, or JSON that is no profile.
    """
    if not given.lstrip().startswith("{"):
        return book.profile(given)
    try:
        return checked(RuleProfile, json.loads(given), None)
    except ValueError as error:
        raise InputError("the rules are no JSON", field="rules", remedy=_REMEDY) from error


def checked(model: type[_Model], given: object, file: str | None) -> _Model:
    """Return a validated value of a rules file.

    Raises:
        InputError: naming the first field at fault.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InputError(str(first["msg"]), file=file, field=field or "rules", remedy=_REMEDY) from error

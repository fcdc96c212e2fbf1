"""How two relations are compared: one frozen, versioned, hashed policy and its named presets."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

POLICY_VERSION = 3


def _known_zone(name: str) -> str:
    """Return the name of a time zone that is known here.

    Raises: ValueError for any other.
    """
    try:
        if name.upper() != "UTC":
            ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"unknown time zone {name!r}: give an IANA name such as Europe/Berlin") from None
    return name


ZoneName = Annotated[str, AfterValidator(_known_zone)]
ColumnName = Annotated[str, Field(min_length=1)]
QuotientScale = Literal["auto"] | Annotated[int, Field(ge=1)]


class Policy(BaseModel):
    """Every choice the comparator makes; the defaults are the preset `strict`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    row_order: Literal["auto", "keys", "exact", "ignore"] = "auto"
    order_keys: tuple[tuple[int, Literal["asc", "desc"]], ...] = ()
    nulls_order: Literal["gold", "first", "last", "any"] = "gold"
    cut_ties: Literal["strict", "any"] = "strict"
    multiplicity: Literal["bag", "set"] = "bag"
    columns: Literal["position", "name", "any"] = "position"
    extra_columns: Literal["forbid", "allow"] = "forbid"
    max_extra_columns: int = Field(default=3, ge=0)
    required_columns: tuple[int, ...] | None = None
    ignore_columns: tuple[ColumnName, ...] = ()
    names: Literal["ignore", "match"] = "ignore"
    rel_tol: float = Field(default=1e-9, ge=0)
    abs_tol: float = Field(default=1e-12, ge=0)
    float32_rel_tol: float = Field(default=1e-6, ge=0)
    scale_aware: bool = False
    quotient_scale: QuotientScale | None = "auto"
    bool_as_int: bool = True
    bits_as_int: bool = False
    text_numbers: bool = False
    temporal_text: bool = True
    date_midnight: bool = True
    naive_tz: ZoneName | None = None
    temporal_precision: Literal["us", "ms", "s"] = "us"
    text_case: Literal["exact", "fold"] = "exact"
    text_trim: Literal["none", "right", "both"] = "none"
    text_norm: Literal["NFC", "none"] = "NFC"
    json_text: bool = True
    json_string_as_text: bool = False
    uuid_text: bool = True
    empty: Literal["columns", "any"] = "columns"
    truncated: Literal["gold", "pred", "both"] | None = None
    peer: str | None = None

    @property
    def coarse_scale(self) -> int | None:
        """Return from how many places on Decimals agree at the coarser of two scales; None where none do.

        `auto` says nothing by itself: it is resolved by the statement and the engine of the gold.
        """
        if self.scale_aware:
            return 1
        return self.quotient_scale if isinstance(self.quotient_scale, int) else None

    @property
    def digest(self) -> str:
        """Return the sha256 (first 16 hex digits) over version and every field: it names the policy in a verdict."""
        return _digest(self)


@lru_cache(maxsize=256)
def _digest(policy: Policy) -> str:
    """Return a policy's digest, made once: every verdict of a run names it."""
    text = json.dumps({"version": POLICY_VERSION, **policy.model_dump(mode="json")}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class PolicyOverrides(BaseModel):
    """The fields a pack, a case or a command line sets; unset ones keep the preset's value.

    Where null is a value of the field (`naive_tz`, `truncated`, `required_columns`, `quotient_scale`) a written null
    sets it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    preset: str | None = None
    row_order: Literal["auto", "keys", "exact", "ignore"] | None = None
    order_keys: tuple[tuple[int, Literal["asc", "desc"]], ...] | None = None
    nulls_order: Literal["gold", "first", "last", "any"] | None = None
    cut_ties: Literal["strict", "any"] | None = None
    multiplicity: Literal["bag", "set"] | None = None
    columns: Literal["position", "name", "any"] | None = None
    extra_columns: Literal["forbid", "allow"] | None = None
    max_extra_columns: int | None = Field(default=None, ge=0)
    required_columns: tuple[int, ...] | None = None
    ignore_columns: tuple[ColumnName, ...] | None = None
    names: Literal["ignore", "match"] | None = None
    rel_tol: float | None = Field(default=None, ge=0)
    abs_tol: float | None = Field(default=None, ge=0)
    float32_rel_tol: float | None = Field(default=None, ge=0)
    scale_aware: bool | None = None
    quotient_scale: QuotientScale | None = None
    bool_as_int: bool | None = None
    bits_as_int: bool | None = None
    text_numbers: bool | None = None
    temporal_text: bool | None = None
    date_midnight: bool | None = None
    naive_tz: ZoneName | None = None
    temporal_precision: Literal["us", "ms", "s"] | None = None
    text_case: Literal["exact", "fold"] | None = None
    text_trim: Literal["none", "right", "both"] | None = None
    text_norm: Literal["NFC", "none"] | None = None
    json_text: bool | None = None
    json_string_as_text: bool | None = None
    uuid_text: bool | None = None
    empty: Literal["columns", "any"] | None = None
    truncated: Literal["gold", "pred", "both"] | None = None

    @property
    def chosen(self) -> dict[str, object]:
        """Return the policy fields that are set, and the preset's name apart."""
        given = {name: getattr(self, name) for name in self.model_fields_set if name != "preset"}
        return {name: value for name, value in given.items() if value is not None or name in _MAY_BE_NULL}


_MAY_BE_NULL = frozenset({"naive_tz", "truncated", "required_columns", "quotient_scale"})

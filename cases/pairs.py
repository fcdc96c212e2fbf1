"""Read pairs of relations to compare: one JSON object a line, streamed; a bad line costs that line only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from cases.errors import InputError
from cases.faults import Faults
from cases.policy import Policy, PolicyOverrides
from cases.presets import merge
from cases.reading import MAX_DOCUMENT, parse_json, to_text
from cases.relation import Relation
from cases.typed_json import relation_from_json


class ColumnModel(BaseModel):
    """A column of a stored relation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="the column's name")
    kind: str = Field(default="other", description="a kind or an alias of one; kinds never decide equality")


class RelationModel(BaseModel):
    """A stored relation: its columns and its rows in typed JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: list[ColumnModel]
    rows: list[list[JsonValue]] = Field(description="one list a row, one typed JSON value a column")


class PairModel(BaseModel):
    """One line of a pairs file, as the JSON Schema says it; `read_pairs` checks the relations itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1, max_length=500, description="names the pair in the answer")
    policy: PolicyOverrides | None = Field(default=None, description="fields of a policy, or a preset's name")
    gold: RelationModel
    pred: RelationModel


class _Head(BaseModel):
    """A line without a look into its relations: they are read once, as values."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    id: str = Field(min_length=1, max_length=500)
    policy: PolicyOverrides | None = None
    gold: object
    pred: object

    @model_validator(mode="before")
    @classmethod
    def _either_name(cls, value: object) -> object:
        """Accept `predicted` for `pred`."""
        if isinstance(value, dict) and "predicted" in value and "pred" not in value:
            return {"pred" if key == "predicted" else key: item for key, item in value.items()}
        return value

    @field_validator("id", mode="before")
    @classmethod
    def _number(cls, value: object) -> object:
        """Accept a whole number as an id."""
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @field_validator("policy", mode="before")
    @classmethod
    def _preset(cls, value: object) -> object:
        """Accept a preset's name where a policy with only a preset is meant."""
        return {"preset": value} if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Pair:
    """Two relations to compare, the policy they are compared under and the line they stand on."""

    id: str
    policy: Policy
    gold: Relation
    predicted: Relation
    line: int


def read_pairs(
    stream: IO[bytes], name: Path, base: Policy, *, limit: int = MAX_DOCUMENT
) -> Iterator[Pair | InputError]:
    """Yield each line as a pair, or as the error that makes it none; a line's own policy is laid over `base`.

    One line is held at a time; one past `limit` bytes is an error and is skipped to its end.
    """
    number = 0
    while data := stream.readline(limit + 1):
        number += 1
        if len(data) > limit:
            _skip_line(stream, data, limit)
            message = f"line is longer than {limit:,} bytes"
            yield InputError(message, file=name, line=number, remedy="Put one pair on each line")
            continue
        try:
            text = to_text(data, name, first_line=number).strip()
            if text:
                yield _pair(parse_json(text, name, line=number), name, number, base)
        except InputError as error:
            yield placed(error, name, number)


def _skip_line(stream: IO[bytes], data: bytes, limit: int) -> None:
    """Read on to the end of a line that is too long to hold."""
    while data and not data.endswith(b"\n"):
        data = stream.readline(limit)


def _pair(value: object, name: Path, line: int, base: Policy) -> Pair:
    """Return one parsed line as a pair.

    Raises: InputError for a malformed one.
    """
    if not isinstance(value, dict):
        remedy = 'Write {"id": …, "gold": {"columns": […], "rows": […]}, "pred": {…}}'
        raise InputError("a pair is an object", file=name, line=line, remedy=remedy)
    faults = Faults()
    head = faults.validate(_Head, value, file=name, line=lambda _place: line)
    faults.check()
    if head is None:
        raise AssertionError("a line without a fault is a pair")
    gold = relation_from_json(head.gold, field="gold")
    predicted = relation_from_json(head.pred, field="pred" if "pred" in value else "predicted")
    policy = merge(base, head.policy)
    _check_columns(policy, len(gold.columns))
    return Pair(head.id, policy, gold, predicted, line)


def _check_columns(policy: Policy, width: int) -> None:
    """Refuse a policy that names columns the gold does not have."""
    named = {
        "policy.order_keys": [column for column, _ in policy.order_keys],
        "policy.required_columns": policy.required_columns or (),
    }
    for field, columns in named.items():
        if any(not 0 <= column < width for column in columns):
            raise InputError(f"the gold has {width} columns", field=field, remedy="Name gold columns from 0")


def placed(error: InputError, name: Path | str, line: int) -> InputError:
    """Return an error with its file and line, where whoever raised it did not know them."""
    if error.file is not None:
        return error
    message = error.message.removeprefix(f"{error.field}: ")
    return InputError(message, file=name, line=line, field=error.field, remedy=error.remedy)

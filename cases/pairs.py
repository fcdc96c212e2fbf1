"""Read pairs of relations to compare: one JSON object a line, streamed; a bad line costs that line only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from sqlassay.cases.errors import InputError
from sqlassay.cases.faults import Faults
from sqlassay.cases.frames import SUFFIXES, relation_of_file
from sqlassay.cases.policy import Policy, PolicyOverrides
from sqlassay.cases.presets import merge
from sqlassay.cases.reading import MAX_DOCUMENT, parse_json, to_text
from sqlassay.cases.relation import Relation
from sqlassay.cases.tables import named_part
from sqlassay.cases.typed_json import relation_from_json

Label = Literal["match", "mismatch", "undecided"]
"""A verdict that somebody has found right for a pair."""


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
    verdict: Label | None = Field(default=None, description="a label: the verdict that is right for this pair")
    tag: str | None = Field(default=None, description="of a label: what the pair is about")
    reason: str | None = Field(default=None, description="of a label: why its verdict is right")
    gold: RelationModel
    pred: RelationModel


class _Head(BaseModel):
    """A line without a look into its relations: they are read once, as values."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    id: str = Field(min_length=1, max_length=500)
    policy: PolicyOverrides | None = None
    verdict: Label | None = None
    tag: str | None = None
    reason: str | None = None
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
    """Two relations to compare, the policy they are compared under and the line they stand on.

    A labelled pair says which verdict is right, under which tag and why.
    """

    id: str
    policy: Policy
    gold: Relation
    predicted: Relation
    line: int
    label: Label | None = None
    tag: str | None = None
    why: str | None = None


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


def pairs_of_files(gold: Path, predicted: Path, base: Policy) -> Iterator[Pair | InputError]:
    """Yield the pair of two files of results, or one for each file that two folders both have by its name's stem.

    A gold file without its counterpart is an error, and so is one that cannot be read; the others are compared.

    Raises:
        InputError: nothing there, a folder beside a file, or a folder without results.
    """
    if not gold.is_dir() and not predicted.is_dir():
        yield _of_files(named_part(predicted)[0].stem, gold, predicted, base)
        return
    if not gold.is_dir() or not predicted.is_dir():
        remedy = "Name two files, or two folders with files of the same names"
        raise InputError("a folder is compared with a folder", file=gold, remedy=remedy)
    golds, answers = ({one.stem: one for one in _results(folder)} for folder in (gold, predicted))
    if not golds:
        raise InputError("no file of results in it", file=gold, remedy=f"They end in {', '.join(SUFFIXES)}")
    for stem, file in golds.items():
        if stem in answers:
            yield _of_files(stem, file, answers[stem], base)
        else:
            yield InputError(f"no file '{stem}' to compare with", file=predicted, remedy="Write one, if empty")


def _results(folder: Path) -> list[Path]:
    """Return the files of results in a folder, by name."""
    return sorted(one for one in folder.iterdir() if one.suffix.lower() in SUFFIXES and one.is_file())


def _of_files(name: str, gold: Path, predicted: Path, base: Policy) -> Pair | InputError:
    """Return two files as a pair, or the error that makes them none."""
    try:
        sides = relation_of_file(gold), relation_of_file(predicted)
        _check_columns(base, len(sides[0].columns))
    except InputError as error:
        return placed(error, gold, 1)
    return Pair(name, base, *sides, 1)


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
    return Pair(head.id, policy, gold, predicted, line, head.verdict, head.tag, head.reason)


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

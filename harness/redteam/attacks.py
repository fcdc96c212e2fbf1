"""Read attack and look-alike files, and fill their templates in; every fault names its line."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from sqlassay.cases.errors import InputError
from sqlassay.cases.faults import Faults, Place
from sqlassay.cases.reading import json_lines

Harm = Literal["mutation", "escape", "leak", "exfiltration", "exhaustion", "gaming", "none"]
_REPEAT = re.compile(r"\{\{rep:(.*?):(\d+)\}\}", re.DOTALL)
_MOST_REPEATED = 64 * 1024 * 1024


class AttackModel(BaseModel):
    """One line of an attack file; notes of its author's own (intent, verified…) are left unread."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str = Field(min_length=1)
    dialect: str
    kind: str = Field(alias="class", default="unnamed")
    harm: Harm
    sql: str
    sql_template: bool = False
    live: bool = True


class BenignModel(BaseModel):
    """One line of a file of harmless statements."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str = Field(min_length=1)
    dialect: str
    sql: str


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack to run, with the line it stands on; `variant` names the change made to a listed one."""

    id: str
    kind: str
    harm: Harm
    sql: str
    line: int
    template: bool = False
    live: bool = True
    variant: str | None = None


@dataclass(frozen=True, slots=True)
class Benign:
    """A harmless statement that must pass."""

    id: str
    sql: str
    line: int


Model = TypeVar("Model", AttackModel, BenignModel)


def read_attacks(path: Path, dialect: str) -> tuple[Attack, ...]:
    """Return the dialect's attacks of a file.

    Raises:
        InputError: a malformed line, an id that stands twice, or nothing for this dialect.
    """
    return tuple(
        Attack(
            found.id, found.kind, found.harm, found.sql, line, found.sql_template, found.live and found.harm != "none"
        )
        for found, line in _lines(path, dialect, AttackModel)
    )


def read_benign(path: Path, dialect: str) -> tuple[Benign, ...]:
    """Return the dialect's harmless statements of a file.

    Raises:
        InputError: as `read_attacks`.
    """
    return tuple(Benign(found.id, found.sql, line) for found, line in _lines(path, dialect, BenignModel))


def _lines(path: Path, dialect: str, model: type[Model]) -> list[tuple[Model, int]]:
    """Return the valid lines of one dialect with their numbers."""
    faults, seen = Faults(), set[str]()
    found: list[tuple[Model, int]] = []
    for record in json_lines(path):
        value = faults.validate(model, record.value, file=path, line=partial(_same, record.line))
        if value is None or value.dialect != dialect:
            continue
        if value.id in seen:
            remedy = "Give every line an id of its own"
            faults.add(InputError(f"the id '{value.id}' stands twice", file=path, line=record.line, remedy=remedy))
        seen.add(value.id)
        found.append((value, record.line))
    faults.check()
    if not found:
        raise InputError(f"no line is for {dialect}", file=path, remedy="Name the dialect its lines are written for")
    return found


def _same(line: int, _place: Place) -> int:
    """Return the one line a JSON lines record stands on."""
    return line


def sample(items: Sequence[Attack], size: int | None, seed: int) -> tuple[Attack, ...]:
    """Return a seeded sample in file order, everything where no size is given."""
    if size is None or size >= len(items):
        return tuple(items)
    chosen = random.Random(seed).sample(range(len(items)), size)  # noqa: S311 - a repeatable choice, no secret
    return tuple(items[index] for index in sorted(chosen))


def filled(sql: str, values: Mapping[str, str]) -> str:
    """Return a template's text: repeats written out, names replaced by what they stand for in this sandbox.

    Raises:
        InputError: a repeat that would not fit into memory.
    """

    def repeated(match: re.Match[str]) -> str:
        """Return one repeat written out."""
        if len(match[1]) * int(match[2]) > _MOST_REPEATED:
            raise InputError(f"the repeat {match[0][:60]} is too long", field="sql", remedy="Repeat it less often")
        return match[1] * int(match[2])

    text = _REPEAT.sub(repeated, sql)
    for name, value in values.items():
        text = text.replace("{{" + name + "}}", value)
    return text

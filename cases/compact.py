"""Let frozen records that are kept by the thousand take less memory: equal parts stand once."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

Record = TypeVar("Record", bound=BaseModel)
MOST = 4096
"""How many distinct parts are remembered; those of a longer run stand where they are."""


@cache
def _fields(kind: type[BaseModel]) -> set[str]:
    """Return the names of a record's fields, one set for all records of the kind."""
    return set(kind.model_fields)


def settle(records: Iterable[Record]) -> None:
    """Let records forget which fields were given and which defaulted: each set of names outweighs its record.

    Only for records that are never written by `exclude_unset`.
    """
    for record in records:
        # Frozen for everybody else: no field changes, only pydantic's note about where their values came from.
        object.__setattr__(record, "__pydantic_fields_set__", _fields(type(record)))


class Shared:
    """Parts that many records have alike; used by one thread."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._records: dict[tuple[type[BaseModel], str], BaseModel] = {}
        self._tuples: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def settle(self, record: Record) -> Record:
        """Return the record with its nested records, tuples and short texts shared with those that came before."""
        settle((record,))
        values = vars(record)
        for name, value in values.items():
            values[name] = self._shared(value)
        return record

    def _shared(self, value: Any) -> Any:
        """Return an equal value that is kept already, or this one."""
        match value:
            case BaseModel():
                return self._record(value)
            case tuple():
                return self._tuple(value)
            case dict():
                return {sys.intern(key) if type(key) is str else key: self._shared(one) for key, one in value.items()}
            case _:
                return value

    def _record(self, record: BaseModel) -> BaseModel:
        """Return an equal record; the text it is written as tells, as a record with a mapping has no hash."""
        try:
            key = (type(record), record.model_dump_json())
        except PydanticSerializationError:  # half a surrogate pair: not worth a second look
            return record
        found = self._records.get(key)
        if found is None:
            found = self.settle(record)
            if len(self._records) < MOST:
                self._records[key] = found
        return found

    def _tuple(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return an equal tuple of texts; others stand for themselves."""
        if not all(type(value) is str for value in values):
            return values
        found = self._tuples.get(values)
        if found is None:
            found = tuple(map(sys.intern, values))
            if len(self._tuples) < MOST:
                self._tuples[found] = found
        return found

"""The sources that data can be taken from, asked in this order."""

from __future__ import annotations

from sqlassay.cases.errors import InputError
from sqlassay.harness.taking.contract import Source
from sqlassay.harness.taking.files import SqliteFile
from sqlassay.harness.taking.live import LiveServer
from sqlassay.harness.taking.script import Script
from sqlassay.harness.taking.tables import DuckdbFile, TableFolder

SOURCES: tuple[Source, ...] = (SqliteFile(), DuckdbFile(), TableFolder(), Script(), LiveServer())


def source_of(source: str) -> Source:
    """Return the kind of source that recognises what a person named.

    Raises:
        InputError: none does; the remedy lists them.
    """
    found = next((one for one in SOURCES if one.recognises(source)), None)
    if found is None:
        remedy = f"Name one of: {'; '.join(one.name for one in SOURCES)}"
        raise InputError("no source of data that is known here", field="--from", remedy=remedy)
    return found

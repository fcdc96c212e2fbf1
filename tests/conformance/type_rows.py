"""What tests/tables/types.yaml and the kinds of our own schemas ask of each engine, as one snapshot."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from math import inf, nan
from pathlib import Path
from typing import Any
from uuid import UUID

from rows import rows_of

from sqlassay.cases.relation import FarTemporal, Interval, Json, Kind, Row
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.cases.sources.scripts import scripts_digest

DIALECTS = ("postgres", "mysql", "sqlite")
PAIRS = (("postgres", "mysql"), ("postgres", "sqlite"), ("mysql", "sqlite"))
TABLE = Path(__file__).parents[1] / "tables" / "types.yaml"
NAMES: dict[str, Any] = {
    "D": Decimal,
    "Far": FarTemporal,
    "Interval": Interval,
    "Json": Json,
    "UUID": UUID,
    "date": date,
    "datetime": datetime,
    "inf": inf,
    "nan": nan,
    "time": time,
    "timedelta": timedelta,
    "tz": lambda hours: timezone(timedelta(hours=hours)),
}
TZ = timezone(timedelta(hours=2))
OWN: dict[Kind, tuple[object, ...]] = {
    Kind.BOOL: (True, False, None),
    Kind.INT: (-(2**63), 2**53 + 1, 0),
    Kind.DECIMAL: (Decimal("12345678901.25"), Decimal("-0.01"), Decimal("2.00")),
    Kind.FLOAT32: (1.2345678, -6.9, 16777216.0),
    Kind.FLOAT64: (0.1, 1e308, -0.0),
    Kind.TEXT: ("tab\t back\\slash 'quote' ü 😀\nline", "cafe\u0301", ""),
    Kind.CHAR: ("ab", "", "abcde"),
    Kind.DATE: (date(2024, 2, 29), date(1000, 1, 1), date(9999, 12, 31)),
    Kind.TIME: (time(1, 2, 3, 4), timedelta(hours=24), time(23, 59, 59, 999_999)),
    Kind.TIMETZ: (time(1, 2, 3, tzinfo=TZ), time(0, tzinfo=UTC), None),
    Kind.TIMESTAMP: (datetime(2024, 2, 29, 1, 2, 3, 250_000), datetime(1000, 1, 1), None),  # noqa: DTZ001
    Kind.TIMESTAMPTZ: (datetime(2024, 2, 29, 1, 2, 3, tzinfo=TZ), datetime(2024, 1, 1, tzinfo=UTC), None),
    Kind.INTERVAL: (Interval(13, 2, 3_000_000), Interval(-1, -2, -3), timedelta(hours=30, microseconds=1)),
    Kind.BYTES: (b"\x00\xff\\'", b"", None),
    Kind.UUID: (UUID("12345678-1234-5678-1234-56781234ABCD"), None, None),
    Kind.JSON: (Json('{"b": [1, null, "ü"], "a": 1.0}'), Json("[]"), Json("null")),
    Kind.ARRAY: (("a", None, 'b,"c"'), (), None),
    Kind.BITS: ("01010", "00000", "11111"),
    Kind.OTHER: ("x", "y", None),
}
"""Three values of each kind, as a pack's own schema loads them into every engine."""


@dataclass(frozen=True, slots=True)
class TypeRow:
    """One row of the table."""

    id: str
    engines: Mapping[str, Mapping[str, str]]
    lacks: Mapping[str, str]
    verdicts: Mapping[str, tuple[str, ...]]
    source: str

    def sql(self, dialect: str) -> str:
        """Return the statement that fetches the value."""
        return self.engines[dialect].get("sql", f"SELECT v FROM {self._table}")

    def script(self, dialect: str) -> str:
        """Return the statements that put the value into a table, where the row wants one."""
        engine = self.engines.get(dialect, {})
        if "column" not in engine:
            return ""
        before = f"{engine['before']}\n" if "before" in engine else ""
        made = f"CREATE TABLE {self._table} (v {engine['column']});"
        return f"{before}{made}\nINSERT INTO {self._table} VALUES ({engine['put']});\n"

    def cell(self, dialect: str) -> object:
        """Return the cell that must arrive."""
        return eval(self.engines[dialect]["cell"], dict(NAMES))

    @property
    def _table(self) -> str:
        """Return the table's name."""
        return "t_" + self.id.replace("-", "_")


def type_rows() -> list[TypeRow]:
    """Return every row of the table."""
    return [
        TypeRow(
            id=row["id"],
            engines={dialect: row[dialect] for dialect in DIALECTS if dialect in row},
            lacks=row.get("lacks", {}),
            verdicts={preset: tuple(row[preset]) for preset in ("cross_dialect", "strict")},
            source=row["source"],
        )
        for row in rows_of(TABLE)
    ]


class OwnRows:
    """The rows of the table `own`: an id, then a value of each kind."""

    def rows(self, table: str) -> Iterator[Row]:
        """Yield them."""
        assert table == "own"
        for number, row in enumerate(zip(*OWN.values(), strict=True)):
            yield (number, *row)


def snapshot(folder: Path) -> Snapshot:
    """Return the snapshot that holds every row of the table and of `own`; scripts are written into the folder."""
    scripts: dict[str, tuple[Path, ...]] = {}
    for dialect in DIALECTS:
        path = folder / f"{dialect}.sql"
        path.write_text("".join(row.script(dialect) for row in type_rows()), encoding="utf-8")
        scripts[dialect] = (path,)
    digest = hashlib.sha256(f"{scripts_digest(scripts)}{OWN!r}".encode()).hexdigest()
    own = TableDef("own", (ColumnDef("id", Kind.INT, nullable=False), *map(_column, OWN)), primary_key=("id",))
    return Snapshot("types", "types", digest, (own,), OwnRows(), scripts)


def _column(kind: Kind) -> ColumnDef:
    """Return the column that holds one kind."""
    length = 5 if kind in (Kind.CHAR, Kind.BITS) else None
    decimal = (20, 2) if kind is Kind.DECIMAL else (None, None)
    return ColumnDef(f"c_{kind.value}", kind, length=length, precision=decimal[0], scale=decimal[1])

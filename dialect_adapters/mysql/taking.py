"""How a live MySQL is asked for its rows as text."""

from __future__ import annotations

from sqlalchemy.types import VARBINARY

from sqlassay.cases.relation import Kind
from sqlassay.dialect_adapters.mysql.native import write_native
from sqlassay.dialect_adapters.taking import TakingRules

TAKING = TakingRules(
    driver="mysql+pymysql",
    begin=("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", "SET SESSION time_zone = '+00:00'"),
    text="CAST({} AS CHAR)",
    # No backslash may stand in a literal whose meaning a session's sql_mode decides.
    by_kind={Kind.BYTES: "CONCAT(CHAR(92), 'x', LOWER(HEX({})))"},
    native=write_native,
    odd="ST_AsText({})",
    unknown={"vector": VARBINARY},
    named={"TIME": Kind.OTHER, "YEAR": Kind.INT, "BIT": Kind.OTHER, "SET": Kind.TEXT, "ENUM": Kind.TEXT},
)

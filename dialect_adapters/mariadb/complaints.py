"""What MariaDB's error messages are about: MySQL's, and those it words in its own way."""

from __future__ import annotations

from sqlassay.dialect_adapters.mysql.complaints import COMPLAINTS as MYSQL
from sqlassay.dialect_adapters.transpile.causes import Difference

COMPLAINTS: tuple[tuple[str, Difference], ...] = (
    (r"isn't grouped|mixing of GROUP columns", Difference.BARE_COLUMN),
    (r"Every derived table must have its own alias", Difference.DERIVED_TABLE),
    (r"Incorrect (inet4|inet6|uuid) value", Difference.TEXT_AND_NUMBER),
    *MYSQL,
)

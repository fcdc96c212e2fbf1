"""How a live MariaDB is asked for its rows as text: as MySQL is, by another driver's name and with more types."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy.dialects.mysql.mariadb import INET4, INET6
from sqlalchemy.types import VARBINARY

from sqlassay.cases.relation import Kind
from sqlassay.dialect_adapters.mariadb.own import MARIADB
from sqlassay.dialect_adapters.mysql.taking import TAKING as MYSQL

TAKING = replace(
    MYSQL,
    driver=MARIADB.driver,
    unknown={"vector": VARBINARY, "inet4": INET4, "inet6": INET6},
    named={**MYSQL.named, "INET4": Kind.TEXT, "INET6": Kind.TEXT, "UUID": Kind.UUID},
)

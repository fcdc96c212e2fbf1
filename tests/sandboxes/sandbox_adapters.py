"""Two tiny adapters that speak to real servers through the drivers alone: sandboxes are proven by themselves."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
import pymysql

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import (
    Endpoint,
    GrammarRules,
    Pins,
    Role,
    ServerRecipe,
    Session,
    SessionLostError,
)
from sqlassay.dialect_adapters.mysql.recipe import RECIPE as MYSQL
from sqlassay.dialect_adapters.postgres.recipe import ADMIN
from sqlassay.dialect_adapters.postgres.recipe import RECIPE as POSTGRES


class TinyPostgres:
    """Postgres with one table a snapshot; the harness's login alone."""

    name = "postgres"

    def __init__(self, *, load_seconds: float = 0.0) -> None:
        """Count loads, and make each last so long at least."""
        self.loads = 0
        self.on_load: Callable[[], None] = lambda: None
        self._load_seconds = load_seconds

    @property
    def recipe(self) -> ServerRecipe:
        return POSTGRES

    @property
    def rules(self) -> GrammarRules:
        raise NotImplementedError

    def connect(self, endpoint: Endpoint, database: str, role: Role, pins: Pins) -> Session:
        if not self.ping(endpoint):
            raise SessionLostError("no answer")
        raise NotImplementedError

    def login(self, endpoint: Endpoint, database: str = "postgres") -> psycopg.Connection[Any]:
        """Log in as the harness."""
        host = endpoint.host if endpoint.socket is None else str(endpoint.socket.parent)
        port = endpoint.port if endpoint.socket is None else 5432
        return psycopg.connect(
            host=host, port=port, dbname=database, user=ADMIN, password=endpoint.password, connect_timeout=5,
            autocommit=True,
        )  # fmt: skip

    def ping(self, endpoint: Endpoint) -> bool:
        try:
            with self.login(endpoint) as connection:
                connection.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    def load(self, endpoint: Endpoint, snapshots: Sequence[Snapshot]) -> tuple[Catalog, ...]:
        self.loads += 1
        self.on_load()
        time.sleep(self._load_seconds)
        with self.login(endpoint) as connection:
            for snapshot in snapshots:
                connection.execute(f"CREATE DATABASE {snapshot.database}")
                with self.login(endpoint, snapshot.database) as own:
                    own.execute("CREATE TABLE t AS SELECT generate_series(1, 1000) AS n")
        return tuple(
            Catalog(dialect=self.name, snapshot=s.id, database=s.database, engine_version="17", tables=())
            for s in snapshots
        )

    def shutdown(self, endpoint: Endpoint) -> None:
        with self.login(endpoint) as connection:
            connection.execute("CHECKPOINT")

    def state_digest(self, endpoint: Endpoint, database: str) -> str:
        raise NotImplementedError


class TinyMysql:
    """MySQL with one table a snapshot; the root login alone."""

    name = "mysql"

    @property
    def recipe(self) -> ServerRecipe:
        return MYSQL

    @property
    def rules(self) -> GrammarRules:
        raise NotImplementedError

    def connect(self, endpoint: Endpoint, database: str, role: Role, pins: Pins) -> Session:
        raise NotImplementedError

    def login(self, endpoint: Endpoint, password: str | None = None) -> Any:
        """Log in as root."""
        secret = endpoint.password if password is None else password
        if endpoint.socket is None:
            return pymysql.connect(host=endpoint.host, port=endpoint.port, user="root", password=secret)
        return pymysql.connect(unix_socket=str(endpoint.socket), user="root", password=secret, ssl_disabled=True)

    def ping(self, endpoint: Endpoint) -> bool:
        for password in (endpoint.password, ""):
            try:
                self.login(endpoint, password).close()
            except (pymysql.Error, OSError):
                continue
            return True
        return False

    def load(self, endpoint: Endpoint, snapshots: Sequence[Snapshot]) -> tuple[Catalog, ...]:
        with self.login(endpoint, "") as connection, connection.cursor() as cursor:
            cursor.execute(f"ALTER USER CURRENT_USER() IDENTIFIED BY '{endpoint.password}'")
            for snapshot in snapshots:
                cursor.execute(f"CREATE DATABASE {snapshot.database}")
                cursor.execute(f"CREATE TABLE {snapshot.database}.t (n INT)")
                cursor.execute(f"INSERT INTO {snapshot.database}.t VALUES (1), (2), (3)")
            connection.commit()
        return tuple(
            Catalog(dialect=self.name, snapshot=s.id, database=s.database, engine_version="9", tables=())
            for s in snapshots
        )

    def shutdown(self, endpoint: Endpoint) -> None:
        return None

    def state_digest(self, endpoint: Endpoint, database: str) -> str:
        raise NotImplementedError

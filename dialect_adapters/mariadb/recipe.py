"""How a MariaDB 11.8 server is built, initialised and served, as data.

Logins and passwords are agreed as in `sqlassay.dialect_adapters.mysql.recipe`: `root@'%'` has no password until `load`
sets the image's own, and `load` takes READ_ONLY ADMIN from it. With that, a server started with `read_only` and
`innodb_read_only` can be written by nobody, and nobody can tell it otherwise while it runs.
"""

from __future__ import annotations

from types import MappingProxyType

from sqlassay.dialect_adapters.contract import DebianSource, Mode, ServerRecipe

_SQL_MODE = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION"
"""What the server has by itself, named so that another version of it answers the same."""

_FILES = (
    "--datadir={data}",
    "--tmpdir=/tmp",
    "--lower-case-table-names=1",
    "--character-set-server=utf8mb4",
    "--skip-log-bin",
    # The same in every mode: a read-only boot could change the size of none of these.
    "--innodb-undo-tablespaces=0",
    "--innodb-log-file-size=8M",
    "--innodb-data-file-path=ibdata1:4M:autoextend",
    "--innodb-temp-data-file-path=ibtmp1:2M:autoextend",
    "--innodb-flush-method=nosync",
)

_SPACE = ("max-tmp-session-space-usage=192M", "max-tmp-total-space-usage=240M")

_SETTINGS = (
    "--socket=/run/sqlassay/mariadb.sock",
    "--pid-file={data}/mariadbd.pid",
    # MariaDB knows no NULL here: a folder that is there, holds no secret and cannot be written.
    "--secure-file-priv=/usr/share/zoneinfo",
    "--default-time-zone=+00:00",
    f"--sql-mode={_SQL_MODE}",
    "--performance-schema=OFF",
    "--event-scheduler=DISABLED",
    "--log-warnings=0",
    "--max-allowed-packet=64M",
    # By default a recursion is cut after 1,000 rounds with a warning alone: nothing is cut silently here.
    "--max-recursive-iterations=4294967295",
    # Temporary tables: 64 MB in memory, then on the sized tmpfs, where a full disk would be waited for, not told.
    "--tmp-table-size=64M",
    "--max-heap-table-size=64M",
    *(f"--{name}" for name in _SPACE),
    "--skip-networking",
)

# As for MySQL: each line shortens the boot or shrinks the server.
_TUNED = (
    "--skip-ssl",
    "--innodb-doublewrite=OFF",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-buffer-pool-load-at-startup=OFF",
    "--innodb-buffer-pool-dump-at-shutdown=OFF",
    "--innodb-log-buffer-size=2M",
    "--innodb-purge-threads=1",
    "--innodb-read-io-threads=1",
    "--innodb-write-io-threads=1",
    "--innodb-use-native-aio=OFF",
    "--innodb-sort-buffer-size=64K",
    "--innodb-ft-cache-size=1600000",
    "--key-buffer-size=8K",
    "--aria-pagecache-buffer-size=1M",
    "--max-connections=40",
    "--table-open-cache=200",
    "--table-definition-cache=400",
    "--open-files-limit=1024",
    "--skip-name-resolve",
    "--query-cache-type=OFF",
    "--query-cache-size=0",
)

_SMALL_POOL = ("--innodb-buffer-pool-size=16M",)
_LARGE_POOL = ("--innodb-buffer-pool-size=128M",)

_INIT_FILE = "/tmp/init.sql"  # noqa: S108 - inside the container, on its own tmpfs
_TABLES = ("mariadb_system_tables", "mariadb_performance_tables", "mariadb_system_tables_data")
"""What makes a data folder. Left out: help texts, and the sys schema with its routines that act."""

_ROOT = (
    "DELETE FROM global_priv WHERE User = 'root' AND Host <> 'localhost';",
    # A published port is reached from the bridge's gateway, which `root@localhost` refuses.
    "UPDATE global_priv SET Host = '%' WHERE User = 'root';",
    "DELETE FROM proxies_priv;",
)

# Named time zones (CONVERT_TZ with 'Europe/Paris') come from tables that a fresh server has empty. The tables' own text
# lies in another folder in packages that are not Debian's.
_WRITE_INIT_FILE = (
    "/bin/sh",
    "-c",
    "mkdir -p {data}; folder=/usr/share/mariadb; test -f $folder/mariadb_system_tables.sql || folder=/usr/share/mysql; "
    '{ printf "%s\\n" "CREATE DATABASE IF NOT EXISTS mysql;" "USE mysql;" "SET @auth_root_socket = NULL;"; '
    f"cat {' '.join(f'$folder/{name}.sql' for name in _TABLES)}; "
    "mariadb-tzinfo-to-sql /usr/share/zoneinfo 2>/dev/null; "
    f'printf "%s\\n" {" ".join(f"{chr(34)}{line}{chr(34)}" for line in _ROOT)}; }} > {_INIT_FILE}',
)

_INIT = ("/bin/sh", "-c", f'exec "$0" "$@" < {_INIT_FILE}', "{bin}/mariadbd", "--no-defaults", "--bootstrap", *_FILES)

# UUID() has a type of its own here, in which no other text fits.
_MARK = (
    "SELECT IF(@@innodb_read_only AND @@read_only AND NOT EXISTS (SELECT 1 FROM information_schema.user_privileges "
    "WHERE privilege_type = 'READ_ONLY ADMIN'), 'read-only', CAST(UUID() AS CHAR(36)))"
)

_SERVER = ("{bin}/mariadbd", "--no-defaults", *_FILES, *_SETTINGS, *_TUNED)

_SINCE = MappingProxyType({f"--{name}": ((11, 5), "") for name in _SPACE})
"""What older servers do not know: the tmpfs alone bounds what they spill."""

RECIPE = ServerRecipe(
    dialect="mariadb",
    kind="server",
    registry_image="mariadb:11.8",
    debian=DebianSource(
        suite="trixie",
        packages=("mariadb-server-core", "mariadb-server", "tzdata", "tzdata-legacy"),
        bin_dir="/usr/sbin",
        programs=("mariadbd", "/usr/bin/mariadb-tzinfo-to-sql", "/usr/bin/mkdir", "/usr/bin/cat"),
        keep=(
            "usr/share/mariadb/mariadb_*.sql",
            "usr/share/mariadb/english/*",
            "usr/share/mariadb/charsets/*",
            "usr/share/zoneinfo/*",
        ),
        drop=(
            "usr/share/zoneinfo/right/*",
            "usr/share/zoneinfo/posix/*",
            "usr/share/mariadb/mariadb_sys_schema.sql",
            "usr/share/mariadb/mariadb_test_*.sql",
        ),
    ),
    data_dir="/var/lib/sqlassay/data",
    init=(_WRITE_INIT_FILE, _INIT),
    serve=MappingProxyType(
        {
            Mode.BUILD: (*_SERVER, *_LARGE_POOL, "--local-infile=1"),
            Mode.READ: (*_SERVER, *_SMALL_POOL, "--local-infile=0", "--innodb-read-only=ON", "--read-only=ON"),
            # Automatic keys one by one: reserved in lots, INSERT … SELECT would leave another counter than VALUES does.
            Mode.WRITE: (*_SERVER, *_SMALL_POOL, "--local-infile=0", "--innodb-autoinc-lock-mode=0"),
        }
    ),
    socket="/run/sqlassay/mariadb.sock",
    port=3306,
    tcp_options=("--skip-networking=OFF", "--bind-address=*", "--ssl"),
    memory_mb=512,
    mark=_MARK,
    since=_SINCE,
    # The first that knows utf8mb4_0900_bin, which every session here is set to.
    least=(11, 4),
)
"""The MariaDB server: system tables by `--bootstrap` once, then one argv a mode."""

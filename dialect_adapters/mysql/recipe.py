"""How a MySQL 9 server is built, initialised and served, as data.

Logins and passwords, agreed between this recipe, the provider and the adapter:

* `Endpoint.password` is the one secret of an image: random per bake, kept beside the image's catalogue (mode 0600).
  Every login of the image uses it, whatever its role.
* The server is initialised with `--initialize-insecure`: `root@'%'` has NO password until the adapter's `load`
  logs in with an empty one and sets it to `Endpoint.password`. `ping` must therefore count both answers, an accepted
  login and a refused password of a booted server, as alive. HARNESS is `root` afterwards.
* Every login is at `'%'`: over the unix socket it matches too, and a published port (no socket sharing) comes from
  the bridge's gateway, never from localhost.
* READER logs in as `r_<database>`, WRITER as `w_<database>`, OWNER as `o_<database>`, each cut to 32 characters.
* The socket is `Endpoint.socket`; `ssl_disabled=True` there (TLS is switched off). Over a port TLS stays on.
* LOCAL INFILE is allowed in BUILD mode only.
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

from sqlassay.dialect_adapters.contract import DebianSource, Mode, ServerRecipe

_SETTINGS = (
    "--no-defaults",
    "--datadir={data}",
    "--socket=/run/sqlassay/mysql.sock",
    "--pid-file={data}/mysqld.pid",
    "--tmpdir=/tmp",
    "--lower-case-table-names=1",
    "--secure-file-priv=NULL",
    "--character-set-server=utf8mb4",
    "--default-time-zone=+00:00",
    "--mysqlx=OFF",
    "--skip-log-bin",
    "--performance-schema=OFF",
    "--log-error-verbosity=1",
    "--max-allowed-packet=64M",
    # Temporary tables: 64 MB each in memory, 128 MB in all, then on disk; the default is sized for the whole machine.
    "--tmp-table-size=64M",
    "--max-heap-table-size=64M",
    "--temptable-max-ram=128M",
    "--temptable-max-mmap=0",
    # On disk means on the sized tmpfs, like sort files: nothing a query spills reaches the host's disk.
    "--innodb-temp-tablespaces-dir=/tmp",
    "--skip-networking",
)

# Each line was measured to shorten the boot or to shrink the server; together 1,282 ms became 686.
_TUNED = (
    "--innodb-redo-log-capacity=8M",
    "--tls-version=",
    "--caching-sha2-password-auto-generate-rsa-keys=OFF",
    "--auto-generate-certs=OFF",
    "--sha256-password-auto-generate-rsa-keys=OFF",
    "--innodb-doublewrite=OFF",
    "--innodb-flush-method=nosync",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-buffer-pool-load-at-startup=OFF",
    "--innodb-buffer-pool-dump-at-shutdown=OFF",
    "--innodb-numa-interleave=OFF",
    "--innodb-validate-tablespace-paths=OFF",
    "--innodb-log-buffer-size=1M",
    "--innodb-page-cleaners=1",
    "--innodb-purge-threads=1",
    "--innodb-read-io-threads=1",
    "--innodb-write-io-threads=1",
    "--innodb-use-native-aio=OFF",
    "--upgrade=NONE",
    "--innodb-log-writer-threads=OFF",
    "--max-connections=40",
    "--table-open-cache=200",
    "--table-definition-cache=400",
    "--open-files-limit=1024",
    "--event-scheduler=DISABLED",
    "--skip-name-resolve",
    "--innodb-rollback-segments=1",
    "--innodb-sort-buffer-size=64K",
    "--innodb-ft-cache-size=1600000",
    "--key-buffer-size=8K",
)

_SMALL_POOL = ("--innodb-buffer-pool-chunk-size=8M", "--innodb-buffer-pool-size=16M")
_LARGE_POOL = ("--innodb-buffer-pool-size=128M",)

# A published port is reached from the bridge's gateway, which `root@localhost` refuses. Account statements are not to
# be had while a server initialises; its tables are.
_ANYWHERE = " ".join(
    f"UPDATE mysql.{table} SET Host = '%' WHERE User = 'root';"  # noqa: S608 - names of our own
    for table in ("user", "global_grants", "proxies_priv")
)
_INIT_FILE = "/tmp/init.sql"  # noqa: S108 - inside the container, on its own tmpfs

# Named time zones (CONVERT_TZ with 'Europe/Paris') come from tables that a fresh server has empty.
_ZONES = "mysql_tzinfo_to_sql /usr/share/zoneinfo 2>/dev/null"
_WRITE_INIT_FILE = (
    "/bin/sh",
    "-c",
    f'{{ echo "USE mysql;"; {_ZONES}; echo "{_ANYWHERE}"; }} > {_INIT_FILE}',
)

_INIT = (
    "{bin}/mysqld",
    "--no-defaults",
    "--initialize-insecure",
    "--datadir={data}",
    "--tmpdir=/tmp",
    "--lower-case-table-names=1",
    "--secure-file-priv=NULL",
    "--skip-log-bin",
    "--innodb-flush-method=nosync",
    "--character-set-server=utf8mb4",
    f"--init-file={_INIT_FILE}",
)

# With innodb_read_only not even root can write; the server cannot be told otherwise while it runs. Where it is off,
# no two answers are equal.
_MARK = "SELECT IF(@@innodb_read_only AND @@super_read_only, 'read-only', UUID())"

_SERVER = ("{bin}/mysqld", *_SETTINGS, *_TUNED)

RECIPE = ServerRecipe(
    dialect="mysql",
    kind="server",
    registry_image="mysql:9",
    debian=DebianSource(
        suite="sid",
        packages=("mysql-server-core", "tzdata", "tzdata-legacy"),
        bin_dir="/usr/sbin",
        programs=("mysqld", "/usr/bin/mysql_tzinfo_to_sql"),
        keep=(
            "usr/share/mysql/*.sql",
            "usr/share/mysql/*.txt",
            "usr/share/mysql/english/*",
            "usr/share/mysql/charsets/*",
            "usr/lib/mysql/plugin/component_reference_cache.so",
            "usr/share/zoneinfo/*",
        ),
        drop=("usr/share/zoneinfo/right/*", "usr/share/zoneinfo/posix/*"),
    ),
    data_dir="/var/lib/sqlassay/data",
    init=(_WRITE_INIT_FILE, _INIT),
    serve=MappingProxyType(
        {
            Mode.BUILD: (*_SERVER, *_LARGE_POOL, "--local-infile=1"),
            Mode.READ: (*_SERVER, *_SMALL_POOL, "--local-infile=0", "--innodb-read-only=ON", "--super-read-only=ON"),
            # Automatic keys one by one: reserved in lots, INSERT … SELECT would leave another counter than VALUES does.
            Mode.WRITE: (*_SERVER, *_SMALL_POOL, "--local-infile=0", "--innodb-autoinc-lock-mode=0"),
        }
    ),
    socket="/run/sqlassay/mysql.sock",
    port=3306,
    # TCP logins need TLS or an RSA key for caching_sha2_password, so the certificates come back.
    tcp_options=(
        "--skip-networking=OFF",
        "--bind-address=*",
        "--tls-version=TLSv1.2,TLSv1.3",
        "--auto-generate-certs=ON",
    ),
    memory_mb=768,
    mark=_MARK,
    least=(8, 0),
    # Its suite's Release file is past its date where a mirror stands still: then these packages serve, and no others.
    pinned=Path(__file__).with_name("packages.txt"),
)
"""The MySQL 9 server: `--initialize-insecure` once, then one argv a mode."""

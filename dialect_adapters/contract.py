"""What every dialect supplies: a server recipe and grammar rules as data, sessions, loading, a state digest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.relation import Relation
from sqlassay.cases.settings import EngineSettings
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.verdicts import FailureKind


class Role(StrEnum):
    """Who logs in: READER runs queries, WRITER changes rows, OWNER the schema too, HARNESS is ours.

    GUEST is a reader of the tables that a pack lets predictions see; only a snapshot that limits them has that login.
    """

    GUEST = "guest"
    READER = "reader"
    WRITER = "writer"
    OWNER = "owner"
    HARNESS = "harness"


class Mode(StrEnum):
    """How a server serves: READ cannot write at all, WRITE has its data on a sized tmpfs copy, BUILD loads data."""

    READ = "read"
    WRITE = "write"
    BUILD = "build"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens. The only value that holds a password; its repr hides it.

    `socket` is the host path of the unix socket (None = TCP at `host:port`).
    """

    socket: Path | None
    host: str = "127.0.0.1"
    port: int = 0
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one statement may use: seconds of harness clock, rows, bytes of the whole result, bytes of one cell."""

    timeout: float = 30.0
    rows: int = 100_000
    result_bytes: int = 64 * 1024 * 1024
    cell_bytes: int = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Pins:
    """Session settings that make two runs give the same bytes; the clock is None where it runs freely.

    A clock that is not `clock_required` runs freely where the server cannot be told what to say. `sql_mode` is that of
    the snapshot, for engines that have one; None is the server's. `visible` are the tables of a GUEST, lower-cased, for
    engines that keep no rights of their own.
    """

    clock: datetime | None = None
    time_zone: str = "UTC"
    clock_required: bool = True
    sql_mode: str | None = None
    visible: tuple[str, ...] | None = None

    def under(self, settings: EngineSettings) -> Pins:
        """Return the pins of a statement on a snapshot with these settings."""
        zone = settings.time_zone or self.time_zone
        return replace(self, time_zone=zone, sql_mode=settings.sql_mode)


class StatementError(Exception):
    """The statement itself failed on the server, or passed a limit: becomes a Failure value in execute."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        """Keep the kind beside the engine's own message (no host, no path, no password)."""
        super().__init__(message)
        self.kind = kind
        self.message = message


class SessionLostError(Exception):
    """The connection broke under the statement; execute decides between timeout, resource limit and lost sandbox.

    `exhausted` where the server's last words were that it ran out of disk, memory or connections.
    """

    def __init__(self, message: str, *, exhausted: bool = False) -> None:
        """Keep what the engine said."""
        super().__init__(message)
        self.exhausted = exhausted


class Session(Protocol):
    """One login to one snapshot database. Not shared between threads, except `cancel` and `close`."""

    def begin_read(self, limits: Limits) -> None:
        """Open a READ ONLY transaction that the statement cannot leave, with the engine's own limits set."""
        ...

    def begin_write(self, limits: Limits) -> None:
        """Open a transaction in which the login's role may write; on servers of Mode.WRITE alone."""
        ...

    def fetch(self, sql: str, limits: Limits) -> Relation:
        """Run exactly one statement and return its whole result (no rows = a Relation without columns).

        Raises:
            StatementError: the statement failed, or its result passed a row or byte limit.
            SessionLostError: the connection is gone.
        """
        ...

    def commit(self) -> None:
        """Make what the statement changed last.

        Raises:
            StatementError: it cannot be kept, as where a deferred constraint does not hold.
            SessionLostError: the connection is gone.
        """
        ...

    def rollback(self) -> None:
        """Undo whatever the statement did; raises SessionLostError where the connection is gone."""
        ...

    def reset(self) -> bool:
        """Put the login back to how it was opened, once its transaction is over; never raises.

        False where it could not be done, or where a fresh login costs no more: the session is then closed.
        """
        ...

    def cancel(self) -> None:
        """Ask the engine from outside to stop the running statement; callable from another thread, never raises."""
        ...

    def close(self) -> None:
        """Leave without waiting for the server; never raises."""
        ...


@dataclass(frozen=True, slots=True)
class DebianSource:
    """How a base image is built from Debian packages: suite, packages and the files that must stay."""

    suite: str
    packages: tuple[str, ...]
    bin_dir: str
    programs: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    apt_options: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostServer:
    """How a server of this machine's own is found where there is no container: its programs, and what they read.

    `programs` lie in one folder: that of `package` (a Python package, its programs at `package_bin`, installed by our
    extra of the name `extra`), or one that a glob of `places` gives. `least` and `most` bound the major version that
    the recipe suits; `prefer` is the image's own. `asked` are the questions to `config`, a program beside them, whose
    answers are the folders they read; `loaded` are libraries in the last of these that they load by name. `shell` is
    what `init` needs besides. `read` are host paths they read where present, `preload` globs of what `env` preloads.
    `options` are argv parts from a major version on.
    """

    programs: tuple[str, ...]
    places: tuple[str, ...]
    package: str
    package_bin: str
    extra: str
    least: int
    most: int
    prefer: int
    config: str
    asked: tuple[str, ...]
    loaded: tuple[str, ...] = ()
    shell: str = "/bin/sh"
    read: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    options: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostLibrary:
    """An engine that is a Python package of this machine's own and runs inside the worker, never in a container.

    `modules` are its top-level modules, shown to the worker in the folder `inside`, `needs` what they import late of
    the standard library; our extra `extra` installs `distribution`.
    """

    distribution: str
    modules: tuple[str, ...]
    extra: str
    inside: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerRecipe:
    """An engine's server as data; providers run it, none knows the engine. `{bin}` and `{data}` are filled in.

    `kind` says how a snapshot is baked: `server` starts the engine and loads over a session, `files` lets the
    adapter write database files that are copied in. `init` are commands run once on an empty data folder.
    `serve` gives the argv per mode. `socket` is the absolute socket path inside; `port` the TCP port where a
    socket cannot be shared and the options are then `tcp_options`. `extra_files` are (host file, absolute path
    inside) pairs copied in at bake time. `registry_bin_dir` is `{bin}` in the registry image ("" = as in Debian's).
    `mark` asks, as HARNESS, for what cannot stay the same where anything on the server was written ("" = nothing does).
    `since` says of parts of an argv from which version a server knows them, and what an older one is given instead
    ("" = nothing); `least` is the oldest version that may be asked for. `{major}` in `registry_bin_dir` is the
    image's major version.
    `pinned` lists sha256 and file name of every package of the Debian build; where the suite's Release file has
    expired, those are taken and no others (None = nothing is taken from such a suite).
    `host` says how a server of this machine's own is found (None = it runs in containers alone). `library` is the
    Python package that is the engine of a worker (None = the worker needs the standard library alone).
    """

    dialect: str
    kind: Literal["server", "files"]
    registry_image: str
    debian: DebianSource
    data_dir: str
    init: tuple[tuple[str, ...], ...]
    serve: Mapping[Mode, tuple[str, ...]]
    socket: str
    port: int
    tcp_options: tuple[str, ...] = ()
    stop_signal: str = "SIGTERM"
    uid: int = 999
    user_name: str = "sqlassay"
    memory_mb: int = 512
    pids: int = 100
    env: Mapping[str, str] = field(default_factory=dict)
    builder_version: int = 1
    extra_files: tuple[tuple[Path, str], ...] = ()
    registry_bin_dir: str = ""
    mark: str = ""
    since: Mapping[str, tuple[tuple[int, int], str]] = field(default_factory=dict)
    least: tuple[int, int] = (0, 0)
    pinned: Path | None = None
    host: HostServer | None = None
    library: HostLibrary | None = None


CteScope = Literal["earlier", "sealed", "anchored", "recursive", "all"]
"""Which CTEs the body of one sees: `earlier` those before it (with RECURSIVE itself too) and none of a WITH around the
same query expression; `sealed` the same, and none of any WITH further out, where MariaDB may read the table of that
name; `anchored` those before it, and with RECURSIVE itself in the right arm of its UNION alone (in the
anchor, or without UNION, its name is the table's); `recursive` those before it, but with RECURSIVE all of its WITH;
`all` always all of its WITH."""


@dataclass(frozen=True, slots=True)
class Spellings:
    """How the parser reads changes that it does not know as the engine spells them; the text that runs stays as given.

    `heads` are (regex, words) of how a statement begins, the words never longer. `rest` are (regex, (group, words)…)
    over its code, every word and mark with a blank behind it and anything quoted as `_`: the words are read in place of
    the group, which holds fixed words and numbers alone. `prefixes` says that a number after an index's column is a
    length, not a call. `gated` says that comments `/*!80000 … */` are code to some versions: both readings are parsed.
    `reads` are like `rest`, for any statement. `numbers` is a regex of the engine's numbers, where the parser
    takes some for several words (`1_000`). `escaped_names` says that `U&"…"` is a name, three words to the parser.
    """

    heads: tuple[tuple[str, str], ...] = ()
    rest: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    prefixes: bool = False
    gated: bool = False
    reads: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    numbers: str = ""
    escaped_names: bool = False


@dataclass(frozen=True, slots=True)
class GrammarRules:
    """What the guard may let through for this engine; allow-lists, as data, lower-cased.

    `sqlglot_dialect` names the parser. `functions` is every function a prediction may call; `gaming` the allowed
    ones that make a result nondeterministic (flagged). `system_schemas` are denied always unless in
    `visible_system_tables`. `rejected_text` are (regex, reason) pairs on text outside literals and comments;
    `foreign_marks` is a regex of marks there that another dialect, a program or a template has: a slip, never run.
    `paren_words` are keywords and types that may stand before a parenthesis without being a call; `denied_words`
    and `system_prefixes` names rejected anywhere unless the catalogue has them; `gaming_words` and `gaming_literals`
    are flagged. `utilities` are regexes of whole statements that pass (SHOW, PRAGMA …); their group `table` must be
    in the catalogue. The rest is the lexical level: `string_prefixes` (x'…'), `escape_prefixes` (E'…' with
    backslashes), what ends a `--` comment, ODBC's
    `{d '…'}`, and `comment_words` that an executable comment after SELECT may hold. `known_functions` is every
    function the engine has, so that a call of one it lacks is told from a call of one that is not allowed (empty = not
    known).
    `types` are the types beside the standard's own that a cast may name, where a type of the snapshot's can run code
    (a domain's CHECK); empty = any. `cte_scope` says which CTEs of one WITH a query in it sees. A utility's group
    `setting` names no object; where a pack limits what is visible, only those pass and those whose `table` is visible,
    unless `others` says that they tell of other objects; nor is a call of `catalogue_functions` let through then.
    `file_tables` is a regex of names that the engine takes for files where no table has them ("" = it never does).
    `spellings` say how the parser reads what it does not know of the engine's INSERT, UPDATE, CREATE, ALTER and so on.
    `method_calls` says that `value.f()` is `f(value)`, `allowed_into` is a regex of code whose INTO writes nothing.
    `clock_hints` is a regex over the whole text: where it finds nothing no unflagged spelling reads the clock ("" =
    none does). `times_are_today` says that a time is today's where a day is wanted. `clock_calls` are functions that
    read it when called with fewer arguments than this.
    `quotient_scale` is to how many places at least the engine rounds a quotient or average (None = it rounds none).
    `column_calls` are functions that, called with more than one column, read the table that an argument names.
    `functional_notation` are the functions beyond `functions` that `value.name` would call and that can read or change
    something (empty = the engine has no such notation).
    """

    sqlglot_dialect: str
    functions: frozenset[str]
    gaming: frozenset[str]
    system_schemas: frozenset[str]
    visible_system_tables: frozenset[str] = frozenset()
    rejected_text: tuple[tuple[str, str], ...] = ()
    foreign_marks: str = ""
    allowed_statements: frozenset[str] = frozenset()
    pragmas: frozenset[str] = frozenset()
    nested_comments: bool = False
    backslash_escapes: bool = False
    hash_comments: bool = False
    dollar_quotes: bool = False
    identifier_quotes: str = '"'
    executable_comments: bool = False
    paren_words: frozenset[str] = frozenset()
    system_prefixes: tuple[str, ...] = ()
    default_schemas: frozenset[str] = frozenset()
    denied_words: frozenset[str] = frozenset()
    gaming_words: frozenset[str] = frozenset()
    gaming_literals: frozenset[str] = frozenset()
    utilities: tuple[str, ...] = ()
    string_prefixes: tuple[str, ...] = ()
    escape_prefixes: tuple[str, ...] = ()
    double_quoted_strings: bool = False
    bracket_identifiers: bool = False
    dash_comment_needs_blank: bool = False
    dash_comment_ends: str = "\n"
    functional_notation: frozenset[str] = frozenset()
    leading_bom: bool = False
    odbc_literals: bool = False
    comment_words: frozenset[str] = frozenset()
    known_functions: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    cte_scope: CteScope = "earlier"
    catalogue_functions: frozenset[str] = frozenset()
    spellings: Spellings = Spellings()
    file_tables: str = ""
    method_calls: bool = False
    allowed_into: str = ""
    clock_hints: str = ""
    times_are_today: bool = False
    clock_calls: Mapping[str, int] = field(default_factory=dict)
    column_calls: frozenset[str] = frozenset()
    quotient_scale: int | None = None


@dataclass(frozen=True, slots=True)
class StateRules:
    """How the whole state of a database is read, as questions the HARNESS login asks.

    `prepare` is run first. `tables` gives (name, schema or None, 't' or 'v') of every table and view. `schema` are
    (aspect, question) pairs; the aspect "columns" begins with table and column. A column named `position` is an
    ordinal, one named `constraint_name` a name the engine may have chosen. `checksum` gives the question for a large
    table's (count, digest…) from its quoted name and columns, None where its rows are read in pages instead.
    `derived` makes more aspects from those that were asked.
    """

    tables: str
    schema: tuple[tuple[str, str], ...]
    prepare: tuple[str, ...] = ()
    checksum: Callable[[str, Sequence[str]], str] | None = None
    derived: Callable[[Mapping[str, Relation]], Mapping[str, Relation]] | None = None


@runtime_checkable
class Renewing(Protocol):
    """What an adapter has besides, where its engine can put a database back faster than a server starts."""

    def renew(self, endpoint: Endpoint, database: str) -> bool:
        """Put a WRITE-mode server's database back to how it was at the first call; False where it could not be.

        For servers alone that nothing but trusted text has touched.
        """
        ...


@runtime_checkable
class Akin(Protocol):
    """What an adapter has besides, where its engine reads the statements of another."""

    kin: str
    """The dialect whose gold, setup, scripts and predictions are used where a pack has none for this one."""


@runtime_checkable
class Folding(Protocol):
    """What an adapter has besides, where its engine by itself compares text without case, and can be told otherwise."""

    folds_text: bool
    """True."""


class Adapter(Protocol):
    """One engine, registered under `sqlassay.dialects`; `sqlassay.dialect_adapters.registry` finds it by name."""

    name: str

    @property
    def recipe(self) -> ServerRecipe:
        """Return the server recipe."""
        ...

    @property
    def rules(self) -> GrammarRules:
        """Return the grammar rules the guard reads."""
        ...

    @property
    def state(self) -> StateRules:
        """Return how the state a statement leaves is read."""
        ...

    def set_up(self, endpoint: Endpoint, database: str, scripts: Sequence[str], pins: Pins) -> None:
        """Run a case's trusted setup SQL on a WRITE-mode server, each text of one statement or several.

        Raises:
            GoldBrokenError: a statement of it failed.
        """
        ...

    def connect(self, endpoint: Endpoint, database: str, role: Role, pins: Pins) -> Session:
        """Log in to one snapshot database; raises SessionLostError where the server does not answer."""
        ...

    def ping(self, endpoint: Endpoint) -> bool:
        """Return True once a real query is answered; False while the server boots. Never raises."""
        ...

    def load(self, endpoint: Endpoint, snapshots: Sequence[Snapshot]) -> tuple[Catalog, ...]:
        """On a BUILD-mode server with an empty data folder: create databases and logins, load, harden, and
        return one catalogue a snapshot (state digest included). For recipes of kind `files`, `endpoint.socket`
        is the host folder to write `<database>.sqlite`-like files into.

        Raises:
            InputError: a snapshot that cannot be loaded, naming its file and row.
        """
        ...

    def shutdown(self, endpoint: Endpoint) -> None:
        """Before the bake is frozen: flush everything so that the next boot needs no recovery."""
        ...

    def state_digest(self, endpoint: Endpoint, database: str) -> str:
        """Return a digest over rows and schema of every table, comparable with the catalogue's. A server in READ
        mode that cannot be written gives the same value as at bake time unless something got through.
        """
        ...

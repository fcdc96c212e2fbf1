"""The parser as the rest of the harness sees it: text in, facts out, whatever the text is."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, cast

from harness.parse.frames import receive, send
from harness.parse.keys import foreign_keys
from harness.parse.versions import readings as readings_of
from harness.results.blocks import Block, Called, Condition, Selected, SortKey
from harness.results.exact_set import Parts, Unit
from harness.results.parsed import OrderFacts, OrderKey, ParsedQuery, SecondReading, TableRef

if TYPE_CHECKING:
    # The worker imports this package too and needs no data models.
    from cases.catalog import Catalog
    from dialect_adapters.contract import Spellings

DEADLINE = 2.0
"""Seconds one text may take before its worker is killed."""

MAX_BYTES = 32 * 1024
"""The longest text that is parsed."""

_BOOT = (
    "import sys; sys.path[:] = sys.argv[3:]; from harness.parse.worker import main; main(int(sys.argv[1]), sys.argv[2])"
)
_START_SECONDS = 30.0
_NAME = 64
"""Texts shorter than this are likely to be names."""


class Readings(Protocol):
    """Keeps what the parser said of texts of one database between runs, by all that a reading depends on."""

    def read(self, request: str) -> dict[str, Any] | None:
        """Return the facts kept for a request, None where there are none."""
        ...

    def write(self, request: str, facts: dict[str, Any]) -> None:
        """Keep the facts of a request."""
        ...


class Parser:
    """One parser worker, started at the first text, killed at the deadline and started again when needed."""

    def __init__(self, *, deadline: float = DEADLINE) -> None:
        """Prepare without starting anything; `deadline` is the seconds one text may take."""
        self._deadline = deadline
        self._process: subprocess.Popen[bytes] | None = None
        self._sock: socket.socket | None = None
        self._catalogs: dict[int, Catalog] = {}
        self._sent: set[int] = set()
        self._spelled: Spellings | None = None
        # Invariant: the worker has at most one request in flight, so an answer belongs to the request just sent.
        self._lock = threading.Lock()
        self.restarts = 0
        self.restart_seconds: list[float] = []

    def __enter__(self) -> Parser:
        """Return itself; the worker starts with the first text."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the worker."""
        self.close()

    @property
    def pid(self) -> int | None:
        """Return the worker's process id, None while there is none."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """End the worker; a later parse starts a new one."""
        with self._lock:
            self._stop()

    def parse(
        self,
        sql: str,
        dialect: str,
        catalog: Catalog | None = None,
        *,
        sqlglot_dialect: str,
        cte_scope: str = "earlier",
        brief: bool = False,
        spellings: Spellings | None = None,
        readings: Readings | None = None,
    ) -> ParsedQuery:
        """Return the facts about one text; a text that cannot be parsed has `error` set. Never raises on any text.

        `cte_scope` is the dialect's own (`GrammarRules`); the default sees the fewest CTEs, hence the most tables.
        `brief` leaves out what the guard does not read (normal forms, order), for twice the pace. `spellings` are the
        dialect's own too; without them changes that only the engine's own spelling has are errors. `readings` keep
        what is said for the next time; they must be those of the catalogue's database.
        """
        size = len(sql.encode("utf-8", "surrogatepass"))
        if size > MAX_BYTES:
            return ParsedQuery(sql, dialect, "none", error=f"text of {size} bytes is longer than {MAX_BYTES}")
        request = {"sql": sql, "dialect": sqlglot_dialect, "scope": cte_scope, "brief": brief}
        named = "" if readings is None else json.dumps([_code(), request, repr(spellings), catalog is not None])
        kept = None if readings is None else readings.read(named)
        with self._lock:
            for attempt in (1, 2):
                try:
                    facts = kept if kept is not None else self._ask(request, catalog, spellings)
                    if readings is not None and kept is None and "error" not in facts:
                        readings.write(named, facts)
                    return self._gated(_query(sql, dialect, dict(facts)), request, catalog, spellings)
                except TimeoutError:
                    self._stop()
                    return ParsedQuery(sql, dialect, "sqlglot", error=f"not parsed within {self._deadline:g} s")
                except (EOFError, OSError):
                    # The worker died: once may be a kill from outside, twice is the text.
                    self._stop()
                    if attempt == 2:
                        return ParsedQuery(sql, dialect, "sqlglot", error="the parser died on this text")
        raise AssertionError("unreachable")

    def _gated(
        self, parsed: ParsedQuery, request: dict[str, Any], catalog: Catalog | None, spellings: Spellings | None
    ) -> ParsedQuery:
        """Return the facts with those of the text's readings where comments of it are code to some versions."""
        texts = readings_of(parsed.sql) if spellings is not None and spellings.gated and "/*!" in parsed.sql else ()
        asked = [(text, self._ask({**request, "sql": text}, catalog, spellings)) for text in texts]
        return replace(parsed, readings=tuple(_query(text, parsed.dialect, facts) for text, facts in asked))

    def _ask(self, request: dict[str, Any], catalog: Catalog | None, spellings: Spellings | None) -> dict[str, Any]:
        """Send one text and return the worker's facts."""
        if self._sock is None:
            self._start(request["dialect"])
        sock = cast(socket.socket, self._sock)
        deadline = time.monotonic() + self._deadline
        sock.settimeout(self._deadline)
        key = None if catalog is None else self._remember(catalog)
        if catalog is not None and key not in self._sent:
            tables = {table.name.lower(): [column.name for column in table.columns] for table in catalog.tables}
            keys = foreign_keys(catalog.ddl)
            send(sock, {"catalog": key, "tables": tables, "keys": keys})
            self._sent.add(cast(int, key))
        if spellings != self._spelled:
            rules: list[Any] = [[], [], False, [], ""]
            if spellings is not None:
                rules = [spellings.heads, spellings.rest, spellings.prefixes, spellings.reads, spellings.numbers]
            send(sock, {"spellings": rules})
            self._spelled = spellings
        send(sock, {**request, "use": key})
        return cast(dict[str, Any], receive(sock, deadline))

    def _remember(self, catalog: Catalog) -> int:
        """Return a key that stays the catalogue's own as long as the parser lives."""
        self._catalogs.setdefault(id(catalog), catalog)
        return id(catalog)

    def _start(self, sqlglot_dialect: str) -> None:
        """Start a worker and wait until it has loaded the dialect, so that no text's deadline pays for that."""
        began = time.monotonic()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _BOOT, str(theirs.fileno()), sqlglot_dialect, *sys.path],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._sock = ours
        self._sent = set()
        self._spelled = None
        receive(ours, began + _START_SECONDS)
        if self.restart_seconds:
            self.restarts += 1
        self.restart_seconds.append(time.monotonic() - began)

    def _stop(self) -> None:
        """Kill the worker, if there is one, and collect it."""
        if self._sock is not None:
            self._sock.close()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
        self._sock = None
        self._process = None


@cache
def _code() -> str:
    """Return what names the code that reads texts: another version may say other facts of the same text."""
    found = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        found.update(file.read_bytes())
    for package in ("sqlglot", "pglast"):
        with contextlib.suppress(PackageNotFoundError):
            found.update(f"{package} {version(package)}".encode())
    return found.hexdigest()


def _query(sql: str, dialect: str, facts: dict[str, Any]) -> ParsedQuery:
    """Build the frozen value from the worker's plain facts."""
    _share(facts)
    order, second = facts.pop("order", None), facts.pop("second", None)
    tables = frozenset(TableRef(*ref) for ref in facts.pop("tables", ()))
    parts, published = facts.pop("parts", None), facts.pop("published", {"unread": "no schema is known"})
    blocks = tuple(_block(each) for each in facts.pop("blocks", ()))
    plain = {name: _frozen(name, value) for name, value in facts.items()}
    return ParsedQuery(
        sql,
        dialect,
        tables=tables,
        order=None if order is None else _order(order),
        second=None if second is None else _second(second),
        parts=None if parts is None else _parts(parts),
        published=None if "unread" in published else _parts(published),
        unpublished=published.get("unread", ""),
        blocks=blocks,
        **plain,
    )


def _share(facts: Any) -> None:
    """Let equal short texts be one: a run holds the facts of all its gold, which name the same few tables."""
    for place, value in facts.items() if isinstance(facts, dict) else enumerate(facts):
        kind = type(value)
        if kind is str:
            if len(value) < _NAME:
                facts[place] = sys.intern(value)
        elif kind is list or kind is dict:
            _share(value)


def _second(facts: dict[str, Any]) -> SecondReading:
    """Build the second parser's reading."""
    return SecondReading(
        error=facts["error"],
        statements=facts.get("statements", 0),
        kinds=frozenset(facts.get("kinds", ())),
        tables=frozenset((name, schema) for name, schema in facts.get("tables", ())),
        calls=frozenset(facts.get("calls", ())),
    )


def _frozen(name: str, value: Any) -> Any:
    """Turn JSON lists into the tuples and sets of the value."""
    if name in {"nodes", "functions"}:
        return frozenset(value)
    if name in {"rejected", "written"}:
        return tuple((first, second) for first, second in value)
    return tuple(value) if isinstance(value, list) else value


def _order(facts: dict[str, Any]) -> OrderFacts:
    """Build the order facts."""
    keys = tuple(OrderKey(*key) for key in facts["keys"])
    return OrderFacts(keys, facts["limit"], facts["has_limit"], facts["probe_sql"], facts["offset"])


def _block(facts: dict[str, Any]) -> Block:
    """Build the facts of one SELECT."""
    return Block(
        outermost=facts["outermost"],
        selected=tuple(Selected(*each) for each in facts["selected"]),
        called=tuple(Called(*each) for each in facts["called"]),
        conditions=tuple(
            Condition(lhs, op, tuple(rhs), literal, clause) for lhs, op, rhs, literal, clause in facts["conditions"]
        ),
        grouped=tuple(facts["grouped"]),
        sorted=tuple(SortKey(*each) for each in facts["sorted"]),
        limit=facts["limit"],
        limited=facts["limited"],
    )


def _parts(facts: dict[str, Any]) -> Parts:
    """Build one query by clause, nested ones included."""
    plain: dict[str, Any] = {
        name: tuple(tuple(each) if isinstance(each, list) else each for each in value)
        for name, value in facts.items()
        if isinstance(value, list) and name not in {"on", "where", "having", "derived", "sets"}
    }
    units: dict[str, Any] = {name: tuple(_unit(each) for each in facts[name]) for name in ("on", "where", "having")}
    return Parts(
        **plain,
        **units,
        derived=tuple(map(_parts, facts["derived"])),
        sets=tuple((kind, _parts(other)) for kind, other in facts["sets"]),
        direction=facts["direction"],
        limit=facts["limit"],
        order_aggregates=facts.get("order_aggregates", 0),
    )


def _unit(facts: dict[str, Any]) -> Unit:
    """Build one condition."""
    nested = tuple(map(_parts, facts["nested"]))
    return Unit(facts["negated"], facts["operator"], facts["left"], nested, facts.get("compared", ""))

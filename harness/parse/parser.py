"""The parser as the rest of the harness sees it: text in, facts out, whatever the text is."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, cast

from sqlassay.cases.errors import ParserLostError, ParserStartError
from sqlassay.harness.parse.frames import receive, send
from sqlassay.harness.parse.keys import foreign_keys
from sqlassay.harness.parse.versions import readings as readings_of
from sqlassay.harness.results.blocks import Block, Called, Condition, Selected, SortKey
from sqlassay.harness.results.exact_set import Parts, Unit
from sqlassay.harness.results.parsed import MAX_SQL_BYTES, OrderFacts, OrderKey, ParsedQuery, SecondReading, TableRef

if TYPE_CHECKING:
    # The worker imports this package too and needs no data models.
    from sqlassay.cases.catalog import Catalog
    from sqlassay.dialect_adapters.contract import Spellings

DEADLINE = 2.0
"""Seconds of CPU time one text may take before its worker is ended."""

STALL = 40.0
"""Seconds by the clock without an answer after which a worker counts as stopped from outside."""

_BOOT = (
    "import sys; sys.path[:] = sys.argv[4:]; from sqlassay.harness.parse.worker import main; "
    "main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]))"
)
_START_SECONDS = 60.0
_OWN_DEATHS = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL})
"""Signals by which a text ends the worker, if it does so on a fresh one too; any other comes from outside."""
_LOST_IN_A_ROW = 3
"""So many texts lost one after the other end the run: something on this machine kills or stops the parser."""
_LEAVE_SECONDS = 5.0
_ASIDE = re.compile(r"'(?:[^'\\]|''|\\.)*'|\"[^\"]*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
_ORDER = re.compile(r"[()]|\border\s+by\b", re.IGNORECASE)
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
    """One parser worker, started at the first text, ended at the deadline and started again when needed.

    Four things that can happen to a text are kept apart: it is bad (its facts have an `error`), the worker does not
    start, the worker is killed from outside, the worker is stopped from outside. The last three are never the text's
    fault and are exceptions, whatever else the machine is doing.
    """

    def __init__(self, *, deadline: float = DEADLINE, stall: float = STALL) -> None:
        """Prepare without starting anything; `deadline` is the CPU seconds one text may take, `stall` by the clock."""
        self._deadline = deadline
        self._stall = stall
        self._lost = 0
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
        """Return the facts about one text; a text that cannot be parsed has `error` set.

        `cte_scope` is the dialect's own (`GrammarRules`); the default sees the fewest CTEs, hence the most tables.
        `brief` leaves out what the guard does not read (normal forms, order), for twice the pace. `spellings` are the
        dialect's own too; without them changes that only the engine's own spelling has are errors. `readings` keep
        what is said for the next time; they must be those of the catalogue's database.

        Raises:
            ParserLostError: the worker was killed or stopped from outside, on a fresh one again.
            ParserStartError: no worker starts, or texts are lost one after the other.
        """
        size = len(sql.encode("utf-8", "surrogatepass"))
        if size > MAX_SQL_BYTES:
            error = f"text of {size} bytes is longer than {MAX_SQL_BYTES}"
            return ParsedQuery(sql, dialect, "none", error=error, order=_order_of_unread(sql))
        request = {"sql": sql, "dialect": sqlglot_dialect, "scope": cte_scope, "brief": brief}
        named = "" if readings is None else json.dumps([_code(), request, repr(spellings), catalog is not None])
        kept = None if readings is None else readings.read(named)
        with self._lock:
            facts = kept if kept is not None else self._tried(request, catalog, spellings)
            if readings is not None and kept is None and "error" not in facts:
                readings.write(named, facts)
            return self._gated(_query(sql, dialect, dict(facts)), request, catalog, spellings)

    def _tried(self, request: dict[str, Any], catalog: Catalog | None, spellings: Spellings | None) -> dict[str, Any]:
        """Return the worker's facts, asking a fresh worker once more where the first one was lost."""
        ends = [self._once(request, catalog, spellings)]
        if isinstance(ends[0], str | int):
            ends.append(self._once(request, catalog, spellings))
        last = ends[-1]
        if isinstance(last, dict):
            self._lost = 0
            return last
        if all(end in _OWN_DEATHS for end in ends):
            return {"parser": "sqlglot", "error": "the parser died on this text"}
        self._lost += 1
        how = last if isinstance(last, str) else f"was ended by {_signal_name(last)}"
        if self._lost >= _LOST_IN_A_ROW:
            raise ParserStartError(
                f"the process that reads SQL {how}; {self._lost} statements in a row were lost that way",
                remedy="Look for what kills or stops processes here (memory, a supervisor), or use fewer --jobs",
            )
        raise ParserLostError(
            f"the process that reads SQL {how}, twice", remedy="Run it again with more memory or fewer --jobs"
        )

    def _once(
        self, request: dict[str, Any], catalog: Catalog | None, spellings: Spellings | None
    ) -> dict[str, Any] | str | int:
        """Return the worker's facts, else how it was lost: the signal that ended it, or a phrase."""
        try:
            return self._ask(request, catalog, spellings)
        except TimeoutError:
            self._stop()
            return f"gave no answer for {self._stall:g} s"
        except (EOFError, OSError):
            code = self._stop(_LEAVE_SECONDS)
            if code == -signal.SIGPROF:
                return {"parser": "sqlglot", "error": f"not parsed within {self._deadline:g} s"}
            return -code if code < 0 else f"ended with exit code {code}"

    def _gated(
        self, parsed: ParsedQuery, request: dict[str, Any], catalog: Catalog | None, spellings: Spellings | None
    ) -> ParsedQuery:
        """Return the facts with those of the text's readings where comments of it are code to some versions."""
        texts = readings_of(parsed.sql) if spellings is not None and spellings.gated and "/*!" in parsed.sql else ()
        asked = [(text, self._tried({**request, "sql": text}, catalog, spellings)) for text in texts]
        return replace(parsed, readings=tuple(_query(text, parsed.dialect, facts) for text, facts in asked))

    def _ask(self, request: dict[str, Any], catalog: Catalog | None, spellings: Spellings | None) -> dict[str, Any]:
        """Send one text and return the worker's facts."""
        if self._sock is None:
            self._start(request["dialect"])
        sock = cast(socket.socket, self._sock)
        deadline = time.monotonic() + self._stall
        sock.settimeout(self._stall)
        key = None if catalog is None else self._remember(catalog)
        if catalog is not None and key not in self._sent:
            tables = {table.name.lower(): [column.name for column in table.columns] for table in catalog.tables}
            keys = foreign_keys(catalog.ddl)
            send(sock, {"catalog": key, "tables": tables, "keys": keys})
            self._sent.add(cast(int, key))
        if spellings != self._spelled:
            rules = None
            if spellings is not None:
                reads, numbers = spellings.reads, spellings.numbers
                rules = [spellings.heads, spellings.rest, spellings.prefixes, reads, numbers, spellings.escaped_names]
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
        with theirs, tempfile.TemporaryFile() as said:
            arguments = [str(theirs.fileno()), sqlglot_dialect, str(self._deadline), *sys.path]
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-c", _BOOT, *arguments],
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise _not_started(error.strerror or str(error)) from error
            theirs.close()
            self._sock = ours
            self._sent = set()
            self._spelled = None
            try:
                receive(ours, began + _START_SECONDS)
            except (EOFError, OSError) as error:
                slow = isinstance(error, TimeoutError)
                code = self._stop(0.0 if slow else _LEAVE_SECONDS)
                said.seek(0)
                lines = said.read().decode("utf-8", "replace").strip().splitlines()
                how = f"it was ended by {_signal_name(-code)}" if code < 0 else f"it ended with exit code {code}"
                late = f"it was not ready after {_START_SECONDS:g} s"
                raise _not_started(late if slow else ": ".join([how, *lines[-1:]])) from error
        if self.restart_seconds:
            self.restarts += 1
        self.restart_seconds.append(time.monotonic() - began)

    def _stop(self, leave: float = 0.0) -> int:
        """Kill the worker, if there is one, collect it and return its exit code, negative for a signal.

        `leave` are the seconds it gets to end by itself: one whose socket is closed may not be collectable yet.
        """
        if self._sock is not None:
            self._sock.close()
        code = 0
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(leave)
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            code = self._process.wait()
        self._sock = None
        self._process = None
        return code


def _not_started(why: str) -> ParserStartError:
    """Return the error of a worker that does not start."""
    return ParserStartError(
        f"the process that reads SQL does not start: {why}",
        remedy="It needs 400 MB of address space and a process: look at `ulimit -v`, `ulimit -u` and free memory",
    )


def _signal_name(number: int) -> str:
    """Return a signal's name, its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


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
    ordered = _order_of_unread(sql) if order is None and facts.get("error") else None
    return ParsedQuery(
        sql,
        dialect,
        tables=tables,
        order=ordered if order is None else _order(order),
        second=None if second is None else _second(second),
        parts=None if parts is None else _parts(parts),
        published=None if "unread" in published else _parts(published),
        unpublished=published.get("unread", ""),
        blocks=blocks,
        **plain,
    )


def _order_of_unread(sql: str) -> OrderFacts | None:
    """Return an order of unknown keys where a text that has no facts seems to sort its rows, else None.

    Rows that may be sorted are never compared as a bag. Strings and comments are passed over, and so is what stands in
    parentheses, unless the whole text does.
    """
    bare = _ASIDE.sub(" ", sql)
    wrapped, level = bare.lstrip().startswith("("), 0
    for found in _ORDER.finditer(bare):
        word = found.group().lower()
        level += {"(": 1, ")": -1}.get(word, 0)
        if word not in "()" and (level <= 0 or wrapped):
            return OrderFacts((OrderKey(None, "asc", None, ""),), None, True, None)
    return None


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
    return OrderFacts(
        keys,
        facts["limit"],
        facts["has_limit"],
        facts["probe_sql"],
        facts["offset"],
        facts.get("whole_sql"),
        facts.get("rank_sql"),
    )


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

"""Writes dialect_adapters/*/catalogue.txt from our own servers: `python tests/tools/catalogues.py [DIALECT…]`."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

from sqlglot.dialects.mysql import MySQL

from sqlassay.cases.relation import Row
from sqlassay.dialect_adapters.conformance_data import ALPHA, BETA
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, Session, StatementError
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes.contract import SnapshotImage
from sqlassay.sandboxes.registry import provider

ROOT = Path(__file__).parents[2]
Entry = tuple[str, str, str]
"""A function's name, kind and volatility."""

Login = Callable[[], Session]
"""Opens one more session."""

_SOURCES = {
    "postgres": ("docker",),
    "mysql": ("docker",),
    "mariadb": ("docker",),
    "sqlite": ("docker", "process"),
    "duckdb": ("process",),
}
_VOLATILITY = {"i": "immutable", "s": "stable", "v": "volatile"}
_KIND = {"f": "function", "a": "aggregate", "w": "window", "p": "procedure"}
_PROCEDURES = """
    SELECT proname::text, string_agg(DISTINCT prokind::text, ''), max(provolatile::text), bool_or(prosecdef)
    FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace GROUP BY proname
    """
_WORDS = "SELECT word FROM pg_get_keywords() WHERE catcode IN ('C', 'T', 'R')"
_DUCKDB_FUNCTIONS = """
    SELECT lower(function_name), string_agg(DISTINCT function_type, ','),
      string_agg(DISTINCT coalesce(stability, '-'), ',')
    FROM duckdb_functions() WHERE internal GROUP BY 1
    """
_DUCKDB_WORDS = """
    SELECT DISTINCT keyword_name FROM duckdb_keywords() WHERE keyword_category IN ('column_name', 'type_function')
    """
_DUCKDB_KINDS = {
    "scalar": "function",
    "macro": "function",
    "aggregate": "aggregate",
    "window": "window",
    "table": "table",
    "table_macro": "table",
    "pragma": "pragma",
}
_DUCKDB_VOLATILITY = {"VOLATILE": "volatile", "CONSISTENT_WITHIN_QUERY": "stable", "CONSISTENT": "immutable"}
_MYSQL_FORMS = (
    "()",
    "(1)",
    "(1, 1)",
    "(1, 1, 1)",
    "(1, 1, 1, 1)",
    "() OVER ()",
    "(1) OVER ()",
    "(1, 1) OVER ()",
    "(YEAR FROM '2020-01-01')",
    "(1 AS CHAR)",
    "(1, CHAR)",
    "('a' IN 'b')",
    "(DATE, 'usa')",
    "(DAY, '2020-01-01', '2020-01-01')",
    "('2020-01-01', INTERVAL 1 DAY)",
    "('{}', '$.a')",
    "(name) AGAINST ('a')",
)
_NO_FUNCTION = ("(1305)", "(1630)")
_SYNTAX = "(1064)"
_NATIVE = "(1582)"


def _postgres(login: Login, _image: SnapshotImage, _only: frozenset[str] | None) -> Iterator[Entry]:
    """Read pg_proc, and the keywords that the grammar itself reads as calls."""
    for name, kinds, volatility, definer in _rows(login, _PROCEDURES):
        kind = _KIND[str(kinds)[0]] + ("-definer" if definer else "")
        yield str(name).lower(), kind, _VOLATILITY[str(volatility)]
    for (word,) in _rows(login, _WORDS):
        yield str(word), "keyword", "-"


def _mysql(dialect: str, login: Login, image: SnapshotImage, only: frozenset[str] | None) -> Iterator[Entry]:
    """Ask the server about every name its own program holds: it says itself which are functions."""
    for name in _mysql_names(dialect, image) if only is None else sorted(name.upper() for name in only):
        kind = _mysql_kind(login, name)
        if kind is not None:
            yield name.lower(), kind, "-"


def _mysql_names(dialect: str, image: SnapshotImage) -> list[str]:
    """Return every text of the server's program that is spelled as a function's name, and the names others know.

    The program's linker stores a text that ends another one inside it, so the program alone does not show all.
    """
    with tempfile.TemporaryDirectory() as folder:
        spoken = adapter(dialect)
        server = spoken.recipe.debian.programs[0]
        program = Path(folder) / server
        made = subprocess.run(["docker", "create", image.base.ref, "none"], check=True, capture_output=True, text=True)
        container = made.stdout.strip()
        try:
            subprocess.run(
                ["docker", "cp", "-L", f"{container}:{image.base.bin_dir}/{server}", str(program)],
                check=True,
                capture_output=True,
            )
        finally:
            subprocess.run(["docker", "rm", container], check=True, capture_output=True)
        found = re.findall(rb"(?<=\0)[A-Za-z][A-Za-z0-9_]{1,40}(?=\0)", program.read_bytes())
    known = {*MySQL.Parser.FUNCTIONS, *(name.upper() for name in spoken.rules.functions)}
    return sorted({name.decode("ascii").upper() for name in found} | known)


def _mysql_kind(login: Login, name: str) -> str | None:
    """Return how the server reads a call of this name: a native function, grammar, or None for neither."""
    error = _failure(login, f"SELECT 1, {name}({', '.join('1' * 40)})")
    if _NATIVE in error:
        return "function"
    if error.endswith(_NO_FUNCTION):
        return None
    if not error.endswith(_SYNTAX):
        return "function"
    errors = [_failure(login, f"SELECT 1, {name}{form} FROM big") for form in _MYSQL_FORMS]
    return None if all(error.endswith((*_NO_FUNCTION, _SYNTAX)) for error in errors) else "grammar"


def _rows(login: Login, sql: str) -> Sequence[Row]:
    """Return the rows of one query, in a session of its own."""
    session = login()
    try:
        return session.fetch(sql, Limits()).rows
    finally:
        session.close()


def _failure(login: Login, sql: str) -> str:
    """Return the server's message about one statement in a session of its own, an empty text where it ran."""
    session = login()
    try:
        session.fetch(sql, Limits())
    except StatementError as error:
        return error.message
    finally:
        session.close()
    return ""


def _sqlite(login: Login, _image: SnapshotImage, _only: frozenset[str] | None) -> Iterator[Entry]:
    """Read the engine's own list, and its table-valued functions."""
    rows = _rows(login, "SELECT name, type, flags FROM pragma_function_list")
    for name, kind, flags in rows:
        # The flag is about scalar functions; the engine never sets it on aggregates.
        fixed = "-" if kind != "s" else "immutable" if isinstance(flags, int) and flags & 0x800 else "volatile"
        yield str(name).lower(), {"s": "function", "a": "aggregate", "w": "window"}[str(kind)], fixed
    for (name,) in _rows(login, "SELECT name FROM pragma_module_list"):
        yield str(name).lower(), "table", "-"


def _duckdb(login: Login, _image: SnapshotImage, _only: frozenset[str] | None) -> Iterator[Entry]:
    """Read the engine's own list, every kind and volatility of a name, and the words its grammar reads as calls."""
    for name, kinds, volatilities in _rows(login, _DUCKDB_FUNCTIONS):
        if str(name).startswith("__"):
            continue
        kind = next(ours for theirs, ours in _DUCKDB_KINDS.items() if theirs in str(kinds).split(","))
        said = str(volatilities).split(",")
        yield str(name), kind, next((ours for theirs, ours in _DUCKDB_VOLATILITY.items() if theirs in said), "-")
    known = {str(name) for name, _, _ in _rows(login, _DUCKDB_FUNCTIONS)}
    for (word,) in _rows(login, _DUCKDB_WORDS):
        if str(word) not in known:
            yield str(word), "keyword", "-"


_READERS: dict[str, Callable[[Login, SnapshotImage, frozenset[str] | None], Iterator[Entry]]] = {
    "postgres": _postgres,
    "mysql": partial(_mysql, "mysql"),
    "mariadb": partial(_mysql, "mariadb"),
    "sqlite": _sqlite,
    "duckdb": _duckdb,
}


@contextmanager
def _logins(dialect: str, source: str) -> Iterator[tuple[Login, SnapshotImage]]:
    """Start one throwaway server and tell how to log in to it as the harness."""
    spoken, makes = adapter(dialect), provider(source)
    try:
        image = makes.prepare(spoken, (ALPHA, BETA), lambda line: None)
        sandbox = makes.start(spoken, image, Mode.READ, f"catalogue-{uuid4().hex[:8]}")
        yield partial(sandbox.open, image.catalogs[0].database, Role.HARNESS, Pins()), image
    finally:
        makes.close()


def entries(dialect: str, only: frozenset[str] | None = None) -> tuple[dict[str, Entry], list[str]]:
    """Return every function of a dialect's servers, the most volatile overload deciding, and their versions.

    `only` are the names that matter, where asking about all of them takes long.
    """
    found: dict[str, Entry] = {}
    versions = []
    for source in _SOURCES[dialect]:
        with _logins(dialect, source) as (login, image):
            versions.append(image.catalogs[0].engine_version)
            for entry in _READERS[dialect](login, image, only):
                name, _, volatility = entry
                if not re.fullmatch(r"\w+", name, re.ASCII):
                    continue
                if name not in found or (volatility == "volatile" and found[name][2] != "volatile"):
                    found[name] = entry
    return found, versions


def page(dialect: str) -> str:
    """Return the text of a dialect's catalogue."""
    found, versions = entries(dialect)
    head = f"# Every function of {dialect} {' and '.join(versions)}, as its servers say: name, kind, volatility.\n"
    return (
        head
        + "# Written by tests/tools/catalogues.py; what a prediction may call is in functions.txt.\n"
        + "".join(f"{' '.join(found[name])}\n" for name in sorted(found))
    )


def main(dialects: list[str]) -> None:
    """Write the catalogues of the named dialects, all by default."""
    for dialect in dialects or list(_READERS):
        (ROOT / "dialect_adapters" / dialect / "catalogue.txt").write_text(page(dialect), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

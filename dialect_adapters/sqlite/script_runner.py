"""What runs one SQL script on one SQLite file, in a process of its own; see `confined_program`.

It needs the standard library alone. A script may touch no other file, load nothing and name no address of memory.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

_DENIED_FUNCTIONS = frozenset(["fts3_tokenizer", "load_extension"])
_LEADING = re.compile(r"\A(?>\s|--[^\n]*|/\*.*?\*/)*", re.DOTALL)
_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\] | --[^\n]* | /\*.*?(?:\*/|\Z) | ;""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\\\\|\\\+[0-9a-fA-F]{6}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\[0-9a-fA-F]{4}")


def run_script(asked: dict[str, Any]) -> dict[str, Any]:
    """Run a script, a statement at a time; return what failed and on which line, nothing where all went well."""
    line = 1
    with closing(sqlite3.connect(asked["path"], isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=OFF")
        db.execute("PRAGMA synchronous=OFF")
        # Shells from 3.50 on write control characters by this function, which an earlier library lacks.
        db.create_function("unistr", 1, unistr, deterministic=True)
        db.set_authorizer(own_file_only)
        try:
            for statement in statements_of(asked["text"]):
                code = _LEADING.sub("", statement)
                line += statement.count("\n") - code.count("\n")
                db.execute(code)
                line += code.count("\n")
        except (sqlite3.Error, sqlite3.Warning, MemoryError) as error:
            said = str(error) or type(error).__name__
            return {"error": said, "line": line, "code": getattr(error, "sqlite_errorcode", 0)}
        finally:
            db.set_authorizer(None)
            if db.in_transaction:
                db.execute("COMMIT")
    return {}


def statements_of(text: str) -> Iterator[str]:
    """Yield a script's statements with all that stands between them: the library says where one is whole."""
    start = position = 0
    while token := _TOKEN.search(text, position):
        position = token.end()
        if token[0] == ";" and sqlite3.complete_statement(text[start:position]):
            yield text[start:position]
            start = position
    if text[start:].strip():
        yield text[start:]


def unistr(text: str) -> str:
    r"""Return a text with \XXXX, \+XXXXXX, \uXXXX and \UXXXXXXXX read as characters, two backslashes as one."""
    return _ESCAPED.sub(lambda one: "\\" if one[0] == "\\\\" else chr(int(one[0].lstrip("\\+uU"), 16)), text)


def own_file_only(action: int, first: str | None, second: str | None, *_: object) -> int:
    """Authorize all but another file (ATTACH, and VACUUM INTO, which attaches) and native code by its address."""
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _DENIED_FUNCTIONS:
        return sqlite3.SQLITE_DENY
    temporary = action == sqlite3.SQLITE_ATTACH and first == ""  # a plain VACUUM works in a nameless temporary file
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH and not temporary else sqlite3.SQLITE_OK

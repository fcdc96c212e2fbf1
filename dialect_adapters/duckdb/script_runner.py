"""What runs one SQL script on one DuckDB file, in a process of its own; see `confined_program`."""

from __future__ import annotations

import importlib
import sys
from contextlib import closing
from typing import Any

_OPTIONS = {
    "threads": 1,
    "async_threads": 0,
    "memory_limit": "2GB",
    "temp_directory": "",
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
}


def run_script(asked: dict[str, Any]) -> dict[str, Any]:
    """Run a script, a statement at a time; return what failed and on which line, nothing where all went well.

    `asked` holds the file's path, the script's text, and `library`: the folder where the engine's package lies.
    """
    sys.path.append(asked["library"])
    duckdb: Any = importlib.import_module("duckdb")
    line = 1
    try:
        with closing(duckdb.connect(asked["path"], config=_OPTIONS)) as db:
            db.execute("SET TimeZone='UTC'")
            db.execute("SET enable_external_access=false")
            # Never the module's own function: it has a connection with threads of its own.
            for statement in db.extract_statements(asked["text"]):
                code = statement.query.lstrip()
                line += statement.query.count("\n") - code.count("\n")
                db.execute(statement)
                line += code.count("\n")
            db.execute("CHECKPOINT")
    except (duckdb.Error, MemoryError) as error:
        return {"error": str(error) or type(error).__name__, "line": line, "code": 0}
    return {}

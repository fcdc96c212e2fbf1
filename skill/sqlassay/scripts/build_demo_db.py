#!/usr/bin/env python3
"""Builds the demo's SQLite database: build_demo_db.py TARGET.sqlite."""

import argparse
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

SCHEMA = Path(__file__).parent.parent / "assets" / "demo_schema.sql"


def build(target: Path) -> None:
    """Write the demo database to a new file."""
    with closing(sqlite3.connect(target)) as connection:
        connection.executescript(SCHEMA.read_text(encoding="utf-8"))
        connection.commit()


def main() -> int:
    """Read the target from the command line; refuse to overwrite."""
    parser = argparse.ArgumentParser(description="Build the demo's SQLite database in a new file.")
    parser.add_argument("target", metavar="TARGET.sqlite", type=Path, help="file to write; it must not exist")
    target = parser.parse_args().target
    if target.exists():
        sys.stderr.write(f"{target} exists; name a new file\n")
        return 2
    build(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Says how many statements a second a session judges here, and what one costs: `python tests/bench/session_rate.py`."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import sqlassay


def seconds_of(process: int) -> float:
    """Return the processor time a process has taken so far, 0 where it is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def family(process: int) -> list[int]:
    """Return a process with everything below it."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(
                    (entry / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1]
                )
            except OSError:
                continue
    found = [process]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def main() -> None:
    """Judge distinct statements for each case in turn, one after the other and then side by side."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--pack", default="demo")
    asked.add_argument("--statements", type=int, default=1000)
    given = asked.parse_args()
    with sqlassay.Session(given.pack) as session:
        cases = [case for case in session.cases if case.gold.get("sqlite") and case.query_type == "dql"]
        for case in cases:
            session.judge(case, case.gold["sqlite"][0])
        pairs = [
            (case.id, f"{case.gold['sqlite'][0]} -- {number}")
            for number, case in enumerate(cases[n % len(cases)] for n in range(given.statements))
        ]
        for name, ask in (
            ("one after the other", lambda: [session.judge(*pair) for pair in pairs]),
            ("side by side", lambda: session.judge_all(pairs)),
        ):
            before = sum(map(seconds_of, family(os.getpid())))
            began = time.monotonic()
            ask()
            wall = time.monotonic() - began
            spent = sum(map(seconds_of, family(os.getpid()))) - before
            each = 1000 * spent / len(pairs)
            print(f"{name}: {len(pairs) / wall:.0f} statements/s, {each:.1f} ms of processor time each")


if __name__ == "__main__":
    main()

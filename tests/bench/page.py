"""The part of the benchmarks page on the comparator: bars first, then every figure, then what it was measured on."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TypeAlias

from contenders import ANY, Contender
from measure import Measured

PACKAGES = ("psycopg", "google-evalbench", "datacompy", "pandas", "polars")
Figures: TypeAlias = Mapping[tuple[str, int], Measured | None]
Cases: TypeAlias = Mapping[str, Measured | None]


@dataclass(frozen=True, slots=True)
class Bar:
    """A promise with what was measured."""

    text: str
    shown: str
    holds: bool


def table(found: Figures, who: Sequence[Contender]) -> list[str]:
    """Return a Markdown table, contenders down, sizes across."""
    sizes = sorted({size for _, size in found})
    lines = ["| comparator | code | " + " | ".join(f"{size:,} rows" for size in sizes) + " |"]
    lines.append("|---|---|" + "---|" * len(sizes))
    for one in who:
        cells = []
        for size in sizes:
            measured = found.get((one.name, size))
            asked = (one.name, size) in found
            shown = "no answer" if measured is None else measured.shown
            cells.append(
                ("not run" if not asked else shown) + (", says unequal" if measured and measured.said is False else "")
            )
        lines.append(f"| {one.name} | {one.code} | " + " | ".join(cells) + " |")
    return lines


def machine() -> str:
    """Return cores, memory, Python and versions, and nothing that names the machine."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    versions = []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} not installed")
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores, {pages / (1 << 30):.0f} GiB, {platform.system()} {platform.machine()}, Python "
        f"{platform.python_version()}, {', '.join(versions)}; load average at the end {load:.1f}."
    )


def ratio(top: Measured | None, bottom: Measured | None) -> float:
    """Return how many times the CPU of the second the first takes; infinite where either is missing."""
    return top.seconds / max(bottom.seconds, 1e-9) if top and bottom else float("inf")


def bars(
    plain: Figures,
    columns: Figures,
    looks: Cases,
    streams: Cases,
    hardest: Cases,
    fetched: Measured | None,
    texts: Measured | None,
) -> list[Bar]:
    """Return each promise beside its figure."""
    ours = {size: plain.get(("sqlassay strict", size)) for size in (100_000, 1_000_000)}
    worst = max((one.seconds if one else 1e9) for one in looks.values())
    added = max((one.mebibytes if one else 1e9) for one in streams.values())
    found = []
    for what, one in (("equal, shuffled, 1M × 6", ours[1_000_000]), ("the same without a unique integer", texts)):
        share = ratio(one, fetched)
        found.append(Bar(f"{what}: at most 1.0 × the CPU of fetching both sides", f"{share:.2f} ×", share <= 1))
    for peer in ("EvalBench set_match", "datacompy"):
        times = ratio(plain.get((peer, 100_000)), ours[100_000])
        found.append(Bar(f"at least 4 × faster than {peer} at 100k × 6", f"{times:.1f} ×", 4 <= times < float("inf")))
    thirty = columns.get((ANY.name, 100_000))
    seconds = thirty.seconds if thirty else float("inf")
    found.append(Bar("30 permuted columns, 100k rows: at most 3 s", f"{seconds:.2f} s", seconds <= 3))
    found.append(Bar("columns made to look alike: at most 1 s", f"{worst:.2f} s at worst", worst <= 1))
    found.append(Bar("a stream adds at most 64 MiB", f"{added:.1f} MiB at 1M rows", added <= 64))
    for (name, one), limit in zip(hardest.items(), (2.5, 4.0), strict=True):
        took = one.seconds if one else float("inf")
        found.append(Bar(f"{name}: at most {limit} s", f"{took:.2f} s", took <= limit))
    return found


INTRO = """## Comparator

Written by `make bench-compare`. Each figure is the median of three runs (five of six columns up to 100,000 rows, one
for streams and for a run's session), each in a fresh process: CPU seconds, user and system, of getting from rows as a
driver gives them (tuples) to the verdict, and the memory that adds at its peak. Who takes frames or dicts pays for
making them. Peers whose package is not installed run by their rule, written anew. The rows fetched hold the very
values of the rows compared, which are made in Python. Other work may have shared the machine.
"""


def page(sections: list[tuple[str, list[str]]]) -> str:
    """Return the whole part."""
    parts = [INTRO, machine(), ""]
    for title, lines in sections:
        parts += [f"### {title}", "", *lines, ""]
    return "\n".join(parts).rstrip() + "\n"


def single(found: Cases) -> list[str]:
    """Return a Markdown table with one line a case."""
    lines = ["| case | measured | answer |", "|---|---|---|"]
    for name, one in found.items():
        lines.append(f"| {name} | {one.shown if one else 'no answer'} | {one.said if one else ''} |")
    return lines

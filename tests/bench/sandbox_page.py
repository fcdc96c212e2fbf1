"""The part of the benchmarks page on sandboxes: bars first, then every figure, then what it was measured on."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

from sandbox_peers import Peer
from sandbox_rates import Cost, Overhead
from sandbox_starts import Middle

_PACKAGES = ("docker", "testcontainers", "psycopg", "pymysql")
_MB = 1024 * 1024

INTRO = """## Sandboxes

Written by `make bench-sandbox`: twenty tables with 100,000 rows, {warm} warm-ups before each, medians of the runs named
(their range in brackets). "Ready" is the first row of a query of a reader who had to log in. testcontainers starts the
very same images with its own network, published port and wait, and without the hardening. Evaluations are whole ones:
parse, guard, execute, compare, journal and reports, gold answers kept from a run before; what a run costs once is left
out, by the difference of two sizes of run. Memory is what the engine counts (`docker stats`), of a jail the shares of
its processes, launcher included. The bars are for two quiet cores.
"""


@dataclass(slots=True)
class Found:
    """Everything that was measured, by what it is called on the page."""

    up: dict[str, Middle] = field(default_factory=dict)
    down: dict[str, Middle] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    handed: dict[str, Middle] = field(default_factory=dict)
    answered: dict[str, Middle] = field(default_factory=dict)
    marks: dict[str, Middle] = field(default_factory=dict)
    checksums: dict[str, Middle] = field(default_factory=dict)
    costs: dict[str, Cost] = field(default_factory=dict)
    overheads: dict[str, Overhead] = field(default_factory=dict)
    growth: dict[str, Mapping[int, float]] = field(default_factory=dict)
    peers: dict[str, Peer] = field(default_factory=dict)
    images: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bar:
    """A promise with what was measured."""

    text: str
    shown: str
    holds: bool

    @property
    def line(self) -> str:
        """Return its line of the table."""
        return f"| {self.text} | {self.shown} | {'yes' if self.holds else '**no**'} |"


def bars(found: Found) -> list[Bar]:
    """Return each promise beside its figure; what was not measured does not hold."""
    return [*_times(found), *_rates(found), *_rest(found)]


def _times(found: Found) -> list[Bar]:
    """Return the promises on starting, ending and handing out."""
    wanted = [
        ("Postgres cold, ready", found.up, "postgres docker read", 300),
        ("Postgres removed", found.down, "postgres docker read", 100),
        ("MySQL cold, ready", found.up, "mysql docker read", 700),
        ("SQLite jailed, ready", found.up, "sqlite process read", 120),
        ("pooled hand-out, Postgres", found.handed, "postgres docker", 30),
        ("pooled hand-out, SQLite", found.handed, "sqlite process", 10),
        ("state by proxy, Postgres", found.marks, "postgres docker", 3),
        ("state by full checksum, Postgres", found.checksums, "postgres docker", 250),
        ("state by full checksum, MySQL", found.checksums, "mysql docker", 250),
        ("state by full checksum, SQLite", found.checksums, "sqlite process", 250),
    ]
    made = []
    for text, measured, name, most in wanted:
        took = measured.get(name)
        digits = 1 if most < 50 else 0
        shown = f"{took.median * 1000:.{digits}f} ms" if took else "not measured"
        made.append(Bar(f"{text}: at most {most} ms", shown, took is not None and took.median * 1000 <= most))
    return made


def _rates(found: Found) -> list[Bar]:
    """Return the promises on evaluations a second."""
    wanted = [
        ("Postgres, `case` level", "postgres case", 4.5),
        ("Postgres, `run` level, session reset", "postgres reset", 300),
        ("Postgres, `run` level, fresh login each", "postgres fresh", 100),
        ("MySQL, `run` level", "mysql run", 200),
        ("SQLite, `run` level", "sqlite run", 200),
    ]
    made = []
    for text, name, least in wanted:
        cost = found.costs.get(name)
        shown = f"{cost.rate:.{1 if least < 50 else 0}f}/s" if cost else "not measured"
        made.append(Bar(f"{text}: at least {least} evaluations/s", shown, cost is not None and cost.rate >= least))
    return made


def _rest(found: Found) -> list[Bar]:
    """Return the promises on what we add, on memory and on large runs."""
    made = []
    for dialect in ("postgres", "mysql", "sqlite"):
        one = found.overheads.get(dialect)
        shown = f"{one.ratio:.2f} × of {one.raw * 1000:.0f} ms" if one else "not measured"
        made.append(
            Bar(f"queries of 100 ms and more, {dialect}: at most 1.1 × raw", shown, bool(one and one.ratio <= 1.1))
        )
    for text, name, most in (("Postgres", "postgres docker read", 20), ("MySQL", "mysql docker read", 110)):
        used = found.memory.get(name, 0)
        made.append(Bar(f"memory, {text}: at most {most} MB", f"{used / _MB:.0f} MB", 0 < used / _MB <= most))
    for name, costs in found.growth.items():
        spread = max(costs.values()) / min(costs.values())
        sizes = " to ".join(f"{size:,}" for size in (min(costs), max(costs)))
        made.append(Bar(f"cost per case flat from {sizes} cases, {name}", f"{spread:.2f} × apart", spread <= 1.3))
    return made


def part(found: Found, judged: Sequence[Bar], warm: int) -> str:
    """Return the whole part of the page."""
    lines = [INTRO.format(warm=warm), machine(), "", "### Bars of sandboxes", "", "| bar | measured | holds |"]
    lines += ["|---|---|---|", *(bar.line for bar in judged), ""]
    lines += ["### Started and removed", "", "| sandbox | ready | removed | memory |", "|---|---|---|---|"]
    for name, took in found.up.items():
        lines.append(f"| {name} | {took.shown} | {found.down[name].shown} | {found.memory[name] / _MB:.0f} MB |")
    for dialect, peer in found.peers.items():
        lines.append(f"| testcontainers {peer.name}, {dialect} | {peer.up.shown} | {peer.down.shown} | |")
    lines += ["", "### Handed out by a warm pool", "", "| sandbox | handed out | first row |", "|---|---|---|"]
    for name, took in found.handed.items():
        lines.append(f"| {name} | {_fine(took)} | {_fine(found.answered[name])} |")
    lines += ["", "### State", "", "| sandbox | by proxy | by full checksum |", "|---|---|---|"]
    for name, took in found.checksums.items():
        marked = found.marks.get(name)
        lines.append(f"| {name} | {_fine(marked) if marked else 'has none'} | {took.shown} |")
    return "\n".join([*lines, *_evaluations(found)])


def _evaluations(found: Found) -> list[str]:
    """Return the tables on whole runs."""
    lines = ["", "### Evaluations", "", "| run | evaluations/s | a case | a run, once |", "|---|---|---|---|"]
    for name, cost in found.costs.items():
        lines.append(f"| {name} | {cost.rate:.1f} | {cost.seconds * 1000:.1f} ms | {cost.once:.1f} s |")
    lines += ["", "| slow queries, one job | raw, warm login | a case | ratio |", "|---|---|---|---|"]
    for dialect, one in found.overheads.items():
        lines.append(f"| {dialect} | {one.raw * 1000:.0f} ms | {one.case * 1000:.0f} ms | {one.ratio:.2f} × |")
    lines += ["", "| cost of a case in runs of | " + " | ".join(_sizes(found)) + " |"]
    lines.append("|---|" + "---|" * len(_sizes(found)))
    for name, costs in found.growth.items():
        lines.append(f"| {name} | " + " | ".join(f"{seconds * 1000:.2f} ms" for seconds in costs.values()) + " |")
    lines += ["", "Images: " + "; ".join(f"{name} {shown}" for name, shown in found.images.items()) + "."]
    return lines


def _sizes(found: Found) -> list[str]:
    """Return the sizes of run that were measured."""
    return [f"{size:,} cases" for costs in list(found.growth.values())[:1] for size in costs]


def _fine(took: Middle) -> str:
    """Return milliseconds with a digit behind the point."""
    return f"{took.median * 1000:.1f} ms ({took.least * 1000:.1f}–{took.most * 1000:.1f}, {took.runs} runs)"


def machine() -> str:
    """Return cores, memory, kernel, Python and versions, and nothing that names the machine."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    versions = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return (
        f"{os.cpu_count()} cores, {pages / (1 << 30):.0f} GiB, {platform.system()} {platform.release().split('-')[0]} "
        f"{platform.machine()}, Python {platform.python_version()}, {versions}; load average at the end "
        f"{os.getloadavg()[0]:.1f}: above 1 others shared the machine."
    )

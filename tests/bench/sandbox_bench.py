"""Measure sandboxes beside testcontainers and write their part of docs/benchmarks.md: `make bench-sandbox`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import sandbox_data as data
import sections
from sandbox_page import Found, bars, part
from sandbox_peers import peer
from sandbox_rates import Runs, jobs, overhead
from sandbox_starts import WARM_UPS, Place, checks, handouts, placed, starts

from sqlassay.cases.errors import SqlassayError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.pack import Pack
from sqlassay.dialect_adapters.contract import Mode
from sqlassay.sandboxes.scratch import Scratch

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
PLACES = (("postgres", "docker"), ("mysql", "docker"), ("sqlite", "process"), ("postgres", "process"))
RUNS = {"postgres": 11, "mysql": 7, "sqlite": 15}
PAUSES = {"postgres": 0.6, "mysql": 1.2, "sqlite": 0.3}
"""Seconds in which a pool boots the next one; a shorter pause would measure the boot."""


class Clock:
    """The time a bench may take: steps are done while there is some left."""

    def __init__(self, seconds: float) -> None:
        """Start now."""
        self._began = time.monotonic()
        self._seconds = seconds

    def left(self) -> float:
        """Return the seconds left."""
        return self._began + self._seconds - time.monotonic()

    def attempt(self, step: str, work: Callable[[], None]) -> None:
        """Do one step; what this machine cannot do, or has no time for, is said and not measured."""
        try:
            if self.left() > 0:
                work()
            else:
                print(f"NOT MEASURED: {step}: the time is over", flush=True)
        except SqlassayError as error:
            print(f"NOT MEASURED: {step}: {error}", flush=True)
        print(f"{time.monotonic() - self._began:6.1f} s  {step}", flush=True)


def stand_alone(place: Place, found: Found, turns: float) -> None:
    """Measure one place's sandboxes by themselves."""
    name = f"{place.dialect} {place.way}"
    found.images[name] = f"{place.image.base.version} ({place.image.base.source})"
    runs = max(3, round(RUNS[place.dialect] * turns))
    for mode in (Mode.READ, Mode.WRITE):
        key = f"{name} {mode.value}"
        counted = runs if mode is Mode.READ else max(3, runs // 2)
        found.up[key], found.down[key], found.memory[key] = starts(place, mode, counted)
    found.handed[name], found.answered[name] = handouts(place, runs, PAUSES[place.dialect])
    mark, found.checksums[name] = checks(place, runs)
    if mark is not None:
        found.marks[name] = mark


def whole_runs(found: Found, runs: Runs, places: dict[str, Place], turns: float, clock: Clock) -> None:
    """Measure runs: each engine's rate, the strict level, slow queries and how cost grows."""
    many, strict = max(200, round(1500 * turns)), max(20, round(50 * turns))
    rates: list[tuple[str, str, Callable[[int], tuple[str, str]], int, int, dict[str, object]]] = [
        ("postgres reset", "postgres", data.short, 20, many, {}),
        ("mysql run", "mysql", data.short, 20, many, {}),
        ("sqlite run", "sqlite", data.short, 20, many, {}),
        ("postgres fresh", "postgres", fresh, 20, many, {}),
        ("postgres case", "postgres", data.short, 5, strict, {"isolation": "case"}),
    ]
    for name, dialect, pair, few, most, options in rates:

        def rate() -> None:
            """Measure one rate."""
            found.costs[name] = runs.cost(dialect, pair, few, most, jobs=jobs(), **options)  # noqa: B023 - called now

        clock.attempt(f"evaluations/s, {name}", rate)
    for dialect, place in places.items():

        def added() -> None:
            """Measure what we add to slow queries."""
            found.overheads[dialect] = overhead(place, runs, 10, max(30, round(60 * turns)))  # noqa: B023 - called now

        clock.attempt(f"slow queries, {dialect}", added)
    sizes = tuple(size for size in (100, 1_000, 10_000) if size <= 10_000 * turns)

    def grown() -> None:
        """Measure how the cost of a case grows."""
        found.growth["postgres, session reset"] = runs.growth("postgres", sizes, clock.left, jobs=jobs())

    clock.attempt("cost per case", grown)


def fresh(number: int) -> tuple[str, str]:
    """Return a pair whose prediction calls what no reset undoes, so that each has a login of its own."""
    return data.short(number, " AND random() < 2")


def measured(pack: Pack, folder: Path, out: Path, turns: float, clock: Clock) -> Found:
    """Measure everything there is here; what does not work, or has no time left, is left out and said."""
    found, runs = Found(), Runs(folder, out)
    for dialect, way in PLACES:
        clock.attempt(f"{dialect} {way}", lambda: alone(pack, dialect, way, found, turns))  # noqa: B023 - called now
    with ExitStack() as opened:
        places = {}
        for dialect, way in PLACES[:3]:
            with suppress(SqlassayError):
                places[dialect] = opened.enter_context(placed(dialect, way, pack))
        whole_runs(found, runs, places, turns, clock)
    return found


def alone(pack: Pack, dialect: str, way: str, found: Found, turns: float) -> None:
    """Measure one place, and the peer on its image where there is one."""
    with placed(dialect, way, pack) as place:
        stand_alone(place, found, turns)
        if way == "docker":
            found.peers[dialect] = peer(place, max(3, round(5 * turns)))


def main() -> int:
    """Measure everything and write the part; the exit code does not depend on the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path, default=PAGE)
    options.add_argument("--turns", type=float, default=1.0, help="how much of everything is run")
    options.add_argument("--seconds", type=float, default=420.0, help="begin nothing after so long")
    given = options.parse_args()
    with Scratch("one") as room:
        folder = room / "pack"
        data.write_data(folder)
        data.write_cases(folder, [data.short(0)])
        found = measured(load_pack(folder), folder, room, given.turns, Clock(given.seconds))
    judged = bars(found)
    sections.write(given.out, "sandbox", part(found, judged, WARM_UPS))
    print(*(f"{bar.shown:>20}  {bar.text}  {'holds' if bar.holds else 'MISSED'}" for bar in judged), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

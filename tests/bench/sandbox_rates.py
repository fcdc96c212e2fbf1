"""Measure whole runs: how many evaluations a second, what a case costs in small and large runs, and what we add."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import sandbox_data as data
from sandbox_starts import Place, cores, raw

import sqlassay

Pair = tuple[str, str]
Growth = dict[int, float]
_LARGE = 1_000
_SLOW_SECONDS = 0.12
_number = itertools.count()


@dataclass(frozen=True, slots=True)
class Cost:
    """What one more case costs in seconds, found from two sizes of run so that what a run costs once is left out."""

    seconds: float
    cases: int
    once: float

    @property
    def rate(self) -> float:
        """Return evaluations a second."""
        return 1 / self.seconds


class Runs:
    """Runs of one pack folder, whose cases are written anew for each."""

    def __init__(self, folder: Path, out: Path) -> None:
        """Keep the folders."""
        self._folder = folder
        self._out = out

    def wall(self, dialect: str, pairs: list[Pair], **options: object) -> float:
        """Return the seconds of one whole run; every case must be judged a match, or nothing was measured."""
        data.write_cases(self._folder, pairs)
        target = self._out / f"run{next(_number):03d}"
        began = time.monotonic()
        result = sqlassay.run(self._folder, dialect=dialect, out=target, **options)
        seconds = time.monotonic() - began
        if result.verdicts != {"match": len(pairs)}:
            raise RuntimeError(f"not every case of {len(pairs)} matched: {result.verdicts}, {result.verdict_line}")
        return seconds

    def cost(
        self, dialect: str, pair: Callable[[int], Pair], few: int, many: int, repeats: int = 1, **options: object
    ) -> Cost:
        """Return what one more case costs between two sizes of run, gold answers kept from a run before."""
        pairs = [pair(number) for number in range(many)]
        self.wall(dialect, pairs[: max(few, 50)], **options)
        small = statistics.median(self.wall(dialect, pairs[:few], **options) for _ in range(repeats))
        large = statistics.median(self.wall(dialect, pairs, **options) for _ in range(repeats))
        each = max(1e-6, (large - small) / (many - few))
        return Cost(each, many, max(0.0, small - few * each))

    def growth(self, dialect: str, sizes: tuple[int, ...], left: Callable[[], float], **options: object) -> Growth:
        """Return what one more case costs on the way to each size of run; a size there is no time for is left out."""
        pairs = [data.short(number) for number in range(max(sizes))]
        self.wall(dialect, pairs[:50], **options)
        before, wall = 10, statistics.median(self.wall(dialect, pairs[:10], **options) for _ in range(3))
        found: dict[int, float] = {}
        for size in sizes:
            repeats = 1 if size > _LARGE else 3
            if found and found[before] * size * repeats > left():
                break
            took = statistics.median(self.wall(dialect, pairs[:size], **options) for _ in range(repeats))
            found[size] = max(1e-6, (took - wall) / (size - before))
            before, wall = size, took
        return found


def slow_modulus(place: Place) -> int:
    """Return the join that takes this engine long enough: the first of those that grow."""
    for modulus in data.MODULI:
        seconds = raw(place, [data.slow(0, modulus)[0]], repeats=3)
        if statistics.median(seconds) >= _SLOW_SECONDS:
            return modulus
    return data.MODULI[-1]


@dataclass(frozen=True, slots=True)
class Overhead:
    """A slow statement's seconds on a warm login, and the seconds a case with it costs in a run."""

    raw: float
    case: float

    @property
    def ratio(self) -> float:
        """Return how many times as long the case takes."""
        return self.case / self.raw


def overhead(place: Place, runs: Runs, few: int, many: int) -> Overhead:
    """Measure slow statements, one job, with and without us around them; in turn, so that both meet one machine."""
    modulus = slow_modulus(place)
    statements = [data.slow(number, modulus)[1] for number in range(data.TABLES)]
    before = raw(place, statements)
    cost = runs.cost(place.dialect, lambda number: data.slow(number % data.TABLES, modulus), few, many, jobs=1)
    return Overhead(statistics.mean(before + raw(place, statements)), cost.seconds)


def jobs() -> int:
    """Return the jobs of a run that is to be fast: one a core."""
    return cores()

"""Measure the comparator beside its peers and write its part of docs/benchmarks.md: `make bench-compare`."""

from __future__ import annotations

import argparse
import random
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import sections  # noqa: E402 (found through the line above)
from contenders import ANY, CONTENDERS, Contender  # noqa: E402
from fetching import Fetching  # noqa: E402
from measure import Measured, measure  # noqa: E402
from page import bars, page, single, table  # noqa: E402

from sqlassay.cases.policy import Policy  # noqa: E402
from sqlassay.cases.presets import preset  # noqa: E402
from sqlassay.cases.relation import Column, Relation, Row  # noqa: E402
from sqlassay.harness.compare import compare  # noqa: E402
from sqlassay.harness.compare.stream import compare_streams  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
NAMES = ("id", "name", "amount", "day", "kind", "note")
SIZES = (10_000, 100_000, 1_000_000)


def rows_of(count: int, seed: int | None = None) -> list[Row]:
    """Return rows of six columns: integers, texts, floats and dates, the first column unique; shuffled by a seed.

    Shuffled rows are made in their new order, as a server would send them: they share no value with other rows.
    """
    order = range(count) if seed is None else random.Random(seed).sample(range(count), count)
    return list(made(array("q", order)))  # an array gives out integers made anew, as a driver does


def made(indexes: Iterable[int]) -> Iterator[Row]:
    """Yield those rows one by one."""
    for i in indexes:
        amount = (i * 7919 % 100003) / 8 + 0.1
        yield (i, f"name{i % 5000}", amount, date.fromordinal(700_000 + i % 10_000), i % 7, f"note {i % 977}")


def unkeyed(count: int, seed: int | None = None) -> list[Row]:
    """Return the same rows with their integers as texts: no column holds a unique integer."""
    return [(f"k{row[0]:08}", *row[1:]) for row in rows_of(count, seed)]


def shuffled(rows: Sequence[Row], seed: int = 1) -> list[Row]:
    """Return the rows in another order."""
    return random.Random(seed).sample(rows, len(rows))


def permuted(count: int, width: int) -> tuple[list[Row], list[Row]]:
    """Return rows of many similar columns, and the same with rows and columns in another order."""
    rng = random.Random(3)
    gold: list[Row] = [tuple(rng.randrange(1000) for _ in range(width)) for _ in range(count)]
    order = rng.sample(range(width), width)
    return gold, [tuple(row[index] for index in order) for row in shuffled(gold)]


def relation(rows: Sequence[Row]) -> Relation:
    """Return rows as a relation."""
    return Relation(tuple(Column(f"c{index}") for index in range(len(rows[0]))), tuple(rows))


def judged(gold: Sequence[Row], pred: Sequence[Row], policy: Policy) -> Callable[[], Callable[[], object]]:
    """Return what prepares a timed verdict."""
    sides = relation(gold), relation(pred)
    return lambda: lambda: compare(*sides, policy).verdict


def side_by_side(sizes: Sequence[int]) -> dict[tuple[str, int], Measured | None]:
    """Measure every contender on equal shuffled rows of six columns."""
    found: dict[tuple[str, int], Measured | None] = {}
    for size in sizes:
        for one in CONTENDERS:
            if size > one.most:
                continue
            found[one.name, size] = measure(partial(fresh, one, size), runs=5 if size < SIZES[-1] else 3)
            said(f"{one.name} {size}", found[one.name, size])
    return found


def fresh(one: Contender, size: int) -> Callable[[], object]:
    """Make the rows in the measured process: pages shared with a parent would be copied on the contender's account."""
    return one.prepare(rows_of(size), rows_of(size, seed=1), NAMES)


def fresh_wide(one: Contender, size: int, names: Sequence[str]) -> Callable[[], object]:
    """Make permuted rows in the measured process."""
    return one.prepare(*permuted(size, len(names)), names)


def said(what: str, found: Measured | None) -> None:
    """Print a figure as it comes."""
    print(what, "no answer" if found is None else f"{found.shown} {found.said}", flush=True)


def wide(sizes: Sequence[int]) -> dict[tuple[str, int], Measured | None]:
    """Measure 30 permuted columns; who compares by position says they differ."""
    found: dict[tuple[str, int], Measured | None] = {}
    names = [f"c{index}" for index in range(30)]
    for size in sizes:
        for one in (ANY, *(c for c in CONTENDERS if c.name in ("BIRD set", "EvalBench set_match"))):
            found[one.name, size] = measure(partial(fresh_wide, one, size, names), runs=3)
            said(f"30 columns {one.name} {size}", found[one.name, size])
    return found


def adversarial() -> dict[str, Measured | None]:
    """Measure columns made to look alike."""
    rng = random.Random(5)
    constant: list[Row] = [(7,) * 26] * 1000
    halves = [rng.sample([0, 1] * 500, 1000) for _ in range(20)]
    binary: list[Row] = list(zip(*halves, strict=True))
    moved = [tuple(row[i] for i in rng.sample(range(20), 20)) for row in [binary[0]]]
    order = rng.sample(range(20), 20)
    swapped = [tuple(row[i] for i in order) for row in shuffled(binary)]
    scrambled = list(zip(*halves[:-1], rng.sample(halves[-1], 1000), strict=True))
    identical: list[Row] = [(i % 50,) * 12 for i in range(1000)]
    broken = [*identical[:-2], (*identical[-1][:1], *identical[-2][1:]), (*identical[-2][:1], *identical[-1][1:])]
    sides: dict[str, tuple[Sequence[Row], Sequence[Row]]] = {
        "26 constant columns": (constant, constant[::-1]),
        "20 binary columns, permuted": (binary, swapped),
        "20 binary columns, one scrambled": (binary, scrambled),
        "20 binary columns, one row permuted": (binary, [*moved, *binary[1:]]),
        "12 identical columns": (identical, shuffled(identical)),
        "12 identical columns, two cells exchanged": (identical, broken),
    }
    found = {}
    for name, (gold, pred) in sides.items():
        found[name] = measure(judged(gold, pred, Policy(columns="any")))
        said(name, found[name])
    return found


def streaming() -> dict[str, Measured | None]:
    """Measure what a stream of generated rows adds."""
    columns = tuple(map(Column, NAMES[:4]))
    found = {}
    for size in (100_000, 1_000_000):

        def call(size: int = size) -> object:
            """Compare two generated streams of four columns."""
            sides = ((row[:4] for row in made(range(size))) for _ in range(2))
            return compare_streams(
                *sides, gold_columns=columns, predicted_columns=columns, policy=Policy(), key=b"a fixed key, benched"
            ).verdict

        name = f"{size:,} rows a side, four columns"
        found[name] = measure(partial(lambda made_call: made_call, call), runs=1, limit=300)
        said(name, found[name])
    return found


def noisy() -> Callable[[], object]:
    """Prepare rows of floats that differ within the tolerance."""
    rng = random.Random(2)
    floats: list[Row] = [tuple(rng.random() * 1000 for _ in range(6)) for _ in range(100_000)]
    near = [tuple(cell * (1 + rng.uniform(-2e-10, 2e-10)) for cell in row) for row in shuffled(floats)]  # type: ignore[operator]
    return judged(floats, near, Policy())()


def without_integers(count: int) -> Callable[[], object]:
    """Prepare equal shuffled rows without a unique integer."""
    return judged(unkeyed(count), unkeyed(count, seed=1), Policy())()


def one_wrong() -> Callable[[], object]:
    """Prepare rows of which one has a wrong cell."""
    gold, pred = rows_of(300_000), rows_of(300_000, seed=1)
    pred[7] = (pred[7][0], "other", *pred[7][2:])
    return judged(gold, pred, preset("skill"))()


def hard() -> dict[str, Measured | None]:
    """Measure what the quick ladder does not settle."""
    cases = {"floats with noise, 100k × 6": noisy, "one cell wrong, 300k × 6, skill": one_wrong}
    found = {}
    for name, prepare in cases.items():
        found[name] = measure(prepare)
        said(name, found[name])
    return found


def main() -> int:
    """Measure everything and write the page; the exit code does not depend on the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path, default=PAGE)
    options.add_argument("--most", type=int, default=SIZES[-1])
    given = options.parse_args()
    with Fetching() as server:
        fetched = {
            name: measure(partial(way, server), runs=3 if name == "psycopg" else 1) for name, way in server.ways.items()
        }
    for name, one in fetched.items():
        said(name, one)
    sizes = [size for size in SIZES if size <= given.most]
    plain, columns = side_by_side(sizes), wide([size for size in sizes if size <= 100_000])
    looks, hardest, streams = adversarial(), hard(), streaming()
    texts = measure(partial(without_integers, sizes[-1]))
    said("without a unique integer", texts)
    judged_bars = bars(plain, columns, looks, streams, hardest, fetched["psycopg"], texts)
    shown = ["| bar | measured | holds |", "|---|---|---|"]
    shown += [f"| {bar.text} | {bar.shown} | {'yes' if bar.holds else 'no'} |" for bar in judged_bars]
    text = page(
        [
            ("Bars", shown),
            ("Equal rows, shuffled, six columns", table(plain, CONTENDERS)),
            (
                "Thirty columns, permuted, rows shuffled",
                [
                    *table(columns, (ANY, *CONTENDERS[2:4])),
                    "",
                    "Spider's result_eq tries 30! column orders and does not end.",
                ],
            ),
            ("Columns made to look alike", single(looks)),
            ("What the quick ladder does not settle", single(hardest)),
            (
                "No unique integer: its digits as text, equal, shuffled",
                single({f"{sizes[-1]:,} rows of six columns": texts}),
            ),
            ("Streams", single(streams)),
            (
                "Fetching both sides, a million rows of six columns each",
                single({f"{name}, Postgres, unix socket": one for name, one in fetched.items()}),
            ),
        ]
    )
    sections.write(given.out, "compare", text)
    print(*(f"{bar.shown}  {bar.text}  {'holds' if bar.holds else 'MISSED'}" for bar in judged_bars), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

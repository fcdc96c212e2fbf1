"""Measure bakes, changes of one snapshot, bundles and base builds; write their part of docs/benchmarks.md."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import sections  # noqa: E402 (found through the line above)
from sandbox_page import Bar, machine  # noqa: E402

from sqlassay.cases.relation import Kind, Row  # noqa: E402
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef  # noqa: E402
from sqlassay.dialect_adapters.contract import Adapter  # noqa: E402
from sqlassay.dialect_adapters.registry import adapter  # noqa: E402
from sqlassay.sandboxes.cache import cache_dir  # noqa: E402
from sqlassay.sandboxes.docker.client import Engine, connect  # noqa: E402
from sqlassay.sandboxes.docker.provider import DockerProvider  # noqa: E402
from sqlassay.sandboxes.images.base import Refusal, inspect  # noqa: E402
from sqlassay.sandboxes.images.debian import DebianBuild  # noqa: E402
from sqlassay.sandboxes.inventory import images  # noqa: E402
from sqlassay.sandboxes.scratch import Scratch  # noqa: E402
from sqlassay.sandboxes.transfer import chosen, export, take_in  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
DATABASES, TABLES, ROWS = 20, 6, 500
MOST_SECONDS = {"postgres": 15, "mysql": 60}
MOST_BASE = {"postgres": 100, "mysql": 170}
MOST_BUILD = 60
_MB = 1_000_000
Answer = TypeVar("Answer")

INTRO = f"""## Images

Written by `make bench-images`: {DATABASES} databases of {TABLES} tables with {ROWS} rows each, in one image; one run of
each. "One changed" is the bake after one of the databases changed. Base images are built from Debian packages under a
name of their own, nothing of them was there before; sizes are before any data. The bars are for two quiet cores.
"""


@dataclass(frozen=True, slots=True)
class Baked:
    """Seconds and bytes of one dialect's images and bundle."""

    full: float
    changed: float
    size: int
    exported: float
    bundle: int
    imported: float


@dataclass(frozen=True, slots=True)
class Built:
    """Seconds and bytes of a base image, and its engine's version."""

    seconds: float
    size: int
    version: str


class Made:
    """Rows that are made as they are asked for."""

    def __init__(self, seed: int) -> None:
        """Make others for another seed."""
        self._seed = seed

    def rows(self, table: str) -> Iterator[Row]:
        """Yield number, text and amount."""
        yield from ((row, f"{table} {row * 7919 % 997}", row * self._seed % 9973 / 8) for row in range(ROWS))


def snapshot(number: int, seed: int = 1) -> Snapshot:
    """Return one database."""
    columns = (
        ColumnDef("id", Kind.INT, nullable=False),
        ColumnDef("name", Kind.TEXT, length=60),
        ColumnDef("amount", Kind.FLOAT64),
    )
    tables = tuple(TableDef(f"t{table}", columns, primary_key=("id",)) for table in range(TABLES))
    name = f"bench_{number:02d}"
    return Snapshot(id=name, database=name, digest=f"{name} {seed}", tables=tables, source=Made(seed))


def timed(work: Callable[[], Answer]) -> tuple[float, Answer]:
    """Return the seconds something took, and what it gave."""
    began = time.perf_counter()
    answer = work()
    return time.perf_counter() - began, answer


def quiet(line: str) -> None:
    """Take a phase line and say nothing."""


def bakes(engine: Engine, spoken: Adapter, folder: Path) -> Baked:
    """Bake, bake again after a change, export, remove, import."""
    os.environ["XDG_CACHE_HOME"] = str(folder / spoken.name)
    provider = DockerProvider(engine_policy="auto")
    before = [snapshot(number) for number in range(DATABASES)]
    after = [*before[:-1], snapshot(DATABASES - 1, seed=2)]
    bundle = folder / f"{spoken.name}.bundle"
    try:
        provider.prepare(spoken, before[:1], quiet)  # the base and the programs are warm
        full, image = timed(lambda: provider.prepare(spoken, before, quiet))
        changed, _ = timed(lambda: provider.prepare(spoken, after, quiet))
        provider.close()
        size = next(line.size for line in images() if line.ref == image.ref)
        exported, _ = timed(lambda: export(bundle, chosen([image.ref])))
        os.environ["XDG_CACHE_HOME"] = str(folder / f"{spoken.name}-elsewhere")
        engine.api.remove_image(image.ref)
        imported, _ = timed(lambda: take_in(bundle))
        return Baked(full, changed, size, exported, bundle.stat().st_size, imported)
    finally:
        provider.close()
        bundle.unlink(missing_ok=True)
        label = f"io.sqlassay.cache={cache_dir().parents[1] / spoken.name / 'sqlassay'}"
        for left in engine.api.images(filters={"label": label}):
            engine.api.remove_image(left["Id"], force=True)


def base(engine: Engine, spoken: Adapter, folder: Path) -> Built | None:
    """Build a base image from packages under a name that nothing has, and remove it; None where it cannot be built."""
    recipe = replace(spoken.recipe, user_name="bench")
    seconds, found = timed(lambda: DebianBuild(engine.api, folder / "locks", may_install=True).find(recipe, quiet))
    if isinstance(found, Refusal):
        print(f"NOT MEASURED: base of {spoken.name}: {found.reason}", flush=True)
        return None
    size = int((inspect(engine.api, found.ref) or {}).get("Size", 0))
    engine.api.remove_image(found.ref)
    return Built(seconds, size, found.version)


def bars(baked: dict[str, Baked], built: dict[str, Built]) -> list[Bar]:
    """Return each promise beside its figure; what was not measured does not hold."""
    made = []
    for dialect, most in MOST_SECONDS.items():
        one = baked.get(dialect)
        shown = f"{one.full:.1f} s" if one else "not measured"
        made.append(
            Bar(f"bake of {DATABASES} databases, {dialect}: at most {most} s", shown, bool(one and one.full <= most))
        )
    for dialect, size in MOST_BASE.items():
        found = built.get(dialect)
        shown = f"{found.size / _MB:.0f} MB in {found.seconds:.0f} s" if found else "not measured"
        holds = bool(found and found.size / _MB <= size and found.seconds <= MOST_BUILD)
        made.append(Bar(f"base image, {dialect}: at most {size} MB in {MOST_BUILD} s", shown, holds))
    return made


def part(baked: dict[str, Baked], built: dict[str, Built]) -> str:
    """Return the whole part of the page."""
    lines = [INTRO, machine(), "", "### Bars of images", "", "| bar | measured | holds |", "|---|---|---|"]
    lines += [bar.line for bar in bars(baked, built)]
    lines += ["", "### Baked and moved", ""]
    lines += ["| dialect | all | one changed | image beyond its base | exported | bundle | imported |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for dialect, one in baked.items():
        sizes = f"{one.size / _MB:.0f} MB | {one.exported:.1f} s | {one.bundle / _MB:.0f} MB"
        lines.append(f"| {dialect} | {one.full:.1f} s | {one.changed:.1f} s | {sizes} | {one.imported:.1f} s |")
    lines += ["", "### Base images", "", "| dialect | version | built | size |", "|---|---|---|---|"]
    for dialect, found in built.items():
        lines.append(f"| {dialect} | {found.version} | {found.seconds:.0f} s | {found.size / _MB:.0f} MB |")
    return "\n".join(lines)


def main() -> int:
    """Measure and write; return 1 where a bar does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, default=PAGE, help="where the part is written")
    parser.add_argument("dialects", nargs="*", default=["postgres", "mysql", "sqlite"])
    asked = parser.parse_args()
    engine = connect(timeout=300)
    baked: dict[str, Baked] = {}
    built: dict[str, Built] = {}
    with Scratch("files") as folder:
        for name in asked.dialects:
            spoken = adapter(name)
            baked[name] = bakes(engine, spoken, folder)
            print(f"{name}: {baked[name]}", flush=True)
            if found := base(engine, spoken, folder):
                built[name] = found
                print(f"{name}: {found}", flush=True)
    sections.write(asked.page, "images", part(baked, built))
    missed = [bar for bar in bars(baked, built) if not bar.holds]
    for bar in missed:
        print(f"MISSED: {bar.text}: {bar.shown}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

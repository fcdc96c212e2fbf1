"""Measure one run of 575 questions over twenty databases on three engines; write its part of docs/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT)]

import sections  # noqa: E402 (found through the line above)
from sandbox_page import Bar, machine  # noqa: E402

from sqlassay.cases.formats.registry import load_pack  # noqa: E402
from sqlassay.cases.pack import Pack  # noqa: E402
from sqlassay.dialect_adapters.registry import adapter  # noqa: E402
from sqlassay.dialect_adapters.transpile.rewrite import rewrite  # noqa: E402
from sqlassay.sandboxes.scratch import Scratch  # noqa: E402

PAGE = ROOT / "docs" / "benchmarks.md"
SHARED = ROOT.parent / "shared" / "data" / "text2sql"
SYSTEM = "dail-gpt4"
DATABASES, DIALECTS, MOST_SECONDS = 20, ("sqlite", "postgres", "mysql"), 600

INTRO = f"""## A run over {DATABASES} databases and three engines

Written by `make bench-runs`: the 575 handed questions of Spider, spread over {DATABASES} databases (the nine handed
ones and copies of them), the published predictions of {SYSTEM}, and one `sqlassay run` an engine, one after the other.
Images are baked before; gold is not kept from an earlier run. Postgres and MySQL are asked in their own words: gold is
rewritten and verified by the run itself (`--transpile-gold`), predictions are rewritten before it. The CPU is the
command's own, without the engine's. The bar is for two quiet cores.
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """Seconds of one run on the clock and of CPU, what it said, and where its gold came from."""

    seconds: float
    cpu: float
    verdicts: dict[str, int]
    gold: dict[str, int]

    @property
    def count(self) -> int:
        """Return how many cases were judged."""
        return sum(self.verdicts.values())


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def build(folder: Path) -> Pack:
    """Write the pack: each question asked of the next copy of its database."""
    cases = lines(SHARED / "cases" / "spider_dev.jsonl")
    names = sorted({case["db"] for case in cases})
    copies: dict[str, list[str]] = {name: [] for name in names}
    for number in range(DATABASES):
        name = names[number % len(names)]
        copies[name].append(f"{name}_{number // len(names)}")
    folder.mkdir()
    snapshots = {}
    for name, made in copies.items():
        for one in made:
            shutil.copyfile(SHARED / "databases" / name / f"{name}.sqlite", folder / f"{one}.sqlite")
            snapshots[one] = {"sqlite": f"{one}.sqlite"}
    header = {"format": 1, "name": "bench", "snapshots": snapshots, "cases": ["cases.jsonl"]}
    (folder / "pack.yaml").write_text(json.dumps(header), encoding="utf-8")
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as out:
        for number, case in enumerate(cases):
            of = copies[case["db"]]
            written = {"id": case["id"], "question": case["question"], "gold": case["gold"]}
            out.write(json.dumps(written | {"snapshot": of[number % len(of)]}) + "\n")
    return load_pack(folder)


def predictions(pack: Pack, dialect: str, file: Path) -> None:
    """Write the published predictions as this dialect says them; what is not rewritten stays as it is."""
    told = {row["case_id"]: row["sql"] for row in lines(SHARED / "predictions" / "spider_dev" / f"{SYSTEM}.jsonl")}
    with file.open("w", encoding="utf-8") as out:
        for case in pack.cases:
            sql = told[case.id]
            made = rewrite(sql, pack.snapshot(case.snapshot), adapter("sqlite"), adapter(dialect)).sql
            out.write(json.dumps({"case_id": case.id, "sql": made or sql}) + "\n")


def command(*given: str) -> int:
    """Run the program and return its exit code."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "sqlassay.harness.cli", *given], env=environment, check=False, stdout=subprocess.DEVNULL
    ).returncode


def measured(folder: Path, pack: Path, dialect: str) -> Ran | None:
    """Bake, then run and count; None where there is no whole run."""
    if command("snapshot", "build", str(pack), "--dialect", dialect) != 0:
        print(f"NOT MEASURED: the image of {dialect} could not be built", flush=True)
        return None
    out = folder / dialect
    file = folder / f"{dialect}.jsonl"
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    asked = ["--dialect", dialect, "--predictions", str(file), "--transpile-gold", "--store-rows", "none"]
    code = command("run", str(pack), *asked, "--out", str(out))
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if code not in (0, 3):  # 3: gold that leaves its rows open is not verified on another engine
        print(f"NOT MEASURED: the run on {dialect} ended with {code}", flush=True)
        return None
    results = lines(out / "results.jsonl")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    verdicts = Counter(result["verdict"] for result in results)
    gold = Counter(result["gold_status"] for result in results)
    return Ran(seconds, cpu, dict(verdicts.most_common()), dict(gold.most_common()))


def bar(found: dict[str, Ran]) -> Bar:
    """Return the promise beside its figure; without all three engines, and every case, it does not hold."""
    text = f"575 questions, {DATABASES} databases, three engines: at most {MOST_SECONDS} s"
    if set(found) != set(DIALECTS) or any(
        one.count != 575 or "infrastructure" in one.verdicts for one in found.values()
    ):
        return Bar(text, "not measured whole", holds=False)
    total = sum(one.seconds for one in found.values())
    return Bar(text, f"{total:.0f} s", total <= MOST_SECONDS)


def part(found: dict[str, Ran]) -> str:
    """Return the whole part of the page."""
    made = [INTRO, machine(), "", "### Bar of runs", "", "| bar | measured | holds |", "|---|---|---|", bar(found).line]
    made += [
        "",
        "### Each run",
        "",
        "| dialect | seconds | CPU | cases/s | verdicts | gold |",
        "|---|---|---|---|---|---|",
    ]
    for dialect, one in found.items():
        counts = (", ".join(f"{count} {name}" for name, count in given.items()) for given in (one.verdicts, one.gold))
        rate = one.count / one.seconds
        made.append(f"| {dialect} | {one.seconds:.1f} | {one.cpu:.1f} s | {rate:.1f} | {' | '.join(counts)} |")
    return "\n".join(made)


def main() -> int:
    """Measure and write; return 1 where the bar does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, default=PAGE, help="where the part is written")
    asked = parser.parse_args()
    if not SHARED.is_dir():
        print("NOT MEASURED: the handed data is not beside this checkout")
        return 0
    found: dict[str, Ran] = {}
    with Scratch("files") as folder:
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        pack = build(folder / "pack")
        for dialect in DIALECTS:
            predictions(pack, dialect, folder / f"{dialect}.jsonl")
        for dialect in DIALECTS:
            one = measured(folder, folder / "pack", dialect)
            if one is not None:
                found[dialect] = one
                print(f"{dialect}: {one}", flush=True)
        command("snapshot", "gc", "--keep", "0")
    sections.write(asked.page, "runs", part(found))
    promise = bar(found)
    if not promise.holds:
        print(f"MISSED: {promise.text}: {promise.shown}")
    return 0 if promise.holds else 1


if __name__ == "__main__":
    sys.exit(main())

"""Run the quick tests of the comparator against its mutants: `python tests/mutation/run.py [--sample N] [NAME …]`.

The tests are collected once; each mutant lives in a fork that puts the fault into the imported module, and nothing is
written to disk. A mutant that no test fails on has survived: docs/mutants.md either argues that it changes nothing, or
a test is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from loop import Loop, Result  # noqa: E402 (found through the line above)
from mutants import Mutant, mutants_of  # noqa: E402

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "harness" / "compare"
EXCLUDED = ("__init__", "peer", "render")
EQUIVALENT = ROOT / "docs" / "mutants.md"
FILES = (
    "comparison_table",
    "comparison_order",
    "comparison_evidence",
    "comparison_bags",
    "comparator_laws",
    "stream",
    "comparison_edges",
    "comparison_numbers",
    "comparison_pairing",
    "comparison_parts",
    "comparison_search",
    "comparison_temporal",
)
REWRITTEN = "ignore::pytest.PytestAssertRewriteWarning"  # Hypothesis is imported before pytest starts, on purpose
SLOW = ("comparator_laws",)
LEFT_OUT = ("corpus", "memory_does_not_grow", "holds_every_verdict", "at_every_size")


def modules() -> list[Path]:
    """Return the files of the comparator that are mutated; peers are proven against the peers' own rules."""
    return sorted(path for path in PACKAGE.glob("*.py") if not path.name.startswith(EXCLUDED))


def equivalents() -> set[str]:
    """Return the ids that docs/mutants.md argues to be equivalent."""
    if not EQUIVALENT.is_file():
        return set()
    cells = (line.split("|") for line in EQUIVALENT.read_text(encoding="utf-8").splitlines() if line.startswith("| `"))
    return {line[1].strip(" `") for line in cells}


def sample(mutants: Sequence[Mutant], count: int, seed: int = 1) -> list[Mutant]:
    """Return a fixed choice of mutants; a change of the code elsewhere leaves it as it is."""
    return sorted(mutants, key=lambda mutant: hashlib.sha256(f"{seed}:{mutant.id}".encode()).digest())[:count]


def shown(result: Result, number: int) -> None:
    """Print a survivor, and now and then how many are done and what killed the last one."""
    if number % 100 == 0:
        print(f"{number} done, in {result.mutant.path.name}: {result.end} {result.killer}", flush=True)
    if result.end == "survived":
        mutant = result.mutant
        where = f"{mutant.id} {mutant.path.name}:{mutant.line} {mutant.place}"
        print(f"survived {where}: {mutant.before}  =>  {mutant.after}", flush=True)


def run(chosen: Sequence[Mutant], *, parallel: int, quick: bool = False) -> Loop:
    """Run the mutants and return the loop with what became of them; `quick` leaves the slow laws out."""
    import pytest
    from hypothesis import Phase, settings

    settings.register_profile("mutants", phases=[Phase.explicit, Phase.generate], database=None, derandomize=True)
    settings.load_profile("mutants")
    loop = Loop(chosen, PACKAGE, parallel=parallel, said=shown)
    left_out = " and ".join(f"not {name}" for name in LEFT_OUT)
    quiet = ["-q", "--no-header", "--no-summary", "-W", REWRITTEN, "-k", left_out, "--rootdir", str(ROOT)]
    off = ["-p", "no:cacheprovider", "-p", "no:cov"]
    files = [str(ROOT / "tests" / "compare" / f"test_{name}.py") for name in FILES if not (quick and name in SLOW)]
    pytest.main([*quiet, *off, *files], plugins=[loop])
    return loop


def main(arguments: Iterable[str] | None = None) -> int:
    """Run all mutants, or a sample, and print the counts; 1 where one survived that no argument covers."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*", help="modules of the comparator, all by default")
    options.add_argument("--sample", type=int, default=0)
    options.add_argument("--parallel", type=int, default=2)
    options.add_argument("--ids", default="", help="only these mutants, comma-separated")
    options.add_argument("--killers", action="store_true", help="say which test killed each")
    options.add_argument("--quick", action="store_true", help="leave the slow laws out: more survive, sooner known")
    given = options.parse_args(None if arguments is None else list(arguments))
    everything = [
        mutant for path in modules() if not given.names or path.stem in given.names for mutant in mutants_of(path)
    ]
    argued = equivalents()
    chosen = [m for m in everything if m.id not in argued and (not given.ids or m.id in given.ids.split(","))]
    chosen = sample(chosen, given.sample) if given.sample else chosen
    loop = run(chosen, parallel=given.parallel, quick=given.quick)
    if not loop.healthy:
        print("the tests fail on the unchanged code")
        return 2
    if given.killers:
        for result in loop.results:
            print(f"{result.end} {result.mutant.id} {result.mutant.path.name} {result.mutant.place}: {result.killer}")
    ends = Counter(result.end for result in loop.results)
    equal = sum(mutant.id in argued for mutant in everything)
    print(
        f"{len(everything)} mutants, {len(chosen)} run: {ends['killed'] + ends['timeout']} killed "
        f"({ends['timeout']} by time), {ends['survived']} survived; {equal} argued equivalent"
    )
    return 1 if ends["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())

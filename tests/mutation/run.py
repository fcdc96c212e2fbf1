"""Run the quick tests of the comparator against its mutants: `python tests/mutation/run.py [--sample N] [NAME …]`.

Each mutant lives in a forked child whose imports find the changed module; nothing is written to disk. A mutant that
no test fails on has survived: docs/mutants.md either argues that it changes nothing, or a test is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from mutants import Mutant, mutants_of  # noqa: E402 (found through the line above)

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "harness" / "compare"
EXCLUDED = ("__init__", "peer", "render")
EQUIVALENT = ROOT / "docs" / "mutants.md"
FILES = ("comparison_table", "comparison_order", "comparison_evidence", "comparator_laws", "stream", "comparison_edges")
FIRST = {"stream": "stream", "canonical": "stream", "order": "comparison_order", "evidence": "comparison_evidence"}
SECONDS = 45
MEMORY = 3 << 30
REWRITTEN = "ignore::pytest.PytestAssertRewriteWarning"  # Hypothesis is imported before pytest starts, on purpose
LEFT_OUT = ("corpus", "memory_does_not_grow", "holds_every_verdict")


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a mutant: killed, timeout or survived."""

    mutant: Mutant
    end: str


def modules() -> list[Path]:
    """Return the files of the comparator that are mutated; peers are proven against the peers' own rules."""
    return sorted(path for path in PACKAGE.glob("*.py") if not path.name.startswith(EXCLUDED))


def equivalents() -> set[str]:
    """Return the ids that docs/mutants.md argues to be equivalent."""
    if not EQUIVALENT.is_file():
        return set()
    cells = (line.split("|") for line in EQUIVALENT.read_text(encoding="utf-8").splitlines() if line.startswith("| `"))
    return {line[1].strip(" `") for line in cells}


class Changed(MetaPathFinder, SourceFileLoader):
    """Finds one module, and loads it with its fault."""

    def __init__(self, mutant: Mutant) -> None:
        """Take the place of the mutant's module."""
        name = f"harness.compare.{mutant.path.stem}"
        SourceFileLoader.__init__(self, name, str(mutant.path))
        self._mutant = mutant

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> ModuleSpec | None:  # type: ignore[override]
        """Return the changed module's spec under its name alone."""
        return spec_from_loader(fullname, self) if fullname == self.name else None

    def get_code(self, fullname: str) -> object:  # type: ignore[override]
        """Compile the changed text; nothing is cached."""
        return compile(self._mutant.source, str(self._mutant.path), "exec")


def preload() -> None:
    """Import what every child needs but the comparator itself, and settle how Hypothesis searches."""
    import pytest  # noqa: F401
    import yaml
    from hypothesis import Phase, settings

    for name in (
        "cases.policy",
        "cases.presets",
        "cases.relation",
        "harness.results.verdicts",
        "harness.results.parsed",
    ):
        import_module(name)
    settings.register_profile("mutants", phases=[Phase.explicit, Phase.generate], database=None)
    settings.load_profile("mutants")
    yaml.safe_load = lru_cache(yaml.safe_load)
    yaml.safe_load((ROOT / "tests" / "tables" / "comparison.yaml").read_text(encoding="utf-8"))
    if any(name.startswith("harness.compare") for name in sys.modules):
        raise RuntimeError("the comparator is imported already, so mutants would not be")


def tests_for(stem: str) -> list[str]:
    """Return the test files in the order that kills this module's mutants soonest."""
    first = FIRST.get(stem, FILES[0])
    names = [name for name in FILES if name != "stream" or stem in ("", "stream", "canonical")]
    return [
        str(ROOT / "tests" / "compare" / f"test_{name}.py") for name in sorted(names, key=lambda name: name != first)
    ]


def child(mutant: Mutant | None) -> int:
    """Run the tests in this process against the mutant, or the unchanged code; 0 where all pass."""
    import pytest

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    if mutant is not None:
        sys.meta_path.insert(0, Changed(mutant))
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    left_out = " and ".join(f"not {name}" for name in LEFT_OUT)
    quiet = [
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:cov",
        "-W",
        REWRITTEN,
        "-k",
        left_out,
        "--rootdir",
        str(ROOT),
    ]
    return int(pytest.main([*quiet, *tests_for(mutant.path.stem if mutant else "")]))


def start(mutant: Mutant | None) -> tuple[int, int]:
    """Fork a child for a mutant and return its process id and the pipe that ends with it."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        code = 1
        try:
            code = child(mutant)
        except BaseException:  # noqa: BLE001 (whatever a mutant raises, it is dead)
            code = 1
        os._exit(code)
    os.close(writer)
    return pid, reader


def healthy() -> bool:
    """Tell whether the tests pass on the unchanged code; otherwise every mutant would seem dead."""
    pid, pipe = start(None)
    os.close(pipe)
    return os.waitpid(pid, 0)[1] == 0


def run(
    chosen: Sequence[Mutant], *, parallel: int, said: Callable[[Result], None], until: float = 0
) -> Iterator[Result]:
    """Yield what became of each mutant; none is started after `until` (a monotonic time) where one is given."""
    waiting = list(reversed(chosen))
    running: dict[int, tuple[int, Mutant, float]] = {}
    while waiting or running:
        while waiting and len(running) < parallel and (not until or time.monotonic() < until):
            mutant = waiting.pop()
            pid, pipe = start(mutant)
            running[pipe] = (pid, mutant, time.monotonic())
        if not running:
            return
        ready = select.select(list(running), [], [], 1.0)[0]
        late = [pipe for pipe, (_, _, began) in running.items() if time.monotonic() - began > 4 * SECONDS]
        for pipe in {*ready, *late}:
            pid, mutant, _ = running.pop(pipe)
            if pipe in late:
                os.kill(pid, signal.SIGKILL)
            os.close(pipe)
            status = os.waitpid(pid, 0)[1]
            end = "timeout" if os.WIFSIGNALED(status) else "killed" if os.WEXITSTATUS(status) else "survived"
            said(Result(mutant, end))
            yield Result(mutant, end)


def sample(mutants: Sequence[Mutant], count: int, seed: int = 1) -> list[Mutant]:
    """Return a fixed choice of mutants; a change of the code elsewhere leaves it as it is."""
    return sorted(mutants, key=lambda mutant: hashlib.sha256(f"{seed}:{mutant.id}".encode()).digest())[:count]


def shown(result: Result) -> None:
    """Print a survivor."""
    if result.end == "survived":
        mutant = result.mutant
        where = f"{mutant.id} {mutant.path.name}:{mutant.line} {mutant.place}"
        print(f"survived {where}: {mutant.before}  =>  {mutant.after}", flush=True)


def main(arguments: Iterable[str] | None = None) -> int:
    """Run all mutants, or a sample, and print the counts; 1 where one survived that no argument covers."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*", help="modules of the comparator, all by default")
    options.add_argument("--sample", type=int, default=0)
    options.add_argument("--parallel", type=int, default=2)
    options.add_argument("--ids", default="", help="only these mutants, comma-separated")
    given = options.parse_args(None if arguments is None else list(arguments))
    everything = [
        mutant for path in modules() if not given.names or path.stem in given.names for mutant in mutants_of(path)
    ]
    argued = equivalents()
    chosen = [m for m in everything if m.id not in argued and (not given.ids or m.id in given.ids.split(","))]
    chosen = sample(chosen, given.sample) if given.sample else chosen
    preload()
    if not healthy():
        print("the tests fail on the unchanged code")
        return 2
    ends = Counter(result.end for result in run(chosen, parallel=given.parallel, said=shown))
    equal = sum(mutant.id in argued for mutant in everything)
    print(
        f"{len(everything)} mutants, {len(chosen)} run: {ends['killed'] + ends['timeout']} killed "
        f"({ends['timeout']} by time), {ends['survived']} survived; {equal} argued equivalent"
    )
    return 1 if ends["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs collected tests on one mutant after another, each in a fork of the process that has collected them.

First every test runs once on the unchanged code, under coverage: that shows that they pass, how long each takes and
which functions it enters. A mutant then meets the tests that enter its function, those first that killed before,
then the quickest, up to the first that fails.
"""

from __future__ import annotations

import ast
import os
import resource
import select
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import coverage
import pytest
from _pytest.runner import runtestprotocol
from mutants import Mutant
from patched import Unchanged, patch

MEMORY = 3 << 30
_LEAST_SECONDS = 2.0
_SLOWER = 12
_ALL = "module"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a mutant: killed, timeout or survived; a killed one by which test."""

    mutant: Mutant
    end: str
    killer: str = ""


class Loop:
    """A pytest plugin that runs mutants in place of the tests; `results` holds what became of them."""

    def __init__(self, chosen: Sequence[Mutant], package: Path, *, parallel: int, said: Callable[[Result, int], None]):
        """Take the mutants to run and whom to tell."""
        self.results: list[Result] = []
        self.healthy = False
        self._chosen = chosen
        self._package = package
        self._parallel = parallel
        self._said = said
        self._items: list[pytest.Item] = []
        self._seconds: list[float] = []
        self._entered: dict[tuple[str, str], set[int]] = {}
        self._kills: Counter[tuple[str, int]] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests once as they are, then on every mutant."""
        self._items = list(session.items)
        self.healthy = bool(self._items) and self._first_run() and self._harmless()
        if self.healthy:
            for number, result in enumerate(self._mutants(), 1):
                self.results.append(result)
                self._said(result, number)
        return True

    def _first_run(self) -> bool:
        """Run every test on the unchanged code and learn what it enters; False where one fails."""
        seen = coverage.Coverage(data_file=None, source=[str(self._package)], config_file=False)
        seen.start()
        for index in range(len(self._items)):
            seen.switch_context(str(index))
            began = time.process_time()
            passed = self._passes(index)
            self._seconds.append(time.process_time() - began)
            if not passed:
                seen.stop()
                return False
        seen.stop()
        self._learn(seen.get_data())
        return True

    def _harmless(self) -> bool:
        """Tell whether every test passes in a fork, too, whose modules were patched with their own text."""
        texts = [Unchanged(path) for path in {mutant.path for mutant in self._chosen}]
        pid, pipe = self._start(texts)
        os.close(pipe)
        return os.waitpid(pid, 0)[1] == 0

    def _learn(self, data: coverage.CoverageData) -> None:
        """Note which tests enter each function of each file."""
        for file in data.measured_files():
            by_line = data.contexts_by_lineno(file)
            for place, lines in _bodies(Path(file)):
                tests = {int(test) for line in lines for test in by_line.get(line, ()) if test}
                self._entered.setdefault((Path(file).name, place), set()).update(tests)

    def _passes(self, index: int) -> bool:
        """Run one test and tell whether it passes; nothing is left set up, as any test may come next.

        A test that wants no fixture is called as the function it is: the protocol would cost more than most tests.
        """
        item = self._items[index]
        given = item.callspec.params if hasattr(item, "callspec") else {}
        if isinstance(item, pytest.Function) and set(item.fixturenames) <= set(given):
            try:
                item.obj(**{name: given[name] for name in item.fixturenames})
            except pytest.skip.Exception:
                return True
            except BaseException:  # noqa: BLE001 (whatever a test raises, it fails)
                return False
            return True
        reports = runtestprotocol(item, log=False, nextitem=None)
        return not any(report.failed for report in reports)

    def _order(self, mutant: Mutant | Unchanged) -> list[int]:
        """Return the tests that may notice a mutant, the likeliest and quickest first."""
        everything = range(len(self._items))
        file = mutant.path.name
        tests = everything if mutant.place == _ALL else self._entered.get((file, mutant.place), everything)
        return sorted(tests, key=lambda test: (-self._kills[file, test], self._seconds[test]))

    def _mutants(self) -> Iterator[Result]:
        """Yield what became of each mutant."""
        waiting = list(reversed(self._chosen))
        running: dict[int, tuple[int, Mutant]] = {}
        while waiting or running:
            while waiting and len(running) < self._parallel:
                mutant = waiting.pop()
                pid, pipe = self._start([mutant])
                running[pipe] = (pid, mutant)
            for pipe in select.select(list(running), [], [])[0]:
                pid, mutant = running.pop(pipe)
                killer = os.read(pipe, 32)
                os.close(pipe)
                status = os.waitpid(pid, 0)[1]
                if killer.isdigit():
                    self._kills[mutant.path.name, int(killer)] += 1
                survived = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
                end = "timeout" if os.WIFSIGNALED(status) else "survived" if survived else "killed"
                yield Result(mutant, end, self._items[int(killer)].name if killer.isdigit() else "")

    def _start(self, texts: Sequence[Mutant | Unchanged]) -> tuple[int, int]:
        """Fork a child for a mutant, or for unchanged texts; return its process id and the pipe that ends with it."""
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            code = 1
            try:
                code = self._child(texts, writer)
            except BaseException:  # noqa: BLE001 (whatever a mutant raises, it is dead)
                code = 1
            os._exit(code)
        os.close(writer)
        return pid, reader

    def _child(self, texts: Sequence[Mutant | Unchanged], writer: int) -> int:
        """Run the tests on the texts in this process; 0 where all pass, else the test that fails is told."""
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        signal.setitimer(signal.ITIMER_PROF, _LEAST_SECONDS)
        for text in texts:
            patch(text)
        for test in self._order(texts[0]):
            # The clock counts this process's own seconds, and its signal ends a loop that Python cannot leave.
            signal.setitimer(signal.ITIMER_PROF, max(_LEAST_SECONDS, _SLOWER * self._seconds[test]))
            if not self._passes(test):
                os.write(writer, str(test).encode())
                return 1
        return 0


def _bodies(path: Path) -> Iterator[tuple[str, range]]:
    """Yield the name of each function and class of a file with the lines of its body."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield node.name, range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)

"""Kill a running evaluation at random moments, resume it each time, and hold the end against an undisturbed run.

`python tests/chaos/chaos_soak.py KILLS SEED` is what `make soak` runs; tests run a sample with a fixed seed.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from chaos_ground import CASES, Engine, Ground, wait_for
from chaos_same import differences

TRIALS = 2
PAIRS = len(CASES) * TRIALS
PHASES = ("start", "bake", "gold", "predictions", "reports")
_OPTIONS = ("--trials", str(TRIALS), "--jobs", "2", "--engine", "none")


@dataclass
class Tally:
    """What a soak has done: kills by phase, runs finished, and every fault found."""

    kills: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    again: int = 0
    resumed: int = 0
    faults: list[str] = field(default_factory=list)


class Soak:
    """One dialect's runs, killed again and again."""

    def __init__(self, ground: Ground, dialect: str, rng: random.Random, tally: Tally) -> None:
        """Make the undisturbed run that every other is held against."""
        self.ground = ground
        self.dialect = dialect
        self.rng = rng
        self.tally = tally
        self.reference = ground.home / f"{dialect}-reference"
        began = time.monotonic()
        self.code, said = ground.call(*ground.run_arguments(self.reference.name, dialect, *_OPTIONS), timeout=300)
        self.seconds = time.monotonic() - began
        assert self.code == 0, said

    def one(self, phases: list[str]) -> None:
        """Run one evaluation, killed once in each of these phases, and judge what is left in the end."""
        name = f"{self.dialect}-{self.tally.runs}"
        before = len(self.ground.asked())
        for phase in phases:
            self._kill(name, phase)
        code = self._finish(name)
        self.tally.runs += 1
        found = [f"exit {code}, not {self.code}"] if code != self.code else []
        found += [f"differs: {file}" for file in differences(self.reference, self.ground.home / name)]
        found += [f"left: {line}" for line in self.ground.settled()]
        asked = Counter(self.ground.asked()[before:])
        found += [f"asked {n} times: {pair}" for pair, n in asked.items() if n > 1 + len(phases)]
        self.tally.faults += [f"{name} after {'+'.join(phases)}: {line}" for line in found]
        if not found:
            shutil.rmtree(self.ground.home / name)

    def _kill(self, name: str, phase: str) -> None:
        """Start or resume the run, kill it at some moment of a phase, and see that nothing finished is asked again."""
        moment = self._moment(name, phase)
        finished, asked = set(self.ground.journalled(name)), len(self.ground.asked())
        running = self._started(name)
        moment(running)
        if running.poll() is None:
            running.send_signal(signal.SIGKILL)
            self.tally.kills[phase] += 1
        running.wait(timeout=60)
        self._hold_to(name, finished, asked)

    def _finish(self, name: str) -> int:
        """Bring the run to its end and return its exit code."""
        finished, asked = set(self.ground.journalled(name)), len(self.ground.asked())
        code, said = self.ground.call(*self._arguments(name), timeout=300)
        if code != self.code:
            self.tally.faults.append(f"{name}: {said[-600:]}")
        self._hold_to(name, finished, asked)
        return code

    def _hold_to(self, name: str, finished: set[tuple[str, int]], asked: int) -> None:
        """Note every finished result that the agent was asked for again, and every one that the journal lost."""
        again = finished.intersection(self.ground.asked()[asked:])
        lost = finished.difference(self.ground.journalled(name))
        self.tally.faults += [f"{name}: finished, asked again: {pair}" for pair in again]
        self.tally.faults += [f"{name}: finished, lost: {pair}" for pair in lost]

    def _arguments(self, name: str) -> list[str]:
        """Return what goes on with the run: resume where its manifest stands, else the same run again."""
        if (self.ground.home / name / "manifest.json").exists():
            self.tally.resumed += 1
            return ["resume", str(self.ground.home / name)]
        self.tally.again += 1
        return self.ground.run_arguments(name, self.dialect, *_OPTIONS)

    def _started(self, name: str) -> subprocess.Popen[str]:
        """Start what goes on with the run."""
        return self.ground.start(*self._arguments(name))

    def _moment(self, name: str, phase: str) -> Callable[[subprocess.Popen[str]], object]:
        """Return what waits for a random moment of a phase; what was cached is dropped where the phase needs it."""
        folder, home = self.ground.home / name, self.ground.cache / "sqlassay"
        if phase == "bake":
            for cached in (*home.glob("images/*"), *home.glob("process/*/catalog.json")):
                shutil.rmtree(cached) if cached.is_dir() else cached.unlink()
            longest = self.seconds * 0.8
            return lambda running: _ended(running, self.rng.uniform(0.6, max(longest, 1.2)))
        if phase == "gold":
            shutil.rmtree(home / "gold", ignore_errors=True)
            pause = self.rng.uniform(0, 0.4)
            return lambda running: (_until(running, (folder / "journal.jsonl").exists), _ended(running, pause))
        if phase == "predictions":
            wanted = self.rng.randint(0, PAIRS - 1)
            return lambda running: _until(running, lambda: len(self.ground.journalled(name)) >= wanted)
        if phase == "reports":
            pause = self.rng.uniform(0, 0.15)
            full = lambda: len(self.ground.journalled(name)) == PAIRS  # noqa: E731
            return lambda running: (_until(running, full), _ended(running, pause))
        pause = self.rng.uniform(0, 1.0)
        return lambda running: _ended(running, pause)


def _until(running: subprocess.Popen[str], there: Callable[[], bool]) -> None:
    """Wait until something is so or the command has ended."""
    wait_for(lambda: running.poll() is not None or there(), 120)


def _ended(running: subprocess.Popen[str], seconds: float) -> None:
    """Wait so long, or until the command has ended."""
    wait_for(lambda: running.poll() is not None, seconds)


def soak(ground: Ground, dialect: str, kills: int, rng: random.Random, tally: Tally) -> None:
    """Kill runs of one dialect until there were so many kills, spread over the phases."""
    work = Soak(ground, dialect, rng, tally)
    wanted = sum(tally.kills.values()) + kills
    deck: list[str] = []
    while sum(tally.kills.values()) < wanted and len(tally.faults) < 20:
        for _ in range(3):
            deck = deck or rng.sample(PHASES, len(PHASES))
        work.one([deck.pop() for _ in range(min(rng.randint(1, 3), len(deck), wanted - sum(tally.kills.values())))])


def on_the_engine() -> set[str]:
    """Return every container, network and volume of the engine, whoever made it; only its owner can compare them."""
    with Engine() as api:
        found = {f"container {made['Id']}" for made in api.containers(all=True)}
        found |= {f"network {net['Name']}" for net in api.networks()}
        return found | {f"volume {volume['Name']}" for volume in api.volumes()["Volumes"] or []}


def main() -> int:
    """Soak SQLite and Postgres with half of the kills each; print what was done, return 1 where a fault was found."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    rng, tally = random.Random(seed), Tally()
    ground = Ground(Path(tempfile.mkdtemp(prefix="chaos-", dir="/tmp")))
    before = on_the_engine()
    began = time.monotonic()
    try:
        for dialect, share in (("sqlite", kills // 2), ("postgres", kills - kills // 2)):
            soak(ground, dialect, share, rng, tally)
            print(f"{dialect}: {tally}", flush=True)
    finally:
        ground.clear()
    seconds = time.monotonic() - began
    if os.environ.get("SQLASSAY_CHAOS_ENGINE"):
        tally.faults += [f"left on the engine: {line}" for line in sorted(on_the_engine() - before)]
    spread = ", ".join(f"{phase} {tally.kills[phase]}" for phase in PHASES)
    print(f"{sum(tally.kills.values())} kills ({spread}), {tally.runs} runs, {seconds:.0f} s, seed {seed}")
    print("\n".join(tally.faults) or "every run ended as an undisturbed one; nothing was left behind")
    if not tally.faults:
        shutil.rmtree(ground.home, ignore_errors=True)
    return bool(tally.faults)


if __name__ == "__main__":
    sys.exit(main())

"""CPU seconds and added memory of one call, each time in a forked child, so that no run warms or fattens another."""

from __future__ import annotations

import os
import pickle
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians over repeated runs: CPU seconds of the call, MiB it added at its peak, and what it said."""

    seconds: float
    mebibytes: float
    said: object

    @property
    def shown(self) -> str:
        """Return seconds and memory for a table."""
        return f"{self.seconds:.2f} s, {self.mebibytes:.0f} MiB"


_PROCESS = Path("/proc/self")


def _memory(field: str) -> int:
    """Return a figure of this process's memory in bytes: VmRSS now, VmHWM at its peak."""
    line = next(
        line for line in (_PROCESS / "status").read_text(encoding="ascii").splitlines() if line.startswith(field)
    )
    return int(line.split()[1]) * 1024


def _once(prepare: Callable[[], Callable[[], object]], limit: int) -> Measured | None:
    """Run once in a child; None where it died or took longer than `limit` CPU seconds."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (limit + 120, limit + 120))
            call = prepare()
            (_PROCESS / "clear_refs").write_text("5", encoding="ascii")  # the peak of the preparation is forgotten
            before, began = _memory("VmRSS"), time.process_time()
            said = call()
            seconds = time.process_time() - began
            added = max(0, _memory("VmHWM") - before) / (1 << 20)
            os.write(writer, pickle.dumps(Measured(seconds, added, said)))
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    return pickle.loads(data) if data else None


def measure(prepare: Callable[[], Callable[[], object]], *, runs: int = 3, limit: int = 120) -> Measured | None:
    """Return the medians of some runs; None where a run gave no answer."""
    found: list[Measured] = []
    for _ in range(runs):
        one = _once(prepare, limit)
        if one is None:
            return None
        found.append(one)
    return Measured(
        statistics.median(one.seconds for one in found),
        statistics.median(one.mebibytes for one in found),
        found[0].said,
    )

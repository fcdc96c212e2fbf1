"""How many servers a pool may hold and keep ready, by the machine's memory and cores."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sqlassay.dialect_adapters.contract import ServerRecipe

MOST_AHEAD = 64
_MEMINFO = Path("/proc/meminfo")
_SHARE = 2
"""Servers may take one part in this many of the memory that is free when the run starts."""


@dataclass(frozen=True, slots=True)
class PoolSize:
    """At most `most` servers at once, those being removed included; up to `ahead` of them wait ready."""

    most: int
    ahead: int


def pool_size(
    recipe: ServerRecipe, jobs: int, ahead: int | None = None, *, cores: int | None = None, free_mb: int | None = None
) -> PoolSize:
    """Return the size of a pool for so many workers; `ahead` is the user's own wish (default: one a core).

    Memory bounds both: a server counts with the whole limit its recipe sets.
    """
    processors = cores or os.cpu_count() or 1
    available = free_memory_mb() if free_mb is None else free_mb
    wanted = processors if ahead is None else min(ahead, MOST_AHEAD)
    room = jobs + wanted + processors
    if available is not None:
        room = min(room, available // _SHARE // max(1, recipe.memory_mb))
    most = max(1, room)
    return PoolSize(most, min(wanted, most - 1))


def free_memory_mb(meminfo: Path = _MEMINFO) -> int | None:
    """Return how much memory may be used without swapping, None where the kernel does not say."""
    try:
        for line in meminfo.read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) // 1024
    except (OSError, ValueError, IndexError):
        return None
    return None

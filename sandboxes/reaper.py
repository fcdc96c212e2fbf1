"""Decide which sandboxes of other runs are left over. The provider removes them; a wrong decision kills a live run."""

from __future__ import annotations

from pathlib import Path

from sqlassay.sandboxes.labels import Owner, host_identity, process_start
from sqlassay.sandboxes.locks import is_free


def is_left_over(owner: Owner, now: float) -> bool:
    """Return True where the owner's run is surely dead, or cannot be asked and its expiry has passed.

    On this machine the run's file lock decides: the kernel frees it at the moment the run dies. Without a lock file
    the process does, by pid and start time. A run of another machine, boot or process namespace can be neither, so
    its sandboxes stay until they expire.
    """
    if owner.host != host_identity():
        return now > owner.expires
    free = is_free(Path(owner.lock))
    if free is None:
        return process_start(owner.pid) != owner.started
    return free

"""The first program in a server's jail: gives up root, copies the data where told, sets limits, becomes the server.

Runs as `python3 entry.py SETTINGS` (JSON) and imports nothing of the project. Standard input is the pipe whose end says
"stop": before the server runs it is looked at once, and where an image is made it is watched as long as that takes.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

_POLL_SECONDS = 0.02


def become(user: int) -> None:
    """Give up root for good."""
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def copy(source: str, target: str) -> None:
    """Copy a folder's files and folders, for us alone."""
    os.mkdir(target, 0o700)  # noqa: PTH102 - pathlib costs more to import than all of this takes
    with os.scandir(source) as entries:
        for entry in entries:
            place = f"{target}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                copy(entry.path, place)
            elif entry.is_file(follow_symlinks=False):
                copy_file(entry.path, place)


def copy_file(source: str, target: str) -> None:
    """Copy one file inside the kernel."""
    reading = os.open(source, os.O_RDONLY)
    writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    left = os.fstat(reading).st_size
    while left > 0:
        left -= os.sendfile(writing, reading, None, left) or left
    os.close(reading)
    os.close(writing)


def limit(limits: Mapping[str, int]) -> None:
    """Set limits that the server and all its processes keep."""
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        _, most = resource.getrlimit(kind)
        allowed = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (allowed, allowed))


def told_to_end(seconds: float) -> bool:
    """Return True where somebody wrote to our standard input or closed it."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def supervise(steps: Sequence[Sequence[str]], argv: Sequence[str], env: Mapping[str, str], stop: str) -> int:
    """Run each step, then the server until we are told to end; return the exit code of what failed or was stopped."""
    for step in steps:
        done = subprocess.run(step, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
        if done.returncode or told_to_end(0):
            return done.returncode or 1
    server = subprocess.Popen(argv, env=dict(env))
    while server.poll() is None:
        if told_to_end(_POLL_SECONDS):
            server.send_signal(signal.Signals[stop])
            return server.wait()
    return server.returncode


def main(settings: Mapping[str, Any]) -> int:
    """Do what the settings say, in order; the server replaces this program where nothing has to be supervised."""
    if settings["user"] is not None:
        become(settings["user"])
    os.close(os.open(settings["built"], os.O_WRONLY | os.O_CREAT, 0o600))
    os.umask(0o077)
    if settings["copy"]:
        copy(*settings["copy"])
    limit(settings["limits"])
    if told_to_end(0):
        return 1
    if not settings["stop"]:
        os.execve(settings["argv"][0], settings["argv"], settings["env"])  # noqa: S606 - the jailed server itself
    return supervise(settings["steps"], settings["argv"], settings["env"], settings["stop"])


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))

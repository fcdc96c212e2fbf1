"""One running jailed worker: its folder with the socket, its process, and how both end."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

from sqlassay.cases.errors import InfrastructureError, SandboxLostError
from sqlassay.dialect_adapters.contract import Adapter, Endpoint, Pins, Role, Session, SessionLostError
from sqlassay.sandboxes.cache import private_folder
from sqlassay.sandboxes.contract import Isolation
from sqlassay.sandboxes.labels import Owner, process_start, read
from sqlassay.sandboxes.process.cgroups import Group, remove, remove_forgotten
from sqlassay.sandboxes.reaper import is_left_over
from sqlassay.sandboxes.removal import remove_folder
from sqlassay.sandboxes.scratch import Scratch

OWNER = "owner.json"
WORKER = "worker.json"
LOG = "log"
SOCKET = "s"
LONGEST_SOCKET = 107
"""The bytes that the path of a unix socket may have."""

_DRAFT_SECONDS = 60.0
_END_SECONDS = 5.0
_LOOK_SECONDS = 0.005
_BACKLOG = 64
_LOG_LINES = 40


class ProcessSandbox:
    """A jailed worker and its folder. Destroyed by its owner; `kill` may come from any thread."""

    def __init__(
        self,
        adapter: Adapter,
        folder: Path,
        process: subprocess.Popen[bytes],
        control: int,
        isolation: Isolation,
        *,
        endpoint: Endpoint,
        built: Path | None = None,
        group: Group | None = None,
        scratch: Scratch | None = None,
    ) -> None:
        """Take over a started worker; `control` is our end of the pipe whose closing ends it.

        `built` is the file that says a jail stands whose program does not watch that pipe; `group` limits all of it,
        and `scratch` was laid out for it.
        """
        self.id = folder.name
        self.endpoint = endpoint
        self.isolation = isolation
        self.pid = process.pid
        self.ready = False
        self._adapter = adapter
        self._built = built
        self.group = group
        self._scratch = scratch
        self.folder = folder
        self._process = process
        self._control: int | None = control
        self._ending = Lock()  # invariant: who returns from `destroy` left nothing behind, whoever did the work

    def open(self, database: str, role: Role, pins: Pins) -> Session:
        """Open a session; raises SandboxLostError where the worker is gone."""
        try:
            return self._adapter.connect(self.endpoint, database, role, pins)
        except SessionLostError as error:
            raise SandboxLostError(f"the jailed worker is gone: {self.last_words()}") from error

    def died_of_memory(self) -> bool:
        """Return True where the room that a server may write in was full, or its control group out of memory.

        A process alone that wants too much is refused it, and its session says so itself.
        """
        if self.group is not None and self.group.killed():
            return True
        return self._built is not None and os.strerror(errno.ENOSPC) in self.last_words(_LOG_LINES)

    def kill(self) -> None:
        """Stop the worker and every session at once."""
        # Its group: a jail without namespaces does not end its sessions with it.
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._process.kill()

    def destroy(self) -> None:
        """Stop the worker, wait until it and every process it made are gone, and remove its folder."""
        with self._ending:
            control, self._control = self._control, None
            if control is not None:
                self._end(control)
                os.close(control)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=_END_SECONDS)
            if self.group is not None:
                self.group.remove()
            if self._scratch is not None:
                self._scratch.close()
            remove_folder(self.folder, OWNER)

    def _end(self, control: int) -> None:
        """Tell the worker to end, kill it and wait until it is gone.

        A jail that is still being built is not killed: its outer half would die and leave the inner one behind.
        """
        with contextlib.suppress(OSError):
            os.write(control, b"0")
        if not self.ready:
            self._wait_built(control)
        self.kill()
        _wait_alone(control, _END_SECONDS)

    def _wait_built(self, control: int) -> None:
        """Wait until the jail has ended by itself, or stands where its program does not watch the pipe."""
        until = time.monotonic() + _END_SECONDS
        while time.monotonic() < until and not (self._built is not None and self._built.exists()):
            if _wait_alone(control, _END_SECONDS if self._built is None else _LOOK_SECONDS):
                return

    def stop(self, seconds: float) -> int | None:
        """Tell a supervised server to end, wait that long and return its exit code, None where it did not end."""
        with contextlib.suppress(OSError):
            if self._control is not None:
                os.write(self._control, b"0")
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout=seconds)
        return None

    def running(self) -> bool:
        """Return True while the worker's process lives."""
        return self._process.poll() is None

    def last_words(self, lines_shown: int = 3) -> str:
        """Return the last lines the worker or its jail wrote."""
        try:
            lines = (self.folder / LOG).read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return " | ".join(lines[-lines_shown:]) or f"it ended with {self._process.poll()} and wrote nothing"


def _wait_alone(control: int, seconds: float) -> bool:
    """Wait until nobody holds the other end of the pipe any more: jail, worker and its sessions all inherited it.

    Return False where somebody still does after so many seconds.
    """
    poll = select.poll()
    poll.register(control, 0)  # an error, "no reader is left", is always reported
    return bool(poll.poll(seconds * 1000))


def runs_root(socket_in_it: str = "") -> Path:
    """Return this user's private folder of run folders, on a path short enough for a unix socket of that name in it.

    It lies in the temporary folder, or in /tmp where the socket's path would be too long there.

    Raises:
        InfrastructureError: somebody else owns it, or it cannot be made.
    """
    usual, short = _roots()
    path = usual if len(os.fsencode(usual / socket_in_it)) <= LONGEST_SOCKET else short
    remedy = "Set TMPDIR to a short folder of your own"
    if path.is_symlink():  # in a folder that all may write, a link may lead to anything
        raise InfrastructureError(f"'{path}' is a link, not a folder of ours", remedy=remedy)
    try:
        private_folder(path)
    except InfrastructureError as error:
        raise InfrastructureError(error.message, remedy=remedy) from error
    if not _is_ours(path):
        raise InfrastructureError(f"'{path}' belongs to somebody else", remedy=remedy)
    return path


def _roots() -> tuple[Path, ...]:
    """Return where run folders lie: in the temporary folder, or on a short path."""
    name = f"sqlassay-{os.geteuid()}"
    return Path(tempfile.gettempdir()) / name, Path("/tmp") / f"{name}-short"  # noqa: S108 - ours alone, and proven to be


def _is_ours(root: Path) -> bool:
    """Return True for a folder of run folders that is there and this user's."""
    try:
        found = root.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def new_folder(owner: Owner, socket_name: str = "") -> Path:
    """Create a run folder that says whose it is before anyone can take it for a leftover.

    A server's own socket of that name, or else the folder's, is reached by its path.
    """
    name = owner.run_id[:24]
    root = runs_root(f"{name}-{'r' * 8}/{SOCKET}/{socket_name}".rstrip("/"))
    draft = Path(tempfile.mkdtemp(prefix=".new-", dir=root))
    (draft / OWNER).write_text(json.dumps(owner.labels()), encoding="utf-8")
    return draft.rename(draft.with_name(f"{name}-{draft.name.removeprefix('.new-')}"))


def listen(folder: Path) -> socket.socket:
    """Return a listening socket in the folder; the jail inherits it, so it needs no writable path."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(folder / SOCKET))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def note_worker(sandbox: ProcessSandbox) -> None:
    """Write down which process serves a folder, so that a sweep ends that one and no other.

    Raises:
        InfrastructureError: the folder cannot be written.
    """
    groups = [str(folder) for folder in sandbox.group.folders] if sandbox.group is not None else []
    text = json.dumps({"pid": sandbox.pid, "started": process_start(sandbox.pid), "groups": groups})
    try:
        (sandbox.folder / WORKER).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InfrastructureError(
            f"the run folder cannot be written: {error.strerror}", remedy="Free some space in the temporary folder"
        ) from error


def remove_left_over() -> Iterator[str]:
    """End and remove the sandboxes of dead runs; yield the id of each."""
    for folder in sorted(found for root in _roots() if _is_ours(root) for found in root.iterdir()):
        if _is_dead(folder):
            _end_worker(folder)
            remove_folder(folder, OWNER)
            yield folder.name
    remove_forgotten()


def _is_dead(folder: Path) -> bool:
    """Return True where a folder's run is surely dead, or it was abandoned half made."""
    try:
        if folder.name.startswith(".new-"):
            return time.time() - folder.stat().st_mtime > _DRAFT_SECONDS
        if not any(folder.iterdir()):  # it is named once its owner stands in it, and loses that last of all
            return True
        owner = read(json.loads((folder / OWNER).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return False
    return owner is not None and is_left_over(owner, time.time())


def _end_worker(folder: Path) -> None:
    """Kill the folder's worker, where that process is still the one that was started, and remove its groups."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        worker = json.loads((folder / WORKER).read_text(encoding="utf-8"))
        if worker["started"] is not None and process_start(worker["pid"]) == worker["started"]:
            os.kill(worker["pid"], signal.SIGKILL)
        remove([Path(folder) for folder in worker["groups"]])

"""SQLite in a jailed worker process of this machine: starts in about a tenth of a second, needs no container engine."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from cases.errors import InfrastructureError, SqlassayError
from cases.snapshot import Snapshot
from dialect_adapters.contract import Adapter, Mode, ServerRecipe
from sandboxes.cache import cache_dir
from sandboxes.contract import Isolation, Notice, Sandbox, SnapshotImage
from sandboxes.labels import owner
from sandboxes.locks import RunLock
from sandboxes.process.images import DATA, prepare_image
from sandboxes.process.interpreter import Interpreter, host_interpreter
from sandboxes.process.jail import Jailer, JailSpec, find_jailer
from sandboxes.process.sandbox import (
    LOG,
    ProcessSandbox,
    listen,
    new_folder,
    note_worker,
    remove_left_over,
)

_PROGRAM = "{bin}/python3"
_START_SECONDS = 15.0
_POLL_SECONDS = 0.002
_EXPIRY_HOURS = 24.0
_LIMITS = (
    "a process a statement, killed past its deadline",
    "address space 768 MiB a statement",
    "CPU seconds",
    "no file may be written",
    "no further process",
    "read-only view of interpreter and data",
    "user nobody",
)
_MISSING = ("system call filter (seccomp)", "one memory cap over all sessions (cgroup)")


class ProcessProvider:
    """Runs file-based engines whose server is a Python program, each server in a jail of its own."""

    name = "process"
    needs_engine = False

    def __init__(self) -> None:
        """Start nothing yet."""
        # A jail dies with the thread that spawned it, so all are spawned from one that lives as long as we do.
        self._spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlassay-spawner")
        self._sandboxes: list[ProcessSandbox] = []
        self._locks: dict[str, RunLock] = {}
        self._guard = Lock()  # invariant: every started sandbox is in the list until it is destroyed

    def prepare(self, adapter: Adapter, snapshots: Sequence[Snapshot], notice: Notice) -> SnapshotImage:
        """Return the image for these snapshots: a folder of files in the cache, written once.

        Raises:
            InputError: a snapshot that cannot be loaded.
            InfrastructureError: the engine needs a container, or the files cannot be written.
        """
        _refuse_servers(adapter)
        return prepare_image(adapter, snapshots, host_interpreter(), notice)

    def start(self, adapter: Adapter, image: SnapshotImage, mode: Mode, run_id: str) -> Sandbox:
        """Start one jailed worker and return it once it has answered.

        Raises:
            InfrastructureError: no jail works here, or the worker did not come up.
        """
        _refuse_servers(adapter)
        if mode not in adapter.recipe.serve:
            raise InfrastructureError(
                f"the process sandbox serves no '{mode.value}' mode for {adapter.name}", remedy="Use `--sandbox docker`"
            )
        interpreter = host_interpreter()
        jailer = find_jailer(_spec(adapter.recipe, interpreter, ("-c", "import sqlite3"), None))
        sandbox = self._launch(adapter, image, mode, run_id, interpreter, jailer)
        with self._guard:
            self._sandboxes.append(sandbox)
        try:
            _wait_ready(adapter, sandbox)
        except SqlassayError:
            self._forget(sandbox)
            raise
        return sandbox

    def sweep(self) -> tuple[str, ...]:
        """End and remove the workers of dead runs; return what was removed."""
        return tuple(remove_left_over())

    def close(self) -> None:
        """Destroy every sandbox, let go of the runs' locks and end the spawner."""
        with self._guard:
            sandboxes, self._sandboxes = self._sandboxes, []
            locks, self._locks = self._locks, {}
        for sandbox in sandboxes:
            sandbox.destroy()
        for lock in locks.values():
            lock.release()
        self._spawner.shutdown()

    def _launch(
        self,
        adapter: Adapter,
        image: SnapshotImage,
        mode: Mode,
        run_id: str,
        interpreter: Interpreter,
        jailer: Jailer,
    ) -> ProcessSandbox:
        """Start the worker in its jail with an inherited socket and a pipe whose closing ends it."""
        folder = new_folder(owner(run_id, self._lock(run_id).path, time.time(), hours=_EXPIRY_HOURS))
        reading, writing = os.pipe()
        try:
            with listen(folder) as listener, (folder / LOG).open("wb") as log:
                inherited = ("--listen-fd", str(listener.fileno()), "--control-fd", str(reading), *jailer.user_option)
                arguments = (*adapter.recipe.serve[mode][1:], *inherited)
                command = jailer.command(_spec(adapter.recipe, interpreter, arguments, Path(image.ref) / DATA))
                fds = (listener.fileno(), reading)
                process = self._spawner.submit(_spawn, command, fds, log.fileno()).result()
        except OSError as error:
            os.close(writing)
            shutil.rmtree(folder, ignore_errors=True)
            raise InfrastructureError(f"the jail cannot be started: {error}", remedy="Run `sqlassay doctor`") from error
        finally:
            os.close(reading)
        note_worker(folder, process.pid)
        isolation = Isolation(self.name, jailer.description, "none", _LIMITS, _MISSING)
        return ProcessSandbox(adapter, folder, process, writing, isolation)

    def _lock(self, run_id: str) -> RunLock:
        """Return the lock that says this run lives, taking it once."""
        with self._guard:
            if run_id not in self._locks:
                self._locks[run_id] = RunLock(cache_dir() / "runs", run_id)
            return self._locks[run_id]

    def _forget(self, sandbox: ProcessSandbox) -> None:
        """Destroy a sandbox that did not come up."""
        with self._guard:
            self._sandboxes.remove(sandbox)
        sandbox.destroy()


def _refuse_servers(adapter: Adapter) -> None:
    """Refuse an engine that is a server program: its isolation needs a container."""
    serve = adapter.recipe.serve.get(Mode.READ, ())
    if adapter.recipe.kind != "files" or serve[:1] != (_PROGRAM,):
        raise InfrastructureError(
            f"the process sandbox runs file-based engines only, {adapter.name} is a server",
            remedy="Use `--sandbox docker`",
        )


def _spec(recipe: ServerRecipe, interpreter: Interpreter, arguments: Sequence[str], data: Path | None) -> JailSpec:
    """Return what the jail holds: interpreter, standard library, the recipe's own files and the data."""
    own = tuple((str(host), inside) for host, inside in recipe.extra_files)
    shown = () if data is None else ((str(data), recipe.data_dir),)
    return JailSpec(
        argv=(str(interpreter.program), *(part.replace("{data}", recipe.data_dir) for part in arguments)),
        env=recipe.env,
        paths=(*interpreter.paths, *own, *shown),
        hidden=interpreter.hidden,
    )


def _spawn(command: Sequence[str], fds: Sequence[int], log: int) -> subprocess.Popen[bytes]:
    """Start the jail; runs in the spawner thread."""
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=fds, start_new_session=True
    )


def _wait_ready(adapter: Adapter, sandbox: ProcessSandbox) -> None:
    """Wait for the first real answer.

    Raises:
        InfrastructureError: the worker ended, or did not answer in time.
    """
    until = time.monotonic() + _START_SECONDS
    while sandbox.running() and time.monotonic() < until:
        if adapter.ping(sandbox.endpoint):
            return
        time.sleep(_POLL_SECONDS)
    raise InfrastructureError(
        f"the jailed worker did not come up: {sandbox.last_words()}", remedy="Run `sqlassay doctor`"
    )

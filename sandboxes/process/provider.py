"""SQLite in a jailed worker process of this machine: starts in about a tenth of a second, needs no container engine."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Lock

from cases.errors import InfrastructureError, InputError
from cases.snapshot import Snapshot
from dialect_adapters.contract import Adapter, Mode, ServerRecipe
from sandboxes.cache import cache_dir
from sandboxes.contract import Isolation, Notice, Sandbox, SnapshotImage
from sandboxes.labels import owner
from sandboxes.locks import RunLock
from sandboxes.process.images import image_data, prepare_image
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
_MIB = 1024 * 1024
_LIMITS = (
    "a process a statement, killed past its deadline",
    "address space 768 MiB a statement",
    "CPU seconds",
    "no further process",
    "read-only view of interpreter and data",
    "user nobody",
)
_FILTER = "system call filter (seccomp)"
_MEMORY = "one memory cap over all sessions (cgroup)"


class ProcessProvider:
    """Runs file-based engines whose server is a Python program, each server in a jail of its own."""

    name = "process"
    needs_engine = False

    def __init__(self, *, write_room_mb: int = 256) -> None:
        """Start nothing yet; `write_room_mb` is how much a WRITE sandbox may grow beyond its snapshots."""
        self._room_mb = write_room_mb
        # A jail dies with the thread that spawned it, so all are spawned from one that lives as long as we do.
        self._spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlassay-spawner")
        self._sandboxes: list[ProcessSandbox] = []
        self._locks: dict[str, RunLock] = {}
        self._closed = False
        self._guard = Lock()  # invariant: every started sandbox is in the list until destroyed, none once closed

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
        space = _space(image) + self._room_mb * _MIB if mode is Mode.WRITE else 0
        spec = _spec(adapter.recipe, mode, interpreter, image_data(image), space)
        jailer = find_jailer(_probe(spec))
        with self._guard:  # held over the launch: whoever closes meets a sandbox in the list or none at all
            if self._closed:
                raise InfrastructureError("the run is over: no sandbox is started any more")
            sandbox = self._launch(adapter, spec, jailer, run_id, _isolation(jailer, space))
            self._sandboxes.append(sandbox)
        try:
            note_worker(sandbox)
            _wait_ready(adapter, sandbox)
            sandbox.ready = True
        except BaseException:  # also Ctrl-C: a worker that is not handed out has no owner but us
            self._forget(sandbox)
            raise
        return sandbox

    def sweep(self) -> tuple[str, ...]:
        """End and remove the workers of dead runs; return what was removed."""
        return tuple(remove_left_over())

    def close(self) -> None:
        """Destroy every sandbox, let go of the runs' locks and end the spawner; nothing starts afterwards."""
        with self._guard:
            self._closed = True
            sandboxes, self._sandboxes = self._sandboxes, []
            locks, self._locks = self._locks, {}
        for sandbox in sandboxes:
            sandbox.destroy()
        for lock in locks.values():
            lock.release()
        self._spawner.shutdown()

    def _launch(
        self, adapter: Adapter, spec: JailSpec, jailer: Jailer, run_id: str, isolation: Isolation
    ) -> ProcessSandbox:
        """Start the worker in its jail with an inherited socket and a pipe whose closing ends it."""
        folder = new_folder(owner(run_id, self._lock(run_id).path, time.time(), hours=_EXPIRY_HOURS))
        reading, writing = os.pipe()
        try:
            with listen(folder) as listener, (folder / LOG).open("wb") as log:
                # As standard input, so that every process of the jail holds it: bubblewrap closes other descriptors.
                inherited = ("--listen-fd", str(listener.fileno()), "--control-fd", "0", *jailer.user_option)
                command = jailer.command(replace(spec, argv=(*spec.argv, *inherited)))
                with jailer.opened_filter(command) as (filled, fds):
                    process = self._spawned(filled, reading, log.fileno(), (listener.fileno(), *fds))
        except BaseException as error:  # also Ctrl-C: a worker that is not handed out ends with its pipe
            os.close(writing)
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise InfrastructureError(
                    f"the jail cannot be started: {error.strerror}", remedy="Run `sqlassay doctor`"
                ) from error
            raise
        finally:
            os.close(reading)
        return ProcessSandbox(adapter, folder, process, writing, isolation)

    def _spawned(self, command: Sequence[str], control: int, log: int, fds: Sequence[int]) -> subprocess.Popen[bytes]:
        """Return the jail's process, started in the spawner; one we could not wait for is ended as soon as it is."""
        started = self._spawner.submit(_spawn, command, control, log, fds)
        try:
            return started.result()
        except BaseException:  # an interruption too must end the jail once it is there; raised again
            started.add_done_callback(_end)
            raise

    def _lock(self, run_id: str) -> RunLock:
        """Return the lock that says this run lives, taking it once; called under the guard."""
        if run_id not in self._locks:
            self._locks[run_id] = RunLock(cache_dir() / "runs", run_id)
        return self._locks[run_id]

    def _forget(self, sandbox: ProcessSandbox) -> None:
        """Destroy a sandbox that did not come up, which whoever closed meanwhile may have done already."""
        with self._guard, contextlib.suppress(ValueError):
            self._sandboxes.remove(sandbox)
        sandbox.destroy()


def _refuse_servers(adapter: Adapter) -> None:
    """Refuse an engine that is a server program: its isolation needs a container."""
    serve = adapter.recipe.serve.get(Mode.READ, ())
    if adapter.recipe.kind != "files" or serve[:1] != (_PROGRAM,):
        raise InputError(
            f"the process sandbox runs file-based engines only, {adapter.name} is a server",
            field="--sandbox",
            remedy="Use `--sandbox docker`",
        )


def _spec(recipe: ServerRecipe, mode: Mode, interpreter: Interpreter, data: Path, space: int) -> JailSpec:
    """Return what the jail holds: interpreter, standard library, the recipe's own files, the data and room to write.

    Where there is room to write, the worker serves a copy of the data in it.
    """
    own = tuple((str(host), inside) for host, inside in recipe.extra_files)
    served = f"{recipe.data_dir}-live" if space else recipe.data_dir
    copied = ("--copy-from", recipe.data_dir) if space else ()
    arguments = (part.replace("{data}", served) for part in recipe.serve[mode][1:])
    return JailSpec(
        argv=(str(interpreter.program), *arguments, *copied),
        env=recipe.env,
        paths=(*interpreter.paths, *own, (str(data), recipe.data_dir)),
        hidden=interpreter.hidden,
        writable=((served, space),) if space else (),
    )


def _probe(spec: JailSpec) -> JailSpec:
    """Return the same jail around next to nothing, without data: one answer serves every image."""
    writable = tuple((folder, _MIB) for folder, _ in spec.writable)
    return replace(spec, argv=(spec.argv[0], "-c", "import sqlite3"), paths=spec.paths[:-1], writable=writable)


def _space(image: SnapshotImage) -> int:
    """Return the bytes that a copy of an image's data takes, journals of a change to all of it included."""
    return sum(path.stat().st_size for path in image_data(image).iterdir()) * 2


def _isolation(jailer: Jailer, space: int) -> Isolation:
    """Say how a worker is isolated, and which limits are off here."""
    writing = f"a copy of the data in memory, {space // _MIB} MiB at most" if space else "no file may be written"
    limits = (*_LIMITS, writing, *((_FILTER,) if jailer.filtered else ()))
    missing = (_MEMORY,) if jailer.filtered else (_FILTER, _MEMORY)
    return Isolation(ProcessProvider.name, jailer.description, "none", limits, missing)


def _spawn(command: Sequence[str], control: int, log: int, fds: Sequence[int]) -> subprocess.Popen[bytes]:
    """Start the jail; runs in the spawner thread."""
    return subprocess.Popen(command, stdin=control, stdout=log, stderr=log, pass_fds=fds, start_new_session=True)


def _end(started: Future[subprocess.Popen[bytes]]) -> None:
    """End a jail that was started for somebody who is gone."""
    if not started.cancelled() and started.exception() is None:
        process = started.result()
        process.kill()
        process.wait()


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

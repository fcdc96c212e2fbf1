"""Engines in jailed processes of this machine: started in a blink, and no container engine is needed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from sqlassay.cases.errors import InfrastructureError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Adapter, Endpoint, Mode, ServerRecipe
from sqlassay.sandboxes.cache import cache_dir
from sqlassay.sandboxes.contract import Notice, Sandbox, SnapshotImage
from sqlassay.sandboxes.holds import hold
from sqlassay.sandboxes.images.choice import refuse_image
from sqlassay.sandboxes.labels import owner
from sqlassay.sandboxes.locks import RunLock, remove_free
from sqlassay.sandboxes.process.cgroups import Group, make_group
from sqlassay.sandboxes.process.clusters import prepare_cluster
from sqlassay.sandboxes.process.files import files_jailer, files_plan
from sqlassay.sandboxes.process.images import prepare_image
from sqlassay.sandboxes.process.interpreter import host_interpreter
from sqlassay.sandboxes.process.jail import REDUCED, refuse_elsewhere
from sqlassay.sandboxes.process.library import host_library
from sqlassay.sandboxes.process.plan import Plan
from sqlassay.sandboxes.process.programs import host_programs
from sqlassay.sandboxes.process.reduced import find_reduced, no_server, reduced_plan
from sqlassay.sandboxes.process.sandbox import (
    LOG,
    LONGEST_SOCKET,
    SOCKET,
    ProcessSandbox,
    listen,
    new_folder,
    note_worker,
    remove_left_over,
)
from sqlassay.sandboxes.process.servers import BUILT, find_ground, server_plan
from sqlassay.sandboxes.sockets import close_folder, open_folder

_PROGRAM = "{bin}/python3"
_START_SECONDS = 15.0
_POLL_SECONDS = 0.002
_EXPIRY_HOURS = 24.0


class ProcessProvider:
    """Runs file-based engines by a Python worker, and servers that this machine has; each in a jail of its own."""

    needs_engine = False

    def __init__(self, *, write_room_mb: int = 256, reduced: bool = False) -> None:
        """Start nothing yet; `write_room_mb` is how much a WRITE sandbox may grow beyond its snapshots.

        `reduced` asks for the weaker jail that makes no namespace.
        """
        self.name = REDUCED if reduced else "process"
        self._room_mb = write_room_mb
        self._reduced = reduced
        # A jail dies with the thread that spawned it, so all are spawned from one that lives as long as we do.
        self._spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlassay-spawner")
        self._sandboxes: list[ProcessSandbox] = []
        self._locks: dict[str, RunLock] = {}
        self._uses: list[RunLock] = []
        self._closed = False
        self._guard = Lock()  # invariant: every started sandbox is in the list until destroyed, none once closed

    def prepare(self, adapter: Adapter, snapshots: Sequence[Snapshot], notice: Notice) -> SnapshotImage:
        """Return the image for these snapshots: a folder of files in the cache, written once.

        Raises:
            InputError: a snapshot that cannot be loaded, or an engine that runs in containers alone.
            InfrastructureError: the files cannot be written, or the server's programs are not installed.
        """
        refuse_image(adapter.recipe, snapshots, self.name)
        self.check(adapter.recipe)
        if _is_files(adapter):
            image = prepare_image(adapter, snapshots, host_interpreter(), notice)
        else:
            image = prepare_cluster(adapter, snapshots, self._boot, notice)
        lock = hold(cache_dir(), image.key)  # no collection takes it while this provider is open
        with self._guard:
            self._uses.append(lock)
        return image

    def start(self, adapter: Adapter, image: SnapshotImage, mode: Mode, run_id: str) -> Sandbox:
        """Start one jailed worker or server and return it once it has answered.

        Raises:
            InfrastructureError: no jail works here, or it did not come up.
        """
        planned = reduced_plan if self._reduced else files_plan if _is_files(adapter) else server_plan
        return self._boot(adapter, planned(adapter, image, mode, room_mb=self._room_mb), run_id, {})

    def check(self, recipe: ServerRecipe) -> None:
        """Say whether servers or workers of a recipe can run here, before anything is made for them.

        Raises:
            InputError: the engine runs in containers alone, its package is not installed, or it is no file's.
            InfrastructureError: no jail works here, or the server's programs are not installed.
        """
        refuse_elsewhere(contained=recipe.library is None)
        if recipe.kind != "files":
            if self._reduced:
                raise no_server(recipe)
            host_programs(recipe)
            find_ground()
            return
        if not self._reduced:
            files_jailer(recipe)
            return
        if recipe.library is not None:
            host_library(recipe.library)
        find_reduced(host_interpreter())

    def _boot(self, adapter: Adapter, plan: Plan, run_id: str, files: Mapping[str, bytes]) -> ProcessSandbox:
        """Start what a plan says, with small files beside its socket until it is ready, and return it ready."""
        with self._guard:  # held over the launch: whoever closes meets a sandbox in the list or none at all
            if self._closed:
                raise InfrastructureError("the run is over: no sandbox is started any more")
            sandbox = self._launch(adapter, plan, run_id, files)
            self._sandboxes.append(sandbox)
        try:
            note_worker(sandbox)
            _wait_ready(adapter, sandbox)
            sandbox.ready = True
            for name in files:
                (sandbox.folder / SOCKET / name).unlink(missing_ok=True)
            if plan.serves:
                close_folder(sandbox.folder / SOCKET)
        except BaseException:  # also Ctrl-C: a worker that is not handed out has no owner but us
            self._forget(sandbox)
            raise
        return sandbox

    def sweep(self) -> tuple[str, ...]:
        """End and remove the workers of dead runs; return what was removed."""
        removed = tuple(remove_left_over())
        for path in (cache_dir() / "runs").glob("*.lock"):
            remove_free(path)
        return removed

    def close(self) -> None:
        """Destroy every sandbox, let go of the runs' locks and end the spawner; nothing starts afterwards."""
        with self._guard:
            self._closed = True
            sandboxes, self._sandboxes = self._sandboxes, []
            locks, self._locks = [*self._locks.values(), *self._uses], {}
            self._uses = []
        for sandbox in sandboxes:
            sandbox.destroy()
        for lock in locks:
            lock.release()
        self._spawner.shutdown()

    def _launch(self, adapter: Adapter, plan: Plan, run_id: str, files: Mapping[str, bytes]) -> ProcessSandbox:
        """Start the worker in its jail, with a socket of ours or of its own and a pipe whose closing ends it."""
        owned = owner(run_id, self._lock(run_id).path, time.time(), hours=_EXPIRY_HOURS)
        folder = new_folder(owned, plan.socket if plan.serves else "")
        reading, writing = os.pipe()
        group = None
        try:
            group = _grouped(plan)
            plan, endpoint, built = _laid_out(plan, folder, files)
            with contextlib.ExitStack() as opened:
                log = opened.enter_context((folder / LOG).open("wb"))
                fds: tuple[int, ...] = ()
                if built is None:
                    fds = (opened.enter_context(listen(folder)).fileno(),)
                # As standard input, so that every process of the jail holds it: bubblewrap closes other descriptors.
                inherited = ("--listen-fd", str(fds[0]), "--control-fd", "0") if fds else ()
                command = plan.jailer.command(replace(plan.spec, argv=(*plan.spec.argv, *inherited)))
                filled, filters = opened.enter_context(plan.jailer.opened_filter(command))
                filled = group.joining(filled) if group is not None else filled
                process = self._spawned(filled, reading, log.fileno(), (*fds, *filters))
        except BaseException as error:  # also Ctrl-C: a worker that is not handed out ends with its pipe
            os.close(writing)
            shutil.rmtree(folder, ignore_errors=True)
            if plan.scratch is not None:
                plan.scratch.close()
            if group is not None:
                group.remove()
            if isinstance(error, OSError):
                raise InfrastructureError(
                    f"the jail cannot be started: {error.strerror}", remedy="Run `sqlassay doctor`"
                ) from error
            raise
        finally:
            os.close(reading)
        return ProcessSandbox(
            adapter,
            folder,
            process,
            writing,
            plan.isolation,
            endpoint=endpoint,
            built=built,
            group=group,
            scratch=plan.scratch,
        )

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


def reduced(**options: Any) -> ProcessProvider:
    """Return the provider of the weaker jail; registered as `reduced`."""
    return ProcessProvider(**options, reduced=True)


def _is_files(adapter: Adapter) -> bool:
    """Return True for an engine that a Python worker runs by reading its files."""
    return adapter.recipe.kind == "files" and adapter.recipe.serve.get(Mode.READ, ())[:1] == (_PROGRAM,)


def _grouped(plan: Plan) -> Group | None:
    """Return the control group of a plan that has caps.

    Raises:
        InfrastructureError: it cannot be made now, though one could before: a report must not promise it.
    """
    if plan.caps is None:
        return None
    group = make_group(plan.caps)
    if group is None:
        raise InfrastructureError("no control group could be made for a sandbox", remedy="Run `sqlassay doctor`")
    return group


def _laid_out(plan: Plan, folder: Path, files: Mapping[str, bytes]) -> tuple[Plan, Endpoint, Path | None]:
    """Return the plan with its socket's place in the run folder, where that is, and what says that the jail stands.

    A server makes its socket itself, in a folder that its user may write: it lies behind one that is ours alone.
    """
    if not plan.serves:
        return plan, Endpoint(socket=folder / SOCKET), None
    shared = folder / SOCKET
    if len(os.fsencode(shared / plan.socket)) > LONGEST_SOCKET:
        raise InfrastructureError(
            f"'{folder.parent}' is too long a path for a server's socket", remedy="Set TMPDIR to a shorter folder"
        )
    shared.mkdir()
    open_folder(shared)
    for name, content in files.items():
        (shared / name).write_bytes(content)
        (shared / name).chmod(0o644)
    spec = replace(plan.spec, shared=(*plan.spec.shared, (str(shared), plan.serves)))
    return replace(plan, spec=spec), Endpoint(shared / plan.socket, password=plan.password), shared / BUILT


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

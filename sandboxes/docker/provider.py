"""Sandboxes in containers: prepare an image once, start servers from it, sweep what dead runs left."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Adapter, Mode
from sqlassay.sandboxes import labels
from sqlassay.sandboxes.bake import Bakery, Order, image_key
from sqlassay.sandboxes.cache import cache_dir
from sqlassay.sandboxes.contract import BaseImage, Isolation, Notice, SnapshotImage
from sqlassay.sandboxes.docker import container, limits, networks, outage, runtimes, ryuk, trial
from sqlassay.sandboxes.docker.builder import Bake, Baked, bake
from sqlassay.sandboxes.docker.channel import FOLDER_PREFIX, Channel, Transport, socket_channel
from sqlassay.sandboxes.docker.client import Engine, connect
from sqlassay.sandboxes.docker.sandbox import DockerSandbox
from sqlassay.sandboxes.engine import EnginePolicy, ensure_engine
from sqlassay.sandboxes.holds import hold
from sqlassay.sandboxes.images.base import BaseSource, base_image, inspect
from sqlassay.sandboxes.images.choice import Pull, asked_recipe, refuse_old
from sqlassay.sandboxes.images.debian import DebianBuild
from sqlassay.sandboxes.images.local import LocalSource
from sqlassay.sandboxes.images.lock import ImagesLock
from sqlassay.sandboxes.images.remote import RegistrySource
from sqlassay.sandboxes.locks import RunLock, remove_free
from sqlassay.sandboxes.reaper import is_left_over
from sqlassay.sandboxes.store import Store

_READY_SECONDS = 60
_BAKE_SECONDS = 120  # freezing a large image takes the engine longer than any other answer
_MB = 1024 * 1024
_log = logging.getLogger("sqlassay.docker")


class DockerProvider:
    """Registered as `docker`. One provider per run; safe to use from several threads."""

    name = "docker"
    needs_engine = True

    def __init__(
        self,
        *,
        engine_policy: EnginePolicy = "none",
        pull: Pull = "auto",
        mirrors: Sequence[str] = (),
        images_lock: Path | None = None,
        transport: Transport = "auto",
        cache: Path | None = None,
        expiry_hours: float = 24.0,
        write_room_mb: int = 256,
        runtime: str = "",
    ) -> None:
        """Touch nothing yet.

        `engine_policy` says whether a missing engine may be installed and started; `pull` whether a registry may be
        asked, `mirrors` which ones before the official one, `images_lock` the file that says what its names mean (else
        one in the cache); `write_room_mb` how much a WRITE sandbox may grow beyond its snapshot; `runtime` names
        another container runtime that is installed (runsc, crun); without it gVisor is taken where the engine has it.
        """
        self._policy = engine_policy
        self._pull = pull
        self._mirrors = tuple(mirrors)
        self._transport = transport
        self._cache = cache or cache_dir()
        self._images_lock = ImagesLock(images_lock or self._cache / "images.lock", self._cache / "locks")
        self._hours = expiry_hours
        self._room_mb = write_room_mb
        self._runtime = runtime
        self._tried_runtime = False
        self._guard = threading.Lock()  # guards the seven fields below: nothing starts once `_closed` is set
        self._engine: Engine | None = None
        self._net: dict[str, str] = {}
        self._live: dict[str, DockerSandbox] = {}
        self._locks: dict[str, RunLock] = {}
        self._uses: list[RunLock] = []
        self._networks: dict[str, str] = {}
        self._closed = False

    def prepare(self, adapter: Adapter, snapshots: Sequence[Snapshot], notice: Notice) -> SnapshotImage:
        """Return the image for exactly these snapshots, building base and image once under a lock.

        Raises:
            InputError: the engine has no runtime of the given name, a snapshot cannot be loaded, or the dialect's
                engine is a Python package, which no image holds.
            InfrastructureError: anything of ours.
        """
        if adapter.recipe.library is not None:
            raise InputError(
                f"{adapter.name} runs in no container: its engine is a Python package of this machine",
                field="--sandbox",
                remedy="Use `--sandbox process`",
            )
        ensure_engine(self._policy, notice)
        self._connected()
        engine = connect(timeout=_BAKE_SECONDS)
        runtimes.refuse_unknown(self._runtime, engine.facts)
        if self._shares_sockets(engine):
            runtimes.refuse_without_sockets(self._runtime, engine.facts)
        bakery = Bakery(engine.api, self._cache)
        if brought := bakery.imported(adapter, snapshots):
            self._use(brought.key)
            if bakery.usable(brought.key):
                self._choose_runtime(engine, brought.ref, notice)
                return brought.snapshot_image()
        recipe = asked_recipe(adapter.recipe, snapshots)
        base = base_image(recipe, self._sources(engine, built=recipe is adapter.recipe), notice)
        refuse_old(recipe, recipe.registry_image, base.release)
        self._choose_runtime(engine, base.ref, notice)
        self._use(image_key(base, adapter, snapshots))

        def build(order: Order) -> Baked:
            """Bake this order's image."""
            return self._bake(engine, adapter, base, order, snapshots)

        return bakery.image(adapter, base, snapshots, build, notice).snapshot_image()

    def start(self, adapter: Adapter, image: SnapshotImage, mode: Mode, run_id: str) -> DockerSandbox:
        """Start one isolated server and return it ready; an engine that restarts meanwhile is waited for.

        Raises:
            InfrastructureError: it did not come up.
        """
        try:
            return self._started(adapter, image, mode, run_id)
        except InfrastructureError as error:
            if not outage.is_outage(error.__cause__):
                raise
            _log.warning("the engine does not answer, waiting for it: %s", error)
            if self._closed or not outage.is_over():
                raise
        return self._started(adapter, image, mode, run_id)

    def _started(self, adapter: Adapter, image: SnapshotImage, mode: Mode, run_id: str) -> DockerSandbox:
        """Start one isolated server, once."""
        engine = self._connected()
        store = Store(self._cache)
        store.touch(image.key)
        password = store.password(image.key)
        if not password:
            raise InfrastructureError(f"the catalogue of image {image.ref} is gone", remedy="Run again: it is rebaked")
        self._hold(run_id)
        channel = self._channel(engine, adapter, run_id)
        made = ""
        try:
            plan = self._plan(engine, adapter, image, mode, channel, run_id)
            made = container.create(engine, plan, channel)
            channel.open()
            container.start(engine, made)
            endpoint = channel.endpoint(engine, made, password)
            isolation = _isolation(engine, plan, channel)
            sandbox = DockerSandbox(engine, adapter, made, channel, isolation, endpoint, self._forget)
            self._adopt(sandbox)
            container.wait_ready(engine, made, adapter, endpoint, _READY_SECONDS)
            channel.close()
            sandbox.know_listener()
        except BaseException:  # also Ctrl-C: a container not handed out has no owner but us
            if made:
                container.remove(engine, made)
                self._forget(made)
            channel.remove()
            raise
        return sandbox

    def sweep(self) -> tuple[str, ...]:
        """Remove sandboxes of dead runs and return their run ids."""
        engine = self._connected()
        removed = set()
        for found in engine.api.containers(all=True, filters={"label": labels.RUN}):
            owner = labels.read(found.get("Labels") or {})
            if owner and is_left_over(owner, time.time()) and container.remove(engine, found["Id"]):
                _remove_folder(owner.folder)
                removed.add(owner.run_id)
        removed |= networks.sweep(engine)
        for path in (self._cache / "runs").glob("*.lock"):
            remove_free(path)
        return tuple(sorted(removed))

    def close(self) -> None:
        """Remove every sandbox this provider started, its networks and its run locks; idempotent."""
        with self._guard:
            self._closed = True
            live, held = tuple(self._live.values()), (*self._locks.values(), *self._uses)
            made = tuple(self._networks.values())
            self._locks.clear()
            self._uses.clear()
            self._networks.clear()
        if (live or made) and not outage.answers():
            _log.warning("the engine does not answer: %d sandboxes are left for the next command to remove", len(live))
            live, made = (), ()
        for sandbox in live:
            sandbox.destroy()
        for network in made:
            networks.remove(self._connected(), network)
        for lock in held:
            lock.release()

    def _connected(self) -> Engine:
        """Return the engine, reached on first use."""
        with self._guard:
            if self._engine is None:
                self._engine = connect(timeout=outage.ANSWER_SECONDS)
                self._net = ryuk.guard(self._engine)
            return self._engine

    def _sources(self, engine: Engine, *, built: bool = True) -> tuple[BaseSource, ...]:
        """Return where base images come from, in order; none is built of a version that a pack asks for."""
        may_install = self._policy != "none"
        registry = RegistrySource(self._pull, self._mirrors, self._images_lock)
        local = LocalSource(engine.api, self._images_lock, built=built)
        build = DebianBuild(engine.api, self._cache / "locks", may_install=may_install)
        return (local, registry, build) if built else (local, registry)

    def _bake(
        self, engine: Engine, adapter: Adapter, base: BaseImage, order: Order, snapshots: Sequence[Snapshot]
    ) -> Baked:
        """Bake one image under a run of its own, so that a killed bake is swept like any other left-over."""
        run_id = f"bake-{order.key[:12]}"
        lock = RunLock(self._cache / "runs", run_id)
        channel = self._channel(engine, adapter, run_id)
        try:
            owner = self._owner(run_id, channel)
            work = Bake(engine, adapter, base, order.tag, order.labels, owner, channel, order.password, order.step)
            return bake(work, snapshots)
        finally:
            channel.remove()
            lock.release()

    def _plan(
        self, engine: Engine, adapter: Adapter, image: SnapshotImage, mode: Mode, channel: Channel, run_id: str
    ) -> container.Plan:
        """Return what the container runs: the server, in WRITE mode on a copy of the data in memory."""
        recipe = adapter.recipe
        if mode not in recipe.serve:
            raise InfrastructureError(
                f"{adapter.name} has no server for {mode.value} mode", remedy="Use another dialect"
            )
        space = self._space(engine, adapter, image) if mode is Mode.WRITE else None
        data = space.target if space else recipe.data_dir
        served = container.fill(recipe.serve[mode], recipe, image.base, data)
        argv = (*served, *channel.options())
        if space:
            copy = f'cp -a {space.source}/. {space.target}/ && exec "$@"'
            argv = ("/bin/sh", "-c", copy, "sh", *argv)
        return container.Plan(image.ref, recipe, mode, argv, self._owner(run_id, channel), space, self._runtime)

    def _space(self, engine: Engine, adapter: Adapter, image: SnapshotImage) -> limits.Space:
        """Return the in-memory copy's place and size: what the snapshot added to the base, plus room to write."""
        snapshot, base = inspect(engine.api, image.ref), inspect(engine.api, image.base.ref)
        if snapshot is None:
            raise InfrastructureError(f"the image {image.ref} is gone", remedy="Run again: it is rebaked")
        data = int(snapshot["Size"]) - int(base["Size"] if base else 0)
        recipe = adapter.recipe
        return limits.Space(recipe.data_dir, limits.live_folder(recipe), data * 5 // 4 // _MB + self._room_mb)

    def _owner(self, run_id: str, channel: Channel) -> dict[str, str]:
        """Return the labels of a container this process starts for a run."""
        lock = self._cache / "runs" / f"{run_id}.lock"
        owner = labels.owner(run_id, lock, time.time(), hours=self._hours, folder=str(channel.folder or ""))
        return owner.labels() | self._net

    def _channel(self, engine: Engine, adapter: Adapter, run_id: str) -> Channel:
        """Return a new way in: a socket where this engine shares them, else a port on a network without a way out."""
        if self._shares_sockets(engine):
            return socket_channel(adapter.recipe)
        with self._guard:
            if run_id not in self._networks:
                lock = self._cache / "runs" / f"{run_id}.lock"
                owner = labels.owner(run_id, lock, time.time(), hours=self._hours)
                self._networks[run_id] = networks.create(engine, owner.labels())
            return Channel(adapter.recipe, None, self._networks[run_id], engine.host)

    def _choose_runtime(self, engine: Engine, image: str, notice: Notice) -> None:
        """Take gVisor where nobody named a runtime and it starts a container of this image; tried once."""
        if self._runtime or self._tried_runtime:
            return
        self._tried_runtime = True
        found = runtimes.stronger(engine.facts, sockets=self._shares_sockets(engine))
        if found and (refusal := trial.refusal(engine, found, image)):
            notice(f"runtime: {found} is there and starts no container, so it is not used: {refusal}")
        elif found:
            notice(
                f"runtime: {found}, as it is there; --runtime {runtimes.default(engine.facts)} takes the engine's own"
            )
            self._runtime = found

    def _use(self, key: str) -> None:
        """Keep an image from being collected for as long as this provider is open."""
        lock = hold(self._cache, key)
        with self._guard:
            self._uses.append(lock)

    def _shares_sockets(self, engine: Engine) -> bool:
        """Return whether servers are met at a socket rather than a port."""
        return engine.shares_sockets if self._transport == "auto" else self._transport == "socket"

    def _hold(self, run_id: str) -> None:
        """Say that this run lives, from before its first sandbox on."""
        with self._guard:
            if run_id not in self._locks and not self._closed:
                self._locks[run_id] = RunLock(self._cache / "runs", run_id)

    def _adopt(self, sandbox: DockerSandbox) -> None:
        """Keep a sandbox to remove at the end; refuse it where the end has come."""
        with self._guard:
            if self._closed:
                raise InfrastructureError("the run is over: no sandbox is started any more")
            self._live[sandbox.id] = sandbox

    def _forget(self, made: str) -> None:
        """Drop a sandbox that is gone."""
        with self._guard:
            self._live.pop(made, None)


def _isolation(engine: Engine, plan: container.Plan, channel: Channel) -> Isolation:
    """Say how a container is isolated and which limits this engine leaves off."""
    facts = engine.facts
    method = f"container ({plan.runtime or runtimes.default(facts) or 'default runtime'})"
    method += ", rootless engine" if runtimes.is_rootless(facts) else ""
    limited = limits.described(plan.recipe, plan.mode, plan.space)
    return Isolation(DockerProvider.name, method, channel.describe, limited, limits.missing(facts))


def _remove_folder(name: str) -> None:
    """Remove a dead run's socket folder, only where it is one of ours by its place and name."""
    folder = Path(name)
    roots = {Path(tempfile.gettempdir()), Path("/tmp")}  # noqa: S108 - compared, not written
    if name and folder.parent in roots and folder.name.startswith(FOLDER_PREFIX):
        shutil.rmtree(folder, ignore_errors=True)

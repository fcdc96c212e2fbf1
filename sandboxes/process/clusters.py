"""Images of servers: the engine makes its data folder in a jail, snapshots are loaded, and it is stopped cleanly."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.errors import InfrastructureError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Adapter, Mode
from sqlassay.sandboxes.contract import BaseImage, Notice, SnapshotImage
from sqlassay.sandboxes.loader import loader_digest
from sqlassay.sandboxes.process.images import stored_image
from sqlassay.sandboxes.process.jail import NOBODY
from sqlassay.sandboxes.process.plan import Plan
from sqlassay.sandboxes.process.programs import Programs, host_programs
from sqlassay.sandboxes.process.sandbox import ProcessSandbox
from sqlassay.sandboxes.process.seal import DATA, FORMAT
from sqlassay.sandboxes.process.servers import PASSWORD, Ground, build_plan, find_ground, server_argv
from sqlassay.sandboxes.store import new_password

_USERS = "users"
_STOP_SECONDS = 120.0
_BUILDER_VERSION = 1

Boot: TypeAlias = Callable[[Adapter, Plan, str, dict[str, bytes]], ProcessSandbox]
"""Starts what a plan says under a run's id, with small files beside its socket, and returns it ready."""


def prepare_cluster(adapter: Adapter, snapshots: Sequence[Snapshot], boot: Boot, notice: Notice) -> SnapshotImage:
    """Return the image of a server's data folder, made under a lock where no run has made it before.

    Raises:
        InputError: a snapshot that cannot be loaded, or an engine that runs in containers alone.
        InfrastructureError: no programs or no jail here, or the server failed.
    """
    programs = host_programs(adapter.recipe)
    ground = find_ground()
    key = _key(adapter, snapshots, programs, ground)
    password = new_password()

    def write(draft: Path) -> tuple[Catalog, ...]:
        """Make, load and stop a server on the draft's data folder."""
        notice(f"loading the snapshots into a data folder for {adapter.name}, about {3 + len(snapshots)} s")
        data = draft / DATA
        data.mkdir()
        data.chmod(0o700)  # as it is written: a folder that hands on its group would give the files another one
        if os.geteuid() == 0:
            os.chown(data, ground.owner, NOBODY if ground.jailer.as_root else os.getegid())
        users = draft / _USERS
        users.write_text(f"nobody:x:{NOBODY}:{NOBODY}::/:/\n", encoding="utf-8")
        users.chmod(0o644)
        plan = build_plan(adapter.recipe, programs, ground, data, password)
        return _filled(adapter, snapshots, plan, users, boot, f"bake-{key[:12]}")

    base = BaseImage(
        ref=f"host/{adapter.name}:{programs.version}",
        digest=programs.digest,
        bin_dir=programs.bin_dir,
        uid=NOBODY,
        version=programs.version,
        source="host",
    )
    return stored_image(adapter, base, key, snapshots, write, password)


def _key(adapter: Adapter, snapshots: Sequence[Snapshot], programs: Programs, ground: Ground) -> str:
    """Return the key of all that decides the data folder: snapshots in any order, engine, options, code and owner."""
    recipe = adapter.recipe
    content = sorted((snapshot.id, snapshot.database, snapshot.digest) for snapshot in snapshots)
    options = [recipe.init, server_argv(recipe, Mode.BUILD, programs), server_argv(recipe, Mode.READ, programs)]
    code = [recipe.builder_version, _BUILDER_VERSION, loader_digest(adapter)]
    parts = [FORMAT, adapter.name, code, programs.digest, ground.owner, options, content]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _filled(
    adapter: Adapter, snapshots: Sequence[Snapshot], plan: Plan, users: Path, boot: Boot, run_id: str
) -> tuple[Catalog, ...]:
    """Start the server, load, and make sure that it ended by itself: a killed one would recover at every boot."""
    sandbox = boot(adapter, plan.showing(users, "/etc/passwd"), run_id, {PASSWORD: plan.password.encode()})
    try:
        catalogs = adapter.load(sandbox.endpoint, snapshots)
        adapter.shutdown(sandbox.endpoint)
        code = sandbox.stop(_STOP_SECONDS)
        if code != 0:
            raise InfrastructureError(
                f"the {adapter.name} server ended with {code} after loading: {sandbox.last_words()}",
                remedy="Run `sqlassay doctor`",
            )
        return catalogs
    finally:
        sandbox.destroy()

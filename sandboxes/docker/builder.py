"""Load snapshots into a base image and freeze the result as a new image."""

from __future__ import annotations

import io
import os
import posixpath
import shlex
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from docker.errors import DockerException
from requests import RequestException

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.errors import InfrastructureError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Adapter, Endpoint, Mode, ServerRecipe
from sqlassay.sandboxes.contract import BaseImage
from sqlassay.sandboxes.docker import container
from sqlassay.sandboxes.docker.channel import Channel
from sqlassay.sandboxes.docker.client import Engine
from sqlassay.sandboxes.docker.limits import live_folder
from sqlassay.sandboxes.scratch import Scratch
from sqlassay.sandboxes.steps import Step, Unloads

_BOOT_SECONDS = 180
_STOP_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Bake:
    """One image to make: from which base or earlier image, under which name and labels, with which secret."""

    engine: Engine
    adapter: Adapter
    base: BaseImage
    tag: str
    labels: Mapping[str, str]
    owner: Mapping[str, str]
    channel: Channel
    password: str
    step: Step | None = None


@dataclass(frozen=True, slots=True)
class Baked:
    """The id of the new image and what its databases hold."""

    image_id: str
    catalogs: tuple[Catalog, ...]


def bake(work: Bake, snapshots: Sequence[Snapshot]) -> Baked:
    """Make the image.

    Raises:
        InputError: a snapshot cannot be loaded.
        InfrastructureError: the engine or the server failed.
    """
    try:
        if work.step is not None:
            return _named(_change_server(work, work.step, snapshots), snapshots)
        made = _bake_server if work.adapter.recipe.kind == "server" else _bake_files
        return _named(made(work, snapshots), snapshots)
    except (DockerException, RequestException) as fault:
        raise InfrastructureError(
            f"baking the {work.adapter.name} image failed: {container.reason(fault)}",
            remedy=container.remedy(container.reason(fault)),
        ) from fault


def _named(baked: Baked, snapshots: Sequence[Snapshot]) -> Baked:
    """Return what was baked with the image that a snapshot asks for among its catalogue's settings."""
    asked = {snapshot.id: snapshot for snapshot in snapshots}
    catalogs = []
    for catalog in baked.catalogs:
        image = asked[catalog.snapshot].settings_for(catalog.dialect).image
        catalogs.append(catalog.model_copy(update={"settings": catalog.settings.model_copy(update={"image": image})}))
    return Baked(baked.image_id, tuple(catalogs))


def _bake_server(work: Bake, snapshots: Sequence[Snapshot]) -> Baked:
    """Initialise and start the server, let the adapter load, stop it cleanly, commit."""
    recipe = work.adapter.recipe
    serve = _serve(work, Mode.BUILD, recipe.data_dir)
    steps = [shlex.join(container.fill(argv, recipe, work.base, recipe.data_dir)) for argv in recipe.init]
    steps.append(f": > {container.password_file(recipe)}")
    script = " && ".join([*steps, f"exec {shlex.join((*serve, *work.channel.options()))}"])
    with _created(work, ("/bin/sh", "-c", script)) as made:
        secret = (container.password_file(recipe), work.password.encode())
        _copy_in(work.engine, made, recipe, [secret])
        endpoint = _booted(work, made)
        catalogs = work.adapter.load(endpoint, snapshots)
        work.adapter.shutdown(endpoint)
        _stop(work, made)
        return Baked(_commit(work, made), catalogs)


def _change_server(work: Bake, step: Step, snapshots: Sequence[Snapshot]) -> Baked:
    """Start an earlier image's server, drop and load what changed, stop it cleanly, commit."""
    adapter = work.adapter
    if not isinstance(adapter, Unloads):
        raise InfrastructureError(f"{adapter.name} images cannot be changed", remedy="Bake from the base")
    argv = (*_serve(work, Mode.BUILD, adapter.recipe.data_dir), *work.channel.options())
    with _created(work, argv, step.image.ref) as made:
        endpoint = _booted(work, made)
        adapter.unload(endpoint, step.dropped)
        fresh = adapter.load(endpoint, step.added) if step.added else ()
        adapter.shutdown(endpoint)
        _stop(work, made)
        image = _commit(work, made)
    catalogs = {catalog.snapshot: catalog for catalog in (*fresh, *_renewed(work, image, step.kept))}
    return Baked(image, tuple(catalogs[snapshot.id] for snapshot in snapshots))


def _renewed(work: Bake, image: str, kept: Sequence[Catalog]) -> list[Catalog]:
    """Return the catalogues of what stayed with digests taken anew: they cover the logins, the whole server's.

    A server started for it alone is asked: to read a file, an engine may open it to write, and the layer would grow.
    """
    argv = (*_serve(work, Mode.READ, work.adapter.recipe.data_dir), *work.channel.options())
    with _created(work, argv, image) as made:
        endpoint = _booted(work, made)
        return [
            catalog.model_copy(update={"state_digest": work.adapter.state_digest(endpoint, catalog.database)})
            for catalog in kept
        ]


def _booted(work: Bake, made: str) -> Endpoint:
    """Start a build container and return its server's endpoint once it answers."""
    work.channel.open()
    container.start(work.engine, made)
    endpoint = work.channel.endpoint(work.engine, made, work.password)
    container.wait_ready(work.engine, made, work.adapter, endpoint, _BOOT_SECONDS)
    work.channel.close()
    return endpoint


@runtime_checkable
class _Tells(Protocol):
    """An adapter of files whose engine lives in the image: only the started server knows its version."""

    def engine_version(self, endpoint: Endpoint) -> str:
        """Return the version of the engine that answers at this endpoint."""
        ...


def _bake_files(work: Bake, snapshots: Sequence[Snapshot]) -> Baked:
    """Let the adapter write its files on the host, copy them in, and ask the server once which engine reads them."""
    recipe = work.adapter.recipe
    with Scratch("files") as folder:
        catalogs = work.adapter.load(Endpoint(folder, password=work.password), snapshots)
        files = [(posixpath.join(recipe.data_dir, path.name), path) for path in sorted(folder.iterdir())]
        with _created(work, (*_serve(work, Mode.READ, recipe.data_dir), *work.channel.options())) as made:
            _copy_in(work.engine, made, recipe, files)
            return Baked(_commit(work, made), _told(work, made, catalogs))


def _told(work: Bake, made: str, catalogs: tuple[Catalog, ...]) -> tuple[Catalog, ...]:
    """Return the catalogues with the version the container's own engine says; the image is committed before."""
    adapter = work.adapter
    if not isinstance(adapter, _Tells):
        return catalogs
    endpoint = _booted(work, made)
    version = adapter.engine_version(endpoint)
    container.kill(work.engine, made)
    return tuple(catalog.model_copy(update={"engine_version": version}) for catalog in catalogs)


def _serve(work: Bake, mode: Mode, data: str) -> tuple[str, ...]:
    """Return the server's argv for a mode."""
    recipe = work.adapter.recipe
    return container.fill(recipe.serve[mode], recipe, work.base, data)


@contextmanager
def _created(work: Bake, argv: tuple[str, ...], image: str = "") -> Iterator[str]:
    """Create the build container, from the base where no image is named; remove it in the end, whatever happens."""
    plan = container.Plan(image or work.base.ref, work.adapter.recipe, Mode.BUILD, argv, work.owner)
    made = container.create(work.engine, plan, work.channel)
    try:
        yield made
    finally:
        container.remove(work.engine, made)


def _stop(work: Bake, made: str) -> None:
    """Stop the server and make sure that it ended by itself: a killed one would recover at every boot."""
    work.engine.api.stop(made, timeout=_STOP_SECONDS)
    code = work.engine.inspect(made)["State"]["ExitCode"]
    if code != 0:
        lines = container.last_lines(work.engine, made)
        raise InfrastructureError(
            f"the {work.adapter.name} server ended with {code} after loading: {lines}", remedy="Run `sqlassay doctor`"
        )


def _commit(work: Bake, made: str) -> str:
    """Freeze the container under its tag with the READ server as its program and return the image's id."""
    recipe = work.adapter.recipe
    argv = _serve(work, Mode.READ, recipe.data_dir)
    repository, _, tag = work.tag.rpartition(":")
    # A commit keeps what it is not told to change: base entrypoints, build labels.
    labels = dict.fromkeys(work.owner, "") | dict(work.labels)
    conf = {
        "Entrypoint": [argv[0]],
        "Cmd": list(argv[1:]),
        "User": f"{recipe.uid}:{recipe.uid}",
        "Labels": labels,
    }
    made_image = work.engine.api.commit(made, repository=repository, tag=tag, conf=conf)
    return str(made_image["Id"])


def _copy_in(engine: Engine, made: str, recipe: ServerRecipe, files: Sequence[tuple[str, bytes | Path]]) -> None:
    """Copy the folders a server needs, the recipe's own files and `files` into a container not yet started."""
    with tempfile.TemporaryFile() as stream:
        with tarfile.open(fileobj=stream, mode="w") as archive:
            # A server owns its data folder; files baked for a worker belong to root, so that it cannot write them.
            owner = recipe.uid if recipe.kind == "server" else 0
            socket = posixpath.dirname(recipe.socket)
            for folder in _folders(recipe):
                archive.addfile(_entry(folder, recipe.uid if folder == socket else owner, 0o755, tarfile.DIRTYPE))
            for source, inside in recipe.extra_files:
                _add(archive, inside, source, 0, 0o644)
            for inside, content in files:
                _add(archive, inside, content, owner, 0o644 if isinstance(content, Path) else 0o600)
        stream.seek(0)
        if not engine.api.put_archive(made, "/", stream):
            raise InfrastructureError("the engine did not take the files of an image", remedy="Run `sqlassay doctor`")


def _folders(recipe: ServerRecipe) -> tuple[str, ...]:
    """Return the folders a container must own: around the data, for its live copy and for the socket."""
    around = posixpath.dirname(recipe.data_dir) if recipe.kind == "server" else recipe.data_dir
    return (around, live_folder(recipe), posixpath.dirname(recipe.socket))


def _add(archive: tarfile.TarFile, inside: str, content: bytes | Path, uid: int, mode: int) -> None:
    """Add one file from memory or from the host."""
    entry = _entry(inside, uid, mode, tarfile.REGTYPE)
    if isinstance(content, bytes):
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
        return
    with content.open("rb") as source:
        entry.size = os.fstat(source.fileno()).st_size
        archive.addfile(entry, source)


def _entry(path: str, uid: int, mode: int, kind: bytes) -> tarfile.TarInfo:
    """Return an archive entry with a numeric owner."""
    entry = tarfile.TarInfo(path.lstrip("/"))
    entry.uid = entry.gid = uid
    entry.mode, entry.type = mode, kind
    return entry

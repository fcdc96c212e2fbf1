"""A real registry on this machine: the first pull is written to the lock, and nothing else is accepted after."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.dialect_adapters.contract import Mode, ServerRecipe
from sqlassay.dialect_adapters.postgres.adapter import PostgresAdapter
from sqlassay.dialect_adapters.postgres.recipe import RECIPE
from sqlassay.harness.cli.main import _run
from sqlassay.sandboxes.cache import cache_dir
from sqlassay.sandboxes.contract import BaseImage
from sqlassay.sandboxes.docker.client import Engine
from sqlassay.sandboxes.docker.provider import DockerProvider
from sqlassay.sandboxes.images.base import Refusal, base_image
from sqlassay.sandboxes.images.local import LocalSource
from sqlassay.sandboxes.images.lock import ImagesLock
from sqlassay.sandboxes.images.remote import RegistrySource

pytestmark = pytest.mark.docker

NAME = "sqlassay-test/official-postgres:17"
PROGRAM = shutil.which("docker-registry")
WAIT_SECONDS = 20


def _quiet(line: str) -> None:
    """Take a phase line and say nothing."""


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Debian's registry with a store of its own, on a port of its own; its address."""
    if PROGRAM is None:
        pytest.skip("docker-registry is not installed (apt-get install docker-registry)")
    folder = tmp_path_factory.mktemp("registry")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    config = {
        "version": 0.1,
        "log": {"level": "error", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "store")}},
        "http": {"addr": address},
    }
    (folder / "config.yml").write_text(json.dumps(config))
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen([PROGRAM, "serve", str(folder / "config.yml")], stdout=log, stderr=log)
    try:
        _wait(address, running, folder / "log")
        yield address
    finally:
        running.terminate()
        running.wait(timeout=WAIT_SECONDS)


def _wait(address: str, running: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the registry answers."""
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until and running.poll() is None:
        try:
            with urllib.request.urlopen(f"http://{address}/v2/", timeout=2):
                return
        except OSError:
            time.sleep(0.05)
    pytest.fail(f"the registry does not answer: {log.read_text()[-500:]}")


def _push(engine: Engine, ref: str, mark: str) -> str:
    """Push our Postgres base under a name of the registry, marked in a label and a file; return its digest."""
    base = base_image(RECIPE, [LocalSource(engine.api), *DockerProvider()._sources(engine)[1:]], _quiet)
    text = f"FROM {base.ref}\nLABEL mark={mark}\nWORKDIR /mark-{mark}\n"
    for line in engine.api.build(fileobj=io.BytesIO(text.encode()), tag=ref, rm=True, decode=True):
        assert "error" not in line, line
    repository, _, tag = ref.rpartition(":")
    digest = ""
    for event in engine.api.push(repository, tag=tag, stream=True, decode=True):
        assert "error" not in event, event
        digest = (event.get("aux") or {}).get("Digest", digest)
    return str(digest)


def _forget(engine: Engine, *names: str) -> None:
    """Remove every image of these names, whatever else it is called."""
    for name in names:
        for image in engine.api.images(name):
            engine.api.remove_image(image["Id"], force=True)


@pytest.fixture
def pushed(engine: Engine, registry: str) -> Iterator[str]:
    """The official image's digest in the registry; the engine itself has it no more."""
    digest = _push(engine, f"{registry}/{NAME}", "one")
    _forget(engine, f"{registry}/{NAME}")
    yield digest
    _forget(engine, f"{registry}/{NAME}", f"{registry}/{NAME.partition(':')[0]}", NAME)


@pytest.fixture
def lock(tmp_path: Path) -> ImagesLock:
    """A lock file that does not exist yet."""
    return ImagesLock(tmp_path / "images.lock", tmp_path / "locks")


def _recipe() -> ServerRecipe:
    """Return the Postgres recipe whose official image is the one pushed above; no base of ours was built for it."""
    return replace(RECIPE, registry_image=NAME, user_name="official")


class OnOfficial(PostgresAdapter):
    """Postgres whose official image comes from the registry."""

    @property
    def recipe(self) -> ServerRecipe:
        return _recipe()


def test_the_first_pull_is_locked_and_serves(engine: Engine, registry: str, pushed: str, tmp_path: Path) -> None:
    """The provider pulls through the mirror, writes the digest down, bakes on it, and asks nobody the second time."""
    provider = DockerProvider(cache=tmp_path, mirrors=["127.0.0.1:9", registry], images_lock=tmp_path / "images.lock")
    table = TableDef("t", (ColumnDef("n", Kind.INT),))
    snapshots = [Snapshot(id="s", database="shop", digest="registry", tables=(table,))]
    try:
        image = provider.prepare(OnOfficial(), snapshots, _quiet)
        assert (image.base.ref, image.base.source) == (NAME, "registry")
        written = json.loads((tmp_path / "images.lock").read_text())
        assert written["images"][NAME]["digest"] == pushed
        assert list(written["images"][NAME]["content"].values()) == [image.base.digest]
        assert (tmp_path / "images.lock").stat().st_mode & 0o777 == 0o644
        sandbox = provider.start(OnOfficial(), image, Mode.READ, "tests-registry")
        assert OnOfficial().ping(sandbox.endpoint)
        said: list[str] = []
        assert provider.prepare(OnOfficial(), snapshots, said.append).ref == image.ref
        assert said == []
    finally:
        provider.close()
        for found in engine.api.images(filters={"label": f"io.sqlassay.cache={tmp_path}"}):
            engine.api.remove_image(found["Id"], force=True)


def test_a_moved_tag_is_refused(engine: Engine, registry: str, pushed: str, lock: ImagesLock) -> None:
    """Both digests, the file and the remedy are named; nothing is pulled; without the entry the new one is taken."""
    source = RegistrySource("auto", [registry], lock)
    assert isinstance(source.find(_recipe(), _quiet), BaseImage)
    _forget(engine, NAME)
    moved = _push(engine, f"{registry}/{NAME}", "two")
    _forget(engine, f"{registry}/{NAME}")
    assert moved != pushed
    with pytest.raises(InputError) as caught:
        source.find(_recipe(), _quiet)
    assert f"{NAME} is locked to {pushed}, but the registry's {registry}/{NAME} is {moved}" in str(caught.value)
    assert str(lock.path) in str(caught.value)
    assert "take the entry out of the file" in caught.value.remedy
    assert engine.api.images(NAME) == []
    lock.path.unlink()
    assert isinstance(source.find(_recipe(), _quiet), BaseImage)
    entry = lock.entry(NAME)
    assert entry is not None
    assert entry.digest == moved


def test_a_local_image_is_held_to_the_lock_too(engine: Engine, registry: str, pushed: str, lock: ImagesLock) -> None:
    """Another image under the official name is refused; the locked one passes even where it was loaded from a file."""
    assert isinstance(RegistrySource("auto", [registry], lock).find(_recipe(), _quiet), BaseImage)
    local = LocalSource(engine.api, lock)
    assert isinstance(local.find(_recipe(), _quiet), BaseImage)
    saved = b"".join(engine.api.get_image(NAME))
    _forget(engine, NAME)
    assert local.find(_recipe(), _quiet) == Refusal(f"the engine has no {NAME}, which the lock file names")
    assert not [event for event in engine.api.load_image(saved) if "error" in event]
    assert isinstance(local.find(_recipe(), _quiet), BaseImage)
    _forget(engine, NAME)
    _push(engine, f"{registry}/{NAME}", "three")
    engine.api.tag(f"{registry}/{NAME}", *NAME.split(":"))
    with pytest.raises(InputError, match=f"is locked to {pushed}, but the engine's image is sha256:"):
        local.find(_recipe(), _quiet)


def test_a_locked_image_that_cannot_be_had_is_no_other(lock: ImagesLock, registry: str, pushed: str) -> None:
    """No build of ours takes the place of an image the lock names; the error says what each registry said."""
    RegistrySource("auto", [registry], lock).find(_recipe(), _quiet)
    with pytest.raises(InfrastructureError, match=rf"locks {NAME} to {pushed}, which cannot be had: pulling is sw"):
        RegistrySource("never", [], lock).find(_recipe(), _quiet)
    said = r"127\.0\.0\.1:9/sqlassay-test/official-postgres:17 \(nothing listens there\); the registry does not give sq"
    with pytest.raises(InfrastructureError, match=said):
        RegistrySource("auto", ["127.0.0.1:9"], lock).find(_recipe(), _quiet)


def test_an_image_the_registry_lacks_is_named(registry: str) -> None:
    """The registry answers and has no such image."""
    answer = RegistrySource("auto", [registry]).find(replace(RECIPE, registry_image="sqlassay-test/none:1"), _quiet)
    assert isinstance(answer, Refusal)
    assert f"the registry does not give {registry}/sqlassay-test/none:1 (it has no such image)" in answer.reason


def test_an_image_that_is_not_signed_as_the_lock_says_is_not_pulled(
    engine: Engine, registry: str, pushed: str, lock: ImagesLock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cosign is asked about the very digest that is pulled; what it refuses is in no engine and no lock file after."""
    (tmp_path / "cosign.pub").write_text("a key")
    lock.path.write_text('{"format": 1, "signer": {"key": "cosign.pub"}}')
    tool = tmp_path / "bin" / "cosign"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\necho no matching signatures >&2\nexit 1\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    source = RegistrySource("auto", [registry], lock)
    with pytest.raises(InputError, match="is not signed by the key cosign.pub: no matching signatures"):
        source.find(_recipe(), _quiet)
    exact = f"{registry}/{NAME.partition(':')[0]}@{pushed}"
    assert (tmp_path / "asked").read_text() == f"verify --key {tmp_path}/cosign.pub {exact}\n"
    assert engine.api.images(NAME) == []
    assert lock.entry(NAME) is None
    tool.write_text("#!/bin/sh\nexit 0\n")
    assert isinstance(source.find(_recipe(), _quiet), BaseImage)
    entry = lock.entry(NAME)
    assert entry is not None
    assert entry.signed == "the key cosign.pub"
    assert isinstance(LocalSource(engine.api, lock).find(_recipe(), _quiet), BaseImage)
    lock.path.write_text(lock.path.read_text().replace('"signed": "the key cosign.pub"', '"signed": ""'))
    unchecked = LocalSource(engine.api, lock).find(_recipe(), _quiet)
    assert unchecked == Refusal(f"nobody checked that the engine's {NAME} is signed by the key cosign.pub")


def test_a_pack_s_own_image_is_pulled_and_serves(
    engine: Engine,
    registry: str,
    pushed: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`settings.postgres.image` is pulled through the mirror and locked; every report names image and version."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(Path("cases/packs/demo"), tmp_path / "pack")
    header = tmp_path / "pack" / "pack.yaml"
    settings = f"    settings:\n      postgres: {{image: {NAME}}}\n"
    header.write_text(header.read_text().replace("    data: data\n", f"    data: data\n{settings}"))
    command = ["run", str(tmp_path / "pack"), "--dialect", "postgres", "--limit", "2", "--jobs", "1"]
    options = ["--mirror", registry, "--images-lock", str(tmp_path / "images.lock"), "--out", str(tmp_path / "out")]
    try:
        assert _run([*command, *options]) == 0
        assert f"image {NAME}" in " ".join(capsys.readouterr().out.split())  # however wide the terminal is
        manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
        assert manifest["base_image"] == NAME
        assert json.loads((tmp_path / "images.lock").read_text())["images"][NAME]["digest"] == pushed
    finally:
        for found in engine.api.images(filters={"label": f"io.sqlassay.cache={cache_dir()}"}):
            engine.api.remove_image(found["Id"], force=True)

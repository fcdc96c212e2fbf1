"""A bundle moves images to another machine, and is refused whole where a byte of it is not what was exported."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.relation import Kind, Row
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.dialect_adapters import registry
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role
from sqlassay.sandboxes.docker.client import Engine
from sqlassay.sandboxes.docker.provider import DockerProvider
from sqlassay.sandboxes.inventory import images
from sqlassay.sandboxes.process.images import image_data, prepare_image
from sqlassay.sandboxes.process.interpreter import Interpreter, host_interpreter
from sqlassay.sandboxes.transfer import chosen, export, take_in


class Three:
    """Three rows of one number each."""

    def rows(self, table: str) -> Iterator[Row]:
        yield from ((1,), (2,), (3,))


TABLE = TableDef("t", (ColumnDef("n", Kind.INT),))
SNAPSHOTS = [Snapshot(id=name, database=f"db_{name}", digest=name, tables=(TABLE,), source=Three()) for name in "ab"]


def _quiet(line: str) -> None:
    """Take a phase line and say nothing."""


def _never(line: str) -> None:
    """Fail: nothing may be built."""
    pytest.fail(line)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function that moves to another machine's cache and gives its folder."""

    def move(name: str) -> Path:
        """Use the cache of that name from now on."""
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
        return tmp_path / name / "sqlassay"

    return move


@pytest.fixture
def bundle(machine: Callable[[str], Path], tmp_path: Path) -> Path:
    """A bundle of one SQLite image of two databases; the test goes on at another machine."""
    machine("here")
    prepare_image(registry.adapter("sqlite"), SNAPSHOTS, host_interpreter(), _quiet)
    export(tmp_path / "bundle.zip", chosen(()))
    machine("there")
    return tmp_path / "bundle.zip"


def _older(found: Interpreter) -> Interpreter:
    """Return another machine's interpreter."""
    return Interpreter(found.program, "3.11.0", "3.1.0", found.paths, found.hidden)


def test_files_move_to_a_machine_with_another_library(bundle: Path) -> None:
    """The image is found there by its content, though Python and SQLite differ, and nothing is built."""
    moved = take_in(bundle)
    (line,) = images()
    assert (line.ref, line.databases, line.imported) == (moved.refs[0], 2, True)
    image = prepare_image(registry.adapter("sqlite"), SNAPSHOTS, _older(host_interpreter()), _never)
    assert image.ref == moved.refs[0]
    assert sorted(path.name for path in image_data(image).iterdir()) == ["db_a.sqlite", "db_b.sqlite"]
    assert image.catalog("b").tables[0].rows == 3
    assert {path.stat().st_mode & 0o777 for path in image_data(image).iterdir()} == {0o444}


def test_a_bundle_taken_in_twice_is_one_image(bundle: Path) -> None:
    """What is here stays as it is."""
    assert take_in(bundle).refs == take_in(bundle).refs
    assert len(images()) == 1


def test_a_bundle_is_for_its_owner_alone(bundle: Path) -> None:
    """It holds the secrets of the images."""
    assert bundle.stat().st_mode & 0o777 == 0o600


def test_the_digest_tells_bundles_apart(bundle: Path) -> None:
    """With the digest that was printed, only that bundle is taken."""
    with pytest.raises(InputError, match=r"the bundle's digest is sha256:[0-9a-f]{64}, not sha256:00"):
        take_in(bundle, "sha256:00")
    assert images() == ()
    moved = take_in(bundle)
    assert take_in(bundle, moved.digest).digest == moved.digest


def _rewritten(bundle: Path, change: Callable[[str, bytes], bytes | None], extra: str = "") -> None:
    """Write the bundle again, each member changed (None leaves it out)."""
    with zipfile.ZipFile(bundle) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(bundle, "w") as archive:
        for name, data in members:
            if (changed := change(name, data)) is not None:
                archive.writestr(name, changed)
        if extra:
            archive.writestr(extra, b"x")


def _manifest(**values: object) -> Callable[[str, bytes], bytes]:
    """Return a change of the manifest's own fields."""
    return lambda name, data: json.dumps(json.loads(data) | values).encode() if name == "manifest.json" else data


def _first_image(**values: object) -> Callable[[str, bytes], bytes]:
    """Return a change of what the manifest says of its first image."""

    def change(name: str, data: bytes) -> bytes:
        """Change the manifest alone."""
        if name != "manifest.json":
            return data
        manifest = json.loads(data)
        manifest["images"][0] |= values
        return json.dumps(manifest).encode()

    return change


@pytest.mark.parametrize(
    ("change", "extra", "said"),
    [
        (lambda name, data: data[:-1] + b"?" if name.endswith("db_a.sqlite") else data, "", "is not what was exported"),
        (lambda name, data: data + b"?" if name.endswith("db_a.sqlite") else data, "", "is not what was exported"),
        (lambda name, data: data.replace(b"db_a", b"db_c") if "catalog" in name else data, "", "is not what was exp"),
        (lambda name, data: None if name.endswith("db_b.sqlite") else data, "", "other files than its manifest names"),
        (lambda name, data: data, "images/0/data/../../x", "other files than its manifest names"),
        (lambda name, data: None if name == "manifest.json" else data, "", "this is no bundle: it has no manifest"),
        (lambda name, data: b"{" if name == "manifest.json" else data, "", "the manifest is damaged"),
        (_manifest(format=2), "", "has format 2, this version reads 1"),
        (_manifest(more=1), "", "the manifest is damaged: Extra inputs"),
        (_first_image(family="0" * 64), "", "is another image's"),
        (_first_image(key="../../x"), "", "is damaged"),
        (_first_image(dialect="oracle"), "", "oracle"),
    ],
)  # fmt: skip
def test_a_tampered_bundle_is_refused_whole(
    bundle: Path, change: Callable[[str, bytes], bytes | None], extra: str, said: str
) -> None:
    """The error names the bundle and what is wrong, and nothing of it is here afterwards."""
    _rewritten(bundle, change, extra)
    with pytest.raises(InputError, match=said):
        take_in(bundle)
    assert images() == ()


def test_what_is_read_whole_has_a_limit(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest or catalogue that would fill the memory is refused; what is streamed has no limit."""
    monkeypatch.setattr("sqlassay.sandboxes.bundle._LARGEST_TEXT", 300)
    with pytest.raises(InputError, match="larger than any"):
        take_in(bundle)


def test_a_bundle_of_other_code_is_refused(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run of this version would use its images, and the error says which version made them."""
    monkeypatch.setattr("sqlassay.sandboxes.process.bundled.loaded_by", lambda _: "other")
    with pytest.raises(InputError, match=r"was made by sqlassay \d.* no run would use it"):
        take_in(bundle)


def test_images_of_no_use_elsewhere_are_left_out_of_an_export_of_all(
    machine: Callable[[str], Path], tmp_path: Path
) -> None:
    """One image of earlier code, or bound to its machine, costs the others neither export nor import; it is named."""
    cache = machine("here")
    prepare_image(registry.adapter("sqlite"), SNAPSHOTS, host_interpreter(), _quiet)
    good = chosen(())
    for name, field, value in (("earlier", "loaded_by", "other"), ("bound", "portable", None)):
        folder = good[0].folder.with_name(name)
        shutil.copytree(good[0].folder, folder)
        stored = json.loads((folder / "catalog.json").read_text())
        (folder / "catalog.json").write_text(json.dumps({**stored, field: value, "ref": f"process/sqlite:{name}"}))
    said: list[str] = []
    lines = chosen((), notice=said.append)
    assert [line.ref for line in lines] == [good[0].ref]
    assert sorted(said) == [
        "process/sqlite:bound is left out: it suits only the programs of this machine",
        "process/sqlite:earlier is left out: other code made it",
    ]
    export(tmp_path / "all.zip", lines)
    machine("there")
    assert take_in(tmp_path / "all.zip").refs == (good[0].ref,)
    shutil.rmtree(good[0].folder)
    with pytest.raises(InputError, match="no image here is of use on another machine"):
        chosen((), cache)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and no more", b"plain text"])
def test_what_is_no_bundle_is_refused(content: bytes, tmp_path: Path) -> None:
    """Another file, or one that was cut."""
    path = tmp_path / "x.zip"
    path.write_bytes(content)
    with pytest.raises(InputError, match="this is no bundle"):
        take_in(path)


def test_a_cut_or_missing_file_is_refused(bundle: Path, tmp_path: Path) -> None:
    """A copy that broke off has no end, and a file that is not there cannot be read."""
    bundle.write_bytes(bundle.read_bytes()[:-100])
    with pytest.raises(InputError, match="this is no bundle"):
        take_in(bundle)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        take_in(tmp_path / "none.zip")


def test_an_export_overwrites_nothing_and_leaves_nothing_half(
    machine: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that exists is refused; a failed export leaves no file."""
    machine("here")
    image = prepare_image(registry.adapter("sqlite"), SNAPSHOTS, host_interpreter(), _quiet)
    target = tmp_path / "out" / "b.zip"
    with pytest.raises(InputError, match="cannot be written: No such file"):
        export(target, chosen(()))
    target.parent.mkdir()
    (image_data(image) / "db_b.sqlite").unlink()
    (image_data(image) / "db_b.sqlite").symlink_to(tmp_path / "gone")
    with pytest.raises(InfrastructureError):
        export(target, chosen(()))
    assert list(target.parent.iterdir()) == []
    target.write_text("mine")
    with pytest.raises(InputError, match="the file exists"):
        export(target, chosen(()))
    assert target.read_text() == "mine"


def test_images_are_named_by_the_beginning_of_their_names(machine: Callable[[str], Path]) -> None:
    """One that begins several names, or none, is refused; without images there is nothing to export."""
    machine("here")
    with pytest.raises(InputError, match="there is no image on this machine"):
        chosen(())
    for count in (1, 2):
        prepare_image(registry.adapter("sqlite"), SNAPSHOTS[:count], host_interpreter(), _quiet)
    first, second = chosen(())
    assert chosen([first.ref[:-20]]) == (first,)
    assert chosen([first.ref, first.ref]) == (first,)
    assert {*chosen([second.ref, first.ref])} == {first, second}
    with pytest.raises(InputError, match="begins the names of 2 images"):
        chosen(["process/"])
    for wrong in ("other", ""):
        with pytest.raises(InputError, match="is no image here"):
            chosen([wrong])


@pytest.mark.docker
@pytest.mark.parametrize("dialect", ["postgres", "mysql", "sqlite"])
def test_an_image_of_the_engine_moves_to_another_machine(
    engine: Engine, machine: Callable[[str], Path], tmp_path: Path, dialect: str
) -> None:
    """With another cache, and the image gone from the engine, a run takes the imported one and reads its rows."""
    adapter = registry.adapter(dialect)
    here = DockerProvider(cache=machine("here"))
    image = here.prepare(adapter, SNAPSHOTS, _quiet)
    here.close()
    moved = export(tmp_path / "bundle.zip", chosen(()))
    engine.api.remove_image(image.ref)
    there = DockerProvider(cache=machine("there"), pull="never")
    try:
        assert take_in(tmp_path / "bundle.zip", moved.digest).refs == (image.ref,)
        found = there.prepare(adapter, SNAPSHOTS, _never)
        assert (found.ref, found.catalogs) == (image.ref, image.catalogs)
        sandbox = there.start(adapter, found, Mode.READ, "tests-bundle")
        session = sandbox.open("db_b", Role.READER, Pins())
        session.begin_read(Limits())
        assert session.fetch("SELECT sum(n) FROM t", Limits()).rows[0][0] == 6
        session.close()
        assert adapter.state_digest(sandbox.endpoint, "db_a") == image.catalog("a").state_digest
    finally:
        there.close()
        engine.api.remove_image(image.ref, force=True)


@pytest.mark.docker
def test_a_bundle_cannot_take_another_image_s_name(
    engine: Engine, machine: Callable[[str], Path], tmp_path: Path
) -> None:
    """A saved image that would also become `postgres:17` is refused before the engine sees it."""
    machine("here")
    here = DockerProvider(cache=machine("here"))
    image = here.prepare(registry.adapter("sqlite"), SNAPSHOTS, _quiet)
    here.close()
    stolen = "sqlassay-test/stolen:1"
    engine.api.tag(image.ref, "sqlassay-test/stolen", "1")
    real = engine.api.get_image
    try:
        export(tmp_path / "good.zip", chosen(()))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("docker.api.client.APIClient.get_image", lambda self, ref: real(stolen))
            export(tmp_path / "bad.zip", chosen(()))
        engine.api.remove_image(stolen)
        engine.api.remove_image(image.ref)
        machine("there")
        with pytest.raises(InputError, match=f"carries other names than {image.ref}"):
            take_in(tmp_path / "bad.zip")
        assert engine.api.images(stolen) == []
        assert take_in(tmp_path / "good.zip").refs == (image.ref,)
    finally:
        for ref in (stolen, image.ref):
            for found in engine.api.images(ref):
                engine.api.remove_image(found["Id"], force=True)

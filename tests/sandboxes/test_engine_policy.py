"""An engine is brought up only where policy, machine and person allow it; otherwise one line says what to do."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sqlassay.cases.errors import EngineUnavailableError, InputError
from sqlassay.sandboxes import apt, engine
from sqlassay.sandboxes.registry import names, provider

DOWN = EngineUnavailableError("no container engine answers at unix:///x", remedy="Start it")


class Terminal(io.StringIO):
    """An input that says it is a person."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A Debian machine without an engine, as root, no terminal; the list records what would be done."""
    done: list[str] = []
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.delenv("MAKELEVEL", raising=False)
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(engine, "_unavailable", lambda: None if "start" in done else DOWN)
    monkeypatch.setattr(engine, "_start", lambda log: done.append("start"))
    monkeypatch.setattr(engine, "_running_daemon", lambda: None)
    monkeypatch.setattr(engine, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(apt, "install", lambda packages: done.extend(packages))
    monkeypatch.setattr(apt, "is_debian_like", lambda: True)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return done


def test_auto_installs_and_starts_where_nobody_can_be_asked(bare: list[str]) -> None:
    """A bare machine without a terminal gets its engine, and is told so."""
    said: list[str] = []
    engine.ensure_engine("auto", said.append)
    assert bare == ["docker.io", "iptables", "mmdebstrap", "start"]
    assert [line.split()[0] for line in said] == ["installing", "starting", "the"]


@pytest.mark.parametrize(("name", "value", "started"), [("MAKELEVEL", "1", True), ("CI", "1", True), ("CI", "", False)])
def test_without_a_terminal_only_ci_and_make_change_a_machine(
    bare: list[str], monkeypatch: pytest.MonkeyPatch, name: str, value: str, *, started: bool
) -> None:
    """A script of root's that did not ask for an engine gets none installed: the error says how to ask."""
    monkeypatch.delenv("CI")
    monkeypatch.setenv(name, value)
    if started:
        engine.ensure_engine("auto", lambda line: None)
    else:
        with pytest.raises(EngineUnavailableError) as caught:
            engine.ensure_engine("auto", lambda line: None)
        assert caught.value.remedy == "Run `make engine ENGINE=auto`, or answer on a terminal"
    assert ("start" in bare) is started


def test_an_engine_that_answers_is_left_alone(bare: list[str]) -> None:
    """Nothing is installed, started or said."""
    bare.append("start")
    said: list[str] = []
    engine.ensure_engine("auto", said.append)
    assert (bare, said) == (["start"], [])


def test_a_second_daemon_is_never_started(bare: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a dockerd runs but does not answer yet it is waited for: another one would remove its network."""
    monkeypatch.setattr(engine, "_running_daemon", lambda: 4711)
    monkeypatch.setattr(engine, "_START_SECONDS", 0)
    with pytest.raises(EngineUnavailableError, match="did not answer"):
        engine.ensure_engine("auto", lambda line: None)
    assert "start" not in bare


@pytest.mark.parametrize(("answer", "started"), [("y\n", True), ("yes\n", True), ("n\n", False), ("", False)])
def test_a_person_is_asked_first(bare: list[str], monkeypatch: pytest.MonkeyPatch, answer: str, started: bool) -> None:
    """On a terminal no root daemon is installed or started without a yes."""
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    if started:
        engine.ensure_engine("auto", lambda line: None)
    else:
        with pytest.raises(EngineUnavailableError):
            engine.ensure_engine("auto", lambda line: None)
    assert ("start" in bare) is started


@pytest.mark.parametrize("policy", ["none", "ask"])
def test_without_permission_nothing_changes(bare: list[str], policy: engine.EnginePolicy) -> None:
    """`none` never acts, `ask` needs somebody to ask."""
    with pytest.raises(EngineUnavailableError) as caught:
        engine.ensure_engine(policy, lambda line: None)
    assert bare == []
    assert "\n" not in str(caught.value)


def test_only_root_may_start_a_daemon(bare: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user is told to run `make engine` as root."""
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(EngineUnavailableError, match="as root"):
        engine.ensure_engine("auto", lambda line: None)
    assert bare == []


def test_an_engine_named_by_docker_host_is_never_replaced() -> None:
    """DOCKER_HOST pointing nowhere is one line and exit code 3, and nothing is started."""
    done = subprocess.run(
        [sys.executable, "-m", "sqlassay.sandboxes.engine", "auto"],
        env={"DOCKER_HOST": "tcp://127.0.0.1:9", "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        "no container engine answers at tcp://127.0.0.1:9. Start that engine, or unset DOCKER_HOST"
    ]


def test_an_unknown_policy_is_bad_input() -> None:
    """A mistyped ENGINE= ends with exit code 2."""
    command = [sys.executable, "-m", "sqlassay.sandboxes.engine", "maybe"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 2


def test_providers_are_found_by_name() -> None:
    """Ours are registered as a stranger's are, and a wrong name lists what is installed."""
    assert {"docker", "process"} <= set(names())
    assert provider("docker").name == "docker"
    with pytest.raises(InputError, match="docker, process"):
        provider("teleport")


def test_pid_files_of_killed_daemons_are_dropped(tmp_path: Path) -> None:
    """A pid file whose process is gone or is another program goes; the one of a living daemon stays."""
    from sqlassay.sandboxes.engine import _drop_stale_pids

    mine = Path("/proc/self/comm").read_text("utf-8").strip()
    files = {tmp_path / name: mine for name in ("living", "gone", "another", "junk", "absent")}
    (tmp_path / "living").write_text(str(os.getpid()))
    (tmp_path / "gone").write_text("999999999")
    (tmp_path / "another").write_text("1")
    (tmp_path / "junk").write_text("no number")
    _drop_stale_pids(files)
    assert [path.name for path in tmp_path.iterdir()] == ["living"]

"""A private piece of this machine to break things on: own cache and temporary folder, a pack, an agent that logs.

Everything that a command started here leaves behind carries this place's path, so leaks are found by it although
others use the same engine at the same time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import docker

ROWS = 40
CASES = {
    "sum": ("SELECT SUM(a) FROM t", "SELECT SUM(a) FROM t"),
    "all": ("SELECT a, b FROM t ORDER BY a", "SELECT a, b FROM t ORDER BY a"),
    "count": ("SELECT COUNT(*) FROM t WHERE a > 10", "SELECT COUNT(*) FROM t WHERE a > 11"),
    "names": ("SELECT b FROM t WHERE a < 5", "SELECT b FROM t WHERE a < 5"),
    "typo": ("SELECT MAX(a) FROM t", "SELECT MAX(aa) FROM t"),
    "drop": ("SELECT MIN(a) FROM t", "DROP TABLE t"),
    "group": ("SELECT b, COUNT(*) FROM t GROUP BY b", "SELECT b, COUNT(*) FROM t GROUP BY b"),
    "silent": ("SELECT 1", None),
    "wide": ("SELECT x.a, y.a FROM t x JOIN t y ON x.a = y.a", "SELECT x.a, y.a FROM t x JOIN t y ON x.a = y.a"),
    "avg": ("SELECT AVG(a) FROM t", "SELECT AVG(a) FROM t"),
}
"""Case, its gold in every dialect, and what the agent answers."""

VERDICTS = {
    "sum": "match",
    "all": "match",
    "count": "mismatch",
    "names": "match",
    "typo": "error",
    "drop": "blocked",
    "group": "match",
    "silent": "no_prediction",
    "wide": "match",
    "avg": "match",
}

_AGENT = """
import json, os, time

ANSWERS = {answers!r}

def answer(request):
    with open({log!r}, "a") as log:
        log.write(json.dumps([request.case_id, request.trial]) + "\\n")
    time.sleep(float(os.environ.get("CHAOS_ASK", "0.02")))
    return {{"sql": ANSWERS[request.case_id]}}
"""


@dataclass
class Ground:
    """The place: `home` holds everything; `env` is what commands started here see."""

    home: Path
    shared: Path | None = None
    answers: dict[str, str | None] = field(default_factory=lambda: {name: sql for name, (_, sql) in CASES.items()})

    def __post_init__(self) -> None:
        """Write pack and agent."""
        self.home = self.home.resolve()
        for folder in (self.cache, self.temporary, self.pack):
            folder.mkdir(parents=True, exist_ok=True)
        insert = ", ".join(f"({i}, 'n{i % 7}')" for i in range(ROWS))
        self.write("pack/s.sql", f"CREATE TABLE t(a INTEGER, b VARCHAR(20)); INSERT INTO t VALUES {insert};")
        dialects = ("sqlite", "postgres", "mysql", "mariadb", "duckdb")
        header = {
            "format": 1,
            "name": "ground",
            "snapshots": {"s": {"scripts": {dialect: ["s.sql"] for dialect in dialects}}},
            "cases": ["cases.jsonl"],
        }
        self.write("pack/pack.yaml", json.dumps(header))
        cases = [
            {"id": name, "question": f"{name}?", "snapshot": "s", "gold": dict.fromkeys(dialects, gold)}
            for name, (gold, _) in CASES.items()
        ]
        self.write("pack/cases.jsonl", "".join(json.dumps(case) + "\n" for case in cases))
        self.write("agent.py", _AGENT.format(answers=self.answers, log=str(self.log)))

    @property
    def pack(self) -> Path:
        """Return the pack's folder."""
        return self.home / "pack"

    @property
    def cache(self) -> Path:
        """Return what XDG_CACHE_HOME is here: a folder of its own, or one that several places share."""
        return self.shared or self.home / "cache"

    @property
    def temporary(self) -> Path:
        """Return what TMPDIR is here."""
        return self.home / "tmp"

    @property
    def log(self) -> Path:
        """Return the file the agent writes a line in whenever it is asked."""
        return self.home / "asked.jsonl"

    def write(self, name: str, text: str) -> Path:
        """Write a file here."""
        path = self.home / name
        path.write_text(text, encoding="utf-8")
        return path

    def asked(self) -> list[tuple[str, int]]:
        """Return the case and trial of every call of the agent so far."""
        if not self.log.exists():
            return []
        return [tuple(json.loads(line)) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def env(self, **more: str) -> dict[str, str]:
        """Return the environment of commands started here."""
        own = {"XDG_CACHE_HOME": str(self.cache), "TMPDIR": str(self.temporary), "CHAOS_GROUND": str(self.home)}
        return {**os.environ, **own, **more}

    def command(self, *arguments: str) -> list[str]:
        """Return a command line of sqlassay."""
        return [sys.executable, "-m", "sqlassay.harness.cli", *arguments]

    def run_arguments(self, name: str, dialect: str, *more: str) -> list[str]:
        """Return the arguments of a run into the folder `name`."""
        agent = f"{self.home}/agent.py:answer"
        return ["run", str(self.pack), "--dialect", dialect, "--agent", agent, "--out", str(self.home / name), *more]

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """Start a command and return at once; what it prints goes to a file that `said` reads."""
        log = (self.home / "said").open("a")
        with log:
            return subprocess.Popen(
                self.command(*arguments),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                text=True,
                cwd=self.home,
                env=self.env(**env),
            )

    def said(self) -> str:
        """Return what started commands printed."""
        path = self.home / "said"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def call(self, *arguments: str, timeout: float = 120, **env: str) -> tuple[int, str]:
        """Run a command to its end and return its exit code with what it printed."""
        done = subprocess.run(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            cwd=self.home,
            env=self.env(**env),
        )
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        return done.returncode, done.stderr + done.stdout

    def journalled(self, name: str) -> list[tuple[str, int]]:
        """Return the results in a run's journal, whole lines only."""
        path = self.home / name / "journal.jsonl"
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        values = [json.loads(line) for line in lines]
        return [(v["result"]["case_id"], v["result"]["trial"]) for v in values if "result" in v]

    def verdicts(self, name: str) -> dict[str, str]:
        """Return each case's verdict in a finished run."""
        text = (self.home / name / "results.jsonl").read_text(encoding="utf-8")
        return {value["case_id"]: value["verdict"] for value in map(json.loads, text.splitlines())}

    def containers(self) -> list[str]:
        """Return the ids of this place's containers, in whatever state."""
        with Engine() as api:
            found = api.containers(all=True, filters={"label": "io.sqlassay.lock"})
            return [c["Id"] for c in found if c["Labels"]["io.sqlassay.lock"].startswith(str(self.cache))]

    def images(self) -> list[str]:
        """Return the ids of the images baked here."""
        with Engine() as api:
            return [i["Id"] for i in api.images(filters={"label": f"io.sqlassay.cache={self.cache}/sqlassay"})]

    def leaks(self) -> list[str]:
        """Return a line for everything that is left of commands that have ended."""
        left = [f"process {line}" for line in self.processes()]
        left += [f"file {path.relative_to(self.home)}" for path in self._temporary()]
        mounts = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
        left += [f"mount {line}" for line in mounts if str(self.home) in line and "keep-" not in line]
        left += [f"lock {path.name}" for path in (self.cache / "sqlassay" / "runs").glob("*.lock")]
        with suppress(docker.errors.DockerException):
            left += [f"container {made[:12]}" for made in self.containers()]
            with Engine() as api:
                nets = api.networks(filters={"label": "io.sqlassay.lock"})
                mine = [n for n in nets if n["Labels"]["io.sqlassay.lock"].startswith(str(self.cache))]
                left += [f"network {net['Name']}" for net in mine]
        return left

    def _temporary(self) -> Iterator[Path]:
        """Yield what stands in the temporary folder; a user's own empty folder of runs may stay."""
        for path in self.temporary.iterdir():
            if path.name != f"sqlassay-{os.geteuid()}":
                yield path
            else:
                yield from path.iterdir()

    def processes(self) -> list[str]:
        """Return the living processes that carry this place's path, in environment, command line or mounts."""
        marker, found = str(self.home).encode(), []
        for entry in Path("/proc").glob("[0-9]*"):
            if int(entry.name) == os.getpid():
                continue
            with suppress(OSError):
                if (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z":
                    continue
                line = (entry / "cmdline").read_bytes()
                if marker in line + (entry / "environ").read_bytes() + (entry / "mountinfo").read_bytes():
                    found.append(f"{entry.name} {line.replace(bytes(1), b' ').decode(errors='replace')[:120]}")
        return found

    def settled(self, seconds: float = 10) -> list[str]:
        """Return the leaks that are still there after a while: the kernel needs a moment to end what was killed."""
        wait_for(lambda: not self.leaks(), seconds)
        return self.leaks()

    def clear(self) -> None:
        """Remove what a broken test left on the engine, and the images baked here."""
        with suppress(docker.errors.DockerException), Engine() as api:
            for made in self.containers():
                with suppress(docker.errors.APIError):
                    api.remove_container(made, force=True, v=True)
            for image in self.images():
                with suppress(docker.errors.APIError):
                    api.remove_image(image, force=True)


class Engine:
    """The engine's client, never by way of a proxy."""

    def __enter__(self) -> docker.APIClient:
        """Connect."""
        self._api = docker.APIClient(base_url="unix:///var/run/docker.sock", version="auto", timeout=60)
        return self._api

    def __exit__(self, *_: object) -> None:
        """Let go."""
        self._api.close()


def wait_for(there: Callable[[], bool], seconds: float) -> bool:
    """Return True as soon as something is so, False where it is not in time."""
    until = time.monotonic() + seconds
    while not there():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True

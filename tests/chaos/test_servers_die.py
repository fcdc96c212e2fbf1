"""A server that is killed, starved or stopped in the middle of a run costs time, never a verdict."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import docker
import pytest
from chaos_ground import VERDICTS, Engine, Ground, wait_for
from docker.errors import APIError

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def running(ground: Ground, dialect: str, *more: str) -> subprocess.Popen[str]:
    """Return a run that has two results."""
    made = ground.start(*ground.run_arguments("run", dialect, "--jobs", "1", *more), CHAOS_ASK="0.3")
    assert wait_for(lambda: len(ground.journalled("run")) >= 2 or made.poll() is not None, 90), ground.said()
    assert made.poll() is None, ground.said()
    return made


def ends_well(ground: Ground, made: subprocess.Popen[str]) -> None:
    """See that the run ends as an undisturbed one: every verdict is right and nothing is left."""
    assert made.wait(timeout=90) == 0, ground.said()
    assert ground.verdicts("run") == VERDICTS
    assert ground.settled() == []


def kill_server(ground: Ground) -> None:
    """Kill -9 the server process inside each of the run's sandboxes."""
    with Engine() as api:
        pids = [api.inspect_container(made)["State"]["Pid"] for made in ground.containers()]
    assert any(pids)
    for pid in filter(None, pids):
        os.kill(pid, signal.SIGKILL)


def kill_backends(ground: Ground) -> None:
    """Kill -9 every process of the sandboxes but the first, as the kernel does when memory is short."""
    with Engine() as api:
        for made in ground.containers():
            first = api.inspect_container(made)["State"]["Pid"]
            for row in api.top(made)["Processes"]:
                if int(row[1]) != first:
                    with suppress(ProcessLookupError):
                        os.kill(int(row[1]), signal.SIGKILL)


def kill_container(ground: Ground) -> None:
    """`docker kill`."""
    with Engine() as api:
        for made in ground.containers():
            api.kill(made)


def remove_container(ground: Ground) -> None:
    """`docker rm -f`."""
    with Engine() as api:
        for made in ground.containers():
            api.remove_container(made, force=True)


@pytest.mark.parametrize("fault", [kill_server, kill_backends, kill_container, remove_container])
def test_a_killed_server_costs_no_verdict(postgres: Ground, fault: Callable[[Ground], None]) -> None:
    """Server, backends or container killed or removed: a fresh one takes over, innocent statements run again."""
    made = running(postgres, "postgres")
    fault(postgres)
    ends_well(postgres, made)


def test_a_killed_jail_costs_no_verdict(ground: Ground) -> None:
    """The jailed worker of SQLite killed from outside: the same."""
    made = running(ground, "sqlite")
    workers = list((ground.temporary / f"sqlassay-{os.geteuid()}").glob("*/worker.json"))
    assert workers
    for worker in workers:
        os.kill(json.loads(worker.read_text(encoding="utf-8"))["pid"], signal.SIGKILL)
    ends_well(ground, made)


def test_a_killed_mysql_server_costs_no_verdict(ground: Ground) -> None:
    """The same on MySQL: its server killed in the middle of a run, a fresh one takes over."""
    made = running(ground, "mysql")
    kill_server(ground)
    ends_well(ground, made)


def test_a_killed_jailed_postgres_costs_no_verdict(ground: Ground) -> None:
    """The same on a Postgres of this machine in a jail: every process of it killed from outside."""
    made = running(ground, "postgres", "--sandbox", "process")
    if "is not installed" in ground.said():
        pytest.skip("no Postgres of this machine can be jailed")
    folder = str(ground.temporary / f"sqlassay-{os.geteuid()}")
    workers = [json.loads(path.read_text(encoding="utf-8"))["pid"] for path in Path(folder).glob("*/worker.json")]
    assert workers
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    ends_well(ground, made)


def test_a_statement_that_ignores_its_cancellation_is_a_timeout(postgres: Ground) -> None:
    """A stopped server answers no cancel: past the deadline it is killed, the statement a timeout, the rest goes on."""
    answers = {**postgres.answers, "wide": "SELECT COUNT(*) FROM t x, t y, t z, t u, t v, t w"}
    agent = (postgres.home / "agent.py").read_text(encoding="utf-8")
    postgres.write("agent.py", agent.replace(repr(postgres.answers), repr(answers)))
    made = postgres.start(*postgres.run_arguments("run", "postgres", "--jobs", "1", "--timeout", "3"), CHAOS_ASK="0.05")
    assert wait_for(lambda: ("wide", 0) in postgres.asked() or made.poll() is not None, 90), postgres.said()
    time.sleep(0.6)
    with Engine() as api:
        for container in postgres.containers():
            for row in api.top(container)["Processes"]:
                with suppress(ProcessLookupError):
                    os.kill(int(row[1]), signal.SIGSTOP)
    assert made.wait(timeout=90) == 0, postgres.said()
    assert postgres.verdicts("run") == VERDICTS | {"wide": "timeout"}
    assert postgres.settled() == []


def reader_ticks(api: docker.APIClient, container: str) -> dict[int, int]:
    """Return the CPU ticks that each login of a reader has used in a Postgres server."""
    found: dict[int, int] = {}
    with suppress(APIError):  # the container is gone meanwhile
        for row in api.top(container)["Processes"]:
            with suppress(OSError):  # the process is
                if Path(f"/proc/{row[1]}/cmdline").read_bytes().startswith(b"postgres: reader"):
                    fields = Path(f"/proc/{row[1]}/stat").read_text().rpartition(")")[2].split()
                    found[int(row[1])] = int(fields[11]) + int(fields[12])
    return found


def test_a_server_that_stands_still_under_a_statement_costs_no_verdict(postgres: Ground) -> None:
    """`docker pause` inside a statement: its cancel is not heeded, and a fresh server gives the answer."""
    series = "generate_series(1, 8000) AS g(n) CROSS JOIN generate_series(1, 5000) AS h(n)"
    long = f"SELECT SUM(a) FROM t CROSS JOIN (SELECT COUNT(*) FROM {series}) AS k"
    answers = {**postgres.answers, "sum": long}
    agent = (postgres.home / "agent.py").read_text(encoding="utf-8")
    postgres.write("agent.py", agent.replace(repr(postgres.answers), repr(answers)))
    made = postgres.start(
        *postgres.run_arguments("run", "postgres", "--jobs", "1", "--timeout", "20"), CHAOS_ASK="0.05"
    )
    assert wait_for(lambda: ("sum", 0) in postgres.asked() or made.poll() is not None, 90), postgres.said()
    with Engine() as api:
        first: dict[int, int] = {}

        def at_work() -> list[str]:
            """Return the servers in which a reader uses CPU time as the long statement alone does."""
            return [
                name
                for name in postgres.containers()
                if any(used - first.setdefault(pid, used) > 15 for pid, used in reader_ticks(api, name).items())
            ]

        assert wait_for(lambda: at_work() != [], 30), postgres.said()
        for container in at_work():
            api.pause(container)
    time.sleep(0.5)  # long enough for an answer that came before the pause to be written
    assert ("sum", 0) not in postgres.journalled("run"), "the statement was over when the server was paused"
    assert made.wait(timeout=120) == 0, postgres.said()
    assert "did not heed its cancellation" in postgres.said()
    assert postgres.verdicts("run") == VERDICTS
    assert postgres.settled() == []


def test_exhausted_connections_cost_no_verdict(postgres: Ground) -> None:
    """All connections taken by somebody else: the server is given up, a fresh one takes over."""
    from sqlassay.dialect_adapters.contract import Endpoint, Pins, Role
    from sqlassay.dialect_adapters.registry import adapter

    made = running(postgres, "postgres")
    spoken, held = adapter("postgres"), []
    key = next((postgres.cache / "sqlassay" / "images").iterdir())
    password = (key / "secret").read_text(encoding="utf-8")
    with Engine() as api:
        folders = [api.inspect_container(c)["Config"]["Labels"]["io.sqlassay.folder"] for c in postgres.containers()]
    for folder in folders:
        endpoint = Endpoint(Path(folder) / "s" / ".s.PGSQL.5432", password=password)
        with suppress(Exception):
            for _ in range(200):
                held.append(spoken.connect(endpoint, "s", Role.READER, Pins()))
    assert held
    try:
        ends_well(postgres, made)
    finally:
        for session in held:
            with suppress(Exception):
                session.close()


def test_a_prediction_that_takes_all_memory_costs_itself(postgres: Ground) -> None:
    """Statements past their sandbox's memory and past its disk are resource limits; the others keep their verdicts."""
    sorted_on_disk = "SELECT COUNT(DISTINCT REPEAT(x.b || y.b || z.b, 3000) || z.a) FROM t x, t y, t z"
    killed_by_kernel = "SELECT LENGTH(STRING_AGG(REPEAT(x.b, 1000000), '')) FROM t x, t y"
    answers = {**postgres.answers, "group": sorted_on_disk, "avg": killed_by_kernel}
    agent = (postgres.home / "agent.py").read_text(encoding="utf-8")
    postgres.write("agent.py", agent.replace(repr(postgres.answers), repr(answers)))
    code, said = postgres.call(*postgres.run_arguments("run", "postgres", "--jobs", "2", "--timeout", "60"))
    assert code == 0, said
    found = postgres.verdicts("run")
    assert found == VERDICTS | {"group": "resource_limit", "avg": "resource_limit"}, said
    assert postgres.settled() == []


def test_a_clock_that_jumps_changes_nothing(ground: Ground) -> None:
    """The machine's clock jumps a day forward, then two back, while a run goes on: deadlines are kept all the same."""
    jump = (
        "import time\nreal, began = time.time, time.monotonic()\n"
        "def jumped():\n"
        "    passed = time.monotonic() - began\n"
        "    return real() + (0 if passed < 2 else 86400 if passed < 4 else -86400)\n"
        "time.time = jumped\n"
    )
    (ground.home / "site").mkdir()
    ground.write("site/sitecustomize.py", jump)
    path = os.pathsep.join([str(ground.home / "site"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    began = time.monotonic()
    made = ground.start(*ground.run_arguments("run", "sqlite", "--jobs", "1"), CHAOS_ASK="0.4", PYTHONPATH=path)
    assert made.wait(timeout=90) == 0, ground.said()
    assert time.monotonic() - began > 4
    assert ground.verdicts("run") == VERDICTS
    assert ground.settled() == []

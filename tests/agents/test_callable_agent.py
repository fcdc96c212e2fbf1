"""A user's callable runs in a child process that survives whatever it does and sees no gold."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.harness.agents.callable import CallableAgent
from sqlassay.harness.agents.request import AgentRequest

pytestmark = pytest.mark.jail

BODY = r"""
import asyncio, ctypes, os, re, sys, time
from pathlib import Path

def answer(request):
    mode = request.question
    print("noise on stdout", flush=True)
    os.write(1, b"raw noise\n" * 10)
    if mode == "text": return f"SELECT '{request.case_id}', {request.trial}"
    if mode == "fields": return {"query": "SELECT 2", "tokens": 5}
    if mode == "dict": return {"generated_sql": "SELECT 2", "selected_data_source": "sales", "tokens": 5}
    if mode == "prediction":
        from sqlassay.cases.case import Prediction
        return Prediction(case_id=request.case_id, sql="SELECT 3", cost=0.5)
    if mode == "other": return {"case_id": "elsewhere", "sql": "SELECT 1"}
    if mode == "unknown": return {"sequel": "SELECT 1"}
    if mode == "badtype": return {"sql": 5}
    if mode == "none": return None
    if mode == "object": return {"sql": "SELECT 1", "metadata": {"x": object()}}
    if mode == "raise": raise ValueError("no idea\nlast words")
    if mode == "systemexit": raise SystemExit(3)
    if mode == "interrupt": raise KeyboardInterrupt
    if mode == "exit": print("dying", file=sys.stderr, flush=True); os._exit(7)
    if mode == "segfault": ctypes.string_at(0)
    if mode == "hang": time.sleep(60)
    if mode == "huge": return "x" * (100 * 1024 * 1024)
    if mode == "megabyte": return "SELECT '" + "y" * (1024 * 1024) + "'"
    if mode == "flood": print("z" * (5 * 1024 * 1024)); return "SELECT 4"
    if mode == "see":
        return {"sql": "SELECT 1", "metadata": {"env": dict(os.environ), "argv": sys.argv, "cwd": os.listdir("."),
                "fds": len(os.listdir("/proc/self/fd")), "modules": [m for m in sys.modules if ".cases" in m]}}
    if mode == "close":
        os.closerange(3, 100)
        return "SELECT 1"
    if mode == "pid":
        time.sleep(0.3)
        return os.readlink("/proc/self/ns/pid")
    if mode == "stuck":
        Path(request.context["file"]).write_text(os.readlink("/proc/self/ns/pid"))
        re.match("(a+)+$", "a" * 60 + "b")  # holds the interpreter's lock for longer than anyone waits
    if mode == "killed":
        marker = Path(request.context["file"])
        if marker.exists() and not request.context.get("always"):
            return "SELECT again"
        marker.touch()
        os.kill(os.getpid(), 9)
    if mode == "grandchild":
        import subprocess
        subprocess.Popen(["sleep", request.context["seconds"]], start_new_session=True)
        Path(request.context["file"]).write_text(os.readlink("/proc/self/ns/pid"))
        time.sleep(60)
    return request.model_dump_json()

async def slow(request):
    await asyncio.sleep(0)
    return "SELECT async"

class Deep:
    @staticmethod
    def answer(request):
        return "SELECT deep"
"""


def _ask(agent: CallableAgent, mode: str, deadline: float = 20, **more: object) -> tuple[str | None, str]:
    """Return the SQL and the agent's error for one mode."""
    request = AgentRequest.model_validate(
        {"case_id": "c1", "question": mode, "dialect": "sqlite", "deadline": deadline, **more}
    )
    found = agent.predict(request)
    assert found.case_id == "c1"
    return found.sql, str(found.metadata.get("agent_error", ""))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("agents")
    (made / "my_agent.py").write_text(BODY)
    (made / "broken.py").write_text("import no_such_module_here\n")
    (made / "leaves.py").write_text("raise SystemExit('goodbye')\n")
    (made / "request.py").write_text("def answer(request):\n    return 'SELECT mine'\n")
    return made


@pytest.fixture(scope="module")
def agent(folder: Path) -> Iterator[CallableAgent]:
    made = CallableAgent("my_agent:answer", folder=folder)
    yield made
    made.close()


def test_an_agent_killed_from_outside_is_asked_again(agent: CallableAgent, tmp_path: Path) -> None:
    """What an OOM killer ends is no answer: a fresh process is asked once more, and says how both ended."""
    context: dict[str, object] = {"file": str(tmp_path / "marker")}
    assert _ask(agent, "killed", context=context) == ("SELECT again", "")
    sql, error = _ask(agent, "killed", context={**context, "always": True})
    assert sql is None
    assert error.startswith("the agent's process was killed by SIGKILL")
    assert error.endswith(", twice")


def test_text_mapping_and_prediction_are_answers(agent: CallableAgent) -> None:
    """The three shapes an agent may return become predictions, the Skill's field names included."""
    assert _ask(agent, "text", trial=2) == ("SELECT 'c1', 2", "")
    found = agent.predict(AgentRequest(case_id="c1", question="dict", dialect="mysql", trial=1))
    assert (found.sql, found.route, found.tokens, found.trial) == ("SELECT 2", "sales", 5, 1)
    assert _ask(agent, "prediction") == ("SELECT 3", "")


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("other", "case 'elsewhere'"),
        ("unknown", "sequel"),
        ("badtype", "'sql'"),
        ("none", "NoneType"),
        ("object", "no JSON"),
        ("raise", "ValueError: no idea last words"),
        ("systemexit", "SystemExit: 3"),
        ("interrupt", "KeyboardInterrupt"),
        ("exit", "exit code 7: dying"),
        ("segfault", "SIGSEGV"),
        ("huge", "bytes"),
        ("close", "process"),
    ],
)
def test_a_misbehaving_agent_gives_no_sql_and_says_why(agent: CallableAgent, mode: str, said: str) -> None:
    """Each way to fail is a prediction without SQL, and the next request is answered as ever."""
    sql, error = _ask(agent, mode)
    assert sql is None
    assert said in error
    assert _ask(agent, "text") == ("SELECT 'c1', 0", "")


def test_a_hanging_agent_is_killed_at_its_deadline(agent: CallableAgent) -> None:
    """A hang costs its deadline and no more."""
    start = time.monotonic()
    assert _ask(agent, "hang", deadline=0.5) == (None, "no answer within 0.5 s")
    assert time.monotonic() - start < 3
    assert _ask(agent, "text") == ("SELECT 'c1', 0", "")


def test_processes_the_agent_started_end_with_it(agent: CallableAgent, tmp_path: Path) -> None:
    """A killed agent leaves no process behind, not even one in a session of its own."""
    file = tmp_path / "namespace"
    assert _ask(agent, "grandchild", deadline=2, context={"file": str(file), "seconds": "300"})[0] is None
    assert _ends(file.read_text()) is True


def _ends(namespace: str) -> bool:
    """Return True once no process is left in a process namespace; wait up to five seconds."""
    for _ in range(250):
        if not _alive(namespace):
            return True
        time.sleep(0.02)
    return False


def _alive(namespace: str) -> list[str]:
    """Return the processes of this machine that are in a process namespace."""
    found = []
    for place in Path("/proc").glob("[0-9]*/ns/pid"):
        with contextlib.suppress(OSError):
            if str(place.readlink()) == namespace:
                found.append(place.parts[2])
    return found


def test_large_answers_and_prints_pass(agent: CallableAgent) -> None:
    """A megabyte of SQL arrives whole, and megabytes of prints neither block nor break the protocol."""
    sql, error = _ask(agent, "megabyte")
    assert (len(sql or ""), error) == (1024 * 1024 + 9, "")
    assert _ask(agent, "flood") == ("SELECT 4", "")
    wide = "CREATE TABLE t(a int);" * 100_000
    sql, error = _ask(agent, "echo", schema_ddl=wide)
    assert AgentRequest.model_validate_json(sql or "").schema_ddl == wide


def test_an_agent_sees_nothing_of_ours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our settings are not in its environment; its folder is empty; no case module is loaded."""
    monkeypatch.setenv("SQLASSAY_GOLD", "secret-gold")
    monkeypatch.setenv("MY_API_KEY", "k")
    agent = CallableAgent("my_agent.py:answer", folder=folder)
    try:
        seen = agent.predict(AgentRequest(case_id="c1", question="see", dialect="sqlite")).metadata
    finally:
        agent.close()
    assert seen["env"]["MY_API_KEY"] == "k"
    assert not [name for name in seen["env"] if name.startswith("SQLASSAY_")]
    assert seen["cwd"] == []
    assert seen["fds"] <= 10
    assert seen["modules"] == []
    assert "gold" not in " ".join(seen["argv"])


def test_threads_get_children_of_their_own(agent: CallableAgent) -> None:
    """Two requests at once are answered by two processes."""
    with ThreadPoolExecutor(2) as pool:
        pids = list(pool.map(lambda _: _ask(agent, "pid")[0], range(2)))
    assert len(set(pids)) == 2


@pytest.mark.parametrize("target", ["my_agent:slow", "my_agent.py:slow"])
def test_a_coroutine_is_awaited(folder: Path, target: str) -> None:
    """Asynchronous callables work like others."""
    agent = CallableAgent(target, folder=folder)
    assert _ask(agent, "text") == ("SELECT async", "")
    agent.close()


def test_names_inside_classes_and_modules_named_like_ours(folder: Path) -> None:
    """A dotted name is followed, and a user's `request` module is the user's."""
    for target, sql in (("my_agent:Deep.answer", "SELECT deep"), ("request:answer", "SELECT mine")):
        agent = CallableAgent(target, folder=folder)
        assert _ask(agent, "text") == (sql, "")
        agent.close()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("my_agent", "names no callable"),
        (":answer", "names no callable"),
        ("no_such_agent_module:answer", "No module named"),
        ("my_agent:missing", "missing"),
        ("my_agent:sys.maxsize", "not callable"),
        ("nothing.py:answer", "nothing.py"),
        ("broken:answer", "no_such_module_here"),
        ("leaves:answer", "goodbye"),
    ],
)
def test_a_wrong_target_ends_the_command_before_anything_runs(folder: Path, target: str, said: str) -> None:
    """A target that cannot be loaded is an input error that names the reason."""
    with pytest.raises(InputError, match=said):
        CallableAgent(target, folder=folder)


def test_close_leaves_no_process_and_no_answer(folder: Path) -> None:
    """A closed agent has no child, and asking it again is an agent error, not a crash."""
    agent = CallableAgent("my_agent:answer", folder=folder)
    namespace = _ask(agent, "pid")[0] or ""
    assert _alive(namespace) != []
    agent.close()
    agent.close()
    assert _ends(namespace) is True
    assert "closed" in _ask(agent, "text")[1]


@pytest.mark.parametrize("mode", ["pid", "stuck"])
def test_a_killed_harness_takes_the_agent_along(folder: Path, tmp_path: Path, mode: str) -> None:
    """When the harness is killed outright, the child ends by itself, even while no Python can run in it."""
    script = textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        from sqlassay.harness.agents.callable import CallableAgent
        from sqlassay.harness.agents.request import AgentRequest
        agent = CallableAgent("my_agent:answer", folder=Path({str(folder)!r}))
        context = {{"file": {str(tmp_path / "namespace")!r}}}
        request = AgentRequest(case_id="c", question={mode!r}, dialect="sqlite", context=context)
        Path(context["file"]).write_text(agent.predict(request).sql)
        time.sleep(60)
    """)
    file = tmp_path / "namespace"
    with subprocess.Popen([sys.executable, "-c", script]) as harness:
        for _ in range(500):
            if file.exists() and file.read_text():
                break
            time.sleep(0.02)
        namespace = file.read_text()
        assert _alive(namespace) != []
        os.kill(harness.pid, 9)
    assert _ends(namespace) is True

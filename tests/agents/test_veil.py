"""Behind its veil an agent's process finds no gold, whatever it tries, and is otherwise at home."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from sqlassay.harness.agents import hiding
from sqlassay.harness.agents.callable import CallableAgent
from sqlassay.harness.agents.hiding import Veil
from sqlassay.harness.agents.request import AgentRequest

pytestmark = pytest.mark.jail

HUNTER = Path(__file__).parent / "hunter.py"
ROOT = Path(__file__).parents[2]


def _ask(agent: CallableAgent, **context: object) -> dict[str, Any]:
    """Return what the agent has to say, which it puts into the metadata."""
    request = AgentRequest(case_id="c", question="q", dialect="sqlite", context=dict(context))
    answer = agent.predict(request)
    assert "agent_error" not in answer.metadata
    return answer.metadata


def _write(path: Path, text: str) -> Path:
    """Write a file below folders that may not be there yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def gold(tmp_path: Path) -> tuple[str, list[Path]]:
    """Return a token and the places that hold it: a case file, a pack folder, a cache and a run."""
    token = f"GOLD-{secrets.token_hex(8)}"
    case = _write(tmp_path / "disk/cases.jsonl", token)
    for name in ("pack/cases.jsonl", "pack/deep/er/predictions.jsonl", "cache/gold/x.json", "runs/r1/results.jsonl"):
        _write(tmp_path / "disk" / name, token)
    return token, [case, *(tmp_path / "disk" / name for name in ("pack", "cache/gold", "runs"))]


def _hunt(agent: CallableAgent, paths: list[Path], place: Path) -> list[str]:
    """Return the ways that led the hunter to the gold."""
    found: list[str] = _ask(agent, paths=[str(path) for path in paths], place=str(place))["found"]
    return found


def test_no_way_leads_an_agent_to_the_gold(
    gold: tuple[str, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, folders, processes, disks, engines, unmounting and new namespaces give nothing, even to root."""
    token, paths = gold
    monkeypatch.setenv("SQLASSAY_GOLD", token)
    with paths[0].open() as held:
        agent = CallableAgent(f"{HUNTER}:answer", hide=paths)
        try:
            assert agent.problems == ()
            assert _hunt(agent, paths, tmp_path) == []
        finally:
            agent.close()
        assert held.read() == token
    assert paths[0].read_text() == token


def test_the_hunter_finds_gold_that_is_not_hidden(gold: tuple[str, list[Path]], tmp_path: Path) -> None:
    """The proof above has teeth: the same agent finds each place that is left open."""
    _, paths = gold
    agent = CallableAgent(f"{HUNTER}:answer", hide=paths[:1])
    try:
        found = " ".join(_hunt(agent, paths, tmp_path))
    finally:
        agent.close()
    assert f"open {paths[0]}" not in found
    for path in paths[1:]:
        assert f"open {path} {path}/" in found
        assert f"walk {path}/" in found


def test_gold_is_hidden_where_its_disk_is_mounted_once_more(gold: tuple[str, list[Path]], tmp_path: Path) -> None:
    """A second mount of the folder above, of a folder inside and of the processes is masked; our own view is not."""
    token, paths = gold
    for name in ("twin", "part", "twin-proc"):
        (tmp_path / name).mkdir()
    script = textwrap.dedent(f"""
        import sys
        sys.path[:0] = [{str(ROOT)!r}]
        from pathlib import Path
        from sqlassay.harness.agents.callable import CallableAgent
        from sqlassay.harness.agents.request import AgentRequest
        paths = [Path(path) for path in {[str(path) for path in paths]!r}]
        agent = CallableAgent({str(HUNTER)!r} + ":answer", hide=paths)
        twins = [str(path).replace("/disk/", "/twin/") for path in paths] + [{str(tmp_path / "part")!r}]
        context = {{"paths": twins, "place": {str(tmp_path)!r}}}
        answer = agent.predict(AgentRequest(case_id="c", question="q", dialect="sqlite", context=context, deadline=60))
        print(agent.problems, answer.metadata, paths[0].read_text())
        agent.close()
    """)
    mounts = [
        f"mount --bind {tmp_path}/disk {tmp_path}/twin",
        f"mount --bind {tmp_path}/disk/pack/deep {tmp_path}/part",
    ]
    if os.geteuid() == 0:
        mounts += [f"mount -t proc proc {tmp_path}/twin-proc", "mount --make-rshared /"]
    inside = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", " && ".join([*mounts, 'exec "$@"']), "sh"]
    command = [*inside, sys.executable, "-c", script]
    env = {**os.environ, "SQLASSAY_GOLD": token}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert (done.stdout.strip(), done.stderr) == (f"() {{'found': []}} {token}", "")


AT_HOME = r"""
import os, subprocess, tempfile, urllib.request
from pathlib import Path
import yaml
import beside

def answer(request):
    page = urllib.request.urlopen(request.context["url"], timeout=10).read().decode()
    with tempfile.NamedTemporaryFile("w+") as file:
        file.write("x"); file.flush()
        size = os.path.getsize(file.name)
    Path("mine.txt").write_text("kept")
    Path(request.context["note"]).write_text("from the agent")
    owner = None
    if os.geteuid() == 0:
        os.chown(request.context["note"], 1000, 1000)
        owner = os.stat(request.context["note"]).st_uid
        Path(request.context["note"]).read_text()
    shell = subprocess.run(["sh", "-c", "echo $((6 * 7))"], capture_output=True, text=True).stdout.strip()
    null = Path("/dev/null").read_text()
    return {"metadata": {"page": page, "size": size, "own": os.listdir("."), "owner": owner, "shell": shell,
            "yaml": yaml.safe_load("[1]"), "beside": beside.VALUE, "hosts": Path("/etc/passwd").exists(), "null": null,
            "uid": os.geteuid()}}
"""


@pytest.fixture
def url() -> Iterator[str]:
    """Serve one line of text on this machine."""

    class Page(BaseHTTPRequestHandler):
        """Answers every GET alike."""

        def do_GET(self) -> None:
            """Send the line."""
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"model says hello")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name it overrides)
            """Print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_ordinary_agent_notices_nothing(gold: tuple[str, list[Path]], tmp_path: Path, url: str) -> None:
    """Network, packages, files beside it, temporary files, other programs and root's rights over files are there."""
    _write(tmp_path / "home/at_home.py", AT_HOME)
    _write(tmp_path / "home/beside.py", "VALUE = 'mine'\n")
    agent = CallableAgent("at_home:answer", folder=tmp_path / "home", hide=gold[1])
    try:
        seen = _ask(agent, url=url, note=str(tmp_path / "note.txt"))
    finally:
        agent.close()
    assert (tmp_path / "note.txt").read_text() == "from the agent"
    assert seen == {
        "page": "model says hello",
        "size": 1,
        "own": ["mine.txt"],
        "owner": 1000 if os.geteuid() == 0 else None,
        "shell": "42",
        "yaml": [1],
        "beside": "mine",
        "hosts": True,
        "null": "",
        "uid": os.geteuid(),
    }


LOOK = r"""
import os
from pathlib import Path

def answer(request):
    seen = {}
    for path in request.context["paths"]:
        try: seen[path] = sorted(os.listdir(path)) if os.path.isdir(path) else Path(path).read_text()
        except OSError as error: seen[path] = error.strerror
    for path in request.context.get("touch", ()):
        try: Path(path).write_text("x"); seen[path] = "written"
        except OSError as error: seen[path] = error.strerror
    return {"metadata": seen}
"""


def _look(target: str, folder: Path, hide: list[Path], paths: list[Path], touch: list[Path] | None = None) -> Any:
    """Return the problems of an agent and what it sees at each path."""
    agent = CallableAgent(target, folder=folder, hide=hide)
    try:
        seen = _ask(agent, paths=[str(path) for path in paths], touch=[str(path) for path in touch or ()])
    finally:
        agent.close()
    return agent.problems, [seen[str(path)] for path in (*paths, *(touch or ()))]


@pytest.mark.parametrize("target", ["look:answer", "look.py:answer", "pack.look:answer"])
def test_an_agent_inside_its_pack_is_loaded_and_still_sees_no_gold(tmp_path: Path, target: str) -> None:
    """The folder cannot be masked whole then, but each file that is named is; the agent's own files stay."""
    pack = tmp_path / "pack"
    _write(pack / "look.py", LOOK)
    cases, mine = _write(pack / "cases.jsonl", "gold"), _write(pack / "prompt.txt", "prompt")
    folder = tmp_path if target.startswith("pack.") else pack
    problems, seen = _look(target, folder, [pack, cases], [cases, mine])
    assert (problems, seen) == ((), ["", "prompt"])


def test_a_folder_that_cannot_be_hidden_is_named(tmp_path: Path) -> None:
    """An agent that lives among the runs sees them, and the run says so."""
    _write(tmp_path / "runs/agent/look.py", LOOK)
    result = _write(tmp_path / "runs/results.jsonl", "gold")
    problems, seen = _look("look.py:answer", tmp_path / "runs/agent", [tmp_path / "runs"], [result])
    assert seen == ["gold"]
    assert problems == (f"the agent can read {tmp_path / 'runs'}: it lives there itself",)


def test_a_file_with_a_second_name_is_named(tmp_path: Path) -> None:
    """A hard link elsewhere is out of our reach, and the run says so."""
    _write(tmp_path / "look.py", LOOK)
    cases = _write(tmp_path / "pack/cases.jsonl", "gold")
    (tmp_path / "other").hardlink_to(cases)
    problems, seen = _look("look.py:answer", tmp_path, [cases], [cases])
    assert seen == [""]
    assert problems == (f"the agent can read {cases} under another name: the file has hard links",)


def test_the_history_of_a_pack_is_hidden_too(tmp_path: Path) -> None:
    """The committed case file cannot be asked for, in a repository or in a linked working tree of one."""
    _write(tmp_path / "agent/look.py", LOOK)
    _write(tmp_path / "repo/.git/objects/ab", "gold")
    _write(tmp_path / "repo/.git/worktrees/tree/commondir", "../..\n")
    _write(tmp_path / "tree/.git", f"gitdir: {tmp_path}/repo/.git/worktrees/tree\n")
    _write(tmp_path / "sub/.git", "gitdir: ../modules/sub\n")
    _write(tmp_path / "modules/sub/objects/cd", "gold")
    history = [tmp_path / "repo/.git"]
    for pack, masked in (("repo", history), ("tree", history), ("sub", [tmp_path / "modules/sub"])):
        cases = _write(tmp_path / pack / "packs/one/cases.jsonl", "gold")
        problems, seen = _look("look.py:answer", tmp_path / "agent", [cases], [cases, *masked])
        assert (problems, seen) == ((), ["", []])


def test_what_the_harness_will_run_cannot_be_rewritten(tmp_path: Path) -> None:
    """Our own code and the interpreter's packages are read-only for an agent, as the harness imports them later."""
    _write(tmp_path / "look.py", LOOK)
    places = [ROOT / "harness/planted.py", ROOT / "cases/planted.py", Path(sys.prefix) / "planted.pth"]
    try:
        _, seen = _look("look.py:answer", tmp_path, [], [], [*places, tmp_path / "mine.txt"])
        assert seen == ["Read-only file system"] * 3 + ["written"]
    finally:
        for place in places:
            place.unlink(missing_ok=True)


def test_an_address_of_an_engine_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket that DOCKER_HOST names is masked, as it could start a process that sees everything."""
    _write(tmp_path / "look.py", LOOK)
    engine = _write(tmp_path / "engine.sock", "talks")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine}")
    assert _look("look.py:answer", tmp_path, [], [engine]) == ((), [""])


def test_a_machine_without_namespaces_is_a_problem_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent still answers, and the problem names what is missing and what follows from it."""
    _write(tmp_path / "look.py", LOOK)
    monkeypatch.setattr(hiding, "_frozen", lambda: (str(tmp_path / "absent"),))
    cases = _write(tmp_path / "cases.jsonl", "gold")
    problems, seen = _look("look.py:answer", tmp_path, [cases], [cases])
    assert seen == ["gold"]
    assert len(problems) == 1
    assert problems[0].startswith("the agent's process could read the gold: no namespaces for it on this machine (")
    assert "No such file" in problems[0]


def test_a_veil_that_hangs_or_cannot_start_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither stops the command; both are told by name."""
    monkeypatch.setattr(hiding, "_PROBE_SECONDS", 0.001)
    assert hiding._fault(Veil((), ())) == "TimeoutExpired"
    monkeypatch.setattr(hiding.sys, "executable", "/no/such/python")
    assert hiding._fault(Veil((), ())) == "FileNotFoundError"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become someone else")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_an_agent_of_an_ordinary_user_is_veiled_as_well(tmp_path: Path) -> None:
    """Without root, a user namespace gives the rights to mask."""
    interpreter = Path("/usr/bin/python3")
    version = subprocess.run(
        [interpreter, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True
    )
    if version.stdout.strip() != str(sys.version_info[:2]):
        pytest.skip("the system's Python, the one an ordinary user may run here, is another version")
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    place = Path("/tmp", f"sqlassay-veil-{secrets.token_hex(4)}")  # noqa: S108 - pytest's own folders are root's alone
    try:
        _write(place / "look.py", LOOK)
        cases = _write(place / "cases.jsonl", "gold")
        script = (
            "from pathlib import Path; from sqlassay.harness.agents.callable import CallableAgent\n"
            "from sqlassay.harness.agents.request import AgentRequest\n"
            f"agent = CallableAgent('look.py:answer', folder=Path({str(place)!r}), hide=[Path({str(cases)!r})])\n"
            f"request = AgentRequest(case_id='c', question='q', dialect='d', context={{'paths': [{str(cases)!r}]}})\n"
            "print(agent.problems, agent.predict(request).metadata)\nagent.close()\n"
        )
        env = {"PYTHONPATH": f"{ROOT}:{packages}", "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
        user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", str(interpreter), "-c", script]
        done = subprocess.run(user, capture_output=True, text=True, check=False, env=env, cwd="/")
    finally:
        shutil.rmtree(place)
    assert (done.stdout.strip(), done.stderr) == (f"() {{'{cases}': ''}}", "")

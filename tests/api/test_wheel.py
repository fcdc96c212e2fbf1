"""The wheel, installed in a fresh environment, gives a user's own project types that mypy --strict holds it to."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]

_RIGHT = """\
from collections.abc import Iterable

import sqlassay
from sqlassay import AgentRequest, CaseResult, Prediction, RunResult, Session


def agent(request: AgentRequest) -> str:
    return f"SELECT '{request.question}'"


async def later(request: AgentRequest) -> Prediction:
    return Prediction(case_id=request.case_id, sql="SELECT 1")


def accuracy(run: RunResult) -> float | None:
    total = run.aggregate("execution_accuracy")
    return None if total is None else total.mean


def rewards(statements: Iterable[str]) -> list[float]:
    with Session("demo", "sqlite", timeout=5, metrics=["execution_accuracy"]) as session:
        found: list[CaseResult] = [session.judge(session.cases[0], sql) for sql in statements]
        found += session.judge_all([("a", "SELECT 1")], jobs=2)
    return [result.scores["execution_accuracy"].value or 0.0 for result in found]


print(sqlassay.__version__.upper(), accuracy(sqlassay.run("demo", agent=agent, jobs=2, fail_under={"routing": 0.5})))
print(sqlassay.run("demo", agent=later, predictions=None).verdict_line.upper())
print(sqlassay.run("demo", predictions=[("a", "SELECT 1")]).rows()[0]["verdict"])
print(sqlassay.evaluate("demo", "a", "SELECT 1", policy="strict").verdict.value)
print(sqlassay.guard("SELECT 1", "sqlite").allowed, sqlassay.preset("strict").digest)
"""
_WHERE = """
from pathlib import Path
import cases, harness, sandboxes
import sqlassay
assert sqlassay.guard("SELECT 1", "sqlite").allowed
print(Path(sqlassay.__file__).parents[1], *{cases.OWNER, harness.OWNER, sandboxes.OWNER}, sqlassay.__version__)
"""
_WRONG = {
    'sqlassay.run("demo", jobz=4)': "jobz",
    'sqlassay.run("demo", agent=lambda request: 5)': "return-value|arg-type",
    'sqlassay.evaluate("demo", "a", 5)': "arg-type",
    'sqlassay.evaluate("demo", "a", "x").verdikt': "attr-defined",
    'sqlassay.Session("demo", trials=2)': "trials",
    'sqlassay.guard("SELECT 1", "sqlite", profile="all")': "arg-type",
    "sqlassay.nothing": "attr-defined",
}


@pytest.mark.slow
def test_a_users_project_is_typed_by_the_wheel(tmp_path: Path) -> None:
    """What is right passes `mypy --strict`, each slip is an error, and the wheel needs nothing of this checkout."""
    source = tmp_path / "source"  # a build leaves folders where it happens
    for name in ("sqlassay", "harness", "sandboxes", "dialect_adapters", "cases", "skill"):
        shutil.copytree(_ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(_ROOT / name, source)
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, source]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("sqlassay-*.whl")
    home = tmp_path / "home"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    site = next((home / "lib").glob("python*/site-packages"))
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel]
    subprocess.run(pip, check=True, capture_output=True)
    # What it depends on is taken from the environment of the tests, whose own copy of this project is no file there.
    (site / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    project = tmp_path / "project"
    project.mkdir()
    (project / "right.py").write_text(_RIGHT)
    for number, line in enumerate(_WRONG):
        (project / f"wrong{number}.py").write_text(f"import sqlassay\n\nprint({line})\n")
    said = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "--no-incremental", "."],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert "right.py" not in said, said
    for number, (line, wanted) in enumerate(_WRONG.items()):
        lines = [each for each in said.splitlines() if each.startswith(f"wrong{number}.py")]
        assert any(part in each for each in lines for part in wanted.split("|")), (line, said)
    assert {path.name for path in site.iterdir() if path.suffix not in (".pth", ".dist-info")} == {"sqlassay"}
    _name_modules_as_the_rooms(project)
    shown = subprocess.run([python, "-c", _WHERE], cwd=project, capture_output=True, text=True, check=True).stdout
    assert shown.split()[:2] == [str(site), "mine"]
    run = [python, "-m", "sqlassay.harness.cli", "run", "demo", "--agent", "harness.bot:answer", "--out", "run"]
    done = subprocess.run(run, cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "DONE: execution_accuracy" in done.stdout


def _name_modules_as_the_rooms(project: Path) -> None:
    """Give a project the modules `cases`, `harness` and `sandboxes` of its own."""
    for room in ("cases", "harness"):
        (project / room).mkdir()
        (project / room / "__init__.py").write_text("OWNER = 'mine'\n")
    (project / "sandboxes.py").write_text("OWNER = 'mine'\n")
    (project / "dialect_adapters.py").write_text("OWNER = 'mine'\n")
    (project / "harness" / "bot.py").write_text(
        "import cases, dialect_adapters, sandboxes\n\n\ndef answer(request):\n"
        "    assert {cases.OWNER, dialect_adapters.OWNER, sandboxes.OWNER} == {'mine'}\n    return 'SELECT 1'\n"
    )

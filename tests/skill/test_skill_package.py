"""The Skill package is valid, whole, and its commands do what they say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

SKILL = Path(__file__).parents[2] / "skill" / "sqlassay"
PAGES = sorted(SKILL.rglob("*.md"))
DEMO = {"routing": 0.909, "structural": 0.805, "execution_score": 0.682}


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    """Return a copy of the Skill, as an agent's folder would hold it."""
    return Path(shutil.copytree(SKILL, tmp_path / "sqlassay"))


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the Skill with this environment's programs and a private home."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": programs, "CI": "true"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_reference_validator_accepts_it() -> None:
    """The Agent Skills reference validator finds nothing wrong."""
    skills_ref = pytest.importorskip("skills_ref")
    assert skills_ref.validate(SKILL) == []


def test_front_matter_and_length_keep_to_the_format() -> None:
    """Name equals the folder, the description says what and when, and the body is short enough to load."""
    text = (SKILL / "SKILL.md").read_text(encoding="utf-8")
    front = yaml.safe_load(text.split("---")[1])
    assert front["name"] == SKILL.name
    assert "Use when" in front["description"]
    assert len(front["description"]) <= 1024
    assert front["license"] == "Apache-2.0"
    assert len(text.splitlines()) < 500


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page names a file of the package."""
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).is_file(), target


def test_every_file_it_names_is_there() -> None:
    """Scripts and assets named in the pages exist, and scripts can be run."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name in set(re.findall(r"\b((?:scripts|assets)/[\w.]+)", text)):
        assert (SKILL / name).exists(), name
    assert all(os.access(script, os.X_OK) for script in (SKILL / "scripts").iterdir() if script.is_file())


def shell_blocks() -> list[str]:
    """Return the shell blocks of SKILL.md."""
    text = (SKILL / "SKILL.md").read_text(encoding="utf-8")
    return [re.sub(r"(?m)^ +", "", block) for block in re.findall(r"(?s)```sh\n(.*?)```", text)]


def shape_of(value: object) -> object:
    """Return which keys a JSON value has, whatever is in them; of a list, its first element's."""
    if isinstance(value, dict):
        return {key: shape_of(item) for key, item in value.items()}
    return [shape_of(value[0])] if isinstance(value, list) and value else None


def check_examples(folder: Path) -> None:
    """Assert that the example reports have the fields that reports have today."""
    for example in sorted((SKILL / "assets" / "example_reports").glob("*.json")):
        (fresh,) = folder.rglob(f"runs/**/{example.name}")
        old, new = (json.loads(file.read_text(encoding="utf-8")) for file in (example, fresh))
        for page in (old, new):
            page["isolation"] = None
            page.get("diagnoses", {}).clear()
        assert shape_of(old) == shape_of(new), example.name


def check_demo(folder: Path) -> None:
    """Assert that the only run folder holds the demo's known figures."""
    (analysis,) = folder.rglob("runs/**/post_evaluation_analysis_report.json")
    page: dict[str, Any] = json.loads(analysis.read_text(encoding="utf-8"))
    means = {name: page["aggregate_scores"][name] for name in DEMO}
    assert {name: round(total["mean"], 3) for name, total in means.items()} == DEMO
    assert {total["n"] for total in means.values()} == {11}
    assert (round(page["disagreement"]["rate"], 3), page["disagreement"]["threshold"]) == (0.273, 0.1)
    assert page["safety"]["mutation_blocks"]["n"] == 1


@pytest.mark.jail
@pytest.mark.parametrize("block", shell_blocks())
def test_commands_of_the_skill_run(block: str, skill: Path) -> None:
    """Each shell block of SKILL.md ends well and gives the demo's known figures."""
    done = run(["bash", "-euc", block], skill)
    assert done.returncode == 0, done.stdout + done.stderr
    check_demo(skill)
    check_examples(skill)


@pytest.mark.jail
def test_the_config_and_dataset_give_the_same_figures(skill: Path) -> None:
    """The Skill's own config, with the database its script builds, scores as the bundled pack does."""
    built = run([sys.executable, "scripts/build_demo_db.py", "assets/demo.sqlite"], skill)
    assert built.returncode == 0, built.stderr
    done = run(["scripts/run_eval.sh", "assets/demo_eval.yaml", "sqlite", "--jobs", "1"], skill)
    assert done.returncode == 0, done.stdout + done.stderr
    check_demo(skill)


def test_the_database_builder_overwrites_nothing(skill: Path) -> None:
    """The builder refuses a file that exists."""
    (skill / "there.sqlite").write_text("mine")
    done = run([sys.executable, "scripts/build_demo_db.py", "there.sqlite"], skill)
    assert done.returncode == 2
    assert (skill / "there.sqlite").read_text() == "mine"

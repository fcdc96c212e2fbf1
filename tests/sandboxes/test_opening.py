"""Without a container engine, whoever opens a provider is told of the way that needs none, where there is one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sqlassay.cases.errors import EngineUnavailableError
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes import opening
from sqlassay.sandboxes.opening import open_provider


@pytest.mark.parametrize(("dialect", "told"), [("postgres", True), ("mysql", False)])
@pytest.mark.parametrize("remedy", ["Start Docker", ""])
def test_a_missing_engine_names_the_jail(
    dialect: str, told: bool, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Postgres can run without containers and the remedy says how; MySQL cannot, and nothing is promised."""

    def none(*_: object) -> None:
        """Stand for a machine without an engine."""
        raise EngineUnavailableError("no container engine answers", remedy=remedy)

    monkeypatch.setattr(opening, "ensure_engine", none)
    with pytest.raises(EngineUnavailableError) as caught:
        open_provider(adapter(dialect).recipe, "docker", print, engine="none")
    assert caught.value.remedy.startswith(remedy)
    assert ("without containers: `--sandbox process`" in caught.value.remedy) is told


def test_too_few_open_files_are_told_as_that() -> None:
    """Under `ulimit -n 48` nothing is called a damaged image: the limit is named, with the line that raises it."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))\n"
        "from sqlassay.cases.errors import InfrastructureError\n"
        "from sqlassay.dialect_adapters.registry import adapter\n"
        "from sqlassay.sandboxes.opening import open_provider\n"
        "try:\n    open_provider(adapter('sqlite').recipe, 'auto', print, engine='none')\n"
        "except InfrastructureError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "may hold 48 files open, 128 are needed. Raise the limit with `ulimit -n 1024`" in done.stdout, done.stderr

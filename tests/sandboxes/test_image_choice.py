"""A pack chooses the version of its engine by an image: a recipe suits each that it takes, and refuses the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import docker
import pytest
from pydantic import ValidationError

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.settings import EngineSettings
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Mode
from sqlassay.dialect_adapters.duckdb.recipe import RECIPE as DUCKDB
from sqlassay.dialect_adapters.mariadb.recipe import RECIPE as MARIADB
from sqlassay.dialect_adapters.mysql.recipe import RECIPE as MYSQL
from sqlassay.dialect_adapters.postgres.recipe import RECIPE as POSTGRES
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes.contract import BaseImage, release
from sqlassay.sandboxes.docker import container
from sqlassay.sandboxes.images.base import base_image
from sqlassay.sandboxes.images.choice import asked_recipe, refuse_image, refuse_old
from sqlassay.sandboxes.images.local import LocalSource
from sqlassay.sandboxes.process.provider import ProcessProvider


def _base(version: str) -> BaseImage:
    """Return a base image of an engine's version."""
    return BaseImage("postgres:x", "sha256:x", "/usr/lib/postgresql/x/bin", 999, version, "registry")


def _asking(*images: str | None, dialect: str = "postgres") -> list[Snapshot]:
    """Return snapshots that ask for these images."""
    return [
        Snapshot(id=f"s{number}", database=f"s{number}", digest="d", settings={dialect: EngineSettings(image=image)})
        for number, image in enumerate(images)
    ]


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("17.9-1.pgdg120+1", (17, 9)),
        ("1:11.8.3+maria~ubu2404", (11, 8)),
        ("9", (9, 0)),
        ("14-bookworm", (14, 0)),
        ("8.0.44-1.el9", (8, 0)),
        ("latest", None),
        ("", None),
    ],
)
def test_a_version_is_read_as_images_spell_it(version: str, numbers: tuple[int, int] | None) -> None:
    """Epochs, packagers' additions and tags with a system's name are no part of it."""
    assert release(version) == numbers


SINCE_17 = ("allow_alter_system=off", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
SINCE_16 = ("scram_iterations=1", "--set=scram_iterations=1", "--set=TimeZone=UTC")


@pytest.mark.parametrize(
    ("version", "given", "kept_back", "locale"),
    [
        ("18.1", (*SINCE_16, *SINCE_17), (), "--locale=C"),
        ("17.2", (*SINCE_16, *SINCE_17), (), "--locale=C"),
        ("16.6", SINCE_16, SINCE_17, "--locale=C.UTF-8"),
        ("15.18", (), (*SINCE_16, *SINCE_17), "--locale=C.UTF-8"),
        ("14.11", (), (*SINCE_16, *SINCE_17), "--locale=C.UTF-8"),
        ("", (*SINCE_16, *SINCE_17), (), "--locale=C"),
    ],
)
def test_postgres_is_given_what_its_version_knows(
    version: str, given: tuple[str, ...], kept_back: tuple[str, ...], locale: str
) -> None:
    """A setting that came later goes with its `-c`; one word takes the place of another; nothing else changes."""
    base = _base(version)
    argv = [
        part
        for one in (*POSTGRES.init, *POSTGRES.serve.values())
        for part in container.fill(one, POSTGRES, base, "/data")
    ]
    assert set(given) <= set(argv)
    assert not set(kept_back) & set(argv)
    assert [part for part in argv if part.startswith("--locale=")] == [locale]
    served = container.fill(POSTGRES.serve[Mode.READ], POSTGRES, base, "/data")
    assert served[:3] == ("/usr/lib/postgresql/x/bin/postgres", "-D", "/data")
    assert served[3::2] == ("-c",) * (len(served[3:]) // 2)
    assert all("=" in part for part in served[4::2])


@pytest.mark.parametrize(("version", "bounded"), [("11.8.3", True), ("11.5.2", True), ("11.4.9", False)])
def test_mariadb_is_given_what_its_version_knows(version: str, *, bounded: bool) -> None:
    """The two bounds of temporary space came with 11.5."""
    served = container.fill(MARIADB.serve[Mode.READ], MARIADB, _base(version), "/data")
    assert ("--max-tmp-total-space-usage=240M" in served) is bounded
    assert ("--max-tmp-session-space-usage=192M" in served) is bounded
    assert "--skip-networking" in served


def test_a_pack_s_image_takes_the_place_of_ours() -> None:
    """It is asked for under its own name; without one the recipe stays as it is."""
    assert asked_recipe(POSTGRES, _asking("postgres:14", "postgres:14")).registry_image == "postgres:14"
    assert asked_recipe(POSTGRES, _asking(None, None)) is POSTGRES
    assert asked_recipe(MYSQL, _asking("postgres:14")) is MYSQL


def test_two_versions_in_one_run_are_refused() -> None:
    """All snapshots of a run are in servers of one version."""
    with pytest.raises(InputError, match=r"settings\.postgres\.image: .*asks for none, postgres:14"):
        asked_recipe(POSTGRES, _asking("postgres:14", None))


def test_a_version_that_is_too_old_is_refused() -> None:
    """By its tag before anything is pulled, and by what the image says where the tag is silent."""
    with pytest.raises(InputError, match=r"settings\.postgres\.image: postgres:9\.6 is older than postgres 14, the"):
        asked_recipe(POSTGRES, _asking("postgres:9.6"))
    with pytest.raises(InputError, match=r"mariadb:10\.11 is older than mariadb 11\.4.*Name version 11\.4 or a later"):
        asked_recipe(MARIADB, _asking("mariadb:10.11", dialect="mariadb"))
    with pytest.raises(InputError, match=r"mysql:5\.7 is older than mysql 8, the oldest"):
        asked_recipe(MYSQL, _asking("mysql:5.7", dialect="mysql"))
    assert asked_recipe(MYSQL, _asking("mysql:8.0", dialect="mysql")).registry_image == "mysql:8.0"
    assert asked_recipe(POSTGRES, _asking("mine/pg:stable")).registry_image == "mine/pg:stable"
    with pytest.raises(InputError, match="mine/pg:stable is older than postgres 14"):
        refuse_old(POSTGRES, "mine/pg:stable", (13, 4))
    refuse_old(POSTGRES, "mine/pg:stable", None)


def test_a_jailed_engine_takes_no_image() -> None:
    """What was asked for is not quietly another version: the jail runs what this machine has."""
    with pytest.raises(InputError, match=r"image postgres:14, and the 'process' sandbox .*Use `--sandbox docker`"):
        refuse_image(POSTGRES, _asking("postgres:14"), "process")
    with pytest.raises(InputError, match=r"the 'process' sandbox runs what this machine has\. Take the image out"):
        refuse_image(DUCKDB, _asking("duckdb:1", dialect="duckdb"), "process")
    provider = ProcessProvider()
    try:
        with pytest.raises(InputError, match="asks for the image python:3.13"):
            provider.prepare(adapter("sqlite"), _asking("python:3.13", dialect="sqlite"), list[str]().append)
    finally:
        provider.close()


@pytest.mark.parametrize("image", ["postgres", "Postgres:14", "postgres:14 --privileged", "-v:1", "postgres@sha256:0"])
def test_an_image_is_named_with_its_tag(image: str) -> None:
    """Anything else is refused where it is written."""
    with pytest.raises(ValidationError, match="image"):
        EngineSettings(image=image)


class Engine:
    """An engine that has these images, by name."""

    def __init__(self, **images: list[str]) -> None:
        self._images = images

    def inspect_image(self, ref: str) -> dict[str, Any]:
        if ref not in self._images:
            raise docker.errors.ImageNotFound("no such image")
        return {"Id": ref, "Config": {"Env": self._images[ref]}, "RootFS": {"Layers": [ref]}}


def test_an_official_image_says_its_version_and_where_its_programs_are() -> None:
    """Not the version of the program its entry point uses; where it says none, the tag is believed."""
    engine = Engine(
        **{"postgres:14": ["GOSU_VERSION=1.17", "PG_MAJOR=14", "PG_VERSION=14.11-1.pgdg120+1"], "postgres:15": []}
    )
    source = LocalSource(cast(docker.APIClient, engine), built=False)
    found = base_image(asked_recipe(POSTGRES, _asking("postgres:14")), [source], list[str]().append)
    assert (found.version, found.bin_dir) == ("14.11-1.pgdg120+1", "/usr/lib/postgresql/14/bin")
    found = base_image(asked_recipe(POSTGRES, _asking("postgres:15")), [source], list[str]().append)
    assert (found.version, found.bin_dir) == ("15", "/usr/lib/postgresql/15/bin")


def test_no_build_of_ours_serves_for_an_image_that_was_asked_for() -> None:
    """Debian's packages have one version: the error names the image and how to come by it."""
    from sqlassay.sandboxes.images.base import built_tag

    recipe = asked_recipe(POSTGRES, _asking("postgres:14"))
    engine = cast(docker.APIClient, Engine(**{built_tag(POSTGRES): []}))
    assert base_image(POSTGRES, [LocalSource(engine)], list[str]().append).source == "debian"
    with pytest.raises(InfrastructureError, match=r"the engine has no postgres:14.*Load the image postgres:14"):
        base_image(recipe, [LocalSource(engine, built=False)], list[str]().append)
    assert replace(recipe, registry_image=POSTGRES.registry_image) == POSTGRES

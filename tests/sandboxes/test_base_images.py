"""A base image comes from the first source that answers; an official image and a build of ours serve alike."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sandbox_adapters import TinyPostgres

from sqlassay.cases.errors import EngineUnavailableError, InfrastructureError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import DebianSource, Mode, ServerRecipe
from sqlassay.dialect_adapters.postgres.recipe import RECIPE
from sqlassay.sandboxes import apt
from sqlassay.sandboxes.contract import BaseImage, Notice
from sqlassay.sandboxes.docker.client import Engine, connect
from sqlassay.sandboxes.docker.provider import DockerProvider
from sqlassay.sandboxes.images.base import Refusal, base_image, built_tag, inspect
from sqlassay.sandboxes.images.debian import DebianBuild
from sqlassay.sandboxes.images.local import LocalSource
from sqlassay.sandboxes.images.remote import RegistrySource

FOUND = BaseImage("x:1", "sha256:x", "/bin", 999, "1", "debian")
OFFICIAL = "sqlassay-test/official:17"


class Source:
    """A source that answers what it was told to."""

    def __init__(self, answer: BaseImage | Refusal) -> None:
        self._answer = answer
        self.asked = 0

    def find(self, recipe: ServerRecipe, notice: Notice) -> BaseImage | Refusal:
        self.asked += 1
        return self._answer


def _quiet(line: str) -> None:
    """Take a phase line and say nothing."""


def test_the_first_source_that_answers_wins() -> None:
    """A later source is not even asked."""
    first, second, third = Source(Refusal("no")), Source(FOUND), Source(FOUND)
    assert base_image(RECIPE, [first, second, third], _quiet) is FOUND
    assert (first.asked, second.asked, third.asked) == (1, 1, 0)


def test_every_refusal_is_named() -> None:
    """Where no source has the base, the error says why not, source by source, and what to do."""
    with pytest.raises(InfrastructureError, match=r"not here; no network.*postgres:17"):
        base_image(RECIPE, [Source(Refusal("not here")), Source(Refusal("no network"))], _quiet)


def test_a_registry_that_may_not_be_asked_is_not() -> None:
    """Switched off means no connection at all."""
    said: list[str] = []
    assert RegistrySource("never").find(RECIPE, said.append) == Refusal("pulling is switched off")
    assert said == []


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """The engine of this machine."""
    try:
        reached = connect()
    except EngineUnavailableError as fault:
        pytest.skip(str(fault))
    yield reached
    reached.api.close()


@pytest.mark.docker
def test_a_mirror_that_gives_nothing_is_given_up(engine: Engine) -> None:
    """The engine's own words are kept, in one line, and the next source is asked."""
    answer = RegistrySource("auto", ["127.0.0.1:9/none"]).find(RECIPE, _quiet)
    assert isinstance(answer, Refusal)
    assert answer.reason.startswith("the registry does not give 127.0.0.1:9/none/postgres:17 (nothing listens there)")
    assert "\n" not in answer.reason


@pytest.mark.docker
@pytest.mark.slow
def test_a_base_is_built_from_the_machine_s_own_mirror(engine: Engine, tmp_path: Path) -> None:
    """One shell, its library and nothing else: unpacked, cut down, imported, found again without a build."""
    if not apt.mirrors():
        pytest.skip("this machine has no Debian mirror")
    source = DebianSource("trixie", ("dash",), "/usr/bin", ())
    recipe = replace(RECIPE, dialect="test", registry_image="sqlassay-test/none:0", debian=source)
    said: list[str] = []
    try:
        built = DebianBuild(engine.api, tmp_path, may_install=False).find(recipe, said.append)
        assert isinstance(built, BaseImage), built
        assert built.source == "debian"
        assert built.version.startswith("0.5")
        assert LocalSource(engine.api).find(recipe, _quiet) == built
        DebianBuild(engine.api, tmp_path, may_install=False).find(recipe, said.append)
        assert len(said) == 1
    finally:
        if inspect(engine.api, built_tag(recipe)):
            engine.api.remove_image(built_tag(recipe), force=True)


class OnOfficial(TinyPostgres):
    """Postgres whose official image is the one made below."""

    @property
    def recipe(self) -> ServerRecipe:
        return replace(RECIPE, registry_image=OFFICIAL)


@pytest.fixture
def official(engine: Engine) -> Iterator[str]:
    """An image with what official ones have: a VOLUME, an ENTRYPOINT of its own, a version variable."""
    provider = DockerProvider()
    base = base_image(RECIPE, provider._sources(engine), _quiet)
    text = f"FROM {base.ref}\nLABEL io.sqlassay.version=\nENV PG_VERSION=17.9-1\n"
    text += 'VOLUME /var/lib/postgresql/data\nENTRYPOINT ["docker-entrypoint.sh"]\nCMD ["postgres"]\n'
    for line in engine.api.build(fileobj=io.BytesIO(text.encode()), tag=OFFICIAL, rm=True, decode=True):
        assert "error" not in line, line
    yield OFFICIAL
    engine.api.remove_image(OFFICIAL, force=True)


@pytest.mark.docker
def test_an_official_image_serves_as_a_base(engine: Engine, official: str, tmp_path: Path) -> None:
    """Its volume does not swallow the data, its entrypoint does not run, its anonymous volumes go with the sandbox."""
    before = {volume["Name"] for volume in engine.api.volumes()["Volumes"] or ()}
    provider = DockerProvider(cache=tmp_path)
    image = provider.prepare(OnOfficial(), [Snapshot(id="s", database="shop", digest="o")], _quiet)
    assert (image.base.ref, image.base.source, image.base.version) == (official, "registry", "17.9-1")
    sandbox = provider.start(OnOfficial(), image, Mode.READ, "tests-official")
    with OnOfficial().login(sandbox.endpoint, "shop") as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (1000,)
    provider.close()
    engine.api.remove_image(image.ref, force=True)
    assert {volume["Name"] for volume in engine.api.volumes()["Volumes"] or ()} <= before

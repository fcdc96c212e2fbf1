"""Ryuk is used only where its image is here already, and never in the way."""

from __future__ import annotations

from typing import Any, cast

import pytest
from docker.errors import ImageNotFound
from testcontainers.core.container import Reaper
from testcontainers.core.labels import LABEL_SESSION_ID, SESSION_ID

from sqlassay.sandboxes.docker.client import Engine
from sqlassay.sandboxes.docker.ryuk import guard


class FakeApi:
    """An engine that has the image, or not."""

    def __init__(self, *, has_image: bool) -> None:
        self._has_image = has_image

    def inspect_image(self, ref: str) -> dict[str, Any]:
        if not self._has_image:
            raise ImageNotFound(ref)
        return {"Id": "sha256:ryuk"}


def _engine(*, has_image: bool) -> Engine:
    """Return an engine that answers about one image."""
    return Engine(cast("Any", FakeApi(has_image=has_image)), "unix:///x", "localhost")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record starts instead of starting."""
    done: list[str] = []
    monkeypatch.setattr(Reaper, "get_instance", classmethod(lambda cls: done.append("started")))
    return done


def test_without_its_image_ryuk_is_not_started(started: list[str]) -> None:
    """Nothing is pulled and nothing is labelled."""
    assert guard(_engine(has_image=False)) == {}
    assert started == []


def test_with_its_image_sandboxes_carry_its_session(started: list[str]) -> None:
    """Ryuk removes by this label once our process is gone."""
    assert guard(_engine(has_image=True)) == {LABEL_SESSION_ID: SESSION_ID}
    assert started == ["started"]


def test_a_ryuk_that_fails_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep by file lock does the same work."""

    def fail(cls: type[Reaper]) -> None:
        raise TimeoutError

    monkeypatch.setattr(Reaper, "get_instance", classmethod(fail))
    assert guard(_engine(has_image=True)) == {}

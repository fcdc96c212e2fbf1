"""The lock file is read strictly, and each fault names the file and the field; engines' messages are told plainly."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.sandboxes.images.base import content_digest
from sqlassay.sandboxes.images.lock import ImagesLock
from sqlassay.sandboxes.images.remote import _reason

DIGEST = f"sha256:{'a' * 64}"
OTHER = f"sha256:{'b' * 64}"
IMAGE = {"Id": "i", "Os": "linux", "Architecture": "amd64", "RepoDigests": [f"m/postgres@{DIGEST}"],
         "RootFS": {"Layers": ["one"]}}  # fmt: skip


@pytest.fixture
def lock(tmp_path: Path) -> ImagesLock:
    """A lock file that does not exist yet."""
    return ImagesLock(tmp_path / "images.lock", tmp_path / "locks")


def test_without_a_file_nothing_is_locked(lock: ImagesLock) -> None:
    """Any image passes."""
    assert lock.entry("postgres:17") is None
    lock.check("postgres:17", IMAGE)


def test_what_was_recorded_is_held(lock: ImagesLock) -> None:
    """The first digest stays; files count for each platform, and the registry's digest where they are not known."""
    lock.record("postgres:17", DIGEST, IMAGE)
    arm = IMAGE | {"Architecture": "arm64", "RootFS": {"Layers": ["two"]}}
    lock.record("postgres:17", OTHER, arm)
    entry = lock.entry("postgres:17")
    assert entry is not None
    assert entry.digest == DIGEST
    assert entry.content == {"linux/amd64": content_digest(IMAGE), "linux/arm64": content_digest(arm)}
    lock.check("postgres:17", IMAGE | {"RepoDigests": []})
    lock.check("postgres:17", IMAGE | {"Architecture": "s390x"})
    for other in ({"RootFS": {"Layers": ["x"]}}, {"Architecture": "s390x", "RepoDigests": [f"postgres@{OTHER}"]}):
        with pytest.raises(InputError, match=rf"postgres:17 is locked to {DIGEST}, but the engine's image is sha256:"):
            lock.check("postgres:17", IMAGE | other)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "this is no images.lock"),
        ("[]", "this is no images.lock"),
        ("{}", "this is no images.lock"),
        ('{"format": 2, "images": {}}', "format 2, this version reads 1"),
        ('{"format": 1, "images": {"postgres:17": {"digest": "latest"}}}', "images.postgres:17.digest: String should"),
        ('{"format": 1, "images": {}, "more": 1}', "more: Extra inputs"),
        ("\udcff", "this is no images.lock"),
    ],
)
def test_a_damaged_file_is_named(lock: ImagesLock, text: str, said: str) -> None:
    """It is neither passed over nor overwritten."""
    lock.path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=said) as caught:
        lock.entry("postgres:17")
    assert caught.value.file == str(lock.path)
    with pytest.raises(InputError):
        lock.record("postgres:17", DIGEST, IMAGE)
    assert lock.path.read_bytes() == text.encode("utf-8", "surrogateescape")


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    """A folder in its place, and a place that is not there."""
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        ImagesLock(tmp_path, tmp_path / "locks").entry("x:1")
    with pytest.raises(InfrastructureError, match="cannot be written"):
        ImagesLock(tmp_path / "none" / "images.lock", tmp_path / "locks").record("x:1", DIGEST, IMAGE)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("dial tcp: lookup registry-1.docker.io on 10.0.0.2:53: no such host", "its name is not known here"),
        ("dial tcp 127.0.0.1:9: connect: connection refused", "nothing listens there"),
        ("net/http: request canceled (Client.Timeout exceeded while awaiting headers)", "no answer in time"),
        ("UnixHTTPConnectionPool(host='localhost', port=None): Read timed out. (read timeout=10)", "no answer in time"),
        ("manifest for x:1 not found: manifest unknown", "it has no such image"),
        ("pull access denied for x, repository does not exist or may require 'docker login'", "it asks for a login"),
        ("toomanyrequests: You have reached your pull rate limit", "it has had too many requests"),
        ("http: server gave HTTP response to HTTPS client", "it speaks HTTP alone"),
        ("x509: certificate signed by unknown authority", "the engine does not trust its certificate"),
        ("something else\nand more", "something else"),
    ],
)
def test_an_engine_s_message_is_told_plainly(said: str, meant: str) -> None:
    """One short reason, on one line."""
    assert _reason(said).startswith(meant)
    assert "\n" not in _reason(said)

"""Where a lock file names a signer, cosign decides: what it refuses, or cannot be asked about, is not used."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.sandboxes.images import signature
from sqlassay.sandboxes.images.lock import ImagesLock

EXACT = f"registry.example/postgres@sha256:{'a' * 64}"
KEYLESS = {"identity": "https://example.org/build", "issuer": "https://issuer.example"}


def _lock(folder: Path, signer: dict[str, Any] | None) -> ImagesLock:
    """Return a lock file with this signer, and a key beside it."""
    (folder / "cosign.pub").write_text("a key")
    named = {"format": 1} | ({"signer": signer} if signer is not None else {})
    (folder / "images.lock").write_text(json.dumps(named))
    return ImagesLock(folder / "images.lock", folder / "locks")


def _cosign(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program of that name on the path, the only one there."""
    tool = folder / "bin" / "cosign"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("signer", "asked"),
    [
        ({"key": "cosign.pub"}, "--key {folder}/cosign.pub"),
        (KEYLESS, "--certificate-identity https://example.org/build --certificate-oidc-issuer https://issuer.example"),
    ],
)
def test_cosign_is_asked_about_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signer: dict[str, Any], asked: str
) -> None:
    """With the key beside the lock file, or the identity and its issuer; an agreement lets the image pass."""
    _cosign(tmp_path, monkeypatch, f'echo "$@" > {tmp_path}/asked')
    _lock(tmp_path, signer).check_signed(EXACT)
    assert (tmp_path / "asked").read_text() == f"verify {asked.format(folder=tmp_path)} {EXACT}\n"


def test_a_refusal_names_image_signer_and_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In cosign's own last line, with the file that asks for it."""
    _cosign(tmp_path, monkeypatch, "echo 'Error: no signatures found' >&2; echo 'main.go:74: no match' >&2; exit 12")
    with pytest.raises(InputError, match=rf"{EXACT} is not signed by https://example.org/build by .*: main.go:74: no"):
        _lock(tmp_path, KEYLESS).check_signed(EXACT)


def test_a_check_that_cannot_be_made_lets_nothing_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program, no answer and no key are each an error with what to do."""
    lock = _lock(tmp_path, {"key": "cosign.pub"})
    monkeypatch.setattr(signature, "_TOOL", "no-such-cosign")
    with pytest.raises(InfrastructureError, match="no-such-cosign is not installed to check it"):
        lock.check_signed(EXACT)
    monkeypatch.undo()
    _cosign(tmp_path, monkeypatch, "exec sleep 20")
    monkeypatch.setattr(signature, "_SECONDS", 0.2)
    with pytest.raises(InfrastructureError, match=r"could not check who signed .*: did not answer within 0\.2 s"):
        lock.check_signed(EXACT)
    (tmp_path / "cosign.pub").unlink()
    with pytest.raises(InputError, match=r"signer\.key: there is no key cosign\.pub"):
        lock.check_signed(EXACT)


def test_without_a_signer_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever signed an image, no key says who should have."""
    _cosign(tmp_path, monkeypatch, "exit 1")
    lock = _lock(tmp_path, None)
    lock.check_signed(EXACT)
    assert lock.unchecked("postgres:17") == ""


def test_what_was_checked_for_another_signer_is_unchecked(tmp_path: Path) -> None:
    """The lock keeps whose signature was seen, and the signer stays in the file when an image is recorded."""
    lock = _lock(tmp_path, KEYLESS)
    image = {"Os": "linux", "Architecture": "amd64", "RootFS": {"Layers": ["one"]}}
    assert lock.unchecked("postgres:17").startswith("nobody checked that the engine's postgres:17 is signed by https:")
    lock.record("postgres:17", f"sha256:{'a' * 64}", image)
    assert lock.unchecked("postgres:17") == ""
    written = json.loads(lock.path.read_text())
    assert written["signer"] == KEYLESS
    lock.path.write_text(json.dumps(written | {"signer": {"key": "cosign.pub"}}))
    assert lock.unchecked("postgres:17").endswith("is signed by the key cosign.pub")


@pytest.mark.parametrize("signer", [{}, {"identity": "a"}, {"issuer": "a"}, {"key": "k", **KEYLESS}, {"key": ""}])
def test_a_signer_is_a_key_or_an_identity(tmp_path: Path, signer: dict[str, Any]) -> None:
    """Anything else is refused when the file is read."""
    with pytest.raises(InputError, match="signer"):
        _lock(tmp_path, signer).check_signed(EXACT)

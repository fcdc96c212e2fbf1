"""A bundle: images in one file that moves to a machine without network; whatever is in it is proven before it is used.

A bundle is a zip file. `manifest.json` names each other member with its size and sha256; the sha256 of the manifest
itself is the bundle's digest, which whoever carries the file can carry apart from it.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from sqlassay.cases.errors import InputError

FORMAT = 1
MANIFEST = "manifest.json"
CHUNK = 1024 * 1024
_LARGEST_TEXT = 64 * 1024 * 1024
_DAMAGED = (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OverflowError, ValueError)


class Member(BaseModel):
    """One member of the zip file, and what its bytes must be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    size: int
    sha256: str


class Packed(BaseModel):
    """One image: its provider, dialect, name and key, the digest of its content, and its members by their role."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: Literal["docker", "process"]
    dialect: str
    ref: str
    key: str
    family: str
    content: str = ""
    databases: int
    members: dict[str, Member]


class Manifest(BaseModel):
    """What a bundle holds, and which version of the program wrote it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    sqlassay: str
    images: tuple[Packed, ...]


class BundleWriter:
    """Adds members to a new bundle and writes its manifest last."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        """Write into this zip file."""
        self._archive = archive

    def add(self, name: str, chunks: Iterable[bytes]) -> Member:
        """Write one member and return what proves it."""
        found, size = hashlib.sha256(), 0
        with self._archive.open(name, "w", force_zip64=True) as stream:
            for chunk in chunks:
                found.update(chunk)
                size += len(chunk)
                stream.write(chunk)
        return Member(name=name, size=size, sha256=found.hexdigest())

    def finish(self, manifest: Manifest) -> str:
        """Write the manifest and return the bundle's digest."""
        text = manifest.model_dump_json(indent=1).encode()
        self._archive.writestr(MANIFEST, text)
        return f"sha256:{hashlib.sha256(text).hexdigest()}"


class Bundle:
    """A bundle that was opened to read; `prove` first, nothing in it is trusted before."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        """Read the manifest.

        Raises:
            InputError: it is missing, damaged or of another format.
        """
        self._path = path
        self._archive = archive
        if MANIFEST not in archive.namelist():
            raise self.refused("this is no bundle: it has no manifest", "Give a file of `sqlassay snapshot export`")
        text = self._text(MANIFEST)
        self.digest = f"sha256:{hashlib.sha256(text).hexdigest()}"
        self.manifest = self._parsed(text)

    def refused(self, message: str, remedy: str = "Copy it again, or export it anew") -> InputError:
        """Return the error that names this bundle."""
        return InputError(message, file=self._path, remedy=remedy)

    def prove(self, digest: str | None = None) -> None:
        """Compare every member's name, size and digest with the manifest, and the manifest's own with `digest`.

        Raises:
            InputError: anything differs; says what.
        """
        if digest is not None and digest.removeprefix("sha256:") != self.digest.removeprefix("sha256:"):
            raise self.refused(f"the bundle's digest is {self.digest}, not {digest}", "Get the bundle that was meant")
        members = [member for packed in self.manifest.images for member in packed.members.values()]
        wanted = sorted([MANIFEST, *(member.name for member in members)])
        if sorted(self._archive.namelist()) != wanted:
            raise self.refused("the bundle holds other files than its manifest names")
        for member in members:
            found = hashlib.sha256()
            size = 0
            for chunk in self.chunks(member):
                found.update(chunk)
                size += len(chunk)
            if (size, found.hexdigest()) != (member.size, member.sha256):
                told = f"sha256 {found.hexdigest()}, not {member.sha256}"
                raise self.refused(f"'{member.name}' is not what was exported: {told}")

    def chunks(self, member: Member) -> Iterator[bytes]:
        """Yield a member's bytes, and no more than the manifest says."""
        left = member.size + 1
        try:
            with self._archive.open(member.name) as stream:
                while left > 0 and (chunk := stream.read(min(CHUNK, left))):
                    left -= len(chunk)
                    yield chunk
        except (*_DAMAGED, KeyError, OSError) as error:
            raise self.refused(f"'{member.name}' is damaged: {error}") from error

    def text(self, member: Member) -> bytes:
        """Return a small member whole.

        Raises:
            InputError: it is damaged, or larger than any catalogue.
        """
        if member.size > _LARGEST_TEXT:
            raise self.refused(f"'{member.name}' is larger than any catalogue")
        return b"".join(self.chunks(member))

    def _text(self, name: str) -> bytes:
        """Return a small member by its name."""
        try:
            with self._archive.open(name) as stream:
                text = stream.read(_LARGEST_TEXT + 1)
        except (*_DAMAGED, OSError) as error:
            raise self.refused(f"'{name}' is damaged: {error}") from error
        if len(text) > _LARGEST_TEXT:
            raise self.refused(f"'{name}' is larger than any manifest")
        return text

    def _parsed(self, text: bytes) -> Manifest:
        """Return the manifest as a value."""
        try:
            number = json.loads(text)["format"]
        except (ValueError, LookupError, TypeError):
            raise self.refused("the manifest is damaged") from None
        if number != FORMAT:
            raise self.refused(f"the bundle has format {number}, this version reads {FORMAT}", "Use the newer sqlassay")
        try:
            return Manifest.model_validate_json(text)
        except ValidationError as error:
            raise self.refused(f"the manifest is damaged: {error.errors()[0]['msg']}") from None


@contextmanager
def opened(path: Path) -> Iterator[Bundle]:
    """Open a bundle to read.

    Raises:
        InputError: it is missing, or no bundle.
    """
    try:
        archive = zipfile.ZipFile(path)
    except OSError as error:
        remedy = "Give a file of `sqlassay snapshot export`"
        raise InputError(f"cannot be read: {error.strerror or error}", file=path, remedy=remedy) from error
    except _DAMAGED as error:
        remedy = "Give a file of `sqlassay snapshot export`, copied whole"
        raise InputError(f"this is no bundle: {error}", file=path, remedy=remedy) from error
    with archive:
        yield Bundle(path, archive)

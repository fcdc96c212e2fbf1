"""The file `images.lock`: which official image a name meant at its first pull, and what it must mean ever after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sqlassay.cases.errors import InputError
from sqlassay.sandboxes.cache import unusable, write_private
from sqlassay.sandboxes.images.base import content_digest
from sqlassay.sandboxes.images.signature import Signer, check_signature
from sqlassay.sandboxes.locks import exclusive

FORMAT = 1
_DIGEST = r"^sha256:[0-9a-f]{64}$"


class Locked(BaseModel):
    """One name: the digest registries know it by, and the digest of its files for each platform it was pulled on.

    `signed` is the signer that was checked when it was pulled.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    digest: str = Field(pattern=_DIGEST)
    content: dict[str, str] = Field(default_factory=dict)
    signed: str = ""


class _File(BaseModel):
    """What the file holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    images: dict[str, Locked] = Field(default_factory=dict)
    signer: Signer | None = None


class ImagesLock:
    """One such file; where it does not exist, nothing is locked yet."""

    def __init__(self, path: Path, locks: Path) -> None:
        """Read and write this file, one writer at a time by a lock in the folder `locks`."""
        self.path = path
        self._locks = locks

    def entry(self, name: str) -> Locked | None:
        """Return what a name is locked to.

        Raises:
            InputError: the file is damaged or of another format.
        """
        return self._read().images.get(name)

    def check_signed(self, exact: str) -> None:
        """Accept an image, called by its digest, that is signed as the file asks for; any where it names no signer.

        Raises:
            InputError: it is not signed so, or the file is damaged.
            InfrastructureError: nothing here can check it.
        """
        known = self._read()
        if known.signer is not None:
            check_signature(known.signer, self.path, exact)

    def unchecked(self, name: str) -> str:
        """Return why an image that is here already is not to be trusted: nobody checked its signature; else nothing."""
        known = self._read()
        locked = known.images.get(name)
        if known.signer is None or (locked is not None and locked.signed == known.signer.told):
            return ""
        return f"nobody checked that the engine's {name} is signed by {known.signer.told}"

    def record(self, name: str, digest: str, image: dict[str, Any]) -> None:
        """Lock a name to what was pulled, its signature checked; what the file says already stays.

        Raises:
            InputError: the file is damaged.
            InfrastructureError: it cannot be written.
        """
        with exclusive(self._locks, "images.lock"):
            known = self._read()
            locked = known.images.get(name) or Locked(digest=digest)
            content = locked.content | {platform(image): content_digest(image)}
            signed = known.signer.told if known.signer is not None else locked.signed
            entries = known.images | {name: locked.model_copy(update={"content": content, "signed": signed})}
            whole = _File(images=dict(sorted(entries.items())), signer=known.signer)
            text = whole.model_dump_json(indent=2, exclude_none=True)
            if not self.path.parent.is_dir():
                raise unusable(self.path, FileNotFoundError(2, "No such file or directory"))
            write_private(self.path, f"{text}\n")
            self.path.chmod(0o644)  # it is meant to be kept with the project and holds no secret

    def refused(self, name: str, wanted: str, found: str, where: str) -> InputError:
        """Return the error that names both digests and what to do."""
        return InputError(
            f"{name} is locked to {wanted}, but {where} is {found}",
            file=self.path,
            field=name,
            remedy=f"Pull the locked one (`docker pull {name.rpartition(':')[0]}@{wanted}`), or take the entry out of "
            "the file to accept the other",
        )

    def check(self, name: str, image: dict[str, Any]) -> None:
        """Accept a local image that is the locked one by its registry's digest or by its files; else raise.

        Raises:
            InputError: it is another image; names both digests.
        """
        locked = self.entry(name)
        if locked is None:
            return
        digests = [str(digest).rpartition("@")[2] for digest in image.get("RepoDigests") or ()]
        found = content_digest(image)
        files = locked.content.get(platform(image))
        if files is not None and found != files:
            raise self.refused(
                name, locked.digest, digests[0] if digests else f"of files {found}", "the engine's image"
            )
        if files is None and locked.digest not in digests:
            raise self.refused(name, locked.digest, digests[0] if digests else "without one", "the engine's image")

    def _read(self) -> _File:
        """Return the file's content."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return _File()
        except OSError as error:
            remedy = "Give a file you can read"
            raise InputError(f"cannot be read: {error.strerror}", file=self.path, remedy=remedy) from error
        remedy = "Correct it, or remove it: the next pull writes it anew"
        try:
            number = json.loads(text)["format"]
            if number != FORMAT:
                message = f"format {number}, this version reads {FORMAT}"
                raise InputError(message, file=self.path, field="format", remedy="Use the newer sqlassay")
            return _File.model_validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            raise InputError(first["msg"], file=self.path, field=field, remedy=remedy) from None
        except (ValueError, LookupError, TypeError):
            raise InputError("this is no images.lock", file=self.path, remedy=remedy) from None


def platform(image: dict[str, Any]) -> str:
    """Return the platform an image is for, as `linux/amd64`."""
    return f"{image.get('Os', 'linux')}/{image.get('Architecture', 'unknown')}"

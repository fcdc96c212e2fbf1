"""Check who signed an image, by cosign, before it is pulled."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sqlassay.cases.errors import InfrastructureError, InputError

_TOOL = "cosign"
_SECONDS = 60


class Signer(BaseModel):
    """Who must have signed every image that is pulled: a public key, or an identity that an issuer vouches for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str | None = Field(default=None, min_length=1, description="a public key's file, beside the lock file")
    identity: str | None = Field(default=None, min_length=1)
    issuer: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _one_way(self) -> Signer:
        """Refuse what cosign could not be asked."""
        if (self.key is None) == (self.identity is None and self.issuer is None) or (
            (self.identity is None) != (self.issuer is None)
        ):
            raise ValueError("name a key, or an identity with its issuer")
        return self

    @property
    def told(self) -> str:
        """Return the signer as a person reads it."""
        return f"the key {self.key}" if self.key else f"{self.identity} by {self.issuer}"

    def arguments(self, folder: Path) -> tuple[str, ...]:
        """Return what cosign is told; a key's path is meant from the lock file's folder."""
        if self.key is not None:
            return ("--key", str(folder / self.key))
        return ("--certificate-identity", str(self.identity), "--certificate-oidc-issuer", str(self.issuer))


def check_signature(signer: Signer, lock: Path, image: str) -> None:
    """Return where an image, named by its digest, is signed as the lock file says.

    Raises:
        InputError: it is not, in cosign's own last line, or the key is not there.
        InfrastructureError: cosign is not installed, or does not answer.
    """
    program = shutil.which(_TOOL)
    if program is None:
        raise InfrastructureError(
            f"{lock} says that images are signed by {signer.told}, and {_TOOL} is not installed to check it",
            remedy=f"Install {_TOOL}, or take `signer` out of that file",
        )
    if signer.key is not None and not (lock.parent / signer.key).is_file():
        remedy = "Write the key's path from the lock file's folder"
        raise InputError(f"there is no key {signer.key}", file=lock, field="signer.key", remedy=remedy)
    command = (program, "verify", *signer.arguments(lock.parent), image)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SECONDS, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        what = f"did not answer within {_SECONDS} s" if isinstance(error, subprocess.TimeoutExpired) else str(error)
        message = f"{_TOOL} could not check who signed {image}: {what}"
        raise InfrastructureError(message, remedy="Run `cosign verify` by hand, then again") from error
    if done.returncode:
        said = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise InputError(
            f"{image} is not signed by {signer.told}: {(said or ['no message'])[-1][:200]}",
            file=lock,
            field="signer",
            remedy="Use an image that is, or correct the signer",
        )

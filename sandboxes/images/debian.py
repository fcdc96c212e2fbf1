"""The last source of a base image: built from Debian packages, for machines that reach no registry."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import docker

from sqlassay.cases.errors import InfrastructureError
from sqlassay.dialect_adapters.contract import DebianSource, ServerRecipe
from sqlassay.sandboxes import apt
from sqlassay.sandboxes.contract import BaseImage, Notice
from sqlassay.sandboxes.images.base import TOOL_PACKAGES, VERSION, Refusal, built_tag, inspect
from sqlassay.sandboxes.images.local import describe
from sqlassay.sandboxes.images.slim import reduce
from sqlassay.sandboxes.locks import exclusive
from sqlassay.sandboxes.scratch import Scratch

_TOOL = "mmdebstrap"
_EXPIRED = 'Acquire::Check-Valid-Until "false"'


class DebianBuild:
    """Unpacks packages from the machine's own mirror, cuts them down to one engine and imports the result."""

    def __init__(self, api: docker.APIClient, locks: Path, *, may_install: bool) -> None:
        """Build into this engine, one build of a base at a time; `may_install` allows installing the tool."""
        self._api = api
        self._locks = locks
        self._may_install = may_install

    def find(self, recipe: ServerRecipe, notice: Notice) -> BaseImage | Refusal:
        """Return the built base, or why it cannot be built here."""
        mirror = next(iter(apt.mirrors()), None)
        if mirror is None:
            return Refusal("this machine has no Debian mirror to build from")
        if shutil.which(_TOOL) is None and not (self._may_install and apt.can_install()):
            return Refusal(f"{_TOOL} is not installed (`apt-get install {_TOOL}`)")
        tag = built_tag(recipe)
        name = tag.replace("/", "-").replace(":", "-")
        with exclusive(self._locks, name, lambda: notice("waiting for another run that builds this base image")):
            if inspect(self._api, tag) is None:
                self._build(recipe, mirror, tag, notice)
        return describe(self._api, tag, recipe, official=False) or Refusal(f"{tag} vanished after it was built")

    def _build(self, recipe: ServerRecipe, mirror: str, tag: str, notice: Notice) -> None:
        """Unpack, reduce and import."""
        if shutil.which(_TOOL) is None:
            notice(f"installing {_TOOL}, about 15 s")
            apt.install((_TOOL,))
        notice(f"building the base image for {recipe.dialect} from Debian packages, about 30 s")
        with Scratch("base") as folder:
            full, slim = folder / "full.tar", folder / "slim.tar"
            _unpack(recipe.debian, mirror, full, recipe.pinned, notice)
            try:
                version = reduce(full, slim, recipe)
            except KeyError as missing:
                raise InfrastructureError(
                    f"the Debian packages of {recipe.dialect} lack {missing}", remedy="Check the recipe's programs"
                ) from missing
            repository, _, label = tag.rpartition(":")
            self._api.import_image_from_file(
                str(slim), repository=repository, tag=label, changes=[f"LABEL {VERSION}={version}"]
            )


def _unpack(source: DebianSource, mirror: str, target: Path, pinned: Path | None, notice: Notice) -> None:
    """Write the packages with all they depend on to one archive, signatures checked.

    Raises:
        InfrastructureError: the mirror or the tool failed, with its last error line; or the suite's Release file has
            expired, so that nobody vouches for what is newest in it, and a package is none of those pinned.
    """
    command = [_TOOL, "--variant=extract", f"--include={','.join((*source.packages, *TOOL_PACKAGES))}"]
    command += [f"--aptopt={option}" for option in source.apt_options]
    place = (source.suite, str(target), mirror)
    fault = _ran([*command, *place])
    if "is expired" in fault and pinned is not None:
        notice(f"the mirror's {source.suite} is past its date: taking the packages pinned in {pinned.name} alone")
        used = target.with_suffix(".sha256")
        hook = f'cd "$1/var/cache/apt/archives" && sha256sum *.deb > {shlex.quote(str(used))}'
        fault = _ran([*command, f"--aptopt={_EXPIRED}", f"--extract-hook={hook}", *place])
        if not fault:
            check_pinned(used.read_text("utf-8"), pinned, source)
            return
    if fault:
        raise InfrastructureError(
            f"{_TOOL} could not unpack {', '.join(source.packages)}: {fault}",
            remedy="Check that the machine's Debian mirror is reachable and has this release",
        )


def check_pinned(used: str, pinned: Path, source: DebianSource) -> None:
    """Return where every package that was unpacked is pinned, both lists as `sha256sum` writes them.

    Raises:
        InfrastructureError: one is not, or nothing was unpacked.
    """
    known = set(pinned.read_text("utf-8").splitlines())
    strange = next((line for line in used.splitlines() if line not in known), None)
    if strange is None and used.strip():
        return
    digest, _, name = (strange or "none  no package").partition("  ")
    raise InfrastructureError(
        f"{name} ({digest[:12]}) is not pinned, and the Release file of {source.suite} has expired",
        remedy="Use a mirror that is up to date, or a registry that has the official image",
    )


def _ran(command: list[str]) -> str:
    """Run the tool and return its first error line, nothing where it did its work."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if not done.returncode:
        return ""
    errors = [line for line in done.stderr.splitlines() if line.startswith(("E:", "Err"))] or ["no message"]
    return next((line for line in errors if "is expired" in line), errors[0])

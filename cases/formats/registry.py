"""Find a pack and the format it is written in, among the installed `sqlassay.formats` entry points."""

from __future__ import annotations

import logging
from functools import cache, partial
from pathlib import Path

from sqlassay.cases.compact import settle
from sqlassay.cases.errors import InputError
from sqlassay.cases.extensions import installed, load
from sqlassay.cases.formats.contract import Format
from sqlassay.cases.pack import Pack
from sqlassay.cases.paths import asks
from sqlassay.cases.tables import named_part

_log = logging.getLogger("sqlassay.packs")

GROUP = "sqlassay.formats"
PACKS = Path(__file__).parents[1] / "packs"


def names() -> tuple[str, ...]:
    """Return every installed format name, sorted."""
    return tuple(installed(GROUP))


@cache
def pack_format(name: str) -> Format:
    """Return one format, loaded only now.

    Raises:
        InputError: no such format; the remedy lists the installed ones.
    """
    found: Format = load(GROUP, name, what="format", field="format")()
    return found


def own_packs() -> tuple[str, ...]:
    """Return the names of the packs that come with the package."""
    return tuple(sorted(path.parent.name for path in PACKS.glob("*/pack.yaml")))


def find_pack(name: str) -> Path:
    """Return the path of a pack given as a path or as the name of one that comes with the package.

    A path wins where a format recognises what is there, so that a folder which happens to be called like one of our
    packs does not hide it; a path that is no pack is returned where no pack of ours has its name.

    Raises:
        InputError: neither; the remedy lists the names.
    """
    path = Path(name)
    there, ours = asks(named_part(path)[0].exists), name in own_packs()
    if there and not ours:
        return path
    if there and any(asks(partial(pack_format(form).detect, path)) for form in names()):
        _log.warning("pack '%s' is %s, not the pack of that name in %s", name, path.absolute(), PACKS)
        return path
    if ours:
        return PACKS / name
    raise InputError(f"no pack '{name}'", field="pack", remedy=f"Name a path, or one of: {', '.join(own_packs())}")


def load_pack(path: Path, *, format: str | None = None) -> Pack:  # noqa: A002 (the word the command line uses)
    """Return the pack at `path`, in the format named or the first one that recognises it.

    Raises:
        InputError: nothing there, no format recognises it, or the pack is malformed.
    """
    found = find_pack(str(path))
    pack = _reader(found, format).load(found)
    settle(pack.cases)
    settle(pack.inline_predictions)
    return pack


def _reader(path: Path, named: str | None) -> Format:
    """Return the format named, or the first one that recognises what is there.

    Raises:
        InputError: no such format, or none recognises it.
    """
    if named is not None:
        return pack_format(named)
    # The readers that take nearly any file of their kind ask last.
    for name in sorted(names(), key=lambda name: (int(getattr(pack_format(name), "fallback", 0)), name)):
        if pack_format(name).detect(path):
            return pack_format(name)
    remedy = f"Name the format: {', '.join(names())}; a folder needs a pack.yaml"
    raise InputError("no format recognises this pack", file=path, remedy=remedy)

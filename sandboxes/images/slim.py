"""Cut an unpacked Debian system down to one engine: its programs, the libraries they load and the data they read."""

from __future__ import annotations

import gzip
import io
import posixpath
import re
import tarfile
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from sqlassay.dialect_adapters.contract import DebianSource, ServerRecipe
from sqlassay.sandboxes.images.base import TOOLS
from sqlassay.sandboxes.images.elf import needed

SOCKET_FOLDER = "run/sqlassay"
DATA_FOLDER = "var/lib/sqlassay"
_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ALWAYS = ("libgcc_s.so.1",)
"""Loaded by name at run time (a cancelled thread needs it), so no program names it."""

_VERSION = re.compile(r"\((?:\d+:)?([0-9][0-9.]*)")


class _Selection:
    """The names of one archive's members that must stay, grown until nothing they need is missing."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        """Index the archive by path and by file name."""
        self._archive = archive
        self.members = {member.name.removeprefix("./"): member for member in archive.getmembers()}
        self.kept: set[str] = set()
        self._by_name: dict[str, list[str]] = {}
        for path in self.members:
            self._by_name.setdefault(posixpath.basename(path), []).append(path)

    def add(self, path: str) -> None:
        """Keep a file, what its links point at, and every library it needs."""
        pending = [path]
        while pending:
            current = pending.pop()
            member = self.members.get(current)
            if member is None or current in self.kept or member.isdir():
                continue
            self.kept.add(current)
            if member.issym():
                pending.append(_target(current, member.linkname))
            else:
                pending.extend(self._libraries(member))

    def add_name(self, name: str) -> None:
        """Keep every file of that name, wherever it lies."""
        for path in self._by_name.get(name, ()):
            self.add(path)

    def content(self, member: tarfile.TarInfo) -> bytes:
        """Return a member's bytes, through hard links."""
        stream = self._archive.extractfile(member)
        return b"" if stream is None else stream.read()

    def _libraries(self, member: tarfile.TarInfo) -> Iterable[str]:
        """Yield the places of every library a file needs."""
        for name in needed(self.content(member)):
            yield from (path for path in self._by_name.get(name, ()) if path.startswith("usr/lib"))


def reduce(archive: Path, target: Path, recipe: ServerRecipe) -> str:
    """Write the reduced system to `target` and return the version of the recipe's first package.

    The same packages give the same bytes: names sorted, times zero, owners numeric.

    Raises:
        KeyError: a program of the recipe is not in the archive.
    """
    source = recipe.debian
    with tarfile.open(archive) as full:
        selection = _Selection(full)
        for program in (*source.programs, *TOOLS):
            selection.add(_place(selection, source, program))
        for name in _ALWAYS:
            selection.add_name(name)
        for path in selection.members:
            if _matches(path, source.keep) and not _matches(path, source.drop):
                selection.add(path)
        with tarfile.open(target, "w") as slim:
            _write_skeleton(slim, selection, recipe)
            _write_files(slim, selection)
        return _version(selection, source.packages[0])


def _place(selection: _Selection, source: DebianSource, program: str) -> str:
    """Return a program's path in the archive; a bare name lies in the recipe's program folder."""
    path = posixpath.join(source.bin_dir, program).lstrip("/")
    if path not in selection.members:
        raise KeyError(path)
    return path


def _matches(path: str, patterns: Iterable[str]) -> bool:
    """Return True where a path matches any pattern, with or without its leading slash; `*` crosses folders."""
    return any(fnmatchcase(path, pattern.lstrip("/")) for pattern in patterns)


def _target(path: str, link: str) -> str:
    """Return what a symbolic link at `path` points at, as a path from the root."""
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(path), link)).lstrip("/")


def _write_skeleton(slim: tarfile.TarFile, selection: _Selection, recipe: ServerRecipe) -> None:
    """Write what every Linux program expects and no package brings: links, users, temporary and run folders."""
    tops = {path.split("/")[1] for path in selection.kept if path.startswith("usr/")}
    for name in _LINKS:
        if name in tops:
            slim.addfile(_entry(name, tarfile.SYMTYPE, link=f"usr/{name}"))
    if "usr/bin/dash" in selection.kept and "usr/bin/sh" not in selection.kept:
        slim.addfile(_entry("usr/bin/sh", tarfile.SYMTYPE, link="dash"))
    for folder, mode, uid in (("tmp", 0o1777, 0), (SOCKET_FOLDER, 0o755, recipe.uid), (DATA_FOLDER, 0o755, recipe.uid)):
        entry = _entry(folder, tarfile.DIRTYPE, mode=mode)
        entry.uid = entry.gid = uid
        slim.addfile(entry)
    user, uid = recipe.user_name, recipe.uid
    _add_text(slim, "etc/passwd", f"root:x:0:0::/:/sbin/nologin\n{user}:x:{uid}:{uid}::/:/sbin/nologin\n")
    _add_text(slim, "etc/group", f"root:x:0:\n{user}:x:{uid}:\n")
    _add_text(slim, "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")


def _write_files(slim: tarfile.TarFile, selection: _Selection) -> None:
    """Write each kept member, hard links as files of their own."""
    for path in sorted(selection.kept):
        member = selection.members[path]
        if member.issym():
            slim.addfile(_entry(path, tarfile.SYMTYPE, link=member.linkname))
        elif member.isfile() or member.islnk():
            data = selection.content(member)
            entry = _entry(path, tarfile.REGTYPE, mode=member.mode & 0o755)
            entry.size = len(data)
            slim.addfile(entry, io.BytesIO(data))


def _add_text(slim: tarfile.TarFile, path: str, text: str) -> None:
    """Write one small text file."""
    entry = _entry(path, tarfile.REGTYPE)
    entry.size = len(text.encode())
    slim.addfile(entry, io.BytesIO(text.encode()))


def _entry(path: str, kind: bytes, *, mode: int = 0o644, link: str = "") -> tarfile.TarInfo:
    """Return a header without owner names or times."""
    entry = tarfile.TarInfo(path)
    entry.type, entry.mode, entry.linkname = kind, mode, link
    return entry


def _version(selection: _Selection, package: str) -> str:
    """Return a package's upstream version from its changelog: unpacking alone leaves no package database."""
    for name in ("changelog.Debian.gz", "changelog.gz"):
        member = selection.members.get(f"usr/share/doc/{package}/{name}")
        if member is not None and member.isfile():
            first = gzip.decompress(selection.content(member)).decode("utf-8", "replace").split("\n", 1)[0]
            found = _VERSION.search(first)
            return found.group(1) if found else ""
    return ""

"""The SQL of a pg_dump archive (-Fc, -Ft, -Fd): what pg_restore would print, read without it.

The format is that of PostgreSQL's pg_backup_archiver.c, versions 1.10 (Postgres 8.4) to 1.16 (Postgres 17 and 18).
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.cases.paths import asks
from sqlassay.cases.reading import MAX_DOCUMENT, read_bytes
from sqlassay.cases.sources.packing import inflated, too_large, unpacked

MAGIC = b"PGDMP"
_OLDEST, _NEWEST = (1, 10), (1, 16)
_GZIP, _LZ4, _ZSTD = 1, 2, 3
_DATA, _BLOBS = 1, 3
_CUSTOM = 1
_TOC = "toc.dat"
_SUFFIXES = ("", ".gz", ".lz4", ".zst")
_FILE = re.compile(r"[0-9]+\.dat")
_REMEDY = "Write it as text: pg_restore -f dump.sql, or pg_dump without -F"


@dataclass(frozen=True, slots=True)
class _Entry:
    """One object of the table of contents."""

    number: int
    kind: str
    definition: str
    copy: str
    file: str


class _Reader:
    """Reads the archive's numbers and texts from bytes."""

    def __init__(self, data: bytes, path: Path) -> None:
        """Begin behind the magic and read the header."""
        self.stream = io.BytesIO(data)
        self.path = path
        self.stream.seek(len(MAGIC))
        self.version = (self.byte(), self.byte())
        self.byte()
        if not _OLDEST <= self.version <= _NEWEST:
            raise self.fault(f"a pg_dump archive of version {'.'.join(map(str, self.version))}")
        self.int_size, self.offset_size, self.format = self.byte(), self.byte(), self.byte()
        self.packing = self.byte() if self.version >= (1, 15) else int(self.number() != 0)
        for _ in range(7):  # when it was made
            self.number()
        for _ in range(3):  # the database's name, the server's and the tool's version
            self.text()

    def byte(self) -> int:
        """Read one byte."""
        found = self.stream.read(1)
        if not found:
            raise self.fault("the archive ends early")
        return found[0]

    def number(self) -> int:
        """Read a number: its sign, then its bytes, the lowest first."""
        negative = self.byte()
        size = int.from_bytes(self.stream.read(self.int_size), "little")
        return -size if negative else size

    def text(self) -> str:
        """Read a text, empty where there is none."""
        size = self.number()
        if size <= 0:
            return ""
        found = self.stream.read(size)
        if len(found) != size:
            raise self.fault("the archive ends early")
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise self.fault("the archive holds text that is no UTF-8") from None

    def entry(self) -> _Entry:
        """Read one entry of the table of contents."""
        number = self.number()
        self.number()
        self.text()
        self.text()
        self.text()
        kind = self.text()
        if self.version >= (1, 11):
            self.number()
        definition, _, copy = self.text(), self.text(), self.text()
        self.text()
        self.text()
        if self.version >= (1, 14):
            self.text()
        if self.version >= (1, 16):
            self.number()
        self.text()
        self.text()
        while self.text():  # what it depends on
            pass
        file = ""
        if self.format == _CUSTOM:
            self.stream.read(1 + self.offset_size)
        else:
            file = self.text()
        return _Entry(number, kind, definition, copy, file)

    def chunks(self) -> bytes:
        """Read the pieces of one block of data, unpacked."""
        parts = []
        while size := self.number():
            parts.append(self.stream.read(size))
        data = b"".join(parts)
        if not data or not self.packing:
            return data
        if self.packing not in (_GZIP, _LZ4, _ZSTD):
            raise self.fault("the archive is packed in a way that is not known here")
        return inflated(data, self.path) if self.packing == _GZIP else unpacked(data, self.path)

    def fault(self, message: str) -> InputError:
        """Return the error of an archive that cannot be read."""
        return InputError(message, file=self.path, remedy=_REMEDY)


def archive_sql(data: bytes, path: Path) -> str:
    """Return the SQL of an archive's bytes, COPY data inline as in a plain dump.

    Raises:
        InputError: a damaged archive, or one of a version or packing that is not known here.
    """
    if not data.startswith(MAGIC):
        return _tar_sql(data, path)
    reader = _Reader(data, path)
    entries = [reader.entry() for _ in range(reader.number())]
    blocks = _blocks(reader)
    return _sql(entries, lambda one: blocks.get(one.number, b""), path)


def folder_sql(folder: Path) -> str:
    """Return the SQL of an archive that is a folder (-Fd), in which each table's data is a file, packed or not.

    Raises:
        InputError: a damaged archive, or one whose files are not all there.
    """
    reader = _Reader(read_bytes(folder / _TOC), folder / _TOC)
    entries = [reader.entry() for _ in range(reader.number())]

    def content(one: _Entry) -> bytes:
        """Return the rows of a table."""
        files = [folder / f"{one.file}{suffix}" for suffix in _SUFFIXES]
        # The table of contents is somebody else's: it names no file elsewhere.
        known = _FILE.fullmatch(one.file) is not None
        file = next((file for file in files if known and asks(file.is_file) and not file.is_symlink()), None)
        if file is None:
            raise reader.fault(f"the archive lacks its file {one.file}")
        return unpacked(read_bytes(file), file)

    return _sql(entries, content, folder)


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder that pg_dump wrote; never raises."""
    return asks((path / _TOC).is_file)


def is_archive(head: bytes) -> bool:
    """Return whether a file that begins so is an archive of pg_dump's, plain or as a tar."""
    return head.startswith((MAGIC, b"toc.dat\0"))


def _blocks(reader: _Reader) -> Mapping[int, bytes]:
    """Return every block of table data behind the table of contents, by its entry."""
    found: dict[int, bytes] = {}
    while kind := reader.stream.read(1):
        number = reader.number()
        if kind[0] == _DATA:
            found[number] = reader.chunks()
        elif kind[0] == _BLOBS:
            while reader.number():  # each large object by its number
                reader.chunks()
        else:
            raise reader.fault("the archive is damaged: a block of no known kind")
    return found


def _tar_sql(data: bytes, path: Path) -> str:
    """Return the SQL of a tar archive, in which each table's data is a file."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            files = {one.name: stream.read() for one in archive if (stream := archive.extractfile(one)) is not None}
    except tarfile.TarError as error:
        raise InputError(f"the archive is damaged: {error}", file=path, remedy=_REMEDY) from None
    reader = _Reader(files.get("toc.dat", b""), path)
    entries = [reader.entry() for _ in range(reader.number())]
    return _sql(entries, lambda one: files.get(one.file, b""), path)


def _sql(entries: list[_Entry], data: Callable[[_Entry], bytes], path: Path) -> str:
    """Return the entries as SQL, in their order, which is that of their dependence."""
    parts, size = [], 0
    for one in entries:
        if one.kind in ("BLOB", "BLOBS", "BLOB METADATA", "BLOB COMMENTS"):
            message = "the archive holds large objects, which no statement of a pack could read"
            raise InputError(message, file=path, remedy="Dump without them: pg_dump --no-large-objects")
        if one.kind == "TABLE DATA":
            rows = data(one)
            size += len(rows)
            if size > MAX_DOCUMENT:
                raise too_large(path)
            try:
                parts.append(f"{one.copy}{rows.decode()}")
            except UnicodeDecodeError:
                raise InputError("the archive's data is no UTF-8", file=path, remedy="pg_dump -E UTF8") from None
        else:
            parts.append(one.definition)
    return "\n".join(parts)

"""Read which shared libraries a program names, from its bytes: the host's `ldd` would answer for the host."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_MAGIC = b"\x7fELF\x02\x01"
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRING_TABLE = 1, 5


@dataclass(frozen=True, slots=True)
class _Segment:
    """One entry of a program header: its type, place in the file, address in memory and size."""

    kind: int
    offset: int
    address: int
    size: int


def needed(data: bytes) -> tuple[str, ...]:
    """Return the file names of the libraries (and the loader) a 64-bit little-endian ELF file needs; else nothing."""
    if not data.startswith(_MAGIC):
        return ()
    segments = tuple(_segments(data))
    names = [_loader(data, segment) for segment in segments if segment.kind == _INTERPRETER]
    for segment in segments:
        if segment.kind == _DYNAMIC:
            names += _libraries(data, segment, segments)
    return tuple(names)


def _segments(data: bytes) -> Iterator[_Segment]:
    """Yield the program headers."""
    (table,) = struct.unpack_from("<Q", data, 32)
    entry_size, count = struct.unpack_from("<HH", data, 54)
    for index in range(count):
        kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", data, table + index * entry_size)
        yield _Segment(kind, offset, address, size)


def _loader(data: bytes, segment: _Segment) -> str:
    """Return the file name of the program's loader."""
    path = data[segment.offset : segment.offset + segment.size].rstrip(b"\0")
    return path.decode().rpartition("/")[2]


def _libraries(data: bytes, dynamic: _Segment, segments: tuple[_Segment, ...]) -> list[str]:
    """Return the names in the dynamic section, looked up in its string table."""
    end = min(dynamic.offset + dynamic.size, len(data) - 15)
    entries = [struct.unpack_from("<QQ", data, place) for place in range(dynamic.offset, end, 16)]
    table = next((value for tag, value in entries if tag == _STRING_TABLE), None)
    home = next(
        (s for s in segments if s.kind == _LOAD and table is not None and 0 <= table - s.address < s.size), None
    )
    if table is None or home is None:
        return []
    base = table - home.address + home.offset
    return [_string(data, base + value) for tag, value in entries if tag == _NEEDED]


def _string(data: bytes, start: int) -> str:
    """Return the zero-terminated string at `start`."""
    return data[start : data.index(b"\0", start)].decode()

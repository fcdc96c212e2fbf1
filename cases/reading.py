"""Read text, JSON and JSON lines that strangers wrote: bounded, UTF-8, and every fault with its file and line."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.cases.storable import HALF, half_escape, unstorable

MAX_DOCUMENT = 256 * 1024 * 1024
MAX_LINE = 16 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_UTF8_REMEDY = "Save the file as UTF-8 text"
HALF_REMEDY = "Write the whole character, or both halves one after the other"


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON value of a file and the line it starts on."""

    line: int
    value: object


def read_bytes(path: Path, *, limit: int = MAX_DOCUMENT) -> bytes:
    """Return a regular file's bytes.

    Raises:
        InputError: no such file, not a regular file, unreadable, or larger than `limit`.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError("not a regular file", file=path, remedy="Name a file")
        if status.st_size > limit:
            size = f"{status.st_size:,} bytes is more than the limit of {limit:,}"
            raise InputError(size, file=path, remedy="Split the file")
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", file=path, remedy="Check the path and its rights"
        ) from None


def read_text(path: Path, *, limit: int = MAX_DOCUMENT) -> str:
    """Return a UTF-8 file's text without BOM and with plain line ends.

    Raises:
        InputError: as `read_bytes`, or bytes that are no UTF-8 text.
    """
    return to_text(read_bytes(path, limit=limit), path).replace("\r\n", "\n").replace("\r", "\n")


def to_text(data: bytes, path: Path, *, first_line: int = 1) -> str:
    """Decode UTF-8 bytes, refusing NUL and saying on which line the first wrong byte is."""
    data = data.removeprefix(_BOM)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("file is UTF-16", file=path, line=first_line, remedy=_UTF8_REMEDY)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        raise InputError("not UTF-8 text", file=path, line=line, remedy=_UTF8_REMEDY) from None
    if "\0" in text:
        line = first_line + text.count("\n", 0, text.index("\0"))
        raise InputError("NUL byte in a text file", file=path, line=line, remedy=_UTF8_REMEDY)
    return text


def parse_json(text: str, path: Path, *, line: int = 1) -> object:
    """Return one JSON value, refusing duplicate keys, NaN, halves of characters and endless nesting.

    Raises:
        InputError: with the line of the fault, counted from `line`.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        where = line + error.lineno - 1
        message = f"not JSON: {error.msg} at column {error.colno}"
        raise InputError(message, file=path, line=where, remedy="Correct the JSON") from None
    except RecursionError:
        raise InputError("nested too deeply", file=path, line=line, remedy="Flatten the JSON") from None
    except ValueError as error:
        raise InputError(f"not accepted: {error}", file=path, line=line, remedy="Correct the JSON") from None
    half = half_escape(text)
    if half is not None:
        where = line + text.count("\n", 0, half)
        raise InputError(f"holds {HALF}", file=path, line=where, field=_half_field(value), remedy=HALF_REMEDY)
    return value


def _half_field(value: object) -> str | None:
    """Return the field that holds half a character, as a.b.0, where a value is known to hold one."""
    found = unstorable(value)
    return ".".join(str(part) for part in found[0]) or None if found else None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Build an object, refusing a key that stands twice, since the first would be lost silently."""
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"key '{twice}' stands twice")
    return made


def _no_constant(name: str) -> object:
    """Refuse NaN and Infinity, which are no JSON."""
    raise ValueError(f'{name} is no JSON; write {{"$float": …}}')


def json_lines(path: Path, *, limit: int = MAX_LINE) -> Iterator[Record]:
    """Yield each non-empty line of a JSON lines file.

    Raises:
        InputError: an unreadable file, a line past `limit` bytes, or a line that is no JSON.
    """
    if not path.is_file():
        if path.exists():
            raise InputError("not a regular file", file=path, remedy="Name a file")
        raise InputError("no such file", file=path, remedy="Check the path")
    with path.open("rb") as stream:
        number = 0
        while data := stream.readline(limit + 1):
            number += 1
            if len(data) > limit:
                message = f"line is longer than {limit:,} bytes"
                raise InputError(message, file=path, line=number, remedy="Put one JSON object on each line")
            if number > 1 and data.startswith(_BOM):
                raise InputError("byte order mark inside the file", file=path, line=number, remedy=_UTF8_REMEDY)
            text = to_text(data, path, first_line=number).strip()
            if text:
                yield Record(number, parse_json(text, path, line=number))


def json_records(path: Path) -> list[Record]:
    """Return the records of a JSON lines file or of one JSON list, each with its line.

    Raises:
        InputError: as `json_lines` and `parse_json`.
    """
    if starts_with(path, b"["):
        text = read_text(path)
        document = parse_json(text, path)
        if isinstance(document, list):
            lines = element_lines(text)
            return [Record(lines(i), value) for i, value in enumerate(document)]
    return list(json_lines(path))


def starts_with(path: Path, mark: bytes) -> bool:
    """Return True where a file's first byte that is no space, past a BOM, is `mark`."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            return stream.read(4096).removeprefix(_BOM).lstrip().startswith(mark)
    except OSError:
        return False


def element_lines(text: str, *, key: str | None = None) -> Callable[[int], int]:
    """Return a function from an index to the line of that element: of the top list, or of the list under `key`."""
    starts = _element_starts(text, key)

    def line(index: int) -> int:
        """Return the line of element `index`, or 1 where the text gave no positions."""
        return text.count("\n", 0, starts[index]) + 1 if index < len(starts) else 1

    return line


def _element_starts(text: str, key: str | None) -> list[int]:
    """Return the offset of every element of the list; the text is known to be valid JSON."""
    decoder = json.JSONDecoder()
    position = _skip(text, 0) + 1
    if key is not None:
        position = _list_under(text, decoder, position, key)
    starts: list[int] = []
    position = _skip(text, position)
    while position < len(text) and text[position] not in "]}":
        starts.append(position)
        _, position = decoder.raw_decode(text, position)
        position = _skip(text, position)
        position = _skip(text, position + 1) if text[position] == "," else position
    return starts


def _list_under(text: str, decoder: json.JSONDecoder, position: int, key: str) -> int:
    """Return the offset past the `[` of the list under a key that the top object is known to have."""
    position = _skip(text, position)
    while True:
        name, position = decoder.raw_decode(text, position)
        position = _skip(text, _skip(text, position) + 1)
        if name == key:
            return position + 1
        _, position = decoder.raw_decode(text, position)
        position = _skip(text, _skip(text, position) + 1)


def _skip(text: str, position: int) -> int:
    """Return the offset of the next character that is no JSON space."""
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position

"""Unpack what a dump or a script is packed by: gzip, bzip2, xz, LZ4 or Zstandard, known by the bytes it begins with."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from sqlassay.cases.errors import InputError
from sqlassay.cases.extras import install_line
from sqlassay.cases.reading import MAX_DOCUMENT


def _lz4(stream: IO[bytes]) -> Any:
    """Open an LZ4 frame."""
    import lz4.frame

    return lz4.frame.open(stream)


def _zstd(stream: IO[bytes]) -> Any:
    """Open Zstandard frames."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    return zstd.open(stream)


_FORMS: tuple[tuple[bytes, str, Callable[[IO[bytes]], Any]], ...] = (
    (b"\x1f\x8b", "gzip", gzip.open),
    (b"BZh", "bzip2", bz2.open),
    (b"\xfd7zXZ\0", "xz", lzma.open),
    (b"\x04\x22\x4d\x18", "LZ4", _lz4),
    (b"\x28\xb5\x2f\xfd", "Zstandard", _zstd),
)


def is_packed(head: bytes) -> bool:
    """Return whether bytes begin as a packed file does."""
    return any(head.startswith(magic) for magic, _, _ in _FORMS)


def unpacked(data: bytes, path: Path) -> bytes:
    """Return the content of a packed file, or the bytes themselves where they are not packed.

    Raises:
        InputError: it is damaged, too large, or packed in a form whose library is not installed.
    """
    found = next((one for one in _FORMS if data.startswith(one[0])), None)
    if found is None:
        return data
    _, form, opened = found
    try:
        content = _read(opened, data, MAX_DOCUMENT + 1)
    except ImportError:
        remedy = f"Install what reads it, {install_line('dumps')}, or unpack it first"
        raise InputError(f"it is packed by {form}, which nothing here reads", file=path, remedy=remedy) from None
    except Exception as error:  # noqa: BLE001 (each library raises errors of its own for damaged data)
        raise InputError(f"damaged {form} file: {error}", file=path, remedy="Pack it again") from None
    if len(content) > MAX_DOCUMENT:
        raise too_large(path)
    return content


def inflated(data: bytes, path: Path) -> bytes:
    """Return what zlib packed, as a block of an archive is.

    Raises:
        InputError: it is damaged or too large.
    """
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(data, MAX_DOCUMENT + 1)
        whole = unpacker.eof or len(content) > MAX_DOCUMENT
    except zlib.error as error:
        raise InputError(f"the archive is damaged: {error}", file=path, remedy="Write it again") from None
    if not whole:
        raise InputError("the archive is damaged: a block ends early", file=path, remedy="Write it again")
    if len(content) > MAX_DOCUMENT:
        raise too_large(path)
    return content


def head_of(path: Path, size: int) -> bytes:
    """Return the first bytes of a file, unpacked; empty where they cannot be read."""
    try:
        with path.open("rb") as stream:
            head = stream.read(size)
            found = next((one for one in _FORMS if head.startswith(one[0])), None)
            if found is None:
                return head
            stream.seek(0)
            with closing(found[2](stream)) as inner:
                return bytes(inner.read(size))
    except Exception:  # noqa: BLE001 (a file that cannot be unpacked is no dump; reading it whole says why)
        return b""


def too_large(path: Path) -> InputError:
    """Return the error of content past the limit."""
    message = f"unpacked, it is larger than the limit of {MAX_DOCUMENT:,} bytes"
    return InputError(message, file=path, remedy="Split the file")


def _read(opened: Callable[[IO[bytes]], Any], data: bytes, size: int) -> bytes:
    """Return at most so many bytes of the content."""
    with closing(opened(io.BytesIO(data))) as stream:
        return bytes(stream.read(size))

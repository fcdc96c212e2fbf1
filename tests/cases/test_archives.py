"""Archives of pg_dump's are read as the SQL they hold; what cannot be read is refused with a way out."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from pathlib import Path

import pytest

from cases.errors import InputError
from cases.sources.scripts import script_text

COPY = "COPY public.t (a) FROM stdin;\n"
ROWS = b"1\n2\n\\.\n\n\n"


def _number(value: int) -> bytes:
    return bytes([value < 0]) + abs(value).to_bytes(4, "little")


def _text(value: str | None) -> bytes:
    return _number(-1) if value is None else _number(len(value.encode())) + value.encode()


def _archive(minor: int, *, form: int = 1, packing: int = 1, kinds: tuple[str, ...] = ("TABLE", "TABLE DATA")) -> bytes:
    """Build an archive as pg_backup_archiver.c writes it: one table of two rows."""
    head = b"PGDMP" + bytes([1, minor, 0, 4, 8, form]) + (bytes([packing]) if minor >= 15 else _number(-packing))
    head += b"".join(_number(0) for _ in range(7)) + _text("db") + _text("17.0") + _text("17.0")
    entries = [_number(len(kinds))]
    for number, kind in enumerate(kinds, 1):
        data = kind == "TABLE DATA"
        entry = _number(number) + _number(int(data)) + _text("1259") + _text("16384") + _text("t") + _text(kind)
        entry += _number(3 if data else 2) + _text("" if data else "CREATE TABLE public.t (a integer);\n") + _text("")
        entry += _text(COPY if data else None) + _text("public") + _text("")
        entry += _text("heap") * (minor >= 14) + _number(0) * (minor >= 16) + _text("someone") + _text("false")
        entry += _text("1") * data + _text(None)
        entry += _text("2.dat" if data else "") if form == 3 else bytes([1 if data else 3]) + bytes(8)
        entries.append(entry)
    table = head + b"".join(entries)
    if form == 3:
        return table
    content = zlib.compress(ROWS) if packing == 1 else ROWS
    pieces = b"".join(_number(len(part)) + part for part in (content[:5], content[5:]))
    return table + bytes([1]) + _number(2) + pieces + _number(0)


@pytest.mark.parametrize("minor", [13, 14, 15, 16])
@pytest.mark.parametrize("packing", [0, 1])
def test_an_archive_is_its_sql(tmp_path: Path, minor: int, packing: int) -> None:
    """Of every version from Postgres 9 to 18, packed or not, COPY data inline."""
    file = tmp_path / "db.dump"
    file.write_bytes(_archive(minor, packing=packing))
    assert script_text(file) == f"CREATE TABLE public.t (a integer);\n\n{COPY}{ROWS.decode()}"


def test_a_tar_archive_and_a_packed_text_are_their_sql(tmp_path: Path) -> None:
    """-Ft keeps each table's data in a file; gzip is seen by its bytes, not its name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in (("toc.dat", _archive(15, form=3, packing=0)), ("2.dat", ROWS)):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    file = tmp_path / "db"
    file.write_bytes(out.getvalue())
    assert script_text(file).endswith(COPY + ROWS.decode())
    file.write_bytes(gzip.compress(b"SELECT 1;\r\n"))
    assert script_text(file) == "SELECT 1;\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (_archive(15, packing=2), "packed by lz4 or zstd.*pg_restore -f"),
        (_archive(15)[:60], "the archive ends early"),
        (_archive(15)[:-12], "damaged|ends early"),
        (b"PGDMP" + bytes([1, 99, 0]), "version 1.99"),
        (_archive(15, kinds=("BLOBS",)), "large objects.*--no-large-objects"),
        (gzip.compress(b"SELECT 1;")[:-4], "damaged gzip file"),
    ],
    ids=["lz4", "cut", "cut data", "version", "large objects", "gzip"],
)
def test_what_cannot_be_read_is_refused_with_a_way_out(tmp_path: Path, data: bytes, message: str) -> None:
    """Each is one error with the file."""
    file = tmp_path / "db.dump"
    file.write_bytes(data)
    with pytest.raises(InputError, match=rf"db\.dump: .*(?:{message})"):
        script_text(file)

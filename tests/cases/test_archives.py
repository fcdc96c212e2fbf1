"""Archives of pg_dump's are read as the SQL they hold; what cannot be read is refused with a way out."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lz4.frame
import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.sources import packing
from sqlassay.cases.sources.scripts import script_text

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    import backports
    from backports import zstd

COPY = "COPY public.t (a) FROM stdin;\n"
ROWS = b"1\n2\n\\.\n\n\n"


PACKED: dict[int, Callable[[bytes], bytes]] = {
    0: bytes,
    1: zlib.compress,
    2: lz4.frame.compress,
    3: zstd.compress,
    4: bytes,
}
"""What pg_backup_archiver.c packs by, under its numbers; 4 is none of them."""


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
        entry += _text("2.dat" if data else "") if form != 1 else bytes([1 if data else 3]) + bytes(8)
        entries.append(entry)
    table = head + b"".join(entries)
    if form != 1:
        return table
    content = PACKED[packing](ROWS)
    pieces = b"".join(_number(len(part)) + part for part in (content[:5], content[5:]))
    return table + bytes([1]) + _number(2) + pieces + _number(0)


@pytest.mark.parametrize("minor", [13, 14, 15, 16])
@pytest.mark.parametrize("packing", [0, 1])
def test_an_archive_is_its_sql(tmp_path: Path, minor: int, packing: int) -> None:
    """Of every version from Postgres 9 to 18, packed or not, COPY data inline."""
    file = tmp_path / "db.dump"
    file.write_bytes(_archive(minor, packing=packing))
    assert script_text(file) == f"CREATE TABLE public.t (a integer);\n\n{COPY}{ROWS.decode()}"


@pytest.mark.parametrize("packing", [2, 3])
def test_an_archive_packed_by_lz4_or_zstandard_is_its_sql(tmp_path: Path, packing: int) -> None:
    """As pg_dump of Postgres 16 and later writes it when asked to."""
    file = tmp_path / "db.dump"
    file.write_bytes(_archive(16, packing=packing))
    assert script_text(file) == f"CREATE TABLE public.t (a integer);\n\n{COPY}{ROWS.decode()}"


SUFFIXES: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("", bytes),
    (".gz", gzip.compress),
    (".lz4", lz4.frame.compress),
    (".zst", zstd.compress),
]


@pytest.mark.parametrize(("suffix", "pack"), SUFFIXES, ids=["plain", "gz", "lz4", "zst"])
def test_a_folder_of_pg_dump_is_its_sql(tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    """-Fd keeps each table's data in a file beside the table of contents, packed or not."""
    (tmp_path / "toc.dat").write_bytes(_archive(16, form=5, packing=0))
    (tmp_path / f"2.dat{suffix}").write_bytes(pack(ROWS))
    assert script_text(tmp_path) == f"CREATE TABLE public.t (a integer);\n\n{COPY}{ROWS.decode()}"


def test_a_folder_s_files_lie_in_it(tmp_path: Path) -> None:
    """One that is missing, a link to elsewhere and a name that leads elsewhere are refused."""
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "toc.dat").write_bytes(_archive(16, form=5, packing=0))
    with pytest.raises(InputError, match=r"toc\.dat: the archive lacks its file 2\.dat"):
        script_text(folder)
    secret = tmp_path / "secret.dat"
    secret.write_bytes(ROWS)
    (folder / "2.dat").symlink_to(secret)
    with pytest.raises(InputError, match=r"lacks its file 2\.dat"):
        script_text(folder)
    (folder / "2.dat").unlink()
    there = _text("2.dat")
    away = _text("../secret.dat")
    (folder / "toc.dat").write_bytes(_archive(16, form=5, packing=0).replace(there, away))
    with pytest.raises(InputError, match=r"lacks its file \.\./secret\.dat"):
        script_text(folder)


PACKERS: list[Callable[[bytes], bytes]] = [
    gzip.compress,
    bz2.compress,
    lzma.compress,
    lz4.frame.compress,
    zstd.compress,
]


@pytest.mark.parametrize("pack", PACKERS, ids=["gzip", "bzip2", "xz", "lz4", "zstd"])
def test_a_packed_script_is_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Any) -> None:
    """Seen by its bytes, not its name; a cut one is damaged, and one that swells past the limit is refused."""
    file = tmp_path / "db"
    packed = pack(b"SELECT 1;\n" * 1000)
    file.write_bytes(packed)
    assert script_text(file) == "SELECT 1;\n" * 1000
    file.write_bytes(packed[:-7])
    with pytest.raises(InputError, match="damaged .* file"):
        script_text(file)
    file.write_bytes(packed)
    monkeypatch.setattr(packing, "MAX_DOCUMENT", 9_999)
    with pytest.raises(InputError, match=r"unpacked, it is larger than the limit of 9,999 bytes"):
        script_text(file)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_archive_that_swells_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The limit is that of the content, not of the file."""
    file = tmp_path / "db.dump"
    file.write_bytes(_archive(16, packing=number))
    monkeypatch.setattr(packing, "MAX_DOCUMENT", len(ROWS) - 1)
    with pytest.raises(InputError, match="unpacked, it is larger than the limit"):
        script_text(file)


@pytest.mark.parametrize(("module", "form"), [("lz4.frame", "LZ4"), ("backports.zstd", "Zstandard")])
def test_a_missing_library_is_named_with_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, form: str
) -> None:
    """And with the other way: to unpack the file first."""
    name = "compression.zstd" if form == "Zstandard" and sys.version_info >= (3, 14) else module
    monkeypatch.setitem(sys.modules, name, None)
    if name == "backports.zstd":
        monkeypatch.delattr(backports, "zstd")
    file = tmp_path / "db.sql"
    file.write_bytes(lz4.frame.compress(b"SELECT 1;") if form == "LZ4" else zstd.compress(b"SELECT 1;"))
    with pytest.raises(InputError, match=rf"packed by {form}.*dumps.*or unpack it first"):
        script_text(file)


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
        (_archive(15, packing=4), "packed in a way that is not known here.*pg_restore -f"),
        (_archive(15)[:60], "the archive ends early"),
        (_archive(15)[:-12], "damaged|ends early"),
        (b"PGDMP" + bytes([1, 99, 0]), "version 1.99"),
        (_archive(15, kinds=("BLOBS",)), "large objects.*--no-large-objects"),
        (gzip.compress(b"SELECT 1;")[:-4], "damaged gzip file"),
    ],
    ids=["packing", "cut", "cut data", "version", "large objects", "gzip"],
)
def test_what_cannot_be_read_is_refused_with_a_way_out(tmp_path: Path, data: bytes, message: str) -> None:
    """Each is one error with the file."""
    file = tmp_path / "db.dump"
    file.write_bytes(data)
    with pytest.raises(InputError, match=rf"db\.dump: .*(?:{message})"):
        script_text(file)

"""Database files of the process provider in a bundle: they suit every library, so another machine takes them over."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.errors import InputError
from sqlassay.dialect_adapters.contract import Adapter
from sqlassay.sandboxes.bundle import CHUNK, Bundle, BundleWriter, Packed
from sqlassay.sandboxes.cache import private_folder, write_private
from sqlassay.sandboxes.locks import exclusive
from sqlassay.sandboxes.process.images import IMPORTED, engine_of, loaded_by
from sqlassay.sandboxes.process.interpreter import host_interpreter
from sqlassay.sandboxes.process.seal import CATALOG, DATA, FORMAT, seal

_KEY = re.compile(r"[0-9a-f]{32}")
_NAME = re.compile(r"(?!\.)[^/\0]{1,255}")


def pack(writer: BundleWriter, cache: Path, key: str, folder: str) -> Packed:
    """Write one image under `folder` of the bundle.

    Raises:
        InputError: the image is a server's data folder, or of an earlier format.
    """
    home = cache / "process" / key
    stored = json.loads((home / CATALOG).read_bytes())
    if not _portable(stored):
        raise InputError(
            f"image {stored.get('ref', key)} cannot be moved: it suits only the programs of the machine it was made on",
            field="REF",
            remedy="Bake it there: `sqlassay snapshot build PACK` needs no network; or export a container image",
        )
    members = {"catalog": writer.add(f"{folder}/catalog.json", [(home / CATALOG).read_bytes()])}
    for path in sorted((home / DATA).iterdir()):
        members[f"{DATA}/{path.name}"] = writer.add(f"{folder}/{DATA}/{path.name}", _chunks(path))
    dialect, count = str(stored["catalogs"][0]["dialect"]), len(stored["catalogs"])
    return Packed(
        provider="process",
        dialect=dialect,
        ref=str(stored["ref"]),
        key=key,
        family=str(stored["loaded_by"]),
        content=str(stored["portable"]),
        databases=count,
        members=members,
    )


def _portable(stored: dict[str, object]) -> bool:
    """Return True where an image's `catalog.json` is of a kind that other machines can use."""
    return stored.get("format") == FORMAT and bool(stored.get("portable"))


def unfit(cache: Path, key: str, adapter: Adapter) -> str | None:
    """Return why no machine with this version of the program would use an image, or None where one would."""
    stored = json.loads((cache / "process" / key / CATALOG).read_bytes())
    if not _portable(stored):
        return "it suits only the programs of this machine"
    return None if stored.get("loaded_by") == loaded_by(adapter) else "other code made it"


def _chunks(path: Path) -> Iterator[bytes]:
    """Yield a file's bytes."""
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            yield chunk


def check(bundle: Bundle, packed: Packed, adapter: Adapter) -> dict[str, object]:
    """Return what the image's `catalog.json` becomes here, where this version of the program would use the image.

    Raises:
        InputError: it would not, or a part is damaged.
    """
    try:
        stored = json.loads(bundle.text(packed.members["catalog"]))
        catalogs = [Catalog.model_validate(catalog) for catalog in stored["catalogs"]]
    except (ValueError, LookupError, TypeError, ValidationError) as error:
        raise bundle.refused(f"the catalogue of {packed.ref} is damaged") from error
    said = (packed.ref, packed.content, packed.family, FORMAT)
    if said != tuple(stored.get(name) for name in ("ref", "portable", "loaded_by", "format")):
        raise bundle.refused(f"the catalogue of {packed.ref} is another image's")
    files = {name.removeprefix(f"{DATA}/") for name in packed.members if name != "catalog"}
    if not _KEY.fullmatch(packed.key) or not _KEY.fullmatch(packed.content) or not all(map(_NAME.fullmatch, files)):
        raise bundle.refused(f"the key or a file's name of {packed.ref} is damaged")
    if packed.family != loaded_by(adapter):
        raise bundle.refused(
            f"image {packed.ref} was made by sqlassay {bundle.manifest.sqlassay} with other code for {packed.dialect} "
            "than is here: no run would use it",
            "Export it with the version that is here, or use that one here",
        )
    _, version = engine_of(adapter, host_interpreter())
    stored["catalogs"] = [
        catalog.model_copy(update={"engine_version": version}).model_dump(mode="json") for catalog in catalogs
    ]
    return dict(stored)


def unpack(bundle: Bundle, packed: Packed, stored: dict[str, object], cache: Path) -> str:
    """Write a checked image's files into the cache, unless they are here, and return the image's name."""
    home = private_folder(cache / "process")
    with exclusive(home, packed.key):
        if (home / packed.key / CATALOG).is_file():
            return packed.ref  # a run may be reading it
        draft = Path(tempfile.mkdtemp(prefix=f".{packed.key}.", dir=home))
        try:
            data = draft / DATA
            data.mkdir(mode=0o755)
            for name, member in packed.members.items():
                if name != "catalog":
                    _write(data / name.removeprefix(f"{DATA}/"), bundle.chunks(member))
            write_private(draft / IMPORTED, packed.content)
            write_private(draft / CATALOG, json.dumps(stored))
            seal(draft)
            shutil.rmtree(home / packed.key, ignore_errors=True)  # what no catalogue names
            draft.rename(home / packed.key)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return packed.ref


def _write(path: Path, chunks: Iterator[bytes]) -> None:
    """Write one database file, which nobody may change."""
    with path.open("xb") as stream:
        for chunk in chunks:
            stream.write(chunk)
    path.chmod(0o444)

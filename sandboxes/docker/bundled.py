"""An image of the engine in a bundle: saved with its catalogue and secret, loaded only where it is what it says."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docker.errors import APIError, DockerException
from pydantic import ValidationError
from requests import RequestException

from sqlassay.cases.errors import InfrastructureError
from sqlassay.dialect_adapters.contract import Adapter
from sqlassay.sandboxes.bake import family_key
from sqlassay.sandboxes.bundle import Bundle, BundleWriter, Packed
from sqlassay.sandboxes.docker.client import connect
from sqlassay.sandboxes.images.base import content_digest, inspect
from sqlassay.sandboxes.scratch import Scratch
from sqlassay.sandboxes.store import Store, StoredImage

_CATALOG, _SECRET, _IMAGE = "catalog", "secret", "image"
_REF = re.compile(r"sqlassay/snapshot-[a-z0-9_.-]+:[0-9a-f]{16}-[0-9a-f]{8}")
_PASSWORD = re.compile(r"[0-9a-f]{32}")
_SECONDS = 600


def pack(writer: BundleWriter, cache: Path, key: str, folder: str) -> Packed:
    """Write one image under `folder` of the bundle.

    Raises:
        InfrastructureError: the engine lacks the image, or does not give it.
    """
    store = Store(cache)
    stored, password = store.load(key), store.password(key)
    engine = connect(timeout=_SECONDS)
    try:
        image = inspect(engine.api, stored.ref) if stored else None
        if stored is None or image is None or image["Id"] != stored.image_id:
            raise InfrastructureError(
                f"the engine has no image {stored.ref if stored else key[:16]} any more",
                remedy="Build it again with `sqlassay snapshot build`",
            )
        saved = engine.api.get_image(stored.ref)
        members = {
            _CATALOG: writer.add(f"{folder}/catalog.json", [stored.model_dump_json(indent=1).encode()]),
            _SECRET: writer.add(f"{folder}/secret", [password.encode()]),
            _IMAGE: writer.add(f"{folder}/image.tar", saved),
        }
    except (DockerException, RequestException) as fault:
        raise InfrastructureError(f"the engine does not give the image: {fault}", remedy="Try again") from fault
    finally:
        engine.api.close()
    return Packed(
        provider="docker",
        dialect=stored.dialect,
        ref=stored.ref,
        key=key,
        family=stored.family,
        content=content_digest(image),
        databases=len(stored.catalogs),
        members=members,
    )


def unfit(cache: Path, key: str, adapter: Adapter) -> str | None:
    """Return why no machine with this version of the program would use an image, or None where one would."""
    stored = Store(cache).load(key)
    if stored is None:
        return "its catalogue is damaged"
    return None if stored.family == family_key(adapter) else "other code or options made it"


def check(bundle: Bundle, packed: Packed, adapter: Adapter) -> StoredImage:
    """Return an image's catalogue where this version of the program would use the image.

    Raises:
        InputError: it would not, or what the catalogue says is not what the manifest says.
    """
    if set(packed.members) != {_CATALOG, _SECRET, _IMAGE}:
        raise bundle.refused(f"image {packed.ref} lacks a part")
    try:
        stored = StoredImage.model_validate_json(bundle.text(packed.members[_CATALOG]))
    except ValidationError as error:
        raise bundle.refused(f"the catalogue of {packed.ref} is damaged: {error.errors()[0]['msg']}") from None
    said = (packed.ref, packed.key, packed.family, packed.dialect)
    if said != (stored.ref, stored.key, stored.family, stored.dialect) or not _REF.fullmatch(stored.ref):
        raise bundle.refused(f"the catalogue of {packed.ref} is another image's")
    if not re.fullmatch(r"[0-9a-f]{64}", stored.key) or not _PASSWORD.fullmatch(_secret(bundle, packed)):
        raise bundle.refused(f"the key or secret of {packed.ref} is damaged")
    if stored.family != family_key(adapter):
        raise bundle.refused(
            f"image {packed.ref} was made by sqlassay {bundle.manifest.sqlassay} with other code or options for "
            f"{packed.dialect} than are here: no run would use it",
            "Export it with the version that is here, or use that one here",
        )
    return stored


def unpack(bundle: Bundle, packed: Packed, stored: StoredImage, cache: Path) -> str:
    """Load a checked image into the engine, store its catalogue and return its name.

    Raises:
        InputError: the saved image is another one, or its name is taken by another.
        InfrastructureError: the engine does not take it.
    """
    engine = connect(timeout=_SECONDS)
    try:
        here = inspect(engine.api, stored.ref)
        if here is not None and content_digest(here) != packed.content:
            raise bundle.refused(f"the engine has another image of the name {stored.ref}", "Remove that one first")
        if here is None:
            with Scratch("files") as folder:
                _load(engine.api, bundle, packed, folder / "image.tar")
            here = inspect(engine.api, stored.ref)
        if here is None or content_digest(here) != packed.content:
            raise bundle.refused(f"the engine loaded another image than {stored.ref}")
    except (APIError, DockerException, RequestException) as fault:
        raise InfrastructureError(
            f"the engine does not take the image: {str(fault).splitlines()[0]}", remedy="Run `sqlassay doctor`"
        ) from fault
    finally:
        engine.api.close()
    kept = stored.model_copy(update={"image_id": str(here["Id"]), "imported": True})
    Store(cache).save(kept, _secret(bundle, packed))
    return stored.ref


def _load(api: Any, bundle: Bundle, packed: Packed, path: Path) -> None:
    """Write the saved image beside, make sure that it carries its own name alone, and hand it to the engine."""
    with path.open("wb") as stream:
        for chunk in bundle.chunks(packed.members[_IMAGE]):
            stream.write(chunk)
    if _names(bundle, path) != {packed.ref}:
        raise bundle.refused(f"the saved image carries other names than {packed.ref}")
    with path.open("rb") as stream:
        for event in api.load_image(stream):
            if "error" in event:
                raise InfrastructureError(f"the engine does not take the image: {event['error']}")


def _names(bundle: Bundle, path: Path) -> set[str]:
    """Return every name that loading a saved image would give: it must not move a name that is not ours."""
    try:
        with tarfile.open(path) as archive:
            listed = [json.loads(text) for text in _jsons(archive, "manifest.json")]
            names = {name for manifest in listed for image in manifest for name in image.get("RepoTags") or ()}
            for text in _jsons(archive, "repositories"):
                names |= {f"{name}:{tag}" for name, tags in json.loads(text).items() for tag in tags}
            for text in _jsons(archive, "index.json"):
                for entry in json.loads(text).get("manifests", ()):
                    named = (entry.get("annotations") or {}).get("io.containerd.image.name", _any(names))
                    names.add(str(named).removeprefix("docker.io/"))
    except (tarfile.TarError, OSError, ValueError, AttributeError, TypeError) as error:
        raise bundle.refused(f"the saved image is damaged: {error}") from error
    return names


def _any(names: set[str]) -> str:
    """Return any of the names, where an entry has none of its own."""
    return next(iter(names), "")


def _jsons(archive: tarfile.TarFile, name: str) -> Iterator[bytes]:
    """Yield every member of that name: a later one would win."""
    for member in archive:
        if member.name.removeprefix("./") == name:
            stream = archive.extractfile(member)
            yield stream.read() if stream else b""


def _secret(bundle: Bundle, packed: Packed) -> str:
    """Return the image's secret."""
    return bundle.text(packed.members[_SECRET]).decode("ascii", "replace")

"""Export images to a bundle and import them from one, whichever provider runs them."""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes.bundle import FORMAT, Bundle, BundleWriter, Manifest, Packed, opened
from sqlassay.sandboxes.cache import cache_dir
from sqlassay.sandboxes.holds import hold
from sqlassay.sandboxes.inventory import ImageLine, images


@dataclass(frozen=True, slots=True)
class Moved:
    """What was exported or imported: names, and the bundle's digest."""

    refs: tuple[str, ...]
    digest: str


def chosen(
    refs: Sequence[str], cache: Path | None = None, notice: Callable[[str], None] = lambda _: None
) -> tuple[ImageLine, ...]:
    """Return the images of these names or beginnings of names; where none is named, all that another machine can use.

    Args:
        refs: names, or their beginnings.
        cache: where the images are known.
        notice: told of each image that is left out, and why.

    Raises:
        InputError: a name that is no image's, or several images'; or there is no image at all.
    """
    root = cache or cache_dir()
    known = images(root)
    if not known:
        remedy = "Build one with `sqlassay snapshot build PACK`"
        raise InputError("there is no image on this machine", field="REF", remedy=remedy)
    found = [_one(ref, known) for ref in refs]
    return tuple(dict.fromkeys(found)) if refs else _movable(root, known, notice)


def _movable(root: Path, known: Sequence[ImageLine], notice: Callable[[str], None]) -> tuple[ImageLine, ...]:
    """Return the images that are of use elsewhere: one that is not would have its whole bundle refused there."""
    left = {line: why for line in known if (why := _unfit(root, line)) is not None}
    if len(left) == len(known):
        why = "; ".join(sorted(set(left.values())))
        remedy = "Build one with `sqlassay snapshot build PACK`"
        raise InputError(f"no image here is of use on another machine: {why}", field="REF", remedy=remedy)
    for line, why in left.items():
        notice(f"{line.ref} is left out: {why}")
    return tuple(line for line in known if line not in left)


def _unfit(root: Path, line: ImageLine) -> str | None:
    """Return why an image is of no use on another machine, or None where it is."""
    if line.provider == "docker":
        from sqlassay.sandboxes.docker.bundled import unfit
    else:
        from sqlassay.sandboxes.process.bundled import unfit
    try:
        return unfit(root, line.key, adapter(line.dialect))
    except InputError:
        return f"the dialect {line.dialect} is not installed"


def _one(ref: str, known: Sequence[ImageLine]) -> ImageLine:
    """Return the one image of that name or beginning."""
    found = [line for line in known if line.ref == ref] or [line for line in known if ref and line.ref.startswith(ref)]
    if len(found) == 1:
        return found[0]
    message = f"'{ref}' is no image here" if not found else f"'{ref}' begins the names of {len(found)} images"
    raise InputError(message, field="REF", remedy="Give a name that `sqlassay snapshot list` shows")


def export(target: Path, lines: Sequence[ImageLine], cache: Path | None = None) -> Moved:
    """Write images to a new bundle, for its owner's eyes alone: it holds their secrets.

    Raises:
        InputError: the file exists or cannot be written, or an image cannot be moved.
        InfrastructureError: an image is gone, or the disk is full.
    """
    root = cache or cache_dir()
    if target.exists():
        raise InputError("the file exists", file=target, remedy="Give another name, or remove it first")
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        remedy = "Give a path in a folder that you can write in"
        raise InputError(f"cannot be written: {error.strerror}", file=target, remedy=remedy) from error
    try:
        with os.fdopen(descriptor, "w+b") as stream, _zip(stream) as archive:
            writer = BundleWriter(archive)
            packed = tuple(_pack(writer, root, line, f"images/{number}") for number, line in enumerate(lines))
            digest = writer.finish(Manifest(format=FORMAT, sqlassay=version("sqlassay"), images=packed))
        draft.rename(target)
    except OSError as error:
        message = f"'{target}' cannot be written ({error.strerror or error})"
        raise InfrastructureError(message, remedy="Free space there, or give another place") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
    return Moved(tuple(one.ref for one in packed), digest)


def _zip(stream: object) -> zipfile.ZipFile:
    """Return a zip file to write: lightly compressed, as images are large."""
    return zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1)  # type: ignore[call-overload,no-any-return]


def _pack(writer: BundleWriter, root: Path, line: ImageLine, folder: str) -> Packed:
    """Write one image, held meanwhile so that no collection takes it away."""
    if line.provider == "docker":
        from sqlassay.sandboxes.docker.bundled import pack
    else:
        from sqlassay.sandboxes.process.bundled import pack
    lock = hold(root, line.key)
    try:
        return pack(writer, root, line.key, folder)
    finally:
        lock.release()


def take_in(source: Path, digest: str | None = None, cache: Path | None = None) -> Moved:
    """Prove a whole bundle, then take its images in.

    Raises:
        InputError: it is damaged, was tampered with, or no run of this version would use an image of it.
        InfrastructureError: the engine or the cache does not take an image.
    """
    root = cache or cache_dir()
    with opened(source) as bundle:
        bundle.prove(digest)
        ready = [_checked(bundle, packed) for packed in bundle.manifest.images]
        return Moved(tuple(install(root) for install in ready), bundle.digest)


def _checked(bundle: Bundle, packed: Packed) -> Callable[[Path], str]:
    """Return what takes an image into a cache, once all of the bundle was found good."""
    found = adapter(packed.dialect)
    if packed.provider == "docker":
        from sqlassay.sandboxes.docker import bundled as docker

        stored = docker.check(bundle, packed, found)
        return lambda root: docker.unpack(bundle, packed, stored, root)
    from sqlassay.sandboxes.process import bundled as process

    texts = process.check(bundle, packed, found)
    return lambda root: process.unpack(bundle, packed, texts, root)

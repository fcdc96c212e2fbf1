"""A large pack's snapshots in several images: a server holds only its own share, and a change bakes one share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from sqlassay.cases.snapshot import PlacedRows, Snapshot
from sqlassay.dialect_adapters.contract import Adapter
from sqlassay.sandboxes.contract import Notice, Provider, SnapshotImage

MOST_DATABASES = 50
"""How many databases one image holds: each costs a server memory and a copy of the data time."""

MOST_BYTES = 512 * 1024 * 1024
"""How many bytes of source files go into one image; a larger snapshot has one of its own."""


def shares(
    snapshots: Sequence[Snapshot], dialect: str, *, most: int, most_bytes: int
) -> tuple[tuple[Snapshot, ...], ...]:
    """Return the snapshots in as few shares as the limits allow, in their own order; small packs are one share."""
    found: list[list[Snapshot]] = [[]]
    filled = 0
    for snapshot in snapshots:
        size = source_bytes(snapshot, dialect)
        if found[-1] and (len(found[-1]) >= most or filled + size > most_bytes):
            found.append([])
            filled = 0
        found[-1].append(snapshot)
        filled += size
    return tuple(map(tuple, found))


def source_bytes(snapshot: Snapshot, dialect: str) -> int:
    """Return the size of the files a snapshot is read from, as far as it says which; 0 where it does not."""
    files: list[Path] = [*snapshot.scripts.get(dialect, ())]
    if snapshot.sqlite_file is not None:
        files.append(snapshot.sqlite_file)
    elif isinstance(snapshot.source, PlacedRows):
        files += [snapshot.source.place(table.name, 1)[0] for table in snapshot.tables]
    return sum(path.stat().st_size for path in set(files) if path.is_file())


def prepare_shares(
    provider: Provider, adapter: Adapter, snapshots: Sequence[Snapshot], notice: Notice
) -> SnapshotImage:
    """Return the image of these snapshots, or one value over several images where they are too many for one.

    Raises:
        EngineUnavailableError: no engine, with the line that brings one up.
        InputError: a snapshot that cannot be loaded.
        InfrastructureError: anything else of ours.
    """
    split = shares(snapshots, adapter.name, most=MOST_DATABASES, most_bytes=MOST_BYTES)
    parts = tuple(provider.prepare(adapter, share, notice) for share in split)
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    return SnapshotImage(
        ref=f"{first.ref} and {len(parts) - 1} more",
        key=hashlib.sha256(" ".join(part.key for part in parts).encode()).hexdigest(),
        dialect=first.dialect,
        base=first.base,
        catalogs=tuple(catalog for part in parts for catalog in part.catalogs),
        parts=parts,
    )

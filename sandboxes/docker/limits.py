"""What a container may use and may not do: every flag of it, in one place."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import docker
from docker.types import LogConfig, Ulimit

from sqlassay.dialect_adapters.contract import Mode, ServerRecipe

_MB = 1024 * 1024
_BUILD_MEMORY_MB = 2048
_SCRATCH_MB = 256
OPEN_FILES = 1024


@dataclass(frozen=True, slots=True)
class Space:
    """Where data lies in a WRITE container and how large its in-memory copy may grow."""

    source: str
    target: str
    size_mb: int


def live_folder(recipe: ServerRecipe) -> str:
    """Return where the in-memory copy of the data is mounted."""
    return f"{recipe.data_dir}-live"


def memory_mb(recipe: ServerRecipe, mode: Mode, space: Space | None) -> int:
    """Return the memory limit: the engine's own, plus the copy where the data lies in memory."""
    own = max(recipe.memory_mb, _BUILD_MEMORY_MB) if mode is Mode.BUILD else recipe.memory_mb
    return own + (space.size_mb if space else 0)


def host_config(
    api: docker.APIClient,
    recipe: ServerRecipe,
    mode: Mode,
    channel: Mapping[str, Any],
    space: Space | None,
    runtime: str = "",
) -> Any:
    """Return the host configuration of one container; `channel` says how it is reached, `runtime` names another one."""
    memory = f"{memory_mb(recipe, mode, space)}m"
    return api.create_host_config(
        **channel,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true"],
        read_only=has_read_only_root(recipe, mode),
        tmpfs=_tmpfs(recipe, mode, space) | ({} if "binds" in channel else _socket_folder(recipe)),
        pids_limit=recipe.pids,
        mem_limit=memory,
        memswap_limit=memory,
        nano_cpus=None if mode is Mode.BUILD else 1_000_000_000,
        ulimits=[Ulimit(name="nofile", soft=OPEN_FILES, hard=OPEN_FILES), Ulimit(name="core", soft=0, hard=0)],
        ipc_mode="private",
        runtime=runtime or None,
        log_config=LogConfig(type="local", config={"max-size": "1m", "max-file": "2"}),
    )


def has_read_only_root(recipe: ServerRecipe, mode: Mode) -> bool:
    """Return True where nothing outside tmpfs is written: a READ server of kind `server` still writes its own files."""
    return mode is Mode.WRITE or (mode is Mode.READ and recipe.kind == "files")


def _tmpfs(recipe: ServerRecipe, mode: Mode, space: Space | None) -> dict[str, str]:
    """Return the in-memory folders: scratch for temporary files, and the data's copy in WRITE mode."""
    options = "rw,nosuid,nodev,noexec"
    scratch = _BUILD_MEMORY_MB // 2 if mode is Mode.BUILD else _SCRATCH_MB
    mounts = {"/tmp": f"{options},size={scratch}m,mode=1777"}  # noqa: S108 - the container's own
    if space is not None:
        mounts[space.target] = f"{options},size={space.size_mb}m,uid={recipe.uid},gid={recipe.uid},mode=0700"
    return mounts


def _socket_folder(recipe: ServerRecipe) -> dict[str, str]:
    """Return an in-memory folder for the socket that a server reached by its port makes all the same."""
    owner = f"uid={recipe.uid},gid={recipe.uid},mode=0700"
    return {posixpath.dirname(recipe.socket): f"rw,nosuid,nodev,noexec,size=1m,{owner}"}


def described(recipe: ServerRecipe, mode: Mode, space: Space | None) -> tuple[str, ...]:
    """Return the limits in words, for the report."""
    root = "read-only root" if has_read_only_root(recipe, mode) else ""
    engine = "data on tmpfs" if space else "engine without write privilege" if mode is Mode.READ else ""
    return tuple(
        filter(
            None,
            (
                "no capabilities",
                "no new privileges",
                "default seccomp",
                f"user {recipe.uid}",
                f"memory {memory_mb(recipe, mode, space)} MB without swap",
                f"{recipe.pids} processes",
                "1 cpu",
                f"{OPEN_FILES} open files",
                root,
                engine,
            ),
        )
    )


def missing(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the limits this engine cannot enforce, from what it says about itself."""
    wanted = {"MemoryLimit": "memory", "SwapLimit": "swap", "CpuCfsQuota": "cpu", "PidsLimit": "processes"}
    off = [name for key, name in wanted.items() if facts.get(key) is False]
    options = " ".join(map(str, facts.get("SecurityOptions") or ()))
    return tuple(off if "seccomp" in options else [*off, "seccomp"])

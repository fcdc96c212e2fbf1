"""The second source of a base image: the official image from a registry, given up quickly where none is reachable."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import docker
import requests
from docker.errors import DockerException

from sqlassay.cases.errors import InfrastructureError
from sqlassay.dialect_adapters.contract import ServerRecipe
from sqlassay.sandboxes.contract import BaseImage, Notice
from sqlassay.sandboxes.docker.client import connect
from sqlassay.sandboxes.images.base import Refusal, inspect
from sqlassay.sandboxes.images.choice import Pull
from sqlassay.sandboxes.images.local import describe
from sqlassay.sandboxes.images.lock import ImagesLock

_SILENCE_SECONDS = 10
"""How long the engine may say nothing during a pull: a reachable registry answers at once and then reports progress."""

_REASONS = (
    (r"no such host|lookup .* (?:server misbehaving|no such)|name resolution", "its name is not known here"),
    (r"connection refused", "nothing listens there"),
    (r"i/o timeout|Client\.Timeout|deadline exceeded|[Rr]ead timed out|TLS handshake timeout", "no answer in time"),
    (r"network is unreachable|no route to host", "there is no network to it"),
    (r"HTTP response to HTTPS client", "it speaks HTTP alone, which the engine must be told to allow"),
    (r"x509|certificate", "the engine does not trust its certificate"),
    (r"toomanyrequests|rate limit", "it has had too many requests from here"),
    (r"unauthorized|authentication required|denied|no basic auth", "it asks for a login: `docker login`"),
    (r"manifest unknown|not found|404", "it has no such image"),
)
"""What an engine says of a pull that failed, and what that means."""


class RegistrySource:
    """Asks the engine to pull the official image, from a mirror where one is configured."""

    def __init__(
        self,
        pull: Pull = "auto",
        mirrors: Sequence[str] = (),
        lock: ImagesLock | None = None,
        timeout: int | None = None,
    ) -> None:
        """Pull unless told never to; each of `mirrors` is put before the image's name in turn, the official one last.

        What a name means is written to `lock` at the first pull, and held to it after.
        """
        self._pull = pull
        self._mirrors = tuple(mirror.rstrip("/") for mirror in mirrors)
        self._lock = lock
        self._timeout = timeout or _SILENCE_SECONDS

    def find(self, recipe: ServerRecipe, notice: Notice) -> BaseImage | Refusal:
        """Return the pulled image, or why no registry gives it.

        Raises:
            InputError: a registry gives another image than the lock says, or the lock file is damaged.
            InfrastructureError: the lock names an image, and no registry gives it.
        """
        name = recipe.registry_image
        refusal = Refusal("pulling is switched off") if self._pull == "never" else self._asked(recipe, notice)
        locked = self._lock.entry(name) if self._lock and isinstance(refusal, Refusal) else None
        if isinstance(refusal, BaseImage) or locked is None or self._lock is None:
            return refusal
        raise InfrastructureError(
            f"{self._lock.path} locks {name} to {locked.digest}, which cannot be had: {refusal.reason}",
            remedy="Make a registry reachable, name a mirror (--mirror), load the image, or take it out of that file",
        )

    def _asked(self, recipe: ServerRecipe, notice: Notice) -> BaseImage | Refusal:
        """Return the image from the first registry that gives it, or what each said."""
        name = recipe.registry_image
        notice(f"asking the registry for {name}, about 30 s where it is reachable")
        engine = connect(timeout=self._timeout)
        reasons = []
        try:
            for ref in (*(f"{mirror}/{name}" for mirror in self._mirrors), name):
                reason = self._pulled(engine.api, ref, name)
                if not reason and (found := describe(engine.api, name, recipe, official=True)):
                    return found
                reasons.append(f"the registry does not give {ref} ({reason or 'it is gone again'})")
        finally:
            engine.api.close()
        return Refusal("; ".join(reasons))

    def _pulled(self, api: docker.APIClient, ref: str, name: str) -> str:
        """Pull what a registry has under a name, by its digest, and give it the official name; return what failed."""
        try:
            described: dict[str, Any] = api.inspect_distribution(ref)  # type: ignore[no-untyped-call]  # the stub lacks types
            digest = str(described["Descriptor"]["digest"])
            locked = self._lock.entry(name) if self._lock else None
            if self._lock and locked and locked.digest != digest:
                raise self._lock.refused(name, locked.digest, digest, f"the registry's {ref}")
            repository = ref.rpartition(":")[0]
            if self._lock:
                self._lock.check_signed(f"{repository}@{digest}")
            if fault := _pull(api, repository, digest):
                return fault
            exact = f"{repository}@{digest}"
            image = inspect(api, exact)
            if image is None:
                return "the engine did not keep it"
            if self._lock:
                self._lock.check(name, image)
                self._lock.record(name, digest, image)
            official, _, tag = name.rpartition(":")
            api.tag(exact, official, tag)
        except (DockerException, requests.RequestException, KeyError, TypeError) as fault:
            return _reason(str(fault))
        return ""


def _pull(api: docker.APIClient, repository: str, digest: str) -> str:
    """Pull one image by its digest and return what went wrong, or nothing."""
    for event in api.pull(repository, tag=digest, stream=True, decode=True):
        if "error" in event:
            return _reason(str(event["error"]))
    return ""


def _reason(said: str) -> str:
    """Return what an engine's message means, or its first line."""
    meant = (meaning for pattern, meaning in _REASONS if re.search(pattern, said))
    return next(meant, "") or (said.splitlines() or ["no message"])[0][:200]

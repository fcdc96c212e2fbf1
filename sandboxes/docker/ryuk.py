"""A second net under our own sweep: testcontainers' Ryuk, only where its image is already on the engine."""

from __future__ import annotations

import logging

from sqlassay.sandboxes.docker.client import Engine
from sqlassay.sandboxes.images.base import inspect

_log = logging.getLogger("sqlassay.docker")


def guard(engine: Engine) -> dict[str, str]:
    """Start Ryuk for this process and return the label by which it knows what to remove; nothing without its image.

    It is never pulled: it needs the engine's socket, and our file locks and sweep do without it.
    """
    from testcontainers.core.config import testcontainers_config
    from testcontainers.core.container import Reaper
    from testcontainers.core.labels import LABEL_SESSION_ID, SESSION_ID

    if testcontainers_config.ryuk_disabled or inspect(engine.api, testcontainers_config.ryuk_image) is None:
        return {}
    try:
        Reaper.get_instance()
    except Exception as fault:  # noqa: BLE001 - a net that fails to hang must not stop a run that does not need it
        _log.warning("Ryuk does not start, sweeping goes on without it: %s", fault)
        return {}
    return {LABEL_SESSION_ID: SESSION_ID}

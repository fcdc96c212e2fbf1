"""What every test may rely on, however the suite was started."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator

import pytest

# A shell starts what it runs in the background with Ctrl-C ignored, and whoever is started from here inherits that:
# tests that interrupt a command would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _the_logger_as_it_was() -> Iterator[None]:
    """A command that a test runs in this process writes its log to a stream that is closed when the test ends."""
    logger = logging.getLogger("sqlassay")
    handlers, level, propagate = list(logger.handlers), logger.level, logger.propagate
    yield
    logger.handlers[:], logger.level, logger.propagate = handlers, level, propagate

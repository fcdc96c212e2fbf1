"""What every test may rely on, however the suite was started."""

from __future__ import annotations

import signal

# A shell starts what it runs in the background with Ctrl-C ignored, and whoever is started from here inherits that:
# tests that interrupt a command would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

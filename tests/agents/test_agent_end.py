"""An agent that is ended while it thinks lets go of whoever waits for its answer."""

from __future__ import annotations

import threading
import time

import pytest

from sqlassay.harness.agents.callable import CallableAgent
from sqlassay.harness.agents.request import AgentRequest

pytestmark = pytest.mark.jail

HELD = """
import os, subprocess, sys, time
def answer(request):
    {first}
    time.sleep(60)
"""


@pytest.mark.parametrize(
    "first",
    ["pass", "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], close_fds=False)"],
)
def test_an_agent_that_is_closed_wakes_whoever_waits(tmp_path, first):
    """Closing the agent ends a pending question at once, also where the agent's own child holds the pipe open."""
    (tmp_path / "agent.py").write_text(HELD.format(first=first), encoding="utf-8")
    agent = CallableAgent(f"{tmp_path}/agent.py:answer", folder=tmp_path)
    request = AgentRequest(
        case_id="a",
        question="?",
        evidence=None,
        dialect="sqlite",
        schema_ddl="",
        routes=(),
        trial=0,
        deadline=60.0,
        context={},
    )
    said = []
    asking = threading.Thread(target=lambda: said.append(agent.predict(request)), daemon=True)
    asking.start()
    time.sleep(0.5)
    began = time.monotonic()
    agent.close()
    asking.join(timeout=20)
    assert not asking.is_alive()
    assert time.monotonic() - began < 10
    assert "ended" in said[0].metadata["agent_error"] or "killed" in said[0].metadata["agent_error"]

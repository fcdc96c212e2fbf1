"""An agent that is a function of the caller's own process, as a notebook or a test suite has one."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeAlias

from pydantic import ValidationError

from sqlassay.cases.case import Prediction
from sqlassay.harness.agents.callable import fields_of
from sqlassay.harness.agents.masking import masked
from sqlassay.harness.agents.request import AgentRequest

Answer: TypeAlias = str | None | Mapping[str, Any] | Prediction
"""SQL, a mapping with the fields of a prediction, or a prediction; None is no answer."""

AgentFunction: TypeAlias = Callable[[AgentRequest], Answer | Awaitable[Answer]]
"""What `run(agent=…)` takes: a plain or an async function of one request."""

_LONGEST = 1000


class FunctionAgent:
    """Calls the function in a thread of the run for each case; whatever it raises is the agent's failure.

    The function runs in this process: it sees what the caller sees, and no deadline ends it. An agent that is not to
    be trusted is named as `module:function` instead, and runs in a child process that cannot see the gold.
    """

    def __init__(self, function: AgentFunction) -> None:
        """Keep the function; its name is the agent's."""
        self._function = function
        self.name = f"function:{getattr(function, '__qualname__', type(function).__name__)}"

    def predict(self, request: AgentRequest) -> Prediction:
        """Return the function's answer, or a prediction without SQL that holds its error."""
        try:
            answer = self._function(request)
            if inspect.isawaitable(answer):
                answer = _awaited(answer)
            return _prediction(request, answer)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a stranger's function may raise anything, SystemExit too
            said = masked(f"{type(error).__name__}: {error}")[:_LONGEST]
            return Prediction(case_id=request.case_id, trial=request.trial, metadata={"agent_error": said})

    def close(self) -> None:
        """Nothing is held open."""


def _awaited(answer: Awaitable[Answer]) -> Answer:
    """Return what an async function answers; every call has a loop of its own, in a thread that has none."""

    async def whole() -> Answer:
        """Await what need not be a coroutine."""
        return await answer

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(whole())
    return _in_a_thread(whole())


def _in_a_thread(coroutine: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a coroutine where no loop runs."""
    found: list[Answer | BaseException] = []

    def call() -> None:
        """Keep what it returns or raises."""
        try:
            found.append(asyncio.run(coroutine))
        except BaseException as error:  # noqa: BLE001 (raised again by the caller)
            found.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def _prediction(request: AgentRequest, answer: Answer) -> Prediction:
    """Return an answer as the prediction for this request.

    Raises:
        TypeError: it is neither text, a mapping nor a prediction.
        ValueError: a mapping whose fields are none of a prediction's.
    """
    own = {"case_id": request.case_id, "trial": request.trial}
    if isinstance(answer, Prediction):
        return answer.model_copy(update=own)
    if answer is not None and not isinstance(answer, str | Mapping):
        raise TypeError(f"the agent returned {type(answer).__name__}, neither text nor a mapping nor a Prediction")
    try:
        fields = fields_of(answer, request) if isinstance(answer, Mapping) else {"sql": answer}
        return Prediction.model_validate({**fields, **own})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"the answer's {'.'.join(map(str, first['loc']))}: {first['msg']}") from None

"""The timeline of a run, made by another process while its verdict is awaited."""

from __future__ import annotations

import queue
import threading
from types import TracebackType

from .findings import Data
from .simulating import CLOCK, Simulation, Task, Tell

_GRACE_S = 0.2
"""The seconds that a process has to end by itself, so that it is kept."""


class Beside:
    """A task of a process, whose events wait until `told` asks for them. It is cancelled at the end of a `with`."""

    def __init__(self, simulation: Simulation, task: Task) -> None:
        self._simulation = simulation
        self._events: queue.SimpleQueue[Data | BaseException | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, args=(task,), daemon=True)

    def __enter__(self) -> Beside:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._thread.join(_GRACE_S)
        if self._thread.is_alive():
            self._simulation.cancel()

    def told(self, tell: Tell, cycles: float | None) -> bool:
        """Tell the events, if the execution without data took these cycles; return whether it did.

        cycles: of the execution with data. Raises an error of the process.
        """
        if cycles is None:
            return False
        while (event := self._events.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            if event["event"] == CLOCK:
                if event["cycles"] != cycles:
                    return False
            elif event["event"] != "progress" or self._events.empty():  # else it is out of date
                tell(event)
        return True

    def _work(self, task: Task) -> None:
        try:
            self._simulation.run(task, self._events.put)
            self._events.put(None)
        except BaseException as error:
            self._events.put(error)

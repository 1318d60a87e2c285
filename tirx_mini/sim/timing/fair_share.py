"""A resource that serves all requesters concurrently, in equal shares.

An L2 cache serves the SMs in turn, and a tensor core the MMAs of its warpgroups: requests made at the same time end at
the same time. A queue (first come, first served) would be wrong here: it would serve the first of many requesters long
before the last, so that later requests would no longer coincide, and the contention would vanish.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable

from .clock import Clock

SLACK = 1e-6
"""The tolerance for rounding errors in a served amount."""


class Flow:
    """The requests of one requester, served in order. began: the start time of the first one."""

    __slots__ = ("began", "requests")

    def __init__(self) -> None:
        self.began = 0.0
        self.requests: deque[tuple[float, Callable[[float], None]]] = deque()


class FairShare:
    """A resource of `rate` units per cycle, shared equally by active flows; a flow gets at most `most`.

    Requests start and end at the clock's time. The cumulative service grows equally for all active flows, so a request
    ends when it has grown by the size of the request, and the ends are kept in that order.
    """

    def __init__(self, clock: Clock, rate: float, most: float) -> None:
        self._clock = clock
        self._rate = rate
        self._most = most
        self._served = 0.0
        self._since = 0.0
        self._ends: list[tuple[float, int, Flow]] = []
        self._sequence = 0
        self._due_at = float("inf")

    @property
    def flows(self) -> int:
        """The number of flows with pending requests."""
        return len(self._ends)

    def serve(self, flow: Flow, amount: float, done: Callable[[float], None]) -> None:
        """Serve `amount` after the earlier requests of `flow`, then call `done` with the elapsed cycles."""
        flow.requests.append((amount, done))
        if len(flow.requests) == 1:
            self._advance()
            self._begin(flow)
            self._schedule()

    def pass_time(self, due_at: float) -> None:
        """Complete the requests that are due; a call that a later one replaced does nothing."""
        if due_at != self._due_at:
            return
        self._due_at = float("inf")
        self._advance()
        ends, since, top = self._ends, self._since, self._served + SLACK
        while ends and ends[0][0] <= top:
            flow = heapq.heappop(ends)[2]
            took = since - flow.began
            _, done = flow.requests.popleft()
            if flow.requests:
                self._begin(flow)
            done(took)
        self._schedule()

    def _begin(self, flow: Flow) -> None:
        self._sequence += 1
        flow.began = self._since
        heapq.heappush(self._ends, (self._served + flow.requests[0][0], self._sequence, flow))

    def _share(self) -> float:
        return min(self._most, self._rate / len(self._ends))

    def _advance(self) -> None:
        now = self._clock.now
        if self._ends:
            self._served += self._share() * (now - self._since)
        self._since = now

    def _schedule(self) -> None:
        """Schedule the completion of the first request at the current rate."""
        if self._ends:
            due_at = self._since + max(0.0, self._ends[0][0] - self._served) / self._share()
            if due_at < self._due_at:
                self._due_at = due_at
                self._clock.at(due_at, None, self.pass_time, due_at)

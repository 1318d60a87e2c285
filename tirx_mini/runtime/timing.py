"""Launch times on this machine's GPU without host overhead: in a row, from replays of a CUDA graph, and by itself."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

FLUSH_BYTES = 512 << 20
"""Several times the L2 of any modelled GPU."""
_QUEUE_CYCLES = 400_000
"""The cycles for which the GPU is kept busy while the host queues a launch."""
_WARM_UP = 2


class LaunchGraph:
    """A CUDA graph of `repeat` calls of `launch`, which queues on the current stream; creation replays it once."""

    def __init__(self, launch: Callable[[], object], repeat: int) -> None:
        import torch

        self.repeat = repeat
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            launch()  # the first call loads the kernel and encodes tensor maps: that cannot be captured
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            for _ in range(repeat):
                launch()
        self.replay()
        torch.cuda.synchronize()

    def replay(self) -> None:
        """Queue all calls again."""
        self._graph.replay()

    def ms(self) -> float:
        """Return the milliseconds per call: the time of a replay divided by `repeat`."""
        import torch

        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self.replay()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) / self.repeat


def cold_us(launch: Callable[[], object], flush: torch.Tensor, clean: bool = False) -> float:
    """Return the microseconds between an event before a launch and one after it, with nothing of it in the L2.

    flush: a tensor of `FLUSH_BYTES` on the GPU, which is written before the launch. clean: whether it is then read, so
    that the L2 has no line that must be written to memory first.
    """
    import torch

    flush.fill_(1)
    if clean:
        flush.view(torch.int64).max()
    torch.cuda._sleep(_QUEUE_CYCLES)  # pyright: ignore[reportPrivateUsage]
    before, behind = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    before.record()
    launch()
    behind.record()
    torch.cuda.synchronize()
    return before.elapsed_time(behind) * 1e3


def in_turn(measures: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Return the measurements of each round by name, interleaved in an order that is drawn anew for each round.

    The clock of a GPU at its power limit drifts, and depends on what ran before. Two rounds to warm up do not count.
    """
    times: dict[str, list[float]] = {name: [] for name in measures}
    order, draw = list(measures), random.Random(0)
    for number in range(-_WARM_UP, rounds):
        draw.shuffle(order)
        for name in order:
            measured = measures[name]()
            if number >= 0:
                times[name].append(measured)
    return times

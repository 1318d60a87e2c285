"""Times of launches on this machine's GPU without the host's part of them: they are replayed from a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable


class LaunchGraph:
    """`repeat` calls of `launch` as one CUDA graph, replayed once. What `launch` queues goes on the current stream."""

    def __init__(self, launch: Callable[[], object], repeat: int) -> None:
        import torch

        self.repeat = repeat
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            launch()  # what the first call alone does (loading, tensor maps) cannot be captured
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            for _ in range(repeat):
                launch()
        self.replay()
        torch.cuda.synchronize()

    def replay(self) -> None:
        """Queue all of the calls once more."""
        self._graph.replay()

    def ms(self) -> float:
        """Milliseconds of one call: a replay's time over `repeat`."""
        import torch

        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self.replay()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) / self.repeat

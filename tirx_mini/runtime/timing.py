"""Launch times on this machine's GPU without host overhead, from replays of a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable


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

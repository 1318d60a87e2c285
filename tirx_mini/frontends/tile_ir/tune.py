"""``ct.tune``: search for the fastest configuration, measured on a GPU or predicted by the simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from tirx_mini import driver
from tirx_mini.arguments import ArgumentError, is_tensor
from tirx_mini.ir import TirxError
from tirx_mini.records import dataclass

from .language import TileKernel
from .run import Launch, current_gpu, grid_of, launch, lowered_launch

T = TypeVar("T")
_RUNS = 10
"""Launches of which a measurement on a GPU is the mean."""


@dataclass(frozen=True, kw_only=True)
class Measurement(Generic[T]):
    """A configuration and its time.

    mean_us: microseconds; the prediction, where a GPU is simulated.
    num_samples: launches that were measured. error_margin_us: their standard deviation.
    """

    config: T
    mean_us: float
    num_samples: int
    error_margin_us: float


@dataclass(frozen=True, kw_only=True)
class TuningResult(Generic[T]):
    """The result of a search.

    best: the fastest configuration. successes: all that ran.
    failures: those that did not, each with the class of its error and the message.
    """

    best: Measurement[T]
    successes: Sequence[Measurement[T]]
    failures: Sequence[tuple[T, type[BaseException], str]]

    def summary(self, *, top_k: int = 10, bottom_k: int = 2) -> str:
        """Return a table of the fastest `top_k` and the slowest `bottom_k` configurations with their times."""
        ranked = sorted(self.successes, key=lambda m: m.mean_us)
        shown = [(i, m) for i, m in enumerate(ranked) if i < top_k or i >= len(ranked) - bottom_k]
        lines = [f"{len(self.successes)} succeeded, {len(self.failures)} failed"]
        for place, (i, m) in enumerate(shown):
            if place and i != shown[place - 1][0] + 1:
                lines.append("...")
            lines.append(f"{i + 1}. {m.mean_us:.1f} us: {m.config}")
        return "\n".join(lines)


def exhaustive_search(
    search_space: Sequence[T],
    stream: object,
    grid_fn: Callable[[T], tuple[int, ...]],
    kernel: TileKernel | Callable[[T], TileKernel],
    args_fn: Callable[[T], tuple[object, ...]],
    hints_fn: Callable[[T], dict[str, Any]] | None = None,
    *,
    quiet: bool = False,
    single_run_timeout_sec: float | None = None,
    flush_l2: bool = True,
) -> TuningResult[T]:
    """Time a kernel in each configuration, and return the fastest.

    grid_fn, args_fn, hints_fn: the grid, the arguments and the options of the kernel in a configuration.
    kernel: the kernel, or a function of the configuration that returns it.
    quiet: whether nothing is printed. single_run_timeout_sec, flush_l2: not used by the simulator.
    Raises `ValueError` where no configuration runs.
    """
    from tirx_mini.diagnose import SimulationError

    successes: list[Measurement[T]] = []
    failures: list[tuple[T, type[BaseException], str]] = []
    for config in search_space:
        chosen = kernel if isinstance(kernel, TileKernel) else kernel(config)
        if hints_fn is not None:
            chosen = chosen.replace_hints(**hints_fn(config))
        try:
            times = _times(stream, grid_fn(config), chosen, args_fn(config))
        except (TirxError, ArgumentError, SimulationError, NotImplementedError) as error:
            failures.append((config, type(error), str(error)))
            continue
        mean, margin = float(np.mean(times)), float(np.std(times))
        made = Measurement(config=config, mean_us=mean, num_samples=len(times), error_margin_us=margin)
        successes.append(made)
    if not successes:
        first = f": {failures[0][2]}" if failures else ""
        raise ValueError(f"no configuration of {len(search_space)} runs{first}")
    result = TuningResult(best=min(successes, key=lambda m: m.mean_us), successes=successes, failures=failures)
    if not quiet:
        print(result.summary())
    return result


def _times(stream: object, grid: object, kernel: TileKernel, args: Sequence[Any]) -> list[float]:
    """Return launch times in microseconds, measured on a GPU or a single prediction."""
    if any(is_tensor(arg) and arg.device.type == "cuda" for arg in args):
        return _measured(stream, grid, kernel, args)
    func, passed = lowered_launch(Launch(kernel, grid_of(grid), tuple(args)), current_gpu())
    report = driver.predict(func, *passed, gpu=current_gpu())
    if report.time_us is None or not (report.ok or report.verdict == "clock"):
        from tirx_mini.diagnose import SimulationError

        raise SimulationError(report)
    return [report.time_us]


def _measured(stream: object, grid: object, kernel: TileKernel, args: Sequence[object]) -> list[float]:
    import torch

    launch(stream, grid, kernel, args)
    times = []
    for _ in range(_RUNS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        launch(stream, grid, kernel, args)
        end.record()
        end.synchronize()
        times.append(1e3 * start.elapsed_time(end))
    return times

"""Triton's benchmark functions on the simulated clock: one launch is one measurement."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from tirx_mini.foreign import simulated_device

_MEASURING: ContextVar[bool] = ContextVar("measuring", default=False)
"""Set while launches are made for their time alone."""


def measuring() -> bool:
    """Return whether launches are made for their time alone, so that their results are not needed."""
    return _MEASURING.get()


@contextmanager
def _measuring() -> Iterator[None]:
    token = _MEASURING.set(True)
    try:
        yield
    finally:
        _MEASURING.reset(token)


def bench(
    fn: Callable[[], object], *args: object, quantiles: Sequence[float] | None = None, return_mode: str = "mean",
    **options: object,
) -> Any:  # fmt: skip
    """Return the predicted milliseconds of the launches that `fn` makes, as `triton.testing.do_bench` returns them.

    A function without launches is measured on the host.
    """
    clock = simulated_device.CLOCK.get()
    before, start = clock.time_us, time.perf_counter()
    with _measuring():
        fn()
    took_us = clock.time_us - before or 1e6 * (time.perf_counter() - start)
    testing = import_module("triton.testing")
    return testing._summarize_statistics([took_us / 1e3], quantiles, return_mode)


def _in_turn(fn: Callable[[], object], rep: int = 20, grad_to_none: object = None, **options: Any) -> Any:
    """Measure as `triton.testing.do_bench_cudagraph` does."""
    return bench(fn, **options)


def replacements(testing: Any) -> Mapping[str, Any]:
    """Return the functions of `triton.testing` that are replaced."""
    return {
        name: made for name, made in (("do_bench", bench), ("do_bench_cudagraph", _in_turn)) if hasattr(testing, name)
    }

"""Settings of the process during a launch."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController  # pyright: ignore[reportMissingTypeStubs] - it has none

GC_THRESHOLD = (20_000, 5, 100)
"""The garbage-collector thresholds during a run; about forty finished CTAs accumulate between two collections."""


@contextmanager
def running(times: int = 1) -> Generator[None]:
    """Apply the settings of this process for the duration of a run.

    NumPy reports no floating-point errors, and multiplies in one thread: its products are small, and other runs may
    need the other cores.

    The garbage collector skips older objects, and runs less often: of the objects that a run allocates, only ended CTAs
    form cyclic garbage. times: the factor on `GC_THRESHOLD`, because a recorded run keeps its notes.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(times * GC_THRESHOLD[0], *GC_THRESHOLD[1:])
    try:
        pools: Any = _thread_pools()  # the library has no types
        with np.errstate(all="ignore"), pools.limit(limits=1, user_api="blas"):
            yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@lru_cache(maxsize=1)
def _thread_pools() -> ThreadpoolController:
    """Return the controller of the libraries' thread pools; finding the libraries takes 2 ms."""
    from threadpoolctl import ThreadpoolController  # pyright: ignore[reportMissingTypeStubs] - it has none

    return ThreadpoolController()

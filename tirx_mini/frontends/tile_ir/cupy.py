"""CuPy for machines without a GPU: its arrays are NumPy's, and its streams do nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


class Stream:
    """A stream of the simulated GPU: a launch is complete when its call returns."""

    ptr = 0

    def synchronize(self) -> None:
        """Launches are complete."""

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        """Launches are complete."""


def asnumpy(array: Any, *_: Any, **__: Any) -> np.ndarray:
    """A copy of an array in host memory."""
    return np.array(array)


cuda = SimpleNamespace(
    Stream=Stream, get_current_stream=Stream, Device=lambda *_: SimpleNamespace(synchronize=lambda: None, id=0)
)


def __getattr__(name: str) -> Any:
    """NumPy's functions."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(np, name)

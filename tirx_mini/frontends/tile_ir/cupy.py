"""A CuPy substitute for machines without a GPU, based on NumPy arrays and no-op streams."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


class Stream:
    """A stream of the simulated GPU, on which every launch completes before its call returns."""

    ptr = 0

    def synchronize(self) -> None:
        """Do nothing, since launches are already complete."""

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        """Do nothing, since launches are already complete."""


def asnumpy(array: object, *_: object, **__: object) -> np.ndarray:
    """Return a copy of an array in host memory."""
    return np.array(array)


cuda = SimpleNamespace(
    Stream=Stream, get_current_stream=Stream, Device=lambda *_: SimpleNamespace(synchronize=lambda: None, id=0)
)


def __getattr__(name: str) -> Any:
    """Look up a NumPy function."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(np, name)

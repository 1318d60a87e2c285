"""The reference kernels in the judges' form, for the comparison of times."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from tirx_mini.course import Factory, Shape, load_kernels
from tirx_mini.hardware import gpu_spec
from tirx_mini.resources import resource
from tirx_mini.saved import save_json

from .judging import Inquiry


class References:
    """The kernels of `kernels_ref`, thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._factories: dict[str, Mapping[int, Factory]] = {}

    def question(self, step: int, shape: Shape, dtype: str, gpu: str) -> Inquiry:
        """Return the reference of a step for a shape."""
        folder = gpu_spec(gpu).architecture.kernels
        with self._lock:  # loading adds to sys.path for a moment
            if folder not in self._factories:
                self._factories[folder] = load_kernels(resource("kernels_ref"), folder)
            text = save_json(self._factories[folder][step](*shape, dtype=dtype))
        return Inquiry(text, "", "the reference", "", step, shape, dtype, gpu)

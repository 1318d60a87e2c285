"""The context in which an installed Triton launches its kernels in the simulator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from unittest.mock import patch

from tirx_mini.foreign import once_imported, simulated_device
from tirx_mini.hardware import GpuSpec

from .benchmarks import replacements
from .compiler import with_ptx
from .driver import SimulatedDriver


@contextmanager
def launched_here() -> Iterator[None]:
    """Launch the kernels of Triton in the simulator within the block, unless this machine has a GPU."""
    gpu = simulated_device.simulated_gpu()
    if gpu is None:
        yield
        return
    with once_imported("triton", lambda: _driven(gpu)):
        yield


@contextmanager
def _driven(gpu: GpuSpec) -> Iterator[None]:
    """Make `gpu` the active device of Triton within the block."""
    drivers = import_module("triton.runtime.driver").driver
    testing = import_module("triton.testing")
    driver = SimulatedDriver(gpu)
    with with_ptx(), patch.multiple(testing, **replacements(testing)), driver:
        drivers.set_active(driver)
        try:
            yield
        finally:
            drivers._active = None  # `reset_active` would look for a GPU

"""PTX on a GPU, through the CUDA driver."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tirx_mini.runtime.compiler import assemble
from tirx_mini.runtime.cuda_driver import check
from tirx_mini.runtime.toolchain import load

from .kinds import Words
from .program import HEADER, Launch

ARCH = "sm_90a"


def assembled(launches: Sequence[Launch]) -> bytes:
    """The binary of kernels. Raises `TirxError` where ptxas rejects one."""
    return assemble(HEADER + "".join(launch.body for launch in launches), ARCH)


@cache
def _driver() -> Any:
    """The driver, with the device's primary context current."""
    driver = load("cuda.bindings.driver")
    check(driver.cuInit(0))
    device = check(driver.cuDeviceGet(0))
    check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(device))))
    return driver


class Loaded:
    """A binary on the device."""

    def __init__(self, binary: bytes) -> None:
        self._driver = _driver()
        self._binary = np.frombuffer(binary, np.uint8).copy()
        self._module = check(self._driver.cuModuleLoadData(self._binary.ctypes.data))

    def run(self, launch: Launch, arguments: Sequence[Words]) -> None:
        """Launch a kernel; its results are written into the arguments. Raises `DriverError`."""
        driver = self._driver
        function = check(driver.cuModuleGetFunction(self._module, launch.name.encode()))
        places = [int(check(driver.cuMemAlloc(words.nbytes))) for words in arguments]
        for place, words in zip(places, arguments, strict=True):
            check(driver.cuMemcpyHtoD(place, words.ctypes.data, words.nbytes))
        values = [ctypes.c_uint64(place) for place in places]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        sizes = (launch.grid, 1, 1, launch.block, 1, 1)
        check(driver.cuLaunchKernel(function, *sizes, 0, 0, ctypes.addressof(pointers), 0))
        check(driver.cuCtxSynchronize())
        for place, words in zip(places, arguments, strict=True):
            check(driver.cuMemcpyDtoH(words.ctypes.data, place, words.nbytes))
            check(driver.cuMemFree(place))

    def close(self) -> None:
        check(self._driver.cuModuleUnload(self._module))

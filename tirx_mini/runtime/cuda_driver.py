"""The CUDA driver's status codes as Python errors."""

from __future__ import annotations

from typing import Any

from .toolchain import load


class DriverError(RuntimeError):
    """A failed call of the CUDA driver. name: the status, as CUDA_ERROR_ILLEGAL_ADDRESS. text: its description."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(name, text)
        self.name, self.text = name, text

    def __str__(self) -> str:
        return f"{self.text} ({self.name})"


def check(result: tuple[Any, ...]) -> Any:
    """Return the values of a driver call without its status; raises `DriverError` for an error status."""
    status, *values = result
    if status.value:
        raise failed(status.value)
    return values[0] if len(values) == 1 else tuple(values) or None


def failed(status: int) -> DriverError:
    """Return the error for a status other than 0."""
    driver = load("cuda.bindings.driver")
    name = text = None
    if status in {each.value for each in driver.CUresult}:
        _, name = driver.cuGetErrorName(driver.CUresult(status))
        _, text = driver.cuGetErrorString(driver.CUresult(status))
    return DriverError((name or b"unknown").decode(), (text or b"an unknown error").decode())


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
    """The values of a driver call without its status; raises `DriverError` if the status is an error."""
    status, *values = result
    if status.value:
        driver = load("cuda.bindings.driver")
        _, name = driver.cuGetErrorName(status)
        _, text = driver.cuGetErrorString(status)
        raise DriverError((name or b"unknown").decode(), (text or b"an unknown error").decode())
    return values[0] if len(values) == 1 else tuple(values) or None

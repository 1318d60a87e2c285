"""PyTorch tensors as arguments of a launch: memory that kernels reach through pointers."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def cuda_devices() -> Iterator[None]:
    """Make tensors say that they are on the device "cuda:0" within the block."""
    import torch
    from torch.overrides import TorchFunctionMode

    device_of = getattr(torch.Tensor.device, "__get__")  # noqa: B009 - pyright knows a property as its value

    class OnDevice(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
            return torch.device("cuda", 0) if func == device_of else func(*args, **(kwargs or {}))

    with OnDevice():
        yield


@contextmanager
def as_host_memory() -> Iterator[None]:
    """Show tensors as they are within the block, on the host."""
    from torch._C import DisableTorchFunction

    with DisableTorchFunction():
        yield


MOST_POINTERS = 1 << 12
"""The most elements of a tensor that is looked at for addresses."""
LEAST_ADDRESS = 1 << 32
"""The least number that is taken for an address of host memory."""


class Memory:
    """The tensors of one launch as arrays: the same array for the same memory."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[int, str], Any] = {}
        self._live: list[Any] | None = None

    def array(self, tensor: Any) -> Any:
        """Return the memory from the first element of a tensor to the end of its storage; None for an empty one.

        A tensor that fills its storage in order keeps its shape.
        """
        if not tensor.numel():
            return None
        pointees = self._pointees(tensor)
        if pointees:
            return pointees
        key = tensor.data_ptr(), str(tensor.dtype)
        if key not in self._arrays:
            self._arrays[key] = _memory(tensor.detach())
        return self._arrays[key]

    def _pointees(self, tensor: Any) -> list[Any]:
        """Return the memories that a tensor of addresses points to, or [] for a tensor of numbers."""
        import torch

        if tensor.dtype not in (torch.int64, torch.uint64) or tensor.numel() > MOST_POINTERS:
            return []
        addresses = tensor.detach().reshape(-1).tolist()
        if not any(abs(address) >= LEAST_ADDRESS for address in addresses):
            return []
        if self._live is None:
            self._live = [each for each in gc.get_objects() if type(each) in (torch.Tensor, torch.nn.Parameter)]
        found = [self._at(address) for address in addresses]
        known = all(each is not None or address == 0 for address, each in zip(addresses, found, strict=True))
        return found if known else []

    def _at(self, address: int) -> Any:
        """Return the memory of a live tensor from an address on, or None."""
        for tensor in self._live or ():
            if tensor.device.type == "cpu" and tensor.numel() and tensor.data_ptr() == address:
                return self.array(tensor)
        return None


def _memory(tensor: Any) -> Any:
    import torch

    if tensor.dtype == torch.bool:
        tensor = tensor.view(torch.uint8)
    left = tensor.untyped_storage().nbytes() // tensor.itemsize - tensor.storage_offset()
    if tensor.is_contiguous() and tensor.numel() == left and tensor.dim():
        return tensor
    return tensor.as_strided((left,), (1,))

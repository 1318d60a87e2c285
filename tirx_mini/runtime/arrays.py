"""Copies of NumPy arrays to and from the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tirx_mini.pytorch import pytorch_on_gpu

if TYPE_CHECKING:
    import numpy.typing as npt


def to_device(array: npt.NDArray[Any]) -> Any:
    """Copy an array to a tensor on the current GPU; ml_dtypes' types become PyTorch's."""
    torch = pytorch_on_gpu('target="cuda"')
    contiguous = np.ascontiguousarray(array)
    kind = getattr(torch, array.dtype.name, None)
    if kind is None:
        raise TypeError(f"PyTorch has no dtype for an array of {array.dtype}")
    if array.dtype.kind in "biuf":
        return torch.from_numpy(contiguous).to("cuda")
    return torch.from_numpy(contiguous.view(np.uint8)).to("cuda").view(kind).reshape(array.shape)


def from_device(tensor: Any, array: npt.NDArray[Any]) -> None:
    """Copy a tensor to `array`, which has the same shape and type, and wait for the GPU."""
    import torch

    host = tensor.cpu().contiguous().view(torch.uint8).numpy()
    array[...] = host.view(array.dtype).reshape(array.shape)

"""PyTorch, an optional dependency for GPUs and programs with tensors; the simulator works without it.

Code that a user may reach without PyTorch imports it through `pytorch`. A function that has been given a tensor imports
`torch` itself, because the tensor's library is there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

NAME = "torch"
"""The module name of PyTorch, and the name of the extra."""
_BROKEN = (ImportError, OSError)
"""The errors of a failed import: PyTorch is not installed, or a library that it loads is missing."""


class PyTorchMissing(RuntimeError):
    """The error if PyTorch is needed and cannot be imported; the message is one sentence that names the extra."""


class GpuMissing(PyTorchMissing):
    """The error if a GPU is needed and PyTorch finds none; the message is one sentence."""


def pytorch(what: str) -> Any:
    """Return the module `torch`. Raises `PyTorchMissing` without it.

    what: the feature that needs it, as in "a launch on a GPU".
    """
    try:
        import torch
    except _BROKEN as error:
        why = "is not installed" if is_missing(error) else f"cannot be imported ({error})"
        raise PyTorchMissing(f"{what} needs PyTorch, which {why}: {how_to_install()}") from error
    return torch


def pytorch_on_gpu(what: str) -> Any:
    """Return the module `torch` if it finds a GPU. Raises `PyTorchMissing` or `GpuMissing`, as `pytorch` does."""
    torch = pytorch(what)
    if not torch.cuda.is_available():
        raise GpuMissing(f'{what} needs a GPU, and PyTorch finds none on this machine: use target="sim"')
    return torch


def pytorch_or_none() -> Any:
    """Return the module `torch`, or None if it cannot be imported."""
    try:
        import torch
    except _BROKEN:
        return None
    return torch


def is_missing(error: BaseException | None) -> bool:
    """Return whether an import failed because PyTorch, or a part of it, is not installed."""
    return isinstance(error, ImportError) and (error.name or "").partition(".")[0] == NAME


def how_to_install(extra: str = NAME) -> str:
    """Return the clause with the command that installs an extra, with pinned versions for a package in a checkout."""
    root = Path(__file__).resolve().parents[1]
    pinned = (root / "constraints.txt").is_file() and (root / "pyproject.toml").is_file()
    command = f'pip install -c constraints.txt -e ".[{extra}]"' if pinned else f'pip install "tirx_mini[{extra}]"'
    return f"run `{command}`"

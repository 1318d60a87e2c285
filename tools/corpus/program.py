"""One program of the corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tirx_mini.course import make_arguments
from tirx_mini.ir import Buffer, PrimFunc

BOTH, HOPPER, BLACKWELL = ("h100", "b200"), ("h100",), ("b200",)


def arguments(kernel: PrimFunc) -> list[Any]:
    """Random arrays for the buffers of a kernel, and 1 for its scalars."""
    buffers = tuple(param for param in kernel.params if isinstance(param, Buffer))
    arrays = iter(make_arguments(replace(kernel, params=buffers)))
    return [next(arrays) if isinstance(param, Buffer) else 1 for param in kernel.params]


@dataclass(frozen=True)
class Program:
    """A kernel by the name of a GPU. args: of a run of it; None where only its texts count. gpus: that execute it."""

    name: str
    kernel: Callable[[str], PrimFunc]
    args: Callable[[PrimFunc], Sequence[Any]] | None = arguments
    gpus: tuple[str, ...] = BOTH

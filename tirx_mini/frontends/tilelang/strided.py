"""`T.StridedTensor`: an argument whose rows lie apart in memory is passed as the flat memory that it lies in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tirx_mini.arguments import ArgumentError, is_tensor
from tirx_mini.ir import Buffer, Mutator, PrimFunc, Var
from tirx_mini.layout import S, TileLayout
from tirx_mini.records import dataclass, replace


@dataclass(frozen=True)
class Strides:
    """The strides of an argument in elements, of which some may be known only at the call."""

    steps: tuple[int | Var, ...]


def strides_of(param: object) -> tuple[int | Var, ...] | None:
    """Return the strides of a `T.StridedTensor`, or None for any other parameter."""
    layout = param.layout if isinstance(param, Buffer) else None
    return layout.steps if isinstance(layout, Strides) else None


def symbols_in_strides(func: PrimFunc) -> list[Var]:
    """Return the variables that are strides of arguments."""
    return [step for param in func.params for step in strides_of(param) or () if isinstance(step, Var)]


def steps_in(array: Any) -> tuple[int, ...]:
    """Return the strides of a tensor or NumPy array in elements."""
    return tuple(array.stride()) if is_tensor(array) else tuple(step // array.itemsize for step in array.strides)


def passed(param: Buffer | Var, array: Any, sizes: Mapping[Var, int]) -> Any:
    """Return what the kernel is given for an argument: the flat memory of a strided one.

    Raises `ArgumentError` where its strides are not those that the kernel is for.
    """
    wanted = strides_of(param)
    if wanted is None:
        return array
    known = _known(wanted, sizes)
    given = steps_in(array)
    if any(n > 1 and a != b for n, a, b in zip(array.shape, given, known, strict=True)):
        raise ArgumentError(f"{param.name} has the strides {given}, but the kernel is for {known}")
    count = _span(tuple(array.shape), known)
    if is_tensor(array):
        return array.as_strided((count,), (1,))
    return np.lib.stride_tricks.as_strided(array, (count,), (array.itemsize,))


def flattened(func: PrimFunc, sizes: Mapping[Var, int]) -> PrimFunc:
    """Return a function whose strided arguments are flat memory; its body has views of them.

    sizes: the values of strides that are variables.
    """
    views: dict[Buffer, Buffer] = {}
    params: list[Buffer | Var] = []
    for param in func.params:
        steps = strides_of(param)
        if steps is None or not isinstance(param, Buffer):
            params.append(param)
            continue
        numbers = _known(steps, sizes)
        flat = Buffer(param.name, (_span(param.shape, numbers),), param.dtype, span=param.span)
        views[param] = replace(param, layout=TileLayout(S[param.shape:numbers]), source=flat)
        params.append(flat)
    return replace(_Views(views).func(func), params=tuple(params)) if views else func


def _known(steps: tuple[int | Var, ...], sizes: Mapping[Var, int]) -> tuple[int, ...]:
    return tuple(sizes[step] if isinstance(step, Var) else step for step in steps)


def _span(shape: tuple[int, ...], steps: tuple[int, ...]) -> int:
    """Return the number of elements from the first to the last."""
    return 1 + sum((extent - 1) * step for extent, step in zip(shape, steps, strict=True))


class _Views(Mutator):
    def __init__(self, views: Mapping[Buffer, Buffer]) -> None:
        self.views = dict(views)

    def buffer(self, buffer: Buffer) -> Buffer:
        """Return the view that stands for an argument, or a buffer that is a view of it."""
        if buffer not in self.views and buffer.source is not None:
            source = self.buffer(buffer.source)
            self.views[buffer] = buffer if source is buffer.source else replace(buffer, source=source)
        return self.views.get(buffer, buffer)

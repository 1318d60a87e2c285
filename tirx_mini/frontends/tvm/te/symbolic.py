"""Schedules with symbolic extents, lowered and compiled for the sizes of each call."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tirx_mini.arguments import ArgumentError
from tirx_mini.ir import Buffer, Expr, IRModule, PrimFunc, Var, const, int_value, simplify, substitute, walk
from tirx_mini.records import dataclass

from .axis import IterVar
from .tensor import Tensor

if TYPE_CHECKING:
    from .schedule import Schedule

SHOWN_EXTENT = 1024
"""What a symbolic extent is in the text of a function that has not been called, as for kernels."""


def symbols_of(args: Iterable[Tensor | Var]) -> list[Var]:
    """Return the variables in the shapes of tensors, in order of first use."""
    extents = (extent for arg in args if isinstance(arg, Tensor) for extent in arg.shape if isinstance(extent, Expr))
    return list(dict.fromkeys(node for extent in extents for node in walk(extent) if isinstance(node, Var)))


def specialised(
    schedule: Schedule, args: Sequence[Tensor | Var], sizes: Mapping[Var, int]
) -> tuple[Schedule, list[Tensor | Var]]:
    """Return a copy of a schedule and its arguments with symbolic extents replaced by numbers.

    Variables that are arguments themselves are no longer among them.
    """
    known: dict[int, Any] = {id(var): const(size, var.dtype) for var, size in sizes.items()}
    kept = [arg for arg in args if not isinstance(arg, Var) or arg not in sizes]
    for var in (arg for arg in kept if isinstance(arg, Var)):
        known[id(var)] = var
    made, own = copy.deepcopy((schedule, kept), known)
    for each in list(known.values()):
        if isinstance(each, IterVar):
            object.__setattr__(each, "extent", None if each.extent is None else _number(each.extent))
        elif isinstance(each, Buffer):
            object.__setattr__(each, "shape", tuple(map(_number, each.shape)))
    return made, own


def _number(extent: object) -> Any:
    value = int_value(simplify(extent)) if isinstance(extent, Expr) else extent
    return extent if value is None else value


class SymbolicModule(IRModule):
    """The lowered module of a schedule with symbolic extents, which `build` compiles for the sizes of each call.

    Its text is that for `SHOWN_EXTENT` in the place of each symbolic extent.
    """

    schedule: Schedule
    args: tuple[Tensor | Var, ...]

    def __init__(self, schedule: Schedule, args: Sequence[Tensor | Var], functions: Mapping[str, PrimFunc]) -> None:
        super().__init__(functions)
        object.__setattr__(self, "schedule", schedule)
        object.__setattr__(self, "args", tuple(args))


@dataclass(frozen=True, eq=False)
class SymbolicFunction:
    """A callable schedule with symbolic extents, compiled once for each set of sizes.

    module: the schedule and its arguments.
    compiled_for: a schedule without symbolic extents, compiled.
    """

    module: SymbolicModule
    compiled_for: Callable[[Schedule, Sequence[Tensor | Var]], Any]
    _known: dict[tuple[int, ...], Any] = field(default_factory=dict, init=False, repr=False)
    _last: list[Any] = field(default_factory=list, init=False, repr=False)

    def __call__(self, *args: object) -> None:
        self.for_arguments(*args)(*self.kept(args))

    def kept(self, args: Sequence[object]) -> list[Any]:
        """Return the values without those of symbolic extents."""
        sizes = set(symbols_of(self.module.args))
        return [value for arg, value in zip(self.module.args, args, strict=True) if arg not in sizes]

    def for_arguments(self, *args: object) -> Any:
        """Return the function for the sizes of the given arguments. Raises `ArgumentError` for inconsistent sizes."""
        return self._for(self._sizes(args))

    @property
    def func(self) -> PrimFunc:
        return self.last.func

    @property
    def last(self) -> Any:
        """The most recently called function, or the function for `SHOWN_EXTENT` before any call."""
        if not self._last:
            self._for(dict.fromkeys(symbols_of(self.module.args), SHOWN_EXTENT))
        return self._last[0]

    def source(self, stage: str = "llvm", comments: bool = True) -> str:
        """Return the source of the last call's function at a stage."""
        return self.last.source(stage, comments)

    def _for(self, sizes: Mapping[Var, int]) -> object:
        known = tuple(sizes.values())
        if known not in self._known:
            self._known[known] = self.compiled_for(*specialised(self.module.schedule, self.module.args, sizes))
        self._last[:] = [self._known[known]]
        return self._known[known]

    def _sizes(self, args: Sequence[Any]) -> dict[Var, int]:
        """Return the values of the symbolic extents."""
        params, name = self.module.args, next(iter(self.module.functions))
        if len(args) != len(params):
            raise ArgumentError(f"{name} takes {len(params)} arguments, but {len(args)} are given")
        wanted = symbols_of(params)
        own_values = zip(params, args, strict=True)
        sizes = {param: int(value) for param, value in own_values if isinstance(param, Var) and param in set(wanted)}
        pairs = [
            (param, extent, int(own))
            for param, value in zip(params, args, strict=True) if isinstance(param, Tensor)
            for extent, own in zip(param.shape, getattr(value, "shape", ()), strict=False)
        ]  # fmt: skip
        for _, extent, own in pairs:
            if isinstance(extent, Var):
                sizes.setdefault(extent, own)
        for param, extent, own in pairs:
            values = {var: const(size) for var, size in sizes.items()}
            expected = _number(substitute(extent, values)) if isinstance(extent, Expr) else extent
            if expected != own:
                raise ArgumentError(f"{name}: an extent of {param.name} is {own}, but {extent!r} is {expected} here")
        missing = [var.name for var in wanted if var not in sizes]
        if missing:
            raise ArgumentError(f"{name}: no argument says what {missing[0]} is; pass it as an argument of its own")
        return {var: sizes[var] for var in wanted}

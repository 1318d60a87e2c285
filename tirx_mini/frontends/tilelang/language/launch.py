"""The launch construct `T.Kernel`: the grid, the CTA's threads and the indices of both."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from tirx_mini.ir import INT32, Expr, ExprLike, Scope, ScopeIds, TirxError, Var, as_expr, const, int_value, seq
from tirx_mini.script import Builder, current

from ..builtins import LAUNCH, linear_thread
from .eager import at_launch

__all__ = [
    "Kernel", "get_block_binding", "get_block_bindings", "get_block_extent", "get_block_extents",
    "get_thread_binding", "get_thread_bindings", "get_thread_extent", "get_thread_extents",
]  # fmt: skip

DEFAULT_THREADS = 128
_AXES = "xyz"


class Kernel:
    """The body of the kernel, executed by every thread: ``with T.Kernel(gx, gy, threads=128) as (bx, by):``.

    blocks: the CTAs along x, y and z. They may depend on symbolic extents of the arguments.
    threads: the threads of a CTA, along x or along up to three axes.
    cluster_dims: the CTAs of a cluster along x, y and z.
    prelude: CUDA C++ in front of the kernel, which is not provided.
    """

    def __init__(
        self,
        *blocks: ExprLike,
        threads: int | Sequence[int] | None = None,
        prelude: str | None = None,
        cluster_dims: int | Sequence[int] | None = None,
        is_cpu: bool = False,
    ) -> None:
        if not 1 <= len(blocks) <= len(_AXES):
            raise TirxError(f"T.Kernel takes one to three extents of the grid, not {len(blocks)}")
        if prelude is not None:
            raise TirxError("T.Kernel(prelude=…) is not provided", hint="T.call_extern brings CUDA C++ along")
        if is_cpu:
            raise TirxError("T.Kernel(is_cpu=True) is not provided: tirx_mini.tilelang compiles for GPUs")
        self.blocks = tuple(_extent(extent, "the grid") for extent in blocks)
        given = DEFAULT_THREADS if threads is None else threads
        self.threads = tuple(_constant(extent, "threads") for extent in _listed(given))
        self.cluster = tuple(_constant(extent, "cluster_dims") for extent in _listed(cluster_dims or ()))
        self.block_vars = tuple(Var(INT32, f"b{axis}") for axis, _ in zip(_AXES, self.blocks, strict=False))
        self.thread_vars = tuple(Var(INT32, f"t{axis}") for axis, _ in zip(_AXES, self.threads, strict=False))
        self._open = ExitStack()
        self._builder: Builder | None = None
        self._block: Any = None

    def __enter__(self) -> Var | tuple[Var, ...]:
        builder = current("T.Kernel")
        at_launch()
        if launch_of(builder) is not None:
            raise TirxError("a function has one T.Kernel: this one is inside another or follows it")
        builder.attrs[LAUNCH] = self
        self._builder = builder
        self._block = self._open.enter_context(builder.block())
        self._open.enter_context(builder.in_scope("thread"))
        return self.block_vars[0] if len(self.block_vars) == 1 else self.block_vars

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        builder = self._builder
        assert builder is not None
        body = builder.body(self._block)
        self._open.__exit__(kind, value, traceback)
        builder.attrs.pop(LAUNCH)
        if kind is not None:
            return
        ids = [
            ScopeIds(self.block_vars, self.blocks, "cta", "kernel"),
            ScopeIds(self.thread_vars, self.threads, "thread", "cta"),
        ]
        if self.cluster:
            extents = (*self.cluster, 1, 1)[: len(self.blocks)]
            own = tuple(Var(INT32, f"cluster_{axis}") for axis, _ in zip(_AXES, extents, strict=False))
            ids.append(ScopeIds(own, extents, "cta", "cluster"))
        builder.emit(Scope("kernel", seq(*ids, Scope("thread", body))))


def launch_of(builder: Builder) -> Kernel | None:
    """Return the open `T.Kernel` of the function being parsed."""
    return builder.attrs.get(LAUNCH)


def _launch(what: str) -> Kernel:
    found = launch_of(current(what))
    if found is None:
        raise TirxError(f"{what} is for the body of a kernel", hint="write it inside `with T.Kernel(…):`")
    return found


def _listed(value: object) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _extent(value: object, what: str) -> Any:
    known = int_value(as_expr(value))
    return value if known is None else known


def _constant(value: object, what: str) -> int:
    known = int_value(as_expr(value))
    if known is None or known < 1:
        raise TirxError(f"{what} must be positive numbers that are known when the kernel is compiled, not {value!r}")
    return known


def thread_index() -> Expr:
    """Return the linear index of the executing thread in its CTA, x fastest."""
    return linear_thread("thread_index")


def get_thread_binding(dim: int = 0) -> Expr:
    """Return the index of the executing thread along a dimension of `threads`."""
    own = _launch("T.get_thread_binding").thread_vars
    return own[dim] if dim < len(own) else const(0)


def get_thread_bindings() -> list[Expr]:
    """Return the indices of the executing thread along x, y and z."""
    return [get_thread_binding(dim) for dim in range(3)]


def get_thread_extent(dim: int = 0) -> int:
    """Return the number of threads along a dimension."""
    own = _launch("T.get_thread_extent").threads
    return own[dim] if dim < len(own) else 1


def get_thread_extents() -> list[int]:
    """Return the numbers of threads along x, y and z."""
    return [get_thread_extent(dim) for dim in range(3)]


def get_block_binding(dim: int = 0) -> Expr:
    """Return the index of the CTA along a dimension of the grid."""
    own = _launch("T.get_block_binding").block_vars
    return own[dim] if dim < len(own) else const(0)


def get_block_bindings() -> list[Expr]:
    """Return the indices of the CTA along x, y and z."""
    return [get_block_binding(dim) for dim in range(3)]


def get_block_extent(dim: int = 0) -> Any:
    """Return the number of CTAs along a dimension of the grid."""
    own = _launch("T.get_block_extent").blocks
    return own[dim] if dim < len(own) else 1


def get_block_extents() -> list[Any]:
    """Return the numbers of CTAs along x, y and z."""
    return [get_block_extent(dim) for dim in range(3)]

"""Loops of kernels: ``Tx.serial``, ``Tx.unroll``, ``Tx.grid``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirx_mini.ir import (
    PARALLEL,
    SERIAL,
    THREAD,
    TIR,
    UNROLLED,
    VECTORIZED,
    ExprLike,
    Span,
    TirxError,
    Var,
    as_expr,
    cast,
    int_value,
)
from tirx_mini.records import replace
from tirx_mini.wording import described

from .builder import current, in_dialect_of_tvm, in_native_dialect
from .handles import Loop, loop


def serial(
    *bounds: ExprLike,
    step: int | None = None,
    annotations: Mapping[str, object] | None = None,
    parallel: bool = False,
    unroll: bool | None = None,
    dtype: str | None = None,
) -> Loop:
    """Return a serial loop of the kernel, executed iteration by iteration.

    dtype: of its variable; by default that of the bounds.

    unroll: True asks CUDA's compiler to unroll the loop, False to keep it (``#pragma unroll``); the kernel means the
        same. The annotations `pragma_unroll` and `disable_unroll` of TVM are other names of the two.
    """
    noted = annotations or {}
    if unroll is None and noted.get("pragma_unroll"):
        unroll = True
    elif unroll is None and noted.get("disable_unroll"):
        unroll = False
    return replace(loop(SERIAL, _stepped(bounds, step, dtype), parallel), unroll=unroll)


def unroll(
    *bounds: ExprLike,
    step: int | None = None,
    annotations: Mapping[str, object] | None = None,
    parallel: bool = False,
    dtype: str | None = None,
) -> Loop:
    """Return a fully unrolled loop, whose bounds are constants.

    In TVM's dialects they may be known at run time: then CUDA's compiler is asked to unroll the loop.
    """
    ends = _stepped(bounds, step, dtype)
    if any(int_value(end) is None for end in ends) and (in_native_dialect() or in_dialect_of_tvm()):
        return replace(loop(SERIAL, ends, parallel), unroll=True)
    return loop(UNROLLED, ends, parallel)


def vectorized(
    *bounds: ExprLike, annotations: Mapping[str, object] | None = None, dtype: str | None = None
) -> Loop:
    """Return a vectorised loop, with accesses of up to 16 bytes where they are contiguous and aligned.

    Where they are not, or where the body does more than to load, compute and store, the loop is unrolled.
    """
    return loop(VECTORIZED, _stepped(bounds, None, dtype))


def parallel(
    *bounds: ExprLike,
    step: int | None = None,
    annotations: Mapping[str, object] | None = None,
    dtype: str | None = None,
) -> Loop:
    """Return a loop distributed over the cores of a CPU; on a GPU, each thread executes all iterations."""
    return loop(PARALLEL if current("T.parallel").spelling == TIR else SERIAL, _stepped(bounds, step, dtype))


def thread_binding(
    *bounds: object, thread: str | None = None, annotations: Mapping[str, object] | None = None,
    dtype: str | None = None
) -> Loop:
    """Return a loop whose iterations are the CTAs or threads of `thread`: "blockIdx.x", "threadIdx.x", …."""
    if not thread and bounds and isinstance(bounds[-1], str):
        bounds, thread = bounds[:-1], bounds[-1]
    if thread is None or not thread.startswith(("blockIdx.", "threadIdx.")) or thread[-1] not in "xyz":
        hint = 'write thread="blockIdx.x" or thread="threadIdx.x"'
        raise TirxError(f"{described(thread)} is not an index of a grid", hint=hint)
    return replace(loop(THREAD, _stepped(bounds, None, dtype)), thread=thread)


def _stepped(bounds: tuple[object, ...], step: int | None, dtype: str | None = None) -> tuple[object, ...]:
    """Return the bounds and step of a loop, converted to the type of its variable."""
    given = bounds if step is None or len(bounds) == 3 else (0, *bounds, step)[-3:]
    if dtype is None:
        return given
    ends = (0, *given) if len(given) == 1 else given
    return (*(cast(dtype, as_expr(end)) for end in ends[:2]), *ends[2:])


def grid(*extents: ExprLike, dtype: str | None = None) -> Loop:
    """Return nested serial loops: ``for i, j in Tx.grid(m, n)``."""
    loops = (loop(SERIAL, _stepped((extent,), None, dtype)) for extent in extents)
    return Loop(tuple(part for each in loops for part in each.ranges), SERIAL)


def loop_variables(names: Sequence[str | None], spans: Sequence[Span], description: Loop) -> list[Var]:
    """Return the variables of a loop's ranges.

    names: those of the statement, None for what is no plain name. The variables have them, unless the values of the
        names are computed from the variables.
    """
    count = len(description.ranges) if description.names is None else description.names
    if len(names) != count:
        message = f"expected {count} loop variable{'s' * (count != 1)}, found {len(names)}"
        raise TirxError(message, hint=f"write `for {', '.join('ijklmnop'[:count])} in …`")
    for name, span in zip(names, spans, strict=True):
        if name is None:
            raise TirxError("a loop variable must be a plain name", span, "assign it to the other target in the loop")
    if description.targets is not None:
        return [Var(start.dtype, "round", span=spans[0]) for start, _, _ in description.ranges]
    parts = zip(description.ranges, names, spans, strict=True)
    return [Var(start.dtype, str(name), span=span) for (start, _, _), name, span in parts]

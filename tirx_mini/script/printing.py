"""Debug output of kernels: formatted values and whole buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirx_mini.ir import (
    HANDLE,
    INT32,
    AddressOf,
    Buffer,
    Call,
    DataType,
    Evaluate,
    Expanded,
    Expr,
    For,
    Stmt,
    TirxError,
    Var,
    as_expr,
    cast,
    const,
    int_value,
    seq,
    special,
)
from tirx_mini.isa import CONVERSION
from tirx_mini.wording import described

from .builder import current
from .handles import data_type, load

LINE = 8
"""Elements per line of `print_buffer`."""

_PROMOTED: Mapping[str, str] = {
    **dict.fromkeys("di", "int32"), **dict.fromkeys("uxX", "uint32"), **dict.fromkeys("eEfgG", "float32"), "c": "int32",
}  # fmt: skip
"""The type of a conversion's argument. C promotes floats to double, which does not change how a float32 prints."""


def printf(format: str, *values: object) -> None:
    """Print formatted text: each thread writes its values to standard output, ``T.cuda.printf("%d: %g\\n", i, x)``."""
    builder = current("T.cuda.printf")
    wanted = [m for m in CONVERSION.finditer(format) if m["letter"] != "%"]
    if CONVERSION.sub("", format).count("%"):
        raise TirxError(f"the format {format!r} has an unknown conversion", hint="use %d, %u, %x, %g or %f")
    if len(wanted) != len(values):
        raise TirxError(f"the format {format!r} expects {len(wanted)} values, found {len(values)}")
    args = [_argument(value, m["letter"], m["length"]) for value, m in zip(values, wanted, strict=True)]
    builder.emit(Expanded("cuda.printf", (format, *map(as_expr, values)), _line(format, args)))


def _argument(value: object, letter: str, length: str) -> Expr:
    expr = as_expr(value)
    dtype = DataType(_PROMOTED[letter])
    if expr.dtype.is_handle or expr.dtype.lanes > 1 or (expr.dtype.is_float and not dtype.is_float):
        raise TirxError(f"%{length}{letter} prints {dtype} values, but {expr!r} is {expr.dtype}", expr.span)
    if dtype.is_float:
        return expr if expr.dtype.bits == 64 and expr.dtype.is_float else cast(dtype, expr)
    return cast(DataType(str(dtype).replace("32", "64")), expr) if length else cast(dtype, expr)


def _line(format: str, args: Sequence[Expr]) -> Stmt:
    return Evaluate(Call(HANDLE, "printf", tuple(args), (("format", format),)))


def print_buffer(
    pointer: object, dtype: object, is_string: bool, is_scalar: bool, dim_num: int, shape: object = (1,)
) -> None:
    """Print a buffer at run time: ``T.print_buffer(C.data, "float32", False, False, 1, (M,))``.

    Every thread that executes it prints the whole buffer, eight elements per line: ``C[0:8] = 1 2 3 4 5 6 7 8``. For a
    buffer in registers, each line names its thread.

    dim_num: the number of dimensions.
    shape: the extents to print, from index 0 in each dimension.
    is_scalar: print only the first element.
    """
    builder = current("T.print_buffer")
    buffer = _printed(pointer, data_type(dtype), is_string)
    dims = (1,) * buffer.ndim if is_scalar else _dims(buffer, dim_num, shape)
    args = (buffer.data, str(buffer.dtype), False, bool(is_scalar), buffer.ndim, dims)
    builder.emit(Expanded("print_buffer", args, _lines(buffer, dims)))


def _printed(pointer: object, dtype: DataType, is_string: bool) -> Buffer:
    buffer = pointer.buffer if isinstance(pointer, AddressOf) else pointer
    if not isinstance(buffer, Buffer):
        raise TirxError(f"T.print_buffer expects a pointer to a buffer, not {described(pointer)}", hint="write C.data")
    if isinstance(pointer, AddressOf) and any(int_value(index) != 0 for index in pointer.indices):
        raise TirxError("T.print_buffer starts at the first element of a buffer", hint=f"write {buffer.name}.data")
    if buffer.scope == "tmem":
        raise TirxError(
            f"T.print_buffer cannot print {buffer.name}, which is in tensor memory",
            hint="copy it to registers, and print those",
        )
    if is_string:
        raise TirxError("T.print_buffer only prints numbers: is_string must be False")
    if buffer.dtype != dtype:
        raise TirxError(f"{buffer.name} is {buffer.dtype}, but T.print_buffer is called with dtype {dtype}")
    return buffer


def _dims(buffer: Buffer, dim_num: int, shape: object) -> tuple[int, ...]:
    known = [int_value(extent) for extent in (shape if isinstance(shape, (tuple, list)) else (shape,))]
    dims = tuple(extent for extent in known if extent is not None)
    if len(dims) != len(known) or len(dims) != int_value(dim_num):
        raise TirxError(f"T.print_buffer expects a shape of {dim_num} extents known at compile time, not {shape}")
    if len(dims) != buffer.ndim or any(n < 1 or n > extent for n, extent in zip(dims, buffer.shape, strict=True)):
        raise TirxError(f"T.print_buffer cannot print shape {dims} of {buffer.name}, whose shape is {buffer.shape}")
    return dims


def _lines(buffer: Buffer, dims: Sequence[int]) -> Stmt:
    """Return loops over all dimensions, with the last one split into lines of `LINE` elements."""
    outer = [Var(INT32, name) for name in "ijklmnop"[: len(dims) - 1]]
    whole, rest = divmod(dims[-1], LINE)
    column = Var(INT32, "column")
    parts: list[Stmt] = []
    if whole:
        first = column * LINE if whole > 1 else const(0)
        line = _elements(buffer, outer, first, LINE)
        parts.append(For(column, const(0), const(whole), line) if whole > 1 else line)
    if rest:
        parts.append(_elements(buffer, outer, const(whole * LINE), rest))
    body = seq(*parts)
    for var, extent in reversed(list(zip(outer, dims[:-1], strict=True))):
        body = For(var, const(0), const(extent), body)
    return body


def _elements(buffer: Buffer, outer: Sequence[Expr], first: Expr, count: int) -> Stmt:
    """Print one line of `count` elements of a row, starting at `first`."""
    values = [load(buffer, (*outer, first + k)) for k in range(count)]
    letter, length = _conversion(buffer.dtype)
    owner = "thread %d: " if buffer.scope == "local" else ""
    place = ", ".join(["%d"] * len(outer) + ["%d:%d"])
    format = f"{owner}{buffer.name}[{place}] = {' '.join([f'%{length}{letter}'] * count)}\n"
    who = [special("threadIdx.x")] if owner else []
    return _line(format, [*who, *outer, first, first + count, *(_argument(v, letter, length) for v in values)])


def _conversion(dtype: DataType) -> tuple[str, str]:
    """Return the printf conversion of an element: its letter and length modifier."""
    if dtype.is_float:
        return "g", ""
    return ("d" if dtype.is_signed or dtype.is_bool else "u"), "ll" * (dtype.bits > 32)

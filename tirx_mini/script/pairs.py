"""TVM's packed-pair functions of CUDA C++: two float32 in 64 bits or two bfloat16 in 32, lowest first.

They are implemented by expressions and instructions of the language, which the simulator and the compiler support.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tirx_mini.ir import (
    AddressOf,
    Buffer,
    BufferLoad,
    BufferStore,
    DataType,
    Expr,
    TirxError,
    as_expr,
    binary,
    cast,
    const,
    reinterpret,
)
from tirx_mini.wording import described

from .builder import current, place
from .instructions import namespace


def _bits(value: object, width: int) -> Expr:
    """Return a number's bits, or an integer of that width unchanged."""
    expr = as_expr(value)
    if expr.dtype.is_float and expr.dtype.bits == width:
        return reinterpret(f"uint{width}", expr)
    return cast(f"uint{width}", expr)


def _cvt(dtype: str, *values: object, atype: str, satfinite: bool = False) -> Any:
    group: Any = namespace().ptx
    return group.cvt(dtype, *values, atype=atype, rounding="rn", satfinite=satfinite)


def make_float2(x: object, y: object) -> Expr:
    """Pack two numbers into a pair of float32."""
    low, high = (cast("uint64", _bits(cast("float32", as_expr(value)), 32)) for value in (x, y))
    return binary("|", binary("<<", high, const(32, "uint64")), low)


def float2_x(packed: object) -> Expr:
    """Return the first number of a float32 pair."""
    return reinterpret("float32", cast("uint32", _bits(packed, 64)))


def float2_y(packed: object) -> Expr:
    """Return the second number of a float32 pair."""
    return reinterpret("float32", cast("uint32", binary(">>", _bits(packed, 64), const(32, "uint64"))))


def float22bfloat162_rn(v0: object, v1: object) -> Expr:
    """Round two float32 to a pair of bfloat16."""
    return _cvt("bf16x2", v1, v0, atype="f32")


def float22bfloat162_rn_from_float2(packed: object) -> Expr:
    """Round a float32 pair to a bfloat16 pair."""
    return float22bfloat162_rn(float2_x(packed), float2_y(packed))


def bfloat1622float2(packed: object) -> Expr:
    """Convert a bfloat16 pair to a float32 pair."""
    word = _bits(packed, 32)
    low = cast("uint64", binary("<<", word, const(16, "uint32")))
    high = cast("uint64", binary("&", word, const(0xFFFF0000, "uint32")))
    return binary("|", binary("<<", high, const(32, "uint64")), low)


def fp8x4_e4m3_from_float4(x: object, y: object, z: object, w: object) -> Expr:
    """Convert four float32 to e4m3 bytes of a 32-bit word, first lowest, saturating at 448."""
    low, high = (_cvt("e4m3x2", second, first, atype="f32", satfinite=True) for first, second in ((x, y), (z, w)))
    return binary("|", binary("<<", cast("uint32", high), const(16, "uint32")), cast("uint32", low))


def _as_float(dtype: str, src: object) -> Expr:
    """Convert a 16-bit number, or its bits, to float32."""
    expr = as_expr(src)
    return cast("float32", expr if expr.dtype == dtype else reinterpret(dtype, _bits(expr, 16)))


def _convert(count: int, target: str, source: str, name: str, dst: object, src: object) -> None:
    """Convert `count` register elements at one address to another type at another address."""
    to, at = (_register(name, address, dtype) for address, dtype in ((dst, target), (src, source)))
    builder = current(name)
    for i in range(count):
        value = cast(target, BufferLoad(DataType(source), at.buffer, (*at.indices[:-1], _moved(at, i))))
        builder.emit(BufferStore(to.buffer, (*to.indices[:-1], _moved(to, i)), value))


def _moved(pointer: AddressOf, count: int) -> Expr:
    return binary("+", pointer.indices[-1], const(count))


def _register(name: str, address: object, dtype: str) -> AddressOf:
    pointer = address.data if isinstance(address, Buffer) else address
    if isinstance(pointer, AddressOf) and pointer.buffer.scope == "local" and pointer.buffer.dtype == dtype:
        return pointer
    raise TirxError(f"{name} needs a pointer to registers of {dtype}, but {described(address)} is given", place())


def get_tmem_addr(addr: object, row_offset: object, col_offset: object) -> Expr:
    """Offset a tensor-memory address by lanes and columns."""
    row = binary("<<", cast("uint32", as_expr(row_offset)), const(16, "uint32"))
    return binary("+", binary("+", cast("uint32", as_expr(addr)), row), cast("uint32", as_expr(col_offset)))


PAIRS: Mapping[str, Callable[..., Any]] = {
    "cuda.make_float2": make_float2,
    "cuda.float2_x": float2_x,
    "cuda.float2_y": float2_y,
    "cuda.float22bfloat162_rn": float22bfloat162_rn,
    "cuda.float22bfloat162_rn_from_float2": float22bfloat162_rn_from_float2,
    "cuda.bfloat1622float2": bfloat1622float2,
    "cuda.fp8x4_e4m3_from_float4": fp8x4_e4m3_from_float4,
    "cuda.bfloat162float": partial(_as_float, "bfloat16"),
    "cuda.half2float": partial(_as_float, "float16"),
    "cuda.float22half2": partial(_convert, 2, "float16", "float32", "T.cuda.float22half2"),
    "cuda.half8tofloat8": lambda src_addr, dst_addr: _convert(
        8, "float32", "float16", "T.cuda.half8tofloat8", dst_addr, src_addr
    ),
    "cuda.float8tohalf8": lambda src_addr, dst_addr: _convert(
        8, "float16", "float32", "T.cuda.float8tohalf8", dst_addr, src_addr
    ),
    "cuda.get_tmem_addr": get_tmem_addr,
    "cuda.smem_addr_from_uint64": lambda address: cast("uint32", as_expr(address)),
}
"""The functions, by their names below ``T``."""

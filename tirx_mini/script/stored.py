"""TVM's destination-passing arithmetic, which stores to its first argument: ``T.ptx.add_f32(d.ptr_to([0]), a, b)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tirx_mini.ir import AddressOf, Buffer, BufferLoad, BufferStore, Expr, TirxError, as_expr, cast, const, reinterpret
from tirx_mini.wording import described

from .builder import current, place
from .instructions import namespace

_OPERANDS = {"add": 2, "sub": 2, "mul": 2, "fma": 3}


def store(result: Expr, destination: object, name: str) -> None:
    """Store a number in a register element, or a float32 pair (64 bits) in one element or two 32-bit ones."""
    builder = current(name)
    target = destination[(0,) * destination.ndim] if isinstance(destination, Buffer) else as_expr(destination)
    if not isinstance(target, (BufferLoad, AddressOf)) or target.buffer.scope != "local":
        hint = "give a register buffer, as in d.ptr_to([0])"
        raise TirxError(f"{name} stores its result in registers, but {described(destination)} is given", place(), hint)
    buffer = target.buffer
    *outer, last = target.indices or (const(0),) * buffer.ndim
    if buffer.dtype.bits == result.dtype.bits:
        value = result if buffer.dtype == result.dtype else reinterpret(buffer.dtype, result)
        builder.emit(BufferStore(buffer, (*outer, last), value))
        return
    if buffer.dtype.bits != 32 or result.dtype.bits != 64:
        raise TirxError(f"{name} gives {result.dtype}, and {buffer.name} has elements of {buffer.dtype}", place())
    pair = builder.bind("pair", result)
    for half in (0, 1):
        word = cast("uint32", pair >> const(32 * half, "uint64"))
        value = word if buffer.dtype == "uint32" else reinterpret(buffer.dtype, word)
        builder.emit(BufferStore(buffer, (*outer, last + half), value))


def _arithmetic(
    op: str, kind: str, *args: object, dps: bool = True, d_addr: object = None, **options: object
) -> object:
    """Compute an arithmetic instruction; with `dps`, store its value at the first argument instead of returning it."""
    name = f"T.ptx.{op}_{kind}"
    options.pop("return_dtype", None)
    if options.get("rounding") == "":
        del options["rounding"]
    if options.pop("sat", False):
        raise TirxError(f"{name} has no sat=True here", place(), "clamp the result with T.min and T.max")
    values = [d_addr, *args] if d_addr is not None else list(args)
    if len(values) != _OPERANDS[op] + dps:
        raise TirxError(f"{name} takes {_OPERANDS[op]} numbers" + " after its destination" * dps, place())
    group: Any = namespace().ptx
    issue = getattr(getattr(group, op), kind) if (op, kind) != ("fma", "f32") else group.fma.rn
    if (op, kind) == ("fma", "f32") and options.pop("rounding", "rn") != "rn":
        raise TirxError(f"{name} rounds to the nearest only", place())
    result = issue(*values[dps:], **options)
    if not dps:
        return result
    store(result, values[0], name)
    return None


def float_as_uint(x: object) -> Expr:
    """Return the bits of a float32, as ``__float_as_uint``."""
    return reinterpret("uint32", cast("float32", as_expr(x)))


def uint_as_float(bits: object) -> Expr:
    """Return the float32 with the given bits, as ``__uint_as_float``."""
    return reinterpret("float32", cast("uint32", as_expr(bits)))


def add_rn_f32_bf16(acc: object, x: object) -> Expr:
    """Add a bfloat16, or its bits, to a float32 with a single rounding."""
    value = as_expr(x)
    wide = value if value.dtype == "bfloat16" else reinterpret("bfloat16", cast("uint16", value))
    group: Any = namespace().ptx
    return group.add.f32(acc, cast("float32", wide))


def ld_global_acquire(res: object, addr: object) -> None:
    """Load a global-memory element into a register with acquire semantics at GPU scope."""
    group: Any = namespace().ptx
    store(group.ld_acquire(addr), res, "T.ptx.ld_global_acquire")


STORED: Mapping[str, Callable[..., Any]] = {
    **{f"ptx.{op}_{kind}": partial(_arithmetic, op, kind) for op in _OPERANDS for kind in ("f32", "f32x2", "f64")},
    "ptx.add_rn_f32_bf16": add_rn_f32_bf16,
    "ptx.ld_global_acquire": ld_global_acquire,
    "cuda.float_as_uint": float_as_uint,
    "cuda.uint_as_float": uint_as_float,
}
"""The functions, by their names below ``T``."""

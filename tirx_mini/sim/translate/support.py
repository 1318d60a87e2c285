"""Runtime support of generated code: conversions, division and loops beyond Python's operators."""

from __future__ import annotations

from typing import Any, ClassVar

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tirx_mini.isa import greatest, least, where
from tirx_mini.records import dataclass

from ..facts import Fact, Fault
from ..machine import EMPTY, POLL_CYCLES, Divergence, Index, Mask, Number, Wait, Warp, issue

MAX_POLLS = 20_000
"""The number of polls after which a warp is considered to wait forever."""


@dataclass
class Poll(Wait):
    """A wait in a loop that polls memory until another thread changes it."""

    instruction: ClassVar[str] = "poll"
    polls: ClassVar[bool] = True


@dataclass(frozen=True)
class DivisionByZero(Fact):
    """An integer division by zero."""


@dataclass(frozen=True)
class RunawayLoop(Fact):
    """A warp that still polls memory after a great many iterations."""


@dataclass(frozen=True)
class EndlessLoop(Fact):
    """A loop that cannot end. state: the scalars of its exit condition, all unchanged by an iteration."""

    state: tuple[str, ...]


@dataclass(frozen=True)
class IndexOverflow(Fact):
    """A signed value in an address computation that overflows its type. bits: of the type."""

    value: int
    bits: int


def floor_div(w: Warp, a: Index, b: Index) -> Index:
    """Return ``a // b``; a zero divisor in an active lane is recorded and replaced by 1."""
    return a // _divisor(w, b)


def floor_mod(w: Warp, a: Index, b: Index) -> Index:
    return a % _divisor(w, b)


def trunc_div(w: Warp, a: Index, b: Index) -> Index:
    """Return ``a / b`` of integers, rounded towards zero as in C."""
    b = _divisor(w, b)
    quotient = abs(a) // abs(b)
    if isinstance(quotient, np.ndarray):
        return np.where((a < 0) == (b < 0), quotient, -quotient)
    return quotient if (a < 0) == (b < 0) else -quotient


def _divisor(w: Warp, b: Index) -> Index:
    """Return the divisor, with zeros replaced by 1: the result is unspecified, and hardware does not trap (PTX ISA:
    div, rem)."""
    if isinstance(b, np.ndarray):
        zero = b == 0
        if zero.shape[-1:] == w.mask.bits.shape:
            zero = zero & w.mask.bits
        if zero.any():
            w.gpu.facts.record(DivisionByZero(w.origin))
        return np.where(b == 0, 1, b)
    if b == 0:
        w.gpu.facts.record(DivisionByZero(w.origin))
        return 1
    return b


def shift_left(a: Index, b: Index, bits: int) -> Index:
    """Return ``a << b``; 0 if b is not below `bits` (PTX ISA: shl clamps the shift amount)."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        shifted, count = _with_count(a, np.clip(b, 0, bits - 1))
        return np.where((b >= 0) & (b < bits), shifted << count, shifted.dtype.type(0))
    return a << b if 0 <= b < bits else 0


def shift_right(a: Index, b: Index, bits: int) -> Index:
    """Return ``a >> b``; all sign bits if b is not below `bits` (PTX ISA: shr)."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        shifted, count = _with_count(a, np.where((b >= 0) & (b < bits), b, bits - 1))
        return shifted >> count
    return a >> (b if 0 <= b < bits else bits - 1)


def _with_count(a: Index, count: Index) -> tuple[np.ndarray, np.ndarray]:
    """Return a shift operand and its count with a common dtype: NumPy cannot shift uint64 by int64."""
    shifted = np.asarray(a) if isinstance(a, np.ndarray) else np.asarray(a, np.uint64 if a >= 2**63 else np.int64)
    return shifted, np.asarray(count).astype(shifted.dtype)


def float_to_int(value: Number, low: int, high: int) -> Index:
    """Round towards zero and saturate; NaN becomes 0 (PTX ISA: cvt)."""
    if isinstance(value, np.ndarray):
        wide = np.nan_to_num(value.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
        small = np.clip(np.trunc(wide), float(low), float(high))
        out = np.where(small >= float(high), high, np.where(small <= float(low), low, 0))
        inside = (small > float(low)) & (small < float(high))
        kind = np.uint64 if high >= 2**63 else np.int64
        return np.where(inside, np.where(inside, small, 0).astype(kind), out.astype(kind))
    number = float(value)
    if number != number:
        return 0
    return low if number <= low else high if number >= high else int(number)


_WITHOUT_NAN = (ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn, ml_dtypes.float4_e2m1fn)


def finite(value: Number, kind: type[np.generic]) -> np.ndarray | np.generic:
    """Clamp a value to the range of a float of 8, 6 or 4 bits; infinity becomes its largest number.

    So does NaN in a type without NaN (PTX ISA: cvt, .satfinite).
    """
    # ml_dtypes gives this class no types
    limit = float(ml_dtypes.finfo(kind).max)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    near = np.clip(value, -limit, limit)
    if kind in _WITHOUT_NAN:
        return np.where(np.isnan(near), np.asarray(near).dtype.type(limit), near)[()]
    return near


def reinterpret(
    value: object, source: npt.DTypeLike, target: npt.DTypeLike, before: int, after: int
) -> np.ndarray | np.generic | int:
    """Reinterpret the bits of a value of type `source` as `target`; each has the given number of lanes in its last
    axis."""
    bits = np.asarray(value).astype(source, copy=False)
    out = np.ascontiguousarray(bits if before > 1 else bits[..., None]).view(target)
    if after == 1:
        out = out[..., 0]
    if out.dtype.kind not in "iu":
        return out if out.ndim else out[()]
    wide = out.astype(np.uint64 if out.dtype == np.uint64 else np.int64)
    return wide if wide.ndim else int(wide)


def runaway(w: Warp) -> Exception:
    """Return the fault of a warp that polls memory for too long."""
    return Fault(RunawayLoop(w.origin))


def endless(w: Warp, state: tuple[str, ...]) -> Exception:
    """Return the fault of a warp in a loop that cannot end."""
    return Fault(EndlessLoop(w.origin, state))


def poll(w: Warp, steady: bool) -> Wait:
    """Yield to other warps in a loop that polls memory.

    steady: whether an iteration only reads memory.
    """
    if steady:
        w.gpu.looks(w)
    if not w.divergent:
        w.gpu.wake(w, w.time + POLL_CYCLES)
    return Poll(w, w.time, w.span)


def signed(w: Warp, value: Index, low: int, high: int) -> Index:
    """Wrap a signed value of an address computation to its type, and record an overflow."""
    if not isinstance(value, np.ndarray):
        if low <= value <= high:
            return value
        w.gpu.facts.record(IndexOverflow(w.origin, int(value), high.bit_length() + 1))
        return (value - low & high - low) + low
    same = (value - low & high - low) + low
    left = same != value
    if left.any():
        active = left & w.mask.bits if left.shape[-1:] == w.mask.bits.shape else left
        if active.any():
            w.gpu.facts.record(IndexOverflow(w.origin, int(value[active][0]), high.bit_length() + 1))
    return same


def merge(mask: Mask, new: Warp, old: object) -> np.ndarray:
    """Return `new` in the lanes of `mask`, `old` elsewhere."""
    return where(mask.bits, new, old)


def spread(value: object, dtype: npt.DTypeLike) -> np.ndarray:
    """Broadcast a value to a new array of 32 lanes."""
    return np.array(np.broadcast_to(np.asarray(value, dtype), (32,)))


NAMESPACE: dict[str, Any] = {
    "arange": np.arange, "where": np.where, "logical_not": np.logical_not, "minimum": np.minimum, "maximum": np.maximum,
    "zeros": np.zeros, "int64": np.int64, "uint64": np.uint64,
    "Divergence": Divergence, "EMPTY": EMPTY, "MAX_POLLS": MAX_POLLS,
    **{f.__name__: f for f in (floor_div, floor_mod, trunc_div, shift_left, shift_right, least, greatest,
                               float_to_int, finite, issue, reinterpret, runaway, endless, poll, merge, spread,
                               signed)},
}  # fmt: skip
"""The names available to generated code."""

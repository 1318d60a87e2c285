"""Bit operations on the integers of one thread: permutations, fields, funnel shifts and wide products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .core import instruction
from .facts import Scope, SharedFacts
from .floats import Calculation
from .machine import Machine, Thread
from .operands import s32, u32, u64

_FACTS: SharedFacts = {"issued_by": Scope.THREAD, "min_sm": 70, "cost": "alu", "pure": True, "lanewise": True}
_WORD = (1 << 32) - 1


def _computed(function: Calculation, *values: object, bits: int = 32, signed: bool = False) -> Any:
    """Apply `function` to unsigned 64-bit words in each lane and return the lowest `bits` bits."""
    wide = [np.asarray(value).astype(np.uint64) for value in values]
    with np.errstate(over="ignore"):
        out = np.asarray(function(*wide)).astype(np.uint64) & np.uint64((1 << bits) - 1)
    if signed:
        out = out.astype(np.uint32).view(np.int32).astype(np.int64) if bits == 32 else out.view(np.int64)
    elif bits == 32:
        out = out.astype(np.int64)
    return out if any(isinstance(value, np.ndarray) and value.ndim for value in values) else int(out)


def _n(number: int) -> np.uint64:
    return np.uint64(number)


def _word(value: np.ndarray) -> np.ndarray:
    return value & _n(_WORD)


def _signed(value: np.ndarray) -> np.ndarray:
    """Sign-extend a 32-bit word to 64 bits."""
    return _word(value).astype(np.uint32).view(np.int32).astype(np.int64)


def _permuted(a: np.ndarray, b: np.ndarray, selector: np.ndarray) -> np.ndarray:
    """Permute bytes as prmt does in its default mode (PTX ISA: "prmt")."""
    both = _word(b) << _n(32) | _word(a)
    out = np.zeros(np.broadcast(a, b, selector).shape, np.uint64)
    for place in range(4):
        nibble = selector >> _n(4 * place)
        byte = both >> ((nibble & _n(7)) * _n(8)) & _n(0xFF)
        sign = np.where(byte & _n(0x80), _n(0xFF), _n(0))
        out |= np.where(nibble & _n(8), sign, byte) << _n(8 * place)
    return out


@instruction("prmt.b32 {result}, {a}, {b}, {selector};", name="prmt.b32", isa="prmt", **_FACTS)
def prmt(gpu: Machine, thread: Thread, a: u32, b: u32, selector: u32) -> u32:
    """Return four of the eight bytes of `a` (0 to 3) and `b` (4 to 7), each selected by a four-bit number.

    If the highest bit of a number is set, the sign of the selected byte fills the result byte.
    """
    return _computed(_permuted, a, b, selector)


def _looked_up(lut: int) -> Callable[..., np.ndarray]:
    def function(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        out = np.zeros(np.broadcast(a, b, c).shape, np.uint64)
        for row in range(8):
            if lut >> row & 1:
                out |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
        return out

    return function


@instruction("lop3.b32 {result}, {a}, {b}, {c}, {lut};", name="lop3.b32", isa="lop3", **_FACTS)
def lop3(gpu: Machine, thread: Thread, a: u32, b: u32, c: u32, *, lut: int) -> u32:
    """Return a bitwise function of `a`, `b` and `c`; each result bit is bit 4a + 2b + c of the table `lut`.

    The table of an expression is its value for a = 0xF0, b = 0xCC and c = 0xAA.
    """
    return _computed(_looked_up(lut), a, b, c)


def _reversed(bits: int) -> Callable[[np.ndarray], np.ndarray]:
    def function(value: np.ndarray) -> np.ndarray:
        out = np.zeros(value.shape, np.uint64)
        for place in range(bits):
            out |= (value >> _n(place) & _n(1)) << _n(bits - 1 - place)
        return out

    return function


@instruction("brev.b32 {result}, {value};", name="brev.b32", isa="brev", **_FACTS)
def brev(gpu: Machine, thread: Thread, value: u32) -> u32:
    """Reverse the bits of `value`."""
    return _computed(_reversed(32), value)


@instruction("brev.b64 {result}, {value};", name="brev.b64", isa="brev", **_FACTS)
def brev_b64(gpu: Machine, thread: Thread, value: u64) -> u64:
    """Reverse the 64 bits of `value`."""
    return _computed(_reversed(64), value, bits=64)


def _found(value: np.ndarray) -> np.ndarray:
    """Return the position of the highest set bit of a word, or 2³² - 1 if none is set."""
    exponent = np.frexp(_word(value).astype(np.float64))[1].astype(np.int64) - 1
    return np.where(_word(value) == 0, np.int64(_WORD), exponent).astype(np.uint64)


def _found_signed(value: np.ndarray) -> np.ndarray:
    """The place of the highest bit that differs from the sign."""
    return _found(np.where(_signed(value) < 0, ~value, value))


@instruction("bfind.u32 {result}, {value};", name="bfind.u32", isa="bfind", **_FACTS)
def bfind(gpu: Machine, thread: Thread, value: u32) -> u32:
    """Return the position of the highest set bit of `value`, or 2³² - 1 if none is set."""
    return _computed(_found, value)


@instruction("bfind.s32 {result}, {value};", name="bfind.s32", isa="bfind", **_FACTS)
def bfind_s32(gpu: Machine, thread: Thread, value: s32) -> u32:
    """Return the position of the highest bit of `value` that differs from its sign, or 2³² - 1 if none does."""
    return _computed(_found_signed, value)


def _funnel(left: bool, clamp: bool) -> Callable[..., np.ndarray]:
    def function(low: np.ndarray, high: np.ndarray, count: np.ndarray) -> np.ndarray:
        places = np.minimum(_word(count), _n(32)) if clamp else count & _n(31)
        both = _word(high) << _n(32) | _word(low)
        return both << places >> _n(32) if left else both >> places

    return function


@instruction("shf.{direction}.{mode}.b32 {result}, {low}, {high}, {count};", name="shf", **_FACTS)
def shf(
    gpu: Machine, thread: Thread, low: u32, high: u32, count: u32, *, direction: Literal["l", "r"],
    mode: Literal["wrap", "clamp"],
) -> u32:  # fmt: skip
    """Shift the 64 bits of `high` and `low`: left, returning the upper half, or right, returning the lower half.

    mode: "wrap" uses the lowest five bits of `count`; "clamp" limits `count` to 32.
    """
    return _computed(_funnel(direction == "l", mode == "clamp"), low, high, count)


def _extracted(signed: bool) -> Callable[..., np.ndarray]:
    def function(value: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
        first, count = (np.minimum(number & _n(0xFF), _n(64)) for number in (start, length))
        wide = _signed(value) if signed else _word(value).astype(np.int64)
        field = wide >> np.minimum(first, _n(63)).astype(np.int64)
        kept = np.minimum(count, _n(63)).astype(np.int64)
        low = field & (np.int64(1) << kept) - np.int64(1)
        top = np.int64(1) << np.maximum(kept - 1, 0)
        extended = np.where((kept > 0) & ((low & top) != 0), low - (top << np.int64(1)), low) if signed else low
        return np.where(count >= _n(64), field, extended).astype(np.uint64)

    return function


@instruction("bfe.u32 {result}, {value}, {start}, {length};", name="bfe.u32", isa="bfe", **_FACTS)
def bfe(gpu: Machine, thread: Thread, value: u32, start: u32, length: u32) -> u32:
    """Extract `length` bits of `value`, starting at bit `start`; only the lowest eight bits of both operands count."""
    return _computed(_extracted(False), value, start, length)


@instruction("bfe.s32 {result}, {value}, {start}, {length};", name="bfe.s32", isa="bfe", **_FACTS)
def bfe_s32(gpu: Machine, thread: Thread, value: s32, start: u32, length: u32) -> s32:
    """Extract a bit field as a signed number, whose sign is the highest bit of the field."""
    return _computed(_extracted(True), value, start, length, signed=True)


def _inserted(field: np.ndarray, into: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
    first, count = (np.minimum(number & _n(0xFF), _n(32)) for number in (start, length))
    mask = (_n(1) << count) - _n(1) << first
    return into & ~mask | field << first & mask


@instruction("bfi.b32 {result}, {field}, {into}, {start}, {length};", name="bfi.b32", isa="bfi", **_FACTS)
def bfi(gpu: Machine, thread: Thread, field: u32, into: u32, start: u32, length: u32) -> u32:
    """Insert the lowest `length` bits of `field` into `into`, starting at bit `start`."""
    return _computed(_inserted, field, into, start, length)


def _product(part: str, signed: bool) -> Callable[..., np.ndarray]:
    """Return a function for a b + c: its lower half, the upper half of a b plus c, or all 64 bits."""

    def function(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        x, y = ((_signed(v) if signed else _word(v)) for v in (a, b))
        wide = np.asarray(x * y).astype(np.uint64)
        return (wide >> _n(32) if part == "hi" else wide) + c

    return function


@instruction("mul.hi.u32 {result}, {a}, {b};", name="mul.hi.u32", isa="mul", **_FACTS)
def mul_hi(gpu: Machine, thread: Thread, a: u32, b: u32) -> u32:
    """Return the upper 32 bits of the product (`__umulhi`)."""
    return _computed(_product("hi", False), a, b, 0)


@instruction("mul.hi.s32 {result}, {a}, {b};", name="mul.hi.s32", isa="mul", **_FACTS)
def mul_hi_s32(gpu: Machine, thread: Thread, a: s32, b: s32) -> s32:
    """Return the upper 32 bits of the signed product (`__mulhi`)."""
    return _computed(_product("hi", True), a, b, 0, signed=True)


@instruction("mul.wide.u32 {result}, {a}, {b};", name="mul.wide.u32", isa="mul", **_FACTS)
def mul_wide(gpu: Machine, thread: Thread, a: u32, b: u32) -> u64:
    """Return the 64-bit product."""
    return _computed(_product("wide", False), a, b, 0, bits=64)


@instruction("mad.lo.u32 {result}, {a}, {b}, {c};", name="mad.lo.u32", isa="mad", **_FACTS)
def mad_lo(gpu: Machine, thread: Thread, a: u32, b: u32, c: u32) -> u32:
    """Return the lower 32 bits of a · b + c."""
    return _computed(_product("lo", False), a, b, c)


@instruction("mad.lo.s32 {result}, {a}, {b}, {c};", name="mad.lo.s32", isa="mad", **_FACTS)
def mad_lo_s32(gpu: Machine, thread: Thread, a: s32, b: s32, c: s32) -> s32:
    """Return the lower 32 bits of a · b + c, as a signed number."""
    return _computed(_product("lo", True), a, b, c, signed=True)


@instruction("mad.hi.u32 {result}, {a}, {b}, {c};", name="mad.hi.u32", isa="mad", **_FACTS)
def mad_hi(gpu: Machine, thread: Thread, a: u32, b: u32, c: u32) -> u32:
    """Return the upper 32 bits of a · b, plus c."""
    return _computed(_product("hi", False), a, b, c)


@instruction("mad.wide.u32 {result}, {a}, {b}, {c};", name="mad.wide.u32", isa="mad", **_FACTS)
def mad_wide(gpu: Machine, thread: Thread, a: u32, b: u32, c: u64) -> u64:
    """Return the 64-bit a · b + c."""
    return _computed(_product("wide", False), a, b, c, bits=64)

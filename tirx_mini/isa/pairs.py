"""float32 arithmetic on pairs of adjacent registers, for targets that support it (PTX ISA: "add", .f32x2).

A loop over registers becomes a loop over register pairs: ``out[r] = acc[r] * scale`` of 64 registers is 32 products of
pairs. Two consecutive stores to adjacent registers become one pair store. The IR has vectors of two elements for that.
Sums, differences, products and fma of pairs of float32 are instructions of `packed`; an operand that both halves share
stays a scalar. Other instructions between them are executed for each half. No value moves to become half of a pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirx_mini.ir import (
    FLOAT32,
    Analyzer,
    Binary,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    DataType,
    Expr,
    For,
    Mutator,
    PrimFunc,
    Ramp,
    Seq,
    Stmt,
    Var,
    const,
    int_value,
    rewrite,
    seq,
    structural_equal,
    substitute,
    walk,
)
from tirx_mini.records import replace

from .table import instruction_of

PAIR = FLOAT32.with_lanes(2)
FUSED_PAIRS = "fma.f32x2"
_FUSED = "fma.rn"
_PACKED: Mapping[str, str] = {"+": "add.f32x2", "-": "sub.f32x2", "*": "mul.f32x2"}
_UNROUNDED = (("rounding", ""),)
"""The rounding of C++ operators: to nearest, with products allowed to fuse into their sums."""
_HALF = tuple(DataType(name) for name in ("float16", "bfloat16"))
"""The types whose pairs are converted together (PTX ISA: "cvt")."""


def on_pairs(func: PrimFunc) -> PrimFunc:
    """Return `func` with pair arithmetic in place of computations on adjacent registers of a thread."""
    return _Pairs().func(func) if any(map(_has_form_for_pairs, func.nodes)) else func


def instruction_on_pairs(expr: Binary | Call) -> Call | None:
    """Return the instruction for an operation on a pair, or None for any other operation."""
    if expr.dtype != PAIR or (isinstance(expr, Call) and expr.op != _FUSED):
        return None
    if isinstance(expr, Call):
        return replace(expr, op=FUSED_PAIRS)
    return Call(PAIR, _PACKED[expr.op], (expr.a, expr.b), _UNROUNDED, span=expr.span)


def _has_form_for_pairs(node: object) -> bool:
    if isinstance(node, Binary):
        return node.dtype == FLOAT32 and node.op in _PACKED
    return isinstance(node, Call) and node.op == _FUSED


class _Pairs(Mutator):
    def visit_For(self, node: For) -> Stmt:
        loop: For = self.rebuild(node)
        store, count = loop.body, int_value(loop.stop)
        if int_value(loop.start) != 0 or loop.step != 1 or count is None or count < 2 or count % 2:
            return loop
        if not isinstance(store, BufferStore) or not any(map(_has_form_for_pairs, walk(store.value))):
            return loop
        pair, first = Var(loop.var.dtype, loop.var.name), const(0)
        analyzer = Analyzer()
        if count > 2:
            analyzer, first = analyzer.bind(pair, 0, count // 2 - 1), pair * 2
        halves = [_simplified(analyzer, substitute(store, {loop.var: first + lane})) for lane in range(2)]
        both = _both(analyzer, *halves)
        if both is None or count == 2:
            return loop if both is None else both
        return replace(loop, var=pair, stop=const(count // 2), body=both)

    def visit_Seq(self, node: Seq) -> Stmt:
        block = self.rebuild(node)
        if not isinstance(block, Seq):
            return block
        found: list[Stmt] = []
        for stmt in block.stmts:
            before = found[-1] if found else None
            both = None
            if isinstance(stmt, BufferStore) and isinstance(before, BufferStore):
                both = _both(Analyzer(), before, stmt)
            if both is not None:
                found.pop()
            found.append(stmt if both is None else both)
        return block if len(found) == len(block.stmts) else seq(*found, span=block.span)


def _simplified(analyzer: Analyzer, store: BufferStore) -> BufferStore:
    def even(node: Expr) -> Expr:
        """Simplify the quotient of an odd number by an even one to that of the preceding number."""
        divisor = int_value(node.b) if isinstance(node, Binary) and node.op == "//" else None
        if not isinstance(node, Binary) or not divisor or divisor < 0 or divisor % 2:
            return node
        return replace(node, a=node.a - 1) if analyzer.divisible(node.a - 1, 2) else node

    indices = tuple(map(analyzer.simplify, store.indices))
    return replace(store, indices=indices, value=analyzer.simplify(rewrite(store.value, even)))


class _NoPair(Exception):
    """The signal that two values are no pair, or would have to be moved to form one."""


def _both(analyzer: Analyzer, one: BufferStore, other: BufferStore) -> BufferStore | None:
    """Merge two stores into a pair store with pair arithmetic; return None if useless or not adjacent."""
    if one.buffer is not other.buffer or one.buffer.scope != "local":
        return None
    if not all(map(_reads_only_its_own, (one, other))):
        return None
    try:
        index = _neighbours(analyzer, one.buffer, one.indices, other.indices)
        value = _pair(analyzer, one.value, other.value)
    except _NoPair:
        return None
    packed = (node for node in walk(value) if isinstance(node, (Binary, Call)))
    if not any(instruction_on_pairs(node) is not None for node in packed):
        return None
    return replace(one, indices=(index,), value=value)


def _reads_only_its_own(store: BufferStore) -> bool:
    """Return whether a stored value depends on no register of the buffer except its destination."""
    loads = [node for node in walk(store.value) if isinstance(node, BufferLoad)]
    same = (load for load in loads if load.buffer.root is store.buffer.root)
    return all(load.buffer is store.buffer and structural_equal(load.indices, store.indices) for load in same)


def _neighbours(analyzer: Analyzer, buffer: Buffer, one: Sequence[Expr], other: Sequence[Expr]) -> Expr:
    """Return the index of a pair of adjacent elements, aligned to twice the size; raises `_NoPair` otherwise."""
    if buffer.scalar or len(one) != 1 or isinstance(one[0], Ramp):
        raise _NoPair
    aligned = buffer.byte_offset % (2 * buffer.dtype.itemsize) == 0 and analyzer.divisible(one[0], 2)
    if not aligned or not analyzer.equal(other[0], one[0] + 1):
        raise _NoPair
    return Ramp(one[0].dtype, one[0], 2)


def _pair(analyzer: Analyzer, a: Expr, b: Expr) -> Expr:
    """Return a vector of two values; raises `_NoPair` if they form no pair."""
    wide = a.dtype.with_lanes(2)
    if a.dtype != b.dtype or a.dtype not in (FLOAT32, *_HALF):
        raise _NoPair
    if structural_equal(a, b) and a.dtype == FLOAT32:
        return Cast(wide, a, span=a.span)
    if isinstance(a, BufferLoad) and isinstance(b, BufferLoad) and a.buffer is b.buffer:
        return replace(a, dtype=wide, indices=(_neighbours(analyzer, a.buffer, a.indices, b.indices),))
    if isinstance(a, Cast) and isinstance(b, Cast) and FLOAT32 in (a.dtype, a.value.dtype):
        return replace(a, dtype=wide, value=_pair(analyzer, a.value, b.value))
    if a.dtype != FLOAT32:
        raise _NoPair
    if isinstance(a, Binary) and isinstance(b, Binary) and a.op == b.op and a.op in _PACKED:
        if a.op != "*" and _are_products(a.a, b.a) and _are_products(a.b, b.b):
            raise _NoPair  # the compiler of CUDA C++ may fuse either product with their sum
        return replace(a, dtype=wide, a=_pair(analyzer, a.a, b.a), b=_pair(analyzer, a.b, b.b))
    if isinstance(a, Call) and isinstance(b, Call) and a.op == b.op and a.attrs == b.attrs and _is_of_halves(a):
        args = tuple(_pair(analyzer, x, y) for x, y in zip(a.args, b.args, strict=True))
        return replace(a, dtype=wide, args=args)
    raise _NoPair


def _are_products(a: Expr, b: Expr) -> bool:
    """Return whether both expressions are products, and differ."""
    return all(isinstance(x, Binary) and x.op == "*" for x in (a, b)) and not structural_equal(a, b)


def _is_of_halves(call: Call) -> bool:
    """Return whether an instruction can be executed separately for each half of a float32 pair."""
    entry = instruction_of(call)
    if entry is None or not (entry.pure and entry.lanewise and entry.ptx):
        return False
    return all(arg.dtype == FLOAT32 for arg in call.args)

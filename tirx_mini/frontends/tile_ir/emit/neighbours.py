"""Detection of contiguous pointers in a tile by index algebra, so that accesses can be vectorised."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tirx_mini.ir import (
    INT32,
    Analyzer,
    Binary,
    Buffer,
    BufferLoad,
    Const,
    Expr,
    Reinterpret,
    Var,
    const,
    int_value,
    rewrite,
    simplify,
)

At = Callable[[Expr], Expr]


def neighbours(
    analyzer: Analyzer,
    at: At,
    mask: At | None,
    registers: int,
    most: int,
    divisors: Mapping[Buffer, int] | None = None,
) -> int:
    """Return how many successive registers, a power of two up to `most`, hold contiguous elements with a uniform mask.

    at, mask: the place of a register in memory, and whether it is accessed. The first place is a multiple of the count.
    divisors: for buffers of registers, a number that divides each element.
    """
    count = min(most, registers)
    step = Var(INT32, "step")
    inside = analyzer.bind(step, 0, max(0, registers - 1))
    while count > 1:
        first = step * count if count < registers else const(0)
        aligned = divisor_of(at(first), inside, divisors or {}) % count == 0
        if aligned and _are_neighbours(inside, at, mask, first, count):
            break
        count //= 2
    return count


def divisor_of(expr: Expr, analyzer: Analyzer, divisors: Mapping[Buffer, int]) -> int:
    """Return a divisor of `expr`. divisors: for each buffer, a number that divides all its elements."""

    def known(node: Expr) -> Expr:
        if not isinstance(node, BufferLoad) or divisors.get(node.buffer, 1) == 1:
            return node
        return Var(node.dtype, "element") * divisors[node.buffer]

    return analyzer.divisor(rewrite(analyzer.simplify(expr), known))


def distances(analyzer: Analyzer, at: At, registers: int, vector: int) -> dict[int, int]:
    """Return how far apart accesses are in memory whose numbers differ in one bit only, for bits where that is known.

    at: the place of a register; an access is of `vector` registers. The distances have no bit in common: their sum is
    that of two accesses that differ in several of these bits.
    """
    count = registers // vector
    half = Var(INT32, "half")
    inside = analyzer.bind(half, 0, max(0, count // 2 - 1))
    found: dict[int, int] = {}
    covered = 0
    for bit in range(count.bit_length() - 1):
        below = 1 << bit
        low = half // below * (2 * below) + half % below if count > 2 else const(0)
        gap = int_value(inside.simplify(at((low + below) * vector) - at(low * vector)))
        if gap is not None and gap > 0 and not gap & covered:
            found[bit], covered = gap, covered | gap
    return found


def _are_neighbours(analyzer: Analyzer, at: At, mask: At | None, first: Expr, count: int) -> bool:
    start = analyzer.simplify(at(first))
    whole = mask(first) if mask is not None else None
    for distance in range(1, count):
        if not analyzer.equal(analyzer.simplify(at(first + distance)), start + distance):
            return False
        if mask is not None and whole is not None and not _same(analyzer, whole, mask(first + distance), count):
            return False
    return True


def _same(analyzer: Analyzer, a: Expr, b: Expr, count: int) -> bool:
    """Return whether two conditions are equal, where `b` is for an element fewer than `count` elements further."""
    if isinstance(a, Const) and isinstance(b, Const):
        return a.value == b.value
    if not isinstance(a, Binary) or not isinstance(b, Binary) or a.op != b.op:
        return analyzer.equal(analyzer.simplify(a), analyzer.simplify(b))
    if a.op in ("and", "or"):
        return _same(analyzer, a.a, b.a, count) and _same(analyzer, a.b, b.b, count)
    limit = _plain(a.b)
    if a.op not in ("<", ">=") or not a.a.dtype.is_integer or not analyzer.equal(limit, _plain(b.b)):
        return False
    low, next_ = analyzer.simplify(_plain(a.a)), analyzer.simplify(_plain(b.a))
    if analyzer.equal(low, next_):
        return True
    gap = simplify(next_ - low)
    small = isinstance(gap, Const) and 0 < gap.value < count
    return small and analyzer.divisor(low) % count == 0 and analyzer.divisor(limit) % count == 0


def _plain(expr: Expr) -> Expr:
    """Strip a reinterpretation as unsigned, which preserves contiguity because aligned neighbours wrap together."""
    return expr.value if isinstance(expr, Reinterpret) and expr.dtype.is_integer else expr

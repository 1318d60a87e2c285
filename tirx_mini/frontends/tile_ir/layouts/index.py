"""Index expressions for linear functions of registers, lanes and warps."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.ir import Binary, Expr, as_expr, binary, const, int_value

from .f2 import image


def linear_index(*parts: tuple[Expr | int, Sequence[int]]) -> Expr:
    """Return the XOR of the bases selected by the bits of each number, as an index expression.

    Neighbouring bits that stay neighbours move together, and bits that do not meet are added.
    """
    terms: list[tuple[Expr, int]] = []
    constant = 0
    for number, bases in parts:
        known = int_value(number)
        if known is not None:
            constant ^= image(bases, known)
        else:
            high, bits, low = _split(as_expr(number))
            constant ^= image(bases[:bits], low)
            terms += _terms(high, bases[bits:])
    if constant:
        terms.append((const(constant), constant))
    return _joined(terms)


def _split(number: Expr) -> tuple[Expr, int, int]:
    """Decompose a number written as n * 2^bits + low into (n, bits, low)."""
    low = 0
    if isinstance(number, Binary) and number.op == "+" and (known := int_value(number.b)) is not None:
        number, low = number.a, known
    factor = int_value(number.b) if isinstance(number, Binary) and number.op == "*" else None
    if isinstance(number, Binary) and factor is not None and factor > low >= 0 and factor & (factor - 1) == 0:
        return number.a, factor.bit_length() - 1, low
    return (number, 0, 0) if not low else (number + low, 0, 0)


def _terms(number: Expr, bases: Sequence[int]) -> list[tuple[Expr, int]]:
    """Return (expression, mask of possible bits) for each run of consecutive bits."""
    found: list[tuple[Expr, int]] = []
    bit = 0
    while bit < len(bases):
        if not bases[bit]:
            bit += 1
            continue
        stop, covered = bit + 1, bases[bit]
        while stop < len(bases) and bases[stop] == bases[bit] << stop - bit and not bases[stop] & covered:
            covered |= bases[stop]
            stop += 1
        field = number // (1 << bit)
        if stop < len(bases):
            field = field % (1 << stop - bit)
        found.append((field * bases[bit], covered))
        bit = stop
    return found


def _joined(terms: list[tuple[Expr, int]]) -> Expr:
    if not terms:
        return const(0)
    total, covered = terms[0]
    for term, bits in terms[1:]:
        total = binary("+" if not covered & bits else "^", total, term)
        covered |= bits
    return total

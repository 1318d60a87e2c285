"""Comparison of a matrix product with the exact one, and a finding if it is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tirx_mini.diagnose import Finding
from tirx_mini.ir import Buffer, BufferLoad, BufferStore, PrimFunc, Region, Span, TileCall, walk
from tirx_mini.records import dataclass

from .mismatch import Mismatch, explain_mismatch

Multiply = Callable[[npt.NDArray, npt.NDArray], npt.NDArray[np.float64]]
"""A function as `exact_product`."""


@dataclass(frozen=True)
class ProductError:
    """The error of D = A @ B.T.

    largest: the maximum of |D - exact|.
    rounding: the same for the exact result rounded to the dtype of D.
    allowed: the error that rounding explains, including that of the float32 sums, which grows like a random walk.
    """

    largest: float
    rounding: float
    allowed: float

    @property
    def ok(self) -> bool:
        return self.largest <= self.allowed  # false for NaN


def product_shape(kernel: PrimFunc) -> tuple[int, int, int] | None:
    """Return (M, N, K) of a kernel whose parameters are A (M, K), B (N, K) and D (M, N); None for any other kernel."""
    shapes = [tuple(p.shape) for p in kernel.params if isinstance(p, Buffer)]
    if len(shapes) != 3 or len(kernel.params) != 3 or any(len(shape) != 2 for shape in shapes):
        return None
    (m, k), (n, k_b), d = shapes
    return (m, n, k) if k == k_b and d == (m, n) else None


def exact_product(a: npt.NDArray, b: npt.NDArray) -> npt.NDArray[np.float64]:
    """Return a (M, K) @ b (N, K).T in float64."""
    return a.astype(np.float64) @ b.astype(np.float64).T


def product_error(
    a: npt.NDArray, b: npt.NDArray, d: npt.NDArray, exact: npt.NDArray[np.float64] | None = None
) -> ProductError:
    """Compare d (M, N) with `exact`: by default `exact_product` of a and b."""
    exact = exact_product(a, b) if exact is None else exact
    largest = float(np.max(np.abs(d.astype(np.float64) - exact)))
    rounding = float(np.max(np.abs(exact.astype(d.dtype).astype(np.float64) - exact)))
    sums = 4 * math.sqrt(a.shape[1]) * float(np.finfo(np.float32).eps) * float(np.max(np.abs(exact)))
    return ProductError(largest, rounding, 1.01 * rounding + sums)


def wrong_product(
    kernel: PrimFunc, a: npt.NDArray, b: npt.NDArray, d: npt.NDArray, unwritten: Sequence[str] = (),
    reasons: Sequence[tuple[str, Span | None]] = (), exact: npt.NDArray[np.float64] | None = None,
) -> Finding | None:
    """Return a finding about the extent, location and pattern of the errors in d; None if d is a @ b.T.

    unwritten: sentences about unwritten parts. reasons: mistakes that the program shows, with their locations.
    exact: as in `product_error`.
    """
    exact = exact_product(a, b) if exact is None else exact
    error = product_error(a, b, d, exact)
    if error.ok:
        return None
    want = exact.astype(np.float32)
    arrays = (d.astype(np.float32), want, a.astype(np.float32), b.astype(np.float32))
    mismatch = explain_mismatch(*arrays, rtol=0.0, atol=error.allowed)
    return wrong_result(mismatch, kernel, unwritten, reasons)


def wrong_result(
    mismatch: Mismatch, kernel: PrimFunc | None = None, unwritten: Sequence[str] = (),
    reasons: Sequence[tuple[str, Span | None]] = (),
) -> Finding:
    """Return the finding about a wrong product, at the store of D, with the accesses of the suspected matrix.

    kernel: None if unknown. unwritten, reasons: as in `wrong_product`.
    """
    store = None if kernel is None else _store(kernel)
    notes: list[tuple[str, Span | None]] = [*reasons, *((text, None) for text in (*unwritten, *mismatch.where))]
    for names, span in _by_line(accesses(kernel, mismatch.suspect) if kernel is not None else ()):
        if store is None or span.line != store.line:
            notes.append((f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} accessed here", span))
    details = {"notes": tuple(notes), "hint": mismatch.cause or None}
    return Finding("wrong-result", "error", mismatch.headline, store, details)


def _store(kernel: PrimFunc) -> Span | None:
    """Return the first store of the result, else its first access, else the span of the kernel."""
    result = kernel.params[2] if len(kernel.params) > 2 else None
    for node in walk(kernel.body):
        target = node.operands[0] if isinstance(node, TileCall) and node.operands else node
        if isinstance(target, (Region, BufferStore)) and target.buffer is result and node.span is not None:
            return node.span.user
    return next((span for _, span in accesses(kernel, "D")), kernel.span)


def accesses(kernel: PrimFunc, suspect: str | None) -> Iterator[tuple[str, Span]]:
    """Yield the locations where a kernel moves the matrix "A", "B" or "D", or all three if `suspect` is None."""
    nodes = [node for node in walk(kernel.body) if isinstance(node, (TileCall, BufferLoad, BufferStore))]
    for name, matrix in zip("ABD", kernel.params, strict=False):
        if suspect in (name, None) and isinstance(matrix, Buffer):
            moves = [node for node in nodes if _moves(node, matrix)]
            yield from ((name, span) for span in dict.fromkeys(n.span.user for n in moves if n.span is not None))


def _moves(node: TileCall | BufferLoad | BufferStore, matrix: Buffer) -> bool:
    if isinstance(node, TileCall):
        return any(isinstance(operand, Region) and operand.buffer is matrix for operand in node.operands)
    return node.buffer is matrix


def _by_line(found: Iterable[tuple[str, Span]]) -> Iterator[tuple[list[str], Span]]:
    """Yield the matrices that each line accesses, with the first location in the line."""
    lines: dict[tuple[str, int], tuple[list[str], Span]] = {}
    for name, span in found:
        names, _ = lines.setdefault((span.file, span.line), ([], span))
        if name not in names:
            names.append(name)
    yield from lines.values()

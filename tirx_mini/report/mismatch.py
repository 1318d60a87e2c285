"""Explanations of a wrong matrix product: the extent, the location, and the mistake that matches the pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from tirx_mini.records import dataclass

Array = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

WARP_ROWS = 32
MIN_SAMPLE = 16
"""The number of rows and columns of a tile that suffices to recognise its K tiles."""

SLICES = (64, 32, 16, 8)
"""The possible widths of a column slice in the write-back."""


@dataclass(frozen=True)
class Mismatch:
    """The explanation of a wrong result.

    headline: the extent of the errors in D.
    where: one sentence each about the wrong tiles and rows.
    cause: the mistake that leaves this pattern; "" if none is recognised.
    suspect: the matrix that is accessed at the wrong location, "A", "B" or "D"; None if unknown.
    """

    headline: str
    where: tuple[str, ...]
    cause: str = ""
    suspect: str | None = None

    def __str__(self) -> str:
        lines = [self.headline, *(f"  {text}" for text in self.where)]
        return "\n".join([*lines, f"help: {self.cause}"] if self.cause else lines)


@dataclass(frozen=True)
class _Case:
    """A wrong product: got and want (M, N), a (M, K), b (N, K); `wrong` marks the elements, `tile` their grid."""

    got: Array
    want: Array
    a: Array
    b: Array
    wrong: Mask
    tile: tuple[int, int]
    block_k: int
    rtol: float
    atol: float

    def close(self, got: Array, want: Array) -> Mask:
        return np.isclose(got, want, rtol=self.rtol, atol=self.atol)

    def part(self, matrix: npt.NDArray, tile: tuple[int, int]) -> npt.NDArray:
        rows, cols = self.tile
        return matrix[tile[0] * rows : (tile[0] + 1) * rows, tile[1] * cols : (tile[1] + 1) * cols]

    def tiles(self) -> Iterator[tuple[int, int]]:
        rows, cols = (-(-extent // step) for extent, step in zip(self.got.shape, self.tile, strict=True))
        return ((i, j) for i in range(rows) for j in range(cols))

    def first_wrong_tile(self) -> tuple[int, int]:
        """Return the first wrong tile without NaN or infinity, or else the first wrong tile."""
        bad = [tile for tile in self.tiles() if self.part(self.wrong, tile).any()]
        return next((tile for tile in bad if np.isfinite(self.part(self.got, tile)).all()), bad[0])


def explain_mismatch(
    got: Array,
    want: Array,
    a: Array,
    b: Array,
    *,
    rtol: float,
    atol: float,
    tile: tuple[int, int] = (128, 128),
    block_k: int = 64,
) -> Mismatch:
    """Explain why `got` (M, N) is not `want` = `a` (M, K) @ `b` (N, K).T.

    An element is wrong if it is NaN, or differs by more than atol + rtol · |want|.

    tile: the shape of the part of D that a CTA computes at once.
    block_k: the number of columns of A and B that it multiplies at once.

    Raises `ValueError` if no element is wrong.
    """
    wrong = ~np.isclose(got, want, rtol=rtol, atol=atol)
    if not wrong.any():
        raise ValueError("the two results agree: there is nothing to explain")
    case = _Case(got, want, a, b, wrong, tile, block_k, rtol, atol)
    count = int(wrong.sum())
    row, col = (int(index) for index in np.argwhere(wrong)[0])
    headline = (
        f"{count / wrong.size:.1%} of D is wrong ({count:,} of {wrong.size:,} elements): "
        f"D[{row}, {col}] is {got[row, col]:.6g}, but should be {want[row, col]:.6g}"
    )
    cause, suspect = next((found for pattern in _PATTERNS if (found := pattern(case))), ("", None))
    return Mismatch(headline, tuple(_where(case)), cause, suspect)


def _where(case: _Case) -> Iterator[str]:
    """Yield sentences about the wrong tiles, and the wrong rows or columns of the first one."""
    parts = {tile: case.part(case.wrong, tile) for tile in case.tiles()}
    bad = [tile for tile, part in parts.items() if part.any()]
    if len(parts) > 1:
        rows, cols = case.tile
        if len(bad) == len(parts):
            yield f"all {len(parts)} tiles of {rows} × {cols} are affected"
        else:
            names = ", ".join(f"({i}, {j})" for i, j in bad[:6]) + (", …" if len(bad) > 6 else "")
            verb = "is" if len(bad) == 1 else "are"
            yield f"{len(bad)} of {len(parts)} tiles of {rows} × {cols} {verb} affected: {names}"
    tile = bad[0]
    part = parts[tile]
    name = f"tile ({tile[0]}, {tile[1]})" if len(parts) > 1 else "the tile"
    if part.all():
        yield f"{name} is entirely wrong"
        return
    for axis, what in ((1, "row"), (0, "column")):
        whole, touched = part.all(axis=axis), part.any(axis=axis)
        if whole.any() and bool((whole == touched).all()):
            lines = f"{what} {{}} is" if whole.sum() == 1 else f"{what}s {{}} are"
            which = lines.format(_ranges(np.flatnonzero(whole)))
            yield f"in {name}, {which} entirely wrong, and the others are right"
            return
    rows = _ranges(_rows_of(part))
    count = int(part.sum())
    yield f"in {name}, {count:,} of {part.size:,} elements {'is' if count == 1 else 'are'} wrong; rows affected: {rows}"


def _rows_of(part: Mask) -> npt.NDArray[np.intp]:
    return np.flatnonzero(part.any(axis=1))


def _ranges(indices: npt.NDArray[np.intp]) -> str:
    """Format `[0, …, 31, 64]` as `0-31, 64`; at most four ranges."""
    runs = np.split(indices, np.flatnonzero(np.diff(indices) != 1) + 1)
    names = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")


Found = tuple[str, str | None] | None


def _unwritten(case: _Case) -> Found:
    if not np.isnan(case.got[case.wrong]).all():
        return None
    text = "these elements are NaN: the kernel wrote nothing there, or it computed with memory that was never written"
    return text, "D"


def _other_tile(case: _Case) -> Found:
    """Check for the correct values of another tile: an operand was read, or D written, at the wrong location."""
    here = case.first_wrong_tile()
    part = case.part(case.got, here)
    for there in case.tiles():
        other = case.part(case.want, there)
        if there == here or other.shape != part.shape or not case.close(part, other).all():
            continue
        rows, cols = case.tile
        (i, j), (p, q) = here, there
        if (i != p and j != q) or np.isnan(case.part(case.got, there)).any():
            return f"tile ({i}, {j}) holds the values of tile ({p}, {q}): it is written to the wrong place in D", "D"
        matrix, step, is_at, should = ("B", cols, q, j) if i == p else ("A", rows, p, i)
        text = (
            f"tile ({i}, {j}) holds the values of tile ({p}, {q}): its CTA multiplied rows {is_at * step}-"
            f"{is_at * step + step - 1} of {matrix} instead of rows {should * step}-{should * step + step - 1}"
        )
        return text, matrix
    return None


def _transposed(case: _Case) -> Found:
    part, want = (case.part(matrix, case.first_wrong_tile()) for matrix in (case.got, case.want))
    if part.shape[0] == part.shape[1] and part.shape != case.got.shape and case.close(part, want.T).all():
        text = (
            "each tile is transposed: A and B are swapped in the MMA, or rows and columns on the way from tensor "
            "memory to D"
        )
        return text, None
    if case.got.shape[0] != case.got.shape[1] or not case.close(case.got, case.want.T).all():
        return None
    text = "D is transposed: A and B are swapped in the MMA, or rows and columns on the way from tensor memory to D"
    return text, None


def _columns(case: _Case) -> Found:
    """Check for the correct values of other columns: a slice of the write-back begins at the wrong column."""
    i, j = case.first_wrong_tile()
    rows = slice(i * case.tile[0], (i + 1) * case.tile[0])
    first, end = j * case.tile[1], min((j + 1) * case.tile[1], case.got.shape[1])
    for width in SLICES:
        for start in range(first, end - width + 1, width):
            got = case.got[rows, start : start + width]
            if not case.wrong[rows, start : start + width].any() or not np.isfinite(got).all():
                continue
            slices = sliding_window_view(case.want[rows.start], width)[:: SLICES[-1]]
            for other in SLICES[-1] * np.flatnonzero(case.close(got[0], slices).all(axis=1)):
                if case.close(got, case.want[rows, other : other + width]).all():
                    text = (
                        f"columns {start}-{start + width - 1} of D hold what belongs to columns {other}-"
                        f"{other + width - 1}: a slice of the write-back is read from, or stored to, the wrong columns"
                    )
                    return text, "D"
    return None


def _sample(case: _Case) -> tuple[slice, slice]:
    """Return the rows and columns of the first wrong tile that suffice to recognise products."""
    rows, cols = (
        slice(start * step, start * step + MIN_SAMPLE)
        for start, step in zip(case.first_wrong_tile(), case.tile, strict=True)
    )
    return rows, cols


def _added(case: _Case, pairs: list[tuple[int, int]]) -> list[int] | None:
    """Return how often each product of numbered K tiles of A and B was added; None if these do not explain the tile."""
    rows, cols = _sample(case)
    got = case.got[rows, cols].astype(np.float64).ravel()
    if not np.isfinite(got).all() or got.size < len(pairs):
        return None
    a, b = case.a[rows].astype(np.float64), case.b[cols].astype(np.float64)
    step = case.block_k
    products = [a[:, i * step : (i + 1) * step] @ b[:, k * step : (k + 1) * step].T for i, k in pairs]
    basis = np.stack([product.ravel() for product in products], axis=1)
    found = np.rint(np.linalg.lstsq(basis, got, rcond=None)[0]).astype(int)
    matches = case.close((basis @ found).astype(np.float32), got.astype(np.float32)).all()
    return [int(times) for times in found] if matches else None


def _k_tiles(case: _Case) -> Found:
    """Check for a sum in which some K tiles are missing or added more than once."""
    found = _added(case, [(k, k) for k in range(-(-case.a.shape[1] // case.block_k))])
    return None if found is None or set(found) == {1} else (_k_tiles_text(found), None)


def _k_pairs(case: _Case) -> Found:
    """Check for a sum of products of mismatched K tiles."""
    if case.a.shape[1] % case.block_k:
        return None
    numbers = range(case.a.shape[1] // case.block_k)
    pairs = [(i, k) for i in numbers for k in numbers]
    found = _added(case, pairs) if 2 * len(pairs) <= MIN_SAMPLE**2 else None
    if found is None:
        return None
    used = [pair for pair, times in zip(pairs, found, strict=True) if times]
    i, k = next(((i, k) for i, k in used if i != k), (0, 0))
    stays = [name for name, tiles in (("A", {i for i, _ in used}), ("B", {k for _, k in used})) if len(tiles) == 1]
    why = f"the loads of {stays[0]} do not advance along K" if stays else "the two loads advance along K differently"
    text = f"K tile {i} of A is multiplied by K tile {k} of B: {why}"
    return (text, stays[0] if stays else None) if i != k else None


def _k_tiles_text(times: list[int]) -> str:
    """Return the sentence for a sum with `times[t]` copies of K tile t."""
    count, last = len(times), len(times) - 1
    present = [t for t, n in enumerate(times) if n]
    if not present:
        return "D is zero: no product was added"
    if count > 1 and present == [last] and times[last] == 1:
        return (
            f"only the last of {count} K tiles is in D: every MMA overwrites the sum; accum must be true for all K "
            "tiles but the first"
        )
    if max(times) == 1:
        missing = [t for t, n in enumerate(times) if not n]
        names = ", ".join(map(str, missing[:6])) + (", …" if len(missing) > 6 else "")
        reason = ""
        if missing == [0]:
            reason = ": the second MMA overwrites the first, or the loop starts at 1"
        elif missing == [last]:
            reason = ": the loop ends one iteration early, or the result is read before the last MMA is complete"
        verb = "is" if len(missing) == 1 else "are"
        return f"{len(missing)} of {count} K tiles {verb} missing from D ({names}){reason}"
    often = next(t for t, n in enumerate(times) if n > 1)
    return f"K tile {often} is added {times[often]} times: the loop loads the same columns of A and B again"


def _rows(case: _Case) -> Found:
    """Check for entirely wrong rows: each thread writes one row, and each warp 32."""
    part = case.part(case.wrong, case.first_wrong_tile())
    rows = np.flatnonzero(part.all(axis=1))
    if not len(rows) or not (part.all(axis=1) == part.any(axis=1)).all() or len(rows) == len(part):
        return None
    if len(rows) == 1:
        return f"only row {rows[0]} is wrong: thread {rows[0]} of the warpgroup writes it", "D"
    warps = sorted({int(row) // WARP_ROWS for row in rows})
    if len(rows) == len(warps) * WARP_ROWS:
        names = ", ".join(map(str, warps))
        text = (
            f"only the rows of warp{'s' * (len(warps) > 1)} {names} are wrong: look for what these threads do "
            "differently, or for a wait that they skip"
        )
        return text, None
    return None


_PATTERNS: tuple[Callable[[_Case], Found], ...] = (
    _unwritten, _other_tile, _transposed, _k_tiles, _k_pairs, _columns, _rows,
)  # fmt: skip

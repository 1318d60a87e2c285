"""Layouts of scale factors for block-scaled MMAs, in tensor memory and in shared memory.

A factor has 8 bits. Up to four of a row along K share a column of 32 bits; 32 rows share a column, row r in lane
r % 32; the four groups of 32 lanes hold the same (PTX ISA: "Scale Factor layout"). In shared memory, the 16 bytes of a
lane come after each other, so that a ``tcgen05.cp.32x128b.warpx4`` copies 128 rows and four factors of each.
"""

from __future__ import annotations

from .axis import LayoutError, TCol, TLane, whole
from .spec import R, S, Spec
from .tile import TileLayout

PER_COLUMN = 4
LANES = 32


def sf_tmem_layout(
    rows: int, SF_K: int, sf_per_mma: int, sf_reuse: int = 1, pipe_depth: int | None = None
) -> TileLayout:
    """Return the layout of scale factors in tensor memory, from (row, factor along K) to lane and column.

    rows: a multiple of 32. SF_K: factors of a row along K, a multiple of 4. sf_per_mma: how many one MMA uses.
    sf_reuse: MMAs that use the same ones; each factor is then `sf_reuse` coordinates wide.
    pipe_depth: the extent of a dimension of stages before the others; none if None.

    Raises LayoutError for other sizes.
    """
    outer = _checked(rows, SF_K, sf_per_mma, sf_reuse, LANES)
    stage = outer * rows // LANES * PER_COLUMN
    spec = S[
        ((rows // LANES, LANES), (outer, PER_COLUMN, sf_reuse)) :
        ((PER_COLUMN @ TCol, 1 @ TLane), (rows // LANES * PER_COLUMN @ TCol, 1 @ TCol, 0 @ TCol))
    ]  # fmt: skip
    return _staged(spec + R[4 : LANES @ TLane], pipe_depth, S[((pipe_depth or 1),) : (stage @ TCol,)])


def sf_smem_layout(
    rows: int, SF_K: int, sf_per_mma: int, sf_reuse: int = 1, pipe_depth: int | None = None
) -> TileLayout:
    """Return the layout of scale factors in shared memory, in copy order of tcgen05.cp; `rows` is a multiple of 128.

    The parameters are those of `sf_tmem_layout`. Raises LayoutError for other sizes.
    """
    outer = _checked(rows, SF_K, sf_per_mma, sf_reuse, 4 * LANES)
    block = 4 * LANES * PER_COLUMN
    spec = S[
        ((rows // 128, 4, LANES), (outer, PER_COLUMN, sf_reuse)) : ((block * outer, 4, 16), (block, 1, 0))
    ]  # fmt: skip
    return _staged(spec, pipe_depth, S[((pipe_depth or 1),) : (rows * SF_K,)])


def _staged(spec: Spec, pipe_depth: int | None, stages: Spec) -> TileLayout:
    if pipe_depth is None:
        return TileLayout(spec)
    return TileLayout(Spec((*stages.dims, *spec.dims), spec.replica))


def _checked(rows: int, factors: int, per_mma: int, reuse: int, step: int) -> int:
    """Return the number of factor columns of a row along K. Raises LayoutError for unsupported sizes."""
    for name, value in (("rows", rows), ("SF_K", factors), ("sf_per_mma", per_mma), ("sf_reuse", reuse)):
        if whole(name, value) < 1:
            raise LayoutError(f"{name} is {value}, but must be at least 1")
    if rows % step:
        raise LayoutError(f"rows is {rows}, but must be a multiple of {step}")
    if PER_COLUMN % per_mma or factors % PER_COLUMN:
        raise LayoutError(
            f"SF_K is {factors} and sf_per_mma {per_mma}: SF_K must be a multiple of {PER_COLUMN}, sf_per_mma 1, 2 or 4"
        )
    return factors // PER_COLUMN

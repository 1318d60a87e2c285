"""Data drawn by the judge, and the parts of a large D that it compares.

A hand-in is built before anything is drawn, so that it cannot predict a kernel's data, or the clusters of a large
launch that are run.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from tirx_mini.course import DTYPES, Shape, matches
from tirx_mini.hardware import GpuSpec
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.sim import Question, Simulation

WHOLE = 2048**3
"""The M · N · K of the largest problem whose D is compared completely."""
BLOCK, TILE = 32, 128
"""The rows and columns of a block of D compared for single clusters, and of a tile of a whole D."""
TILES = 16
"""The number of compared tiles of D if all clusters of a large launch are run."""

UNEQUAL = 3
"""The factor by which more clusters are run if they may differ."""

Matrices = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The matrices A, B and D."""


def matrices(shape: Shape, dtype: str, seed: int) -> Matrices:
    """Return A and B with normal numbers, and D with zeros, which occupy no memory until written."""
    m, n, k = shape
    kind, rng = DTYPES[dtype], np.random.default_rng(seed)
    a, b = (_normal(rng, extents).astype(kind, copy=False) for extents in ((m, k), (n, k)))
    return a, b, np.zeros((m, n), kind)


def _normal(rng: np.random.Generator, extents: tuple[int, int]) -> np.ndarray:
    """Return normal numbers; a large matrix is drawn from 256 quantiles, which takes a fraction of the time."""
    if extents[0] * extents[1] < 1 << 20:
        return rng.standard_normal(extents, dtype=np.float32)
    return _quantiles()[rng.integers(0, 256, extents, dtype=np.uint8)]


@lru_cache(maxsize=1)
def _quantiles() -> np.ndarray:
    normal = NormalDist()
    return np.array([normal.inv_cdf((number + 0.5) / 256) for number in range(256)], np.float16)


def right_in_clusters(
    form: PrimFunc, data: Matrices, spec: GpuSpec, seed: int, tolerance: tuple[float, float], count: int = 1
) -> bool:
    """Return whether random clusters, run alone, write their share of D correctly and nothing else.

    They stand for all clusters where these are proved equal (`sim.plans.Equality`); otherwise more are drawn. False
    says nothing of a kernel whose clusters work together. form: writes neither A nor B. data: D is zero.
    """
    launch = form.launch
    assert launch is not None
    among = range(launch.num_ctas // launch.cluster_size)
    try:
        simulation = Simulation(form, data, Question(spec))
        count *= 1 if simulation.equal else UNEQUAL
        clusters = sorted(random.Random(seed).sample(among, min(count, len(among))))
        outcome = simulation.excerpt(clusters)
    except TirxError:  # it cannot be executed at all
        return False
    a, b, d = data
    if outcome.fault is not None or outcome.blocked or d.shape[0] % BLOCK or d.shape[1] % BLOCK:
        return False
    there = d[::BLOCK, ::BLOCK] != 0
    share = there.size * len(clusters) * launch.cluster_size / launch.num_ctas
    return 2 * np.count_nonzero(there) >= share and _blocks_match(a, b, d, there, tolerance)


def _blocks_match(
    a: np.ndarray, b: np.ndarray, d: np.ndarray, there: np.ndarray, tolerance: tuple[float, float]
) -> bool:
    """Return whether the written blocks of D equal the product."""
    return all(matches(a[rows], b[columns], d[rows, columns], tolerance) for rows, columns in _blocks(there))


def product_where(a: np.ndarray, b: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Return A @ B.T in A's element type in written blocks, with NaN elsewhere, in float32."""
    product = np.full(there.shape, np.nan, np.float32)
    a, b, kind = a.astype(np.float32), b.astype(np.float32), a.dtype
    for rows, columns in _blocks(there[::BLOCK, ::BLOCK]):
        product[rows, columns] = (a[rows] @ b[columns].T).astype(kind)
    product[~there] = np.nan
    return product


def _blocks(there: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Yield the rows and columns of the parts of a matrix of which a block of `BLOCK` elements is there.

    there: by block. Neighbours in a row are one part, and so are equal rows one below the other.
    """
    top = 0
    while top < len(there):
        end = top + 1
        while end < len(there) and (there[end] == there[top]).all():
            end += 1
        edges = np.flatnonzero(np.diff(there[top].astype(np.int8), prepend=0, append=0)).tolist()
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            yield slice(top * BLOCK, end * BLOCK), slice(first * BLOCK, last * BLOCK)
        top = end


def wrong_tile(data: Matrices, seed: int, tolerance: tuple[float, float]) -> str:
    """Return the error in a tile of D, among random tiles and those without a result, or ""."""
    a, b, d = data
    places = [(row, column) for row in range(0, d.shape[0], TILE) for column in range(0, d.shape[1], TILE)]
    random.Random(seed).shuffle(places)
    for row, column in (*(place for place in places if not np.isfinite(d[place])), *places[:TILES]):
        rows, columns = slice(row, row + TILE), slice(column, column + TILE)
        if not matches(a[rows], b[columns], d[rows, columns], tolerance):
            return f"D[{row}:{row + TILE}, {column}:{column + TILE}] is wrong"
    return ""

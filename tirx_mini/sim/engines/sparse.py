"""Sparse matrices A of tcgen05.mma.sp, with metadata in tensor memory (PTX ISA: "Sparsity selector")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..machine import Cta, in_tensor_memory, metadata_columns
from ..ordering import Actor
from .issued import Mma
from .submatrix import Submatrix


def expanded(
    lefts: Sequence[list[Submatrix]], mma: Mma, ctas: Sequence[Cta], actor: Actor
) -> list[list[Submatrix]]:
    """Return the matrix A of each CTA with zeros, if it is sparse. lefts: its elements, by parts of the columns.

    Without metadata, which are then not modelled, the elements are the first half of each row.
    """
    if mma.shape.selector is None:
        return list(lefts)
    if mma.metadata is None:
        each = ([part.values for part in parts] for parts in lefts)
        return [[Submatrix.whole(np.concatenate([a, 0 * a], axis=1)) for a in parts] for parts in each]
    width = int(mma.shape.a.itemsize)
    first = (mma.metadata & 0xFFFF) + mma.shape.selector
    columns = metadata_columns(width)
    found: list[list[Submatrix]] = []
    for cta, parts in zip(ctas, lefts, strict=True):
        cta.tmem.shadow.read((slice(None), slice(first, first + columns)), actor)
        words = np.array(cta.tmem.words(first, columns)).view(np.uint32)
        found.append([Submatrix.whole(in_tensor_memory(part.values, words, width)) for part in parts])
    return found

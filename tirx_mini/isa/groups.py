"""Execution of an instruction in the simulator for groups of lanes that give it different operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from .machine import Blocking, DivergentThread, LanesT

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_LANES = 32


def groups(
    semantics: Callable[..., ArrayLike | None], gpu: object, thread: DivergentThread[LanesT],
    operands: tuple[object, ...], attrs: Mapping[str, object],
) -> np.ndarray | None:
    """Execute an instruction of single threads once for each group of lanes with equal operands."""
    results = None
    saved = thread.mask
    for mask, values in thread.agreeing(operands):
        thread.mask = mask
        result = semantics(gpu, thread, *values, **attrs)
        if result is not None:
            results = np.zeros(_LANES, np.asarray(result).dtype) if results is None else results
            results[mask.bits] = result
    thread.mask = saved
    return results


def blocking_groups(
    semantics: Callable[..., Blocking], gpu: object, thread: DivergentThread[LanesT], operands: tuple[object, ...],
    attrs: Mapping[str, object],
) -> Blocking:
    """As `groups`, for an instruction that waits."""
    saved = thread.mask
    for mask, values in thread.agreeing(operands):
        thread.mask = mask
        yield from semantics(gpu, thread, *values, **attrs)
    thread.mask = saved


def by_masks(
    semantics: Callable[..., ArrayLike | None], gpu: object, thread: DivergentThread[LanesT], named: int,
    operands: tuple[object, ...], attrs: Mapping[str, object],
) -> np.ndarray | None:
    """Execute an instruction of the lanes of a mask once for each mask. named: the place of the masks."""
    results: np.ndarray | None = None
    saved = thread.mask
    for mask, (word,) in thread.agreeing((operands[named],)):
        thread.mask = mask
        result = semantics(gpu, thread, *operands[:named], word, *operands[named + 1 :], **attrs)
        if result is not None:
            whole = np.broadcast_to(np.asarray(result), (*np.shape(result)[:-1], _LANES))
            results = whole if results is None else np.where(mask.bits, whole, results)
    thread.mask = saved
    return results

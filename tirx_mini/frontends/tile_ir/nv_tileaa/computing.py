"""NumPy evaluation of arith and math operations, by the semantics of cuda_tile."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..cuda_tile import meanings
from ..ssa import Op
from . import ops as aa
from . import standard as st
from .memory_types import element_of

_COMPARISONS = {
    st.cmpi: {word: SimpleNamespace(comparison_predicate=p, signedness=s) for (p, s), word in st.CMPI.items()},
    st.cmpf: {word: SimpleNamespace(comparison_predicate=p, comparison_ordering=o) for (p, o), word in st.CMPF.items()},
}
_DEFAULTS = {"rounding_mode": "nearest_even", "flush_to_zero": False, "propagate_nan": False}
_OTHERS = {st.select: "select", aa.fp_to_fp: "ftof"}


def is_elementwise(op: Op) -> bool:
    """Return whether `compute` implements the operation."""
    return op.kind in st.ELEMENTWISE or op.kind in _COMPARISONS or op.kind in _OTHERS


def compute(op: Op, *operands: np.ndarray) -> np.ndarray:
    """Evaluate an elementwise operation. Arrays of rank 0 stand for all elements."""
    element = str(element_of(op.result.type))
    if op.kind in _COMPARISONS:
        name = {st.cmpi: "cmpi", st.cmpf: "cmpf"}[op.kind]
        return _computed(name, _COMPARISONS[op.kind][op.predicate], element, *operands)
    own = _DEFAULTS | {n: getattr(op, n) for n in op.kind.attrs}
    if op.kind in _OTHERS:
        return _computed(_OTHERS[op.kind], SimpleNamespace(**own), element, *operands)
    same = st.ELEMENTWISE[op.kind]
    return _computed(same.of, SimpleNamespace(**own | dict(same.fixed)), element, *operands)


def _computed(name: str, attrs: object, element: str, *operands: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(meanings.ELEMENTWISE[name](attrs, element, *operands))

"""The page of `tirx_mini.te`."""

from __future__ import annotations

from typing import Any

from tirx_mini import te

from ._markdown import described, doc_of, document, members, table

_HEAD = """# Tensor expressions `tirx_mini.te`

With this page you can look up what a tensor expression, a schedule or a schedule of blocks consists of.
[The lesson](../../lessons/tir.md) explains how they work together. Within `tirx_mini.compat.tvm`, `from tvm import te`
is this module; `tvm.lower`, `tvm.build` and `tvm.tir.Schedule` are its `lower`, `build` and `TirSchedule`.

<!-- not run: a fragment -->
```python
from tirx_mini import te
```"""

_COMPUTATIONS = (te.placeholder, te.compute, te.reduce_axis, te.var, te.size_var, te.thread_axis, te.comm_reducer)
_FUNCTIONS = (te.create_schedule, te.lower, te.build, te.check, te.create_prim_func)
_INSTRUCTIONS = (te.decl_tensor_intrin, te.mma, te.mma_store)
_MATHEMATICS = (
    "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sigmoid tanh sin cos tan asin acos atan sinh cosh asinh acosh "
    "atanh erf floor ceil trunc round abs power fmod hypot atan2 copysign nextafter ldexp isnan isinf isfinite "
    "popcount if_then_else all any const floordiv floormod truncdiv truncmod div"
).split()
_REDUCERS = (te.sum, te.prod, te.max, te.min)


def page() -> str:
    """The page."""
    parts = [_HEAD, "## Computations"]
    parts += _functions(_COMPUTATIONS)
    rows: list[tuple[str, ...]] = [
        (f"`te.{each.name}(expr, axis, where=None, init=None)`", f"begins with {_begins(each)}") for each in _REDUCERS
    ]
    parts += ["### Reductions", table(("reduction", "of float32 values"), rows), "### Functions of elements"]
    rows = [(f"`te.{name}`", doc_of(getattr(te, name)).summary) for name in _MATHEMATICS]
    parts.append(table(("function", "value"), rows))
    parts.append("## Schedules")
    parts += _functions(_FUNCTIONS)
    for cls in (te.Schedule, te.Stage):
        parts += described(cls)
    parts.append("## Instructions for `tensorize`")
    parts += _functions(_INSTRUCTIONS)
    parts += described(te.RegisteredIntrin)
    parts += described(te.TirSchedule, "TirSchedule")
    for base in te.TirSchedule.__mro__[1:-1]:
        parts += members(base, 3)
    parts += described(te.IndexMap)
    return document(*parts)


def _functions(functions: tuple[Any, ...]) -> list[str]:
    return [text for function in functions for text in described(function, level=3)]


def _begins(reducer: Any) -> str:
    return f"`{reducer.identity(te.placeholder((1,)).dtype).value}`"

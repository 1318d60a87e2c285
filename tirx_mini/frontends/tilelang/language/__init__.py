"""The language: ``import tilelang.language as T``, or ``from tirx_mini.tilelang import language as T``.

The names below are those of TileLang 0.1.15. Names of TIR that are not listed here (arithmetic, loops, instructions)
are those of `tirx_mini.script.tirx`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirx_mini.ir import Expr, TirxError
from tirx_mini.script import did_you_mean, tirx

from ..builtins import MORE
from ..builtins import NAMES as BUILTINS
from . import (
    arithmetic,
    atomics,
    dtypes,
    eager,
    functions,
    hints,
    launch,
    loops,
    memory,
    printing,
    queries,
    reducers,
    tiles,
)
from .refused import why_not

Swizzled = hints.Swizzled
_MODULES = (
    functions,
    eager,
    launch,
    memory,
    loops,
    tiles,
    reducers,
    queries,
    printing,
    arithmetic,
    atomics,
    hints,
    dtypes,
)


NAMES: Mapping[str, Any] = {
    **MORE,
    **{name: getattr(module, name) for module in _MODULES for name in module.__all__},
    "Buffer": memory.Tensor,
    "PrimExpr": Expr,
    **tiles.REDUCTIONS,
    **arithmetic.FUNCTIONS,
    **dtypes.DTYPES,
    **BUILTINS,
}
"""What `T` has by itself."""


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return NAMES[name]
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    found = getattr(tirx, name, None)
    if found is not None:
        return found
    instead = why_not(name)
    if instead is None:
        raise NotProvided(f"TileLang 0.1.15 has no `T.{name}`", hint=did_you_mean(name, __dir__()))
    raise NotProvided(f"tirx_mini does not provide `T.{name}` of TileLang", hint=instead)


class NotProvided(TirxError, AttributeError):
    """A name that TileLang does not have, or that is not provided."""


def __dir__() -> list[str]:
    return sorted({*NAMES, *dir(tirx)})

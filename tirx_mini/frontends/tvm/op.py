"""`tvm.backend.cuda.op` and `tvm.tirx.op`: instructions and operators as functions of flat names.

A name is that of the language with its dots replaced: ``ptx_mbarrier_init`` is ``Tx.ptx.mbarrier.init``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tirx_mini.script import tirx

_GROUPS = ("ptx", "cuda")


@cache
def _paths() -> dict[str, object]:
    """Return all instructions by their paths, with underscores instead of dots."""
    groups = [getattr(tirx, name) for name in _GROUPS]
    return {path.name.replace(".", "_"): path for group in groups for path in group.walk() if path.function}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    group, _, rest = name.partition("_")
    if name in _paths():
        return _paths()[name]
    return getattr(getattr(tirx, group), rest) if group in _GROUPS else getattr(tirx, name)


def __dir__() -> list[str]:
    return sorted({*_paths(), *dir(tirx)})

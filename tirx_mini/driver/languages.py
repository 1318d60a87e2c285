"""Lowering of kernels in guest languages to the IR that `passes` accepts."""

from __future__ import annotations

from tirx_mini.foreign import language_of, resolve
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower


def lowered(func: PrimFunc, arch: str) -> PrimFunc:
    """Return a kernel lowered for an architecture. Raises `TirxError` if the kernel is invalid."""
    language = language_of(func.attrs) if func.attrs else None
    if language is not None:
        func = resolve(language.lower)(func, arch)
    return lower(func)

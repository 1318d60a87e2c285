"""Kernels in other languages of this package become ones of the IR that `passes` takes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from tirx_mini.ir import TILELANG, PrimFunc
from tirx_mini.passes import lower

LANGUAGES: Mapping[str, str] = {TILELANG: "tirx_mini.tilelang"}
"""By the attribute of a function in another language, the room whose `lower` makes a kernel of it for an architecture.
A room is imported when such a function comes: it stands above this one."""


def lowered(func: PrimFunc, arch: str) -> PrimFunc:
    """A kernel for an architecture, lowered. Raises `TirxError` for a mistake in it."""
    for attribute, room in LANGUAGES.items():
        if dict(func.attrs).get(attribute):
            func = import_module(room).lower(func, arch)
    return lower(func)

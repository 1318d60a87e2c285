"""CUDA C++ through NVRTC: `tirx_mini.read_cuda(source).entry("kernel").simulate(args, grid=…, block=…)`."""

from __future__ import annotations

import linecache
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from tirx_mini.hardware import DEFAULT_ARCH
from tirx_mini.runtime import compile_ptx

from .headers import HEADERS
from .programs import PtxModule
from .reader import read

FAITHFUL = "--Ofast-compile=min"
"""Optimises so little that accesses stay where the source has them, and that asynchronous results are not touched."""


def read_cuda(
    source: str | Path,
    *,
    arch: str = DEFAULT_ARCH,
    names: Sequence[str] = (),
    include: Sequence[str | Path] = (),
    define: Mapping[str, str] | Sequence[str] = (),
    optimize: bool = False,
) -> PtxModule:
    """The module that CUDA C++ is compiled to. Findings are at the lines of the source. No GPU is needed.

    source: the text, or a `Path` of the file that has it.
    arch: as in "sm_90a".
    names: of kernels, as C++ has them: those of instances of templates, such as "scale<float>", must be given.
    include: folders for ``#include``; that of a file is among them. define: macros, ``{"N": "4"}`` or ``["N=4"]``.
    optimize: compile as for a GPU. By default the compiler keeps each access of the source, since it may drop the very
        ones that race.

    Raises `TirxError` at the line that NVRTC rejects, and `ToolchainError` if NVRTC is not installed.
    """
    folders = [Path(each) for each in include]
    if isinstance(source, Path):
        text, name = source.read_text(encoding="utf-8"), str(source.resolve())
        folders.insert(0, source.resolve().parent)
    else:
        text, name = source, f"<cuda {sha256(source.encode()).hexdigest()[:8]}>"
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    macros = [f"{key}={value}" for key, value in define.items()] if isinstance(define, Mapping) else define
    flags = [
        *([] if optimize else [FAITHFUL]),
        *(f"--include-path={folder}" for folder in folders),
        *(f"--define-macro={macro}" for macro in macros),
    ]
    ptx, lowered = compile_ptx(text, name, arch, flags, names, HEADERS)
    ptx = re.sub(rf'"[^"\n]*{re.escape(name)}"', lambda _: f'"{name}"', ptx)  # NVRTC puts the folder in front
    return PtxModule(read(ptx), ptx, tuple(lowered.items()), text)

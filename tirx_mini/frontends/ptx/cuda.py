"""CUDA C++ through NVRTC: `tirx_mini.read_cuda(source).entry("kernel").simulate(args, grid=…, block=…)`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tirx_mini.hardware import DEFAULT_ARCH
from tirx_mini.runtime import compile_ptx

from .headers import HEADERS
from .locations import kept_lines
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
    names: kernels by their C++ names. Instances of templates, such as "scale<float>", must be given.
    include: further folders for ``#include``, besides the folder of the file.
    define: macros, ``{"N": "4"}`` or ``["N=4"]``.
    optimize: compile as for a GPU. By default the compiler keeps each access of the source, since it may drop the very
        ones that race.

    Raises `TirxError` at the line that NVRTC rejects, and `ToolchainError` if NVRTC is not installed.
    """
    folders = [Path(each) for each in include]
    if isinstance(source, Path):
        text, name = source.read_text(encoding="utf-8"), str(source.resolve())
        folders.insert(0, source.resolve().parent)
    else:
        text, name = source, kept_lines(source, "cuda")
    macros = [f"{key}={value}" for key, value in define.items()] if isinstance(define, Mapping) else define
    flags = [
        *([] if optimize else [FAITHFUL]),
        "--pre-include=math.h",  # nvcc, too, has INFINITY and NAN without any include
        *(f"--include-path={folder}" for folder in folders),
        *(f"--define-macro={macro}" for macro in macros),
    ]
    ptx, lowered = compile_ptx(text, name, arch, flags, names, HEADERS)
    ptx = re.sub(rf'"[^"\n]*{re.escape(name)}"', lambda _: f'"{name}"', ptx)  # NVRTC puts the folder in front
    return PtxModule(read(ptx), ptx, tuple(lowered.items()), text)

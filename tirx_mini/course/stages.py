"""The compilation stages of a kernel as text: the IR around each pass, CUDA C++, PTX and machine code."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from tirx_mini.codegen import cuda_source
from tirx_mini.hardware import DEFAULT_ARCH
from tirx_mini.ir import PrimFunc
from tirx_mini.isa import for_target
from tirx_mini.passes import lower
from tirx_mini.records import dataclass
from tirx_mini.runtime import Executable, build, device_arch, known_arch, summarise, summary_text

AS_WRITTEN = "as written"
"""The name of a kernel before the first pass."""


@dataclass(frozen=True)
class StageOptions:
    """The display options of a stage.

    arch: the architecture of PTX and machine code, as in "sm_100a"; None for this machine's GPU, or the default. With
        one, the CUDA C++ is what that architecture executes.
    comments: explain descriptors, roles and shared memory at the ends of their lines in the CUDA C++.
    quotes: quote the kernel's lines in the CUDA C++.
    diff: show only the changes of each pass.
    """

    arch: str | None = None
    comments: bool = True
    quotes: bool = False
    diff: bool = False


def stage_text(kernel: PrimFunc, stage: str, options: StageOptions | None = None) -> str:
    """Return the kernel at one of `STAGES`, ending in a newline.

    Raises `TirxError` for a mistake in the kernel, `ToolchainError` if compiling fails, `ValueError` for an unknown
    architecture.
    """
    return STAGES[stage](kernel, options or StageOptions())


def _tir(kernel: PrimFunc, options: StageOptions) -> str:
    return kernel.script() + "\n"


def _passes(kernel: PrimFunc, options: StageOptions) -> str:
    """Return the IR after every pass, or only the changes of every pass."""
    parts: list[str] = []
    before = kernel.script()
    if not options.diff:
        parts.append(f"# ---- {AS_WRITTEN} ----\n{before}\n")

    def after(name: str, func: PrimFunc) -> None:
        nonlocal before
        text = func.script()
        body = "\n".join(_changes(before, text)) or "# no change" if options.diff else text
        parts.append(f"# ---- after {name} ----\n{body}\n")
        before = text

    lower(kernel, after=after)
    return "\n".join(parts)


def _changes(before: str, after: str) -> Iterator[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return (line for line in lines if not line.startswith(("---", "+++")))


def _cuda(kernel: PrimFunc, options: StageOptions) -> str:
    func, arch = lower(kernel), DEFAULT_ARCH
    if options.arch is not None:
        arch = known_arch(options.arch)
        func = for_target(func, arch)
    return cuda_source(func, arch, comments=options.comments, quotes=options.quotes).text


def _ptx(kernel: PrimFunc, options: StageOptions) -> str:
    return _executable(kernel, options).source("ptx") + "\n"


def _sass(kernel: PrimFunc, options: StageOptions) -> str:
    """Return the machine code and the counts of its instructions."""
    exe = _executable(kernel, options)
    sass = exe.source("sass")
    assert exe.func.launch is not None
    return f"{sass}\n{summary_text(summarise(sass), exe.compiled, exe.func.launch.smem_bytes)}\n"


def _executable(kernel: PrimFunc, options: StageOptions) -> Executable:
    return build(lower(kernel), options.arch or device_arch(), original=kernel)


STAGES: Mapping[str, Callable[[PrimFunc, StageOptions], str]] = MappingProxyType({
    "tir": _tir,
    "passes": _passes,
    "cuda": _cuda,
    "ptx": _ptx,
    "sass": _sass,
})  # fmt: skip

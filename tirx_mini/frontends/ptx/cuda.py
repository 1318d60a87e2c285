"""CUDA C++ through NVRTC: `tirx_mini.read_cuda(source).entry("kernel").simulate(args, grid=…, block=…)`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from tirx_mini.diagnose import Report
from tirx_mini.hardware import DEFAULT_ARCH, GpuSpec
from tirx_mini.ir import Span, TirxError
from tirx_mini.records import dataclass
from tirx_mini.runtime import compile_cubin

from .differing import differing
from .headers import GRID_DEPENDENCY, HEADERS
from .locations import kept_lines
from .merging import merged
from .programs import Dims, Entry, PtxModule
from .results import Difference, stores_to
from .runs import Run, run_each
from .texts import Role, Source, Text, texts_of

_GRID_DEPENDENCY = re.compile(r"\bcuda(?:GridDependencySynchronize|TriggerProgrammaticLaunchCompletion)\b")
_CHECKED = (Role.TIME, Role.ASYNCHRONOUS, Role.ORDINARY, Role.VALUES)


def read_cuda(
    source: str | Path,
    *,
    arch: str = DEFAULT_ARCH,
    names: Sequence[str] = (),
    include: Sequence[str | Path] = (),
    define: Mapping[str, str] | Sequence[str] = (),
    file: str = "",
    optimize: bool = False,
) -> PtxModule:
    """The module that CUDA C++ is compiled to. Findings are at the lines of the source. No GPU is needed.

    The module is optimised text, the code that a GPU executes. A simulation also checks two texts with less
    optimisation, which keep the accesses that race, and compares the values that all of them compute.

    source: the text, or a `Path` of the file that has it.
    arch: as in "sm_90a".
    names: kernels by their C++ names. Instances of templates, such as "scale<float>", must be given.
    include: further folders for ``#include``, besides the folder of the file.
    define: macros, ``{"N": "4"}`` or ``["N=4"]``.
    file: the name of a text in messages.
    optimize: simulate the optimised text alone.

    Raises `TirxError` at the line that NVRTC rejects, and `ToolchainError` if NVRTC is not installed.
    """
    roles = (Role.TIME,) if optimize else _CHECKED
    texts = texts_of(_source(source, arch, names, include, define, file), roles)
    optimised = texts[Role.TIME]
    assert isinstance(optimised, Text)
    others = {role: found for role, found in texts.items() if role is not Role.TIME}
    module = optimised.module
    return CudaModule(module.module, module.text, module.names, module.source, others)


def cubin_of(
    source: str | Path,
    *,
    arch: str = DEFAULT_ARCH,
    names: Sequence[str] = (),
    include: Sequence[str | Path] = (),
    define: Mapping[str, str] | Sequence[str] = (),
    file: str = "",
) -> bytes:
    """Return the binary of a module of CUDA C++. The arguments and errors are those of `read_cuda`."""
    found = _source(source, arch, names, include, define, file)
    return compile_cubin(found.text, found.file, arch, (*Role.TIME.flags, *found.flags), names, HEADERS)


def _source(
    source: str | Path,
    arch: str,
    names: Sequence[str],
    include: Sequence[str | Path],
    define: Mapping[str, str] | Sequence[str],
    file: str,
) -> Source:
    folders = [Path(each) for each in include]
    if isinstance(source, Path):
        text, name = source.read_text(encoding="utf-8"), str(source.resolve())
        folders.insert(0, source.resolve().parent)
    else:
        text, name = source, kept_lines(source, "cuda", file)
    macros = [f"{key}={value}" for key, value in define.items()] if isinstance(define, Mapping) else define
    flags = (
        "--pre-include=math.h",  # nvcc, too, has INFINITY and NAN without any include
        *((f"--pre-include={GRID_DEPENDENCY}",) if _needs_grid_dependency(text) else ()),
        *(f"--include-path={folder}" for folder in folders),
        *(f"--define-macro={macro}" for macro in macros),
    )
    return Source(text, name, arch, flags, tuple(names))


def _needs_grid_dependency(text: str) -> bool:
    """Return whether a text calls what `nvcc` declares in every text, and does not include the header itself."""
    return "cuda_device_runtime_api.h" not in text and _GRID_DEPENDENCY.search(text) is not None


@dataclass(frozen=True, eq=False)
class CudaModule(PtxModule):
    """The optimised text of a CUDA source. others: the texts for other questions, or why there is none."""

    others: Mapping[Role, Text | TirxError] = field(default_factory=dict[Role, "Text | TirxError"])

    def entry(self, name: str = "") -> Entry:
        found = PtxModule.entry(self, name)
        others = {role: _entry(text, name) for role, text in self.others.items()}
        return CudaEntry(found.module, found.function, found.name, found.parameters, others)


def _entry(text: Text | TirxError, name: str) -> Entry | TirxError:
    """Return a kernel of a text, or the error of a text that cannot be read."""
    try:
        return text if isinstance(text, TirxError) else text.module.entry(name)
    except TirxError as error:
        return error


@dataclass(frozen=True, eq=False)
class CudaEntry(Entry):
    """A kernel of a CUDA source. others: the same kernel in the other texts, or why there is none."""

    others: Mapping[Role, Entry | TirxError] = field(default_factory=dict[Role, "Entry | TirxError"])

    def simulate(
        self,
        args: Sequence[object],
        *,
        grid: Dims,
        block: Dims,
        cluster: Dims | None = None,
        smem: int = 0,
        gpu: str | GpuSpec | None = None,
        **options: Any,
    ) -> Report:
        own = Entry(self.module, self.function, self.name, self.parameters)

        def launch(entry: Entry, given: Sequence[object], **changed: object) -> Report:
            more = {**options, **changed}
            return entry.simulate(given, grid=grid, block=block, cluster=cluster, smem=smem, gpu=gpu, **more)

        if not self.others or not options.get("checks", True) or not options.get("data", True):
            return launch(own, args)
        entries = {role: each for role, each in self.others.items() if isinstance(each, Entry)}
        runs = run_each({Role.TIME: own, **entries}, args, launch)
        missing = {
            role: each.diagnostic.message for role, each in self.others.items() if isinstance(each, TirxError)
        } | _incomplete(runs)
        runs = {role: run for role, run in runs.items() if role not in missing}

        def stores(role: Role, found: Difference) -> Sequence[Span]:
            lowered = entries[role].lowered(args, grid=grid, block=block, cluster=cluster, smem=smem)
            return stores_to(lowered, found.name)

        finding = differing(runs, own, stores)
        return merged({role: run.report for role, run in runs.items()}, missing, finding)


def _incomplete(runs: Mapping[Role, Run]) -> dict[Role, str]:
    """Return why texts were not simulated to their ends, where the optimised one was."""
    reports = {role: run.report for role, run in runs.items() if run.report.verdict == "incomplete"}
    if Role.TIME in reports:
        return {}
    return {role: report.findings[0].message for role, report in reports.items()}

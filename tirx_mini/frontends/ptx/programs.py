"""Simulation of kernels from PTX modules: ``read_ptx(text).entry(name).simulate(args, grid=…, block=…)``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any

from tirx_mini.arguments import ArgumentError
from tirx_mini.diagnose import Report, failed
from tirx_mini.driver import simulate
from tirx_mini.hardware import DEFAULT_GPU, GPUS, MAX_THREADS_PER_CTA, GpuSpec, compute_capability, gpu_spec
from tirx_mini.ir import TirxError
from tirx_mini.records import dataclass

from .generated import without_generated
from .kernel import entries, kernel
from .lowering import Lowered, lower
from .names import parameters_in, plain_name
from .reader import read
from .syntax import Function, Kernel, Module
from .words import in_words_of, made_by_triton

Dims = int | Sequence[int]


def read_ptx(text: str, *, file: str = "") -> PtxModule:
    """Parse a PTX module, version 6.0 to 9.x.

    Raises `TirxError` at the first mistake.

    file: the name of its lines in messages, such as its path.
    """
    return PtxModule(read(text, file), text)


@dataclass(frozen=True, eq=False)
class PtxModule:
    """A PTX module.

    names: those of kernels in C++, each with its name in the module. source: the text that it was compiled from.
    """

    module: Module
    text: str
    names: tuple[tuple[str, str], ...] = ()
    source: str = ""

    @property
    def entries(self) -> tuple[str, ...]:
        """The plain names of its kernels."""
        return tuple(plain_name(each.name) for each in entries(self.module))

    def entry(self, name: str = "") -> Entry:
        """Return the kernel with the given C++ or PTX name; "" selects the only kernel.

        Raises `ArgumentError` if no kernel or more than one has this name.
        """
        mangled = dict(self.names).get(name, name)
        all_entries = tuple(entries(self.module))
        found = [each for each in all_entries if name == "" or each.name == mangled]
        found = found or [each for each in all_entries if plain_name(each.name) == name]
        if len(found) != 1:
            have = ", ".join(each.name if found else plain_name(each.name) for each in found or all_entries)
            problem = f"several kernels are called {name}" if name else "a kernel must be named"
            if not found:
                problem = f"there is no kernel {name}".rstrip()
            raise ArgumentError(f"{problem}: the module has {have or 'none'}")
        return Entry(
            self.module, found[0], name or plain_name(found[0].name), parameters_in(self.source, found[0].name)
        )


@dataclass(frozen=True, eq=False)
class Entry:
    """A kernel of a PTX module. parameters: their source names, or () if unknown."""

    module: Module
    function: Function
    name: str
    parameters: tuple[str, ...] = ()

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel with its calls inlined and its control flow structured.

        Raises `TirxError` where a function is recursive or a jump leads nowhere.
        """
        return kernel(self.module, self.function.name, self.parameters)

    @property
    def gpu(self) -> GpuSpec:
        """The target GPU: the default one if it can run the module, else the first that can."""
        target = self.module.target[0]
        names = [DEFAULT_GPU, *(name for name in GPUS if name != DEFAULT_GPU)]
        return next((gpu_spec(name) for name in names if runs_on(target, GPUS[name].arch)), gpu_spec(DEFAULT_GPU))

    def lowered(
        self, args: Sequence[object], *, grid: Dims, block: Dims, cluster: Dims | None = None, smem: int = 0
    ) -> Lowered:
        """Lower the kernel for one launch. Raises as `simulate`, and `TirxError`."""
        sizes = dims("grid", grid), dims("block", block)
        self._check_block(sizes[1])
        of_cluster = None if cluster is None else dims("cluster", cluster)
        return lower(self.kernel, args, grid=sizes[0], block=sizes[1], cluster=of_cluster, smem_bytes=smem)

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
        """Run a launch on a simulated GPU and return a report. Results are written into the arguments in place.

        The report is incomplete where an instruction is not modelled. Raises `ArgumentError` for arguments and a launch
        that do not fit the kernel.

        args: for each parameter an array (PyTorch or NumPy) for a pointer, a number, or a `TensorMap`.
        grid: blocks along x, y and z; those left out are 1.
        block: threads of a block, likewise.
        cluster: blocks of a cluster; by default the kernel's own requirement.
        smem: bytes of dynamic shared memory.
        gpu: by default one that the module is compiled for.
        options: of `tirx_mini.simulate`.
        """
        spec = self.gpu if gpu is None else gpu_spec(gpu)
        target = self.module.target[0]
        if not runs_on(target, spec.arch):
            raise ArgumentError(f"{self.name} is compiled for {target}, which {spec.name} does not run")
        try:
            found = self.lowered(args, grid=grid, block=block, cluster=cluster, smem=smem)
        except TirxError as error:
            return failed(self.name, error, spec.name)
        report = simulate(found.func, *found.args, gpu=spec, **options)
        report = in_words_of(self.module, report.named(self.name))
        return without_generated(report, True) if made_by_triton(self.module) else report

    def _check_block(self, block: tuple[int, int, int]) -> None:
        """Raise `ArgumentError` for a block size that the kernel's directives or the hardware exclude."""
        shown = " × ".join(map(str, block))
        if prod(block) > MAX_THREADS_PER_CTA:
            raise ArgumentError(f"a block of {shown} threads is too large: {MAX_THREADS_PER_CTA} is the most")
        required = self.function.directive("reqntid")
        if required is not None and dims("reqntid", [int(each) for each in required]) != block:
            raise ArgumentError(f"{self.name} requires blocks of {' × '.join(map(str, required))}, not of {shown}")
        largest = self.function.directive("maxntid")
        if largest is not None and (most := prod(map(int, largest))) < prod(block):
            raise ArgumentError(f"{self.name} is compiled for at most {most} threads a block, but {shown} are launched")


def dims(what: str, given: Dims) -> tuple[int, int, int]:
    """Return the extents along x, y and z, padded with 1. Raises `ArgumentError` for an invalid number."""
    values = [given] if isinstance(given, int) else list(given)
    if not 1 <= len(values) <= 3 or any(int(value) < 1 for value in values):
        raise ArgumentError(f"{what} must be one to three positive numbers, but it is {given!r}")
    x, y, z = (*map(int, values), 1, 1)[:3]
    return x, y, z


def runs_on(target: str, arch: str) -> bool:
    """Return whether PTX for a target runs on an architecture (PTX ISA: ".target").

    The variant `a` runs on no other architecture, `f` on its family, and the rest on all later ones.
    """
    wanted, have = compute_capability(target), compute_capability(arch)
    if target.endswith("a"):
        return wanted == have
    if target.endswith("f"):
        return wanted // 10 == have // 10 and wanted <= have
    return wanted <= have

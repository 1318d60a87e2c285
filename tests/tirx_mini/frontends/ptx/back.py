"""Kernels that are compiled to PTX by NVRTC and read back: both are executed on the same arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tirx_mini
from tirx_mini.arguments import TensorMap, is_tensor
from tirx_mini.diagnose import Report
from tirx_mini.driver.languages import lowered
from tirx_mini.frontends.ptx.headers import HEADERS
from tirx_mini.frontends.ptx.programs import Entry, read_ptx
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import Buffer, PrimFunc, Var
from tirx_mini.ir import TensorMap as Encoded
from tirx_mini.runtime import compile_ptx, emit

Place = tuple[str, int]
"""The code of a finding and the line of the kernel; "" and 0 where there is none."""
EXACT = ("--fmad=false",)
"""The options without which NVRTC fuses products and sums."""


@dataclass(frozen=True)
class Compiled:
    """A kernel as PTX with the lines of its source. launch: the keywords of `Entry.simulate`."""

    func: PrimFunc
    entry: Entry
    launch: Mapping[str, Any]
    params: Sequence[Buffer | Encoded | Var]

    @staticmethod
    def of(func: PrimFunc, gpu: str, flags: Sequence[str] = ()) -> Compiled:
        """Compile a kernel in any language of the front ends. Raises `TirxError` where it is refused."""
        arch = gpu_spec(gpu).arch
        kernel = lowered(func, arch)
        source = emit(kernel, arch, line_info=True)
        text, _ = compile_ptx(source.text, "kernel.cu", arch, flags, (), HEADERS)
        of = kernel.launch
        assert of is not None
        launch = {"grid": of.grid, "block": of.threads, "cluster": of.cluster, "smem": of.smem_bytes, "gpu": gpu}
        return Compiled(kernel, read_ptx(text).entry(), launch, source.params)

    def arguments(self, args: Sequence[Any]) -> list[Any]:
        """The arguments of the PTX: numbers, arrays, and tensor maps of arrays."""
        named = {param.name: arg for param, arg in zip(self.func.params, args, strict=True)}
        return [_argument(param, named) for param in self.params]

    def simulate(self, args: Sequence[Any], **options: Any) -> Report:
        return self.entry.simulate(self.arguments(args), **self.launch, **options)


def _argument(param: Buffer | Encoded | Var, named: Mapping[str, Any]) -> Any:
    if not isinstance(param, Encoded):
        return named[param.name]
    array = named[param.buffer.name]
    return TensorMap(array, param.box, param.swizzle, param.dims, param.strides, param.l2_promotion)


@dataclass(frozen=True)
class Back:
    """The reports of a kernel and of its PTX. equal: whether every result has the same bits."""

    kernel: Report
    ptx: Report
    equal: bool

    @property
    def alike(self) -> bool:
        """Return true if both have the same verdict and the same codes of errors and warnings."""
        return self.kernel.verdict == self.ptx.verdict and _codes(self.kernel) == _codes(self.ptx)

    @property
    def first(self) -> tuple[Place, Place]:
        """The code and the line of the first finding of the kernel, and of its PTX."""
        return _first(self.kernel), _first(self.ptx)

    @property
    def ratio(self) -> float:
        """The predicted time of the PTX, divided by that of the kernel; 0 where one of them has none."""
        if not self.kernel.time_us or not self.ptx.time_us:
            return 0.0
        return self.ptx.time_us / self.kernel.time_us


def read_back(func: PrimFunc, args: Sequence[Any], gpu: str, flags: Sequence[str] = ()) -> Back:
    """Execute a kernel on its arguments, and its PTX on copies of them."""
    copies = copied(args)
    report = tirx_mini.simulate(func, *args, gpu=gpu)
    again = Compiled.of(func, gpu, flags).simulate(copies)
    return Back(report, again, all(_same(a, b) for a, b in zip(args, copies, strict=True)))


def _codes(report: Report) -> set[str]:
    return {finding.code for finding in (*report.errors, *report.warnings)}


def _first(report: Report) -> Place:
    finding = next(iter(report.findings), None)
    if finding is None:
        return "", 0
    return finding.code, 0 if finding.span is None else finding.span.user.line


def copied(args: Sequence[Any]) -> list[Any]:
    return [arg.copy() if isinstance(arg, np.ndarray) else arg.clone() if is_tensor(arg) else arg for arg in args]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.tobytes() == b.tobytes()
    return bool((a == b).all()) if is_tensor(a) else a == b

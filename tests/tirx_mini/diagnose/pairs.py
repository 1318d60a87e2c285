"""Pairs of small kernels that differ in one detail: with it the kernel is right by the PTX ISA, without it wrong.

    @pair("TX214", "hazard", isa="bar.warp.sync")
    def a_value_of_another_lane(wrong: bool) -> PrimFunc:
        ...                                          # the kernel; what is wrong stands under `if wrong` or `not wrong`

Lines that end in `# wrong` may be named by the first finding; without any such line, it may name each of the kernel.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import tirx_mini as tvm
from tirx_mini.diagnose import Report
from tirx_mini.ir import Buffer, PrimFunc

Expected = Callable[..., np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A kernel, right and wrong.

    build: makes it. verdicts, codes: those that the report of the wrong one, and its first finding, may have.
    isa: the section of the PTX ISA, or the rule, that says so. result: what the right one leaves in its last argument,
    from the others. zeros: the first argument is zero instead of 0, 1, 2 … alias: the wrong one gets one array twice.
    """

    build: Callable[[bool], PrimFunc]
    codes: tuple[str, ...]
    verdicts: tuple[str, ...]
    isa: str
    gpu: str
    result: Expected | None
    zeros: bool
    alias: bool

    @property
    def name(self) -> str:
        return self.build.__name__

    def run(self, wrong: bool) -> tuple[Report, list[np.ndarray]]:
        """The report, and the arguments after the run."""
        kernel = self.build(wrong)
        arrays: list[np.ndarray] = []
        for buffer in kernel.params:
            assert isinstance(buffer, Buffer)
            values = np.arange(buffer.size) % 97 if not arrays and not self.zeros else np.zeros(buffer.size)
            arrays.append(values.reshape(buffer.shape).astype(str(buffer.dtype)))
        if self.alias and wrong:
            arrays[1] = arrays[0]
        report = tvm.simulate(kernel, *arrays, gpu=self.gpu)
        return report, arrays

    def disagreement(self, wrong: bool) -> str:
        """What the report says other than the ISA; empty if they agree."""
        report, arrays = self.run(wrong)
        codes = [f"{f.code}:{f.severity}" for f in report.findings]
        if not wrong:
            if report.verdict != "ok" or codes:
                return f"right, and found {report.verdict} {codes}\n{report}"
            if self.result is not None:
                fresh = self.run(False)[1][:-1] if not self.alias else arrays[:-1]
                np.testing.assert_array_equal(arrays[-1], self.result(*fresh))
            return ""
        if report.verdict not in self.verdicts or not codes or report.findings[0].code not in self.codes:
            return f"expected {self.verdicts} {self.codes}, found {report.verdict} {codes}\n{report}"
        span = report.findings[0].span
        file = inspect.getsourcefile(self.build) or ""
        if span is None or span.user.file != file:
            return f"the finding names {span}\n{report}"
        if "# wrong" in inspect.getsource(self.build) and "# wrong" not in linecache.getline(file, span.user.line):
            return f"the finding names line {span.user.line}\n{report}"
        return ""


def pair(
    codes: str | Sequence[str],
    verdicts: str | Sequence[str],
    *,
    isa: str,
    gpu: str = "b200",
    result: Expected | None = None,
    zeros: bool = False,
    alias: bool = False,
) -> Callable[[Callable[[bool], PrimFunc]], Pair]:
    """Make a pair of the function that builds its kernels."""
    accepted = (codes,) if isinstance(codes, str) else tuple(codes)
    allowed = (verdicts,) if isinstance(verdicts, str) else tuple(verdicts)

    def made(build: Callable[[bool], PrimFunc]) -> Pair:
        return Pair(
            build=build, codes=accepted, verdicts=allowed, isa=isa, gpu=gpu, result=result, zeros=zeros, alias=alias
        )  # fmt: skip

    return made


def pairs_of(names: Mapping[str, object]) -> list[Pair]:
    """The pairs among the names of a module."""
    return [value for value in names.values() if isinstance(value, Pair)]

"""The check of one kernel: its runs in the simulator, and the product of a matrix multiplication."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tirx_mini.arguments import ArgumentError, check_room
from tirx_mini.diagnose import BUDGET, Finding, Report, as_dict, failed, state_notes
from tirx_mini.driver import Exploration, explore, simulate
from tirx_mini.foreign import language_of
from tirx_mini.hardware import DEFAULT_GPU, GpuSpec, gpu_spec
from tirx_mini.ir import Buffer, PrimFunc, TirxError
from tirx_mini.records import dataclass, replace
from tirx_mini.report import (
    Multiply,
    ProductError,
    exact_product,
    product_error,
    product_shape,
    wrong_product,
)
from tirx_mini.sim import Watch, numpy_dtype

from .constants import Constant
from .filling import Filled, filling, stand_ins_of
from .kernel_ref import KernelRef, load_kernel
from .kernels import NO_CONSTANTS
from .meter import WatchShare
from .steps import Shape

LARGEST_TRACED = 2048
"""The size of the largest square product whose timeline a check records."""
_LARGEST_INTEGER = 8
"""The exclusive upper bound of random integer arguments, which may be indices."""


@dataclass(frozen=True)
class Checked:
    """The outcome of a check.

    report: of the simulator.
    product: of a matrix multiplication that ran to its end, its error.
    wrong: the finding about a wrong product.
    exploration: the result of all orders of events, if requested.
    filled: the open TODOs that the reference's code replaced.
    """

    report: Report
    product: ProductError | None = None
    wrong: Finding | None = None
    exploration: Exploration | None = None
    filled: Filled | None = None

    @property
    def ok(self) -> bool:
        return self.report.ok and self.wrong is None

    def told(self) -> Checked:
        """Return the same outcome with a report that attributes the checked code."""
        return self if self.filled is None else replace(self, report=self.filled.told(self.report))

    def _repr_html_(self) -> str:
        """Return the notebook display: the report, with the finding about a wrong product."""
        from tirx_mini.report import report_html

        return report_html(self.report, self.wrong)

    def as_dict(self) -> dict[str, Any]:
        """Return the report's object with "product"; the verdict is "wrong" if only the product is."""
        data = as_dict(self.report)
        if self.exploration is not None:
            explored = as_dict(self.exploration)
            data["exploration"] = {name: explored[name] for name in explored if name != "report"}
        if self.product is not None:
            data["product"] = {"ok": self.product.ok, **as_dict(self.product)}
        if self.wrong is not None:
            data["verdict"] = "wrong"
            data["findings"] = list(map(as_dict, (*self.report.findings, self.wrong)))
        return data


def check_file(
    ref: KernelRef,
    *,
    size: int | None = None,
    shape: Shape | None = None,
    gpu: str = DEFAULT_GPU,
    sms: int | None = None,
    schedules: int = 1,
    seed: int = 0,
    log_barriers: bool = False,
    limit: int | None = None,
    pedantic: bool = False,
    budget: int = BUDGET,
    constants: Mapping[str, Constant] = NO_CONSTANTS,
    trace: bool | None = None,
    watch: WatchShare | None = None,
    fill: bool = False,
) -> Checked:
    """Check the kernel that `ref` names; a mistake that prevents its construction becomes a finding.

    size, shape: as in `load_kernel`. sms: how many multiprocessors of the GPU are modelled, None for all of them; a
    constant of the file that holds their number gets this value. constants: as in `load_module`. fill: whether the
    reference's code replaces the open TODOs of a step in which at least one is filled in. The others: as in
    `check_kernel`. The bound of a kernel of the course leaves the remedy to the reader. Raises what both raise, except
    `TirxError`.
    """
    spec = gpu_spec(gpu).with_sms(sms)
    filled = filling(ref.path, ref.name) if fill else None
    try:
        kernel = load_kernel(ref, size=size, shape=shape, sms=sms, constants=constants, stand_ins=stand_ins_of(filled))
    except TirxError as error:
        return Checked(failed(ref.name or ref.path.stem, error, spec.name), filled=filled).told()
    checked = check_kernel(
        kernel, name=ref.name, gpu=spec, schedules=schedules, seed=seed, log_barriers=log_barriers, limit=limit,
        pedantic=pedantic, budget=budget, trace=trace, watch=watch,
    )  # fmt: skip
    if ref.of_course and checked.report.bound is not None:
        report = replace(checked.report, bound=checked.report.bound.without_remedies)
        checked = replace(checked, report=report)
    return replace(checked, filled=filled).told()


def check_kernel(
    kernel: PrimFunc,
    *,
    name: str = "",
    gpu: str | GpuSpec = DEFAULT_GPU,
    schedules: int = 1,
    seed: int = 0,
    log_barriers: bool = False,
    limit: int | None = None,
    pedantic: bool = False,
    budget: int = BUDGET,
    trace: bool | None = None,
    single: bool = True,
    jobs: int | None = None,
    watch: WatchShare | None = None,
    arguments: Sequence[npt.NDArray] | None = None,
    product: Multiply = exact_product,
) -> Checked:
    """Simulate `kernel` on random data, and compare the product of a matrix multiplication with float64.

    The product of a TileLang program is not compared, because its B may be transposed or not.

    name: the kernel's name in the report. schedules: the number of event orders to try, from `seed` on. limit: explore
    all orders up to equivalence instead, in at most so many runs. pedantic, budget: as in `simulate`. trace: whether to
    record the timeline, which tells what bounds the kernel; by default for all but large products, where it takes
    gigabytes. single: whether to predict the time of a launch by itself, too. jobs: as in `simulate`. watch: as in
    `Meter`. arguments: the random data, for a caller who reads the results; by default those of `make_arguments`.
    product: what computes the exact product.

    Raises `ArgumentError` for a kernel with a scalar parameter, for which there are no random data, and `ValueError`
    for an unknown GPU.
    """
    arguments = make_arguments(kernel) if arguments is None else arguments
    exploration = None
    if limit is not None:
        exploration = explore(kernel, *arguments, gpu=gpu, limit=limit, watch=shares(kernel, watch))
        report = exploration.report
    else:
        report = simulate(
            kernel, *arguments, gpu=gpu, schedules=schedules, seed=seed, log_barriers=log_barriers, pedantic=pedantic,
            budget=budget, trace=_small(kernel) if trace is None else trace, single=single, jobs=jobs,
            watch=shares(kernel, watch),
        )  # fmt: skip
    report = report.named(name or report.kernel)
    if not report.comparable or product_shape(kernel) is None or language_of(kernel.attrs):
        return Checked(report, exploration=exploration)
    a, b, d = arguments
    exact = product(a, b)
    error = product_error(a, b, d, exact)
    if report.verdict == "incomplete" and not error.ok:  # what was not modelled may be what is missing
        return Checked(report, exploration=exploration)
    wrong = None if error.ok else wrong_product(kernel, a, b, d, report.unwritten, state_notes(kernel), exact)
    return Checked(replace(report, right=error.ok), error, wrong, exploration)


def shares(kernel: PrimFunc | None, watch: WatchShare | None) -> Watch | None:
    """Return `watch` in the simulator's form, which for a matrix multiplication includes the share of operations."""
    if watch is None:
        return None
    shape = None if kernel is None else product_shape(kernel)
    flops = 0.0 if shape is None else 2.0 * math.prod(shape)
    return lambda standing: watch(lambda: standing.share(flops))


def _small(kernel: PrimFunc) -> bool:
    """Return whether the timeline of a kernel takes little memory."""
    shape = product_shape(kernel)
    return shape is None or math.prod(shape) <= LARGEST_TRACED**3


def product_text(checked: Checked) -> str:
    """Return a sentence about a kernel without errors: the tried schedules, and its rounding."""
    report = checked.report
    tried = f"{report.schedules} schedule{'s' * (report.schedules != 1)}"
    explored = checked.exploration
    if explored is not None:
        tried = f"{explored.schedules} schedules of {explored.classes} class{'es' * (explored.classes != 1)}"
        if not explored.complete:
            tried += " (incomplete: the limit was reached)"
        elif report.proof is not None and not report.proof.holds:
            tried += " (no hold of a further event leads to a new class)"
        else:
            tried += " (complete)"
    if report.only_possible:
        findings = "no error happened"
    elif report.verdict == "incomplete":
        findings = "as far as it is modelled, no errors"
    else:
        findings = "no errors" if report.warnings else "no findings"
    said = f"{findings} in {tried}"
    if (product := checked.product) is not None:
        said += f"; D is A @ B.T to within {product.largest:.2g}; rounding explains {product.allowed:.2g}"
    return said


def make_arguments(kernel: PrimFunc) -> list[npt.NDArray]:
    """Return random arrays for the buffers of a kernel; the D of a product is NaN, to show unwritten elements.

    Raises `ArgumentError` for a scalar parameter.
    """
    sizes = [param.nbytes for param in kernel.params if isinstance(param, Buffer)]
    # Random numbers are made as float32, or as int64.
    check_room(sum(sizes) + 4 * max(sizes, default=0), f"running {kernel.name} on random data")
    rng = np.random.default_rng(0)
    arrays: list[npt.NDArray] = []
    for param in kernel.params:
        if not isinstance(param, Buffer):
            raise ArgumentError(f"{kernel.name} takes the scalar {param.name}; random data are made for buffers only")
        arrays.append(random_array(rng, numpy_dtype(param.dtype), param.shape))
    if product_shape(kernel) is not None and not kernel.params[2].dtype.is_integer:
        arrays[2].fill(np.nan)
    return arrays


def random_array(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> npt.NDArray:
    """Return random numbers of a dtype; integers are small, since they may be indices."""
    if dtype.kind in "iub" or dtype.name.startswith(("int", "uint")):
        return rng.integers(0, 2 if dtype.kind == "b" else _LARGEST_INTEGER, shape).astype(dtype)
    return rng.standard_normal(shape, dtype=np.float32).astype(dtype)

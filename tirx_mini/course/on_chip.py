"""The outcome of a kernel as a GPU shows it: a hang, a failure, a wrong result, or a long time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType

import numpy.typing as npt

from tirx_mini.diagnose import BUDGET
from tirx_mini.driver import simulate
from tirx_mini.hardware import GpuSpec, gpu_spec
from tirx_mini.ir import PrimFunc
from tirx_mini.records import dataclass, replace
from tirx_mini.report import exact_product, product_error, product_picture, product_shape
from tirx_mini.resources import resource

from .check import Checked, check_kernel, make_arguments
from .filling import filling, stand_ins_of
from .kernel_ref import KernelRef, load_kernel
from .kernels import arch_folder, load_kernels, step_of
from .meter import WatchShare
from .steps import STEPS, Shape


class Outcome(Enum):
    """The end of a launch on a GPU. REFUSED: the compiler or the driver rejects the kernel."""

    REFUSED = "refused"
    HANGS = "hangs"
    FAILS = "fails"
    WRONG = "wrong"
    RIGHT = "right"


ERRORS: Mapping[str, str] = MappingProxyType({
    "TX301": "an illegal memory access was encountered", "TX302": "misaligned address",
    "TX303": "invalid argument", "TX304": "too many resources requested for launch", "TX305": "invalid configuration",
})  # fmt: skip
"""The CUDA error of each finding code; other findings are illegal instructions."""
_ILLEGAL = "an illegal instruction was encountered"
_CLOSE = 1.005
"""The ratio below which times count as equal."""


@dataclass(frozen=True)
class OnChip:
    """The outcome of a launch.

    checked: the findings of the simulator, which a GPU does not show.
    error: CUDA's, of a launch that fails.
    wrong: the share of the elements of D that are wrong, and the picture of its tiles; 0 and "" where D is right.
    us, reference_us: the predicted time of one of many launches in a row, and the reference's; None if unknown.
    """

    checked: Checked
    outcome: Outcome
    error: str = ""
    wrong: float = 0.0
    picture: str = ""
    us: float | None = None
    reference_us: float | None = None

    @property
    def factor(self) -> float | None:
        """The ratio of the kernel's time to the reference's, or None if a time is unknown."""
        return None if self.us is None or not self.reference_us else self.us / self.reference_us

    @property
    def sentence(self) -> str:
        """The outcome as a clause."""
        if self.outcome is Outcome.REFUSED:
            return "it does not compile"
        if self.outcome is Outcome.HANGS:
            return "it hangs: the launch does not end"
        if self.outcome is Outcome.FAILS:
            return f"the launch fails: {self.error}"
        if self.outcome is Outcome.WRONG:
            return f"it ends, and {self.wrong:.1%} of D is wrong"
        if self.us is None:
            return "D is right"
        said = f"D is right, after {self.us:.1f} µs in a row of launches"
        if self.factor is None:
            return said
        if 1 / _CLOSE < self.factor < _CLOSE:
            return f"{said}, as the reference"
        return f"{said}: {self.factor:.2g} × the time of the reference"


def on_chip(
    kernel: PrimFunc,
    gpu: GpuSpec,
    *,
    name: str = "",
    reference: PrimFunc | None = None,
    seed: int = 0,
    budget: int = BUDGET,
    watch: WatchShare | None = None,
) -> OnChip:
    """Run `kernel` on random data, and compare D with A @ B.T regardless of the simulator's findings.

    name: in the report. reference: a right kernel for the same problem. seed, budget, watch: as in `check_kernel`.
    """
    arguments = make_arguments(kernel)
    checked = check_kernel(
        kernel, name=name, gpu=gpu, seed=seed, budget=budget, trace=True, watch=watch, arguments=arguments
    )
    found = outcome_of(checked, kernel, arguments)
    time = None if found.us is None or reference is None else simulate(reference, gpu=gpu, data=False).time_us
    return replace(found, reference_us=time)


def outcome_of(checked: Checked, kernel: PrimFunc, arguments: Sequence[npt.NDArray]) -> OnChip:
    """Return the outcome of a checked run with these arguments, without the time of a reference."""
    report = checked.report
    if report.plan is None and report.trace is None:
        return OnChip(checked, Outcome.REFUSED)
    if report.verdict == "deadlock" or (report.trace is not None and report.trace.stuck is not None):
        return OnChip(checked, Outcome.HANGS)
    if report.time_us is None and report.errors:
        return OnChip(checked, Outcome.FAILS, error=ERRORS.get(report.errors[0].code, _ILLEGAL))
    if product_shape(kernel) is not None:
        a, b, d = arguments
        error = checked.product or product_error(a, b, d)
        if not error.ok:
            exact = exact_product(a, b)
            share, picture = product_picture(d, exact, error.allowed)
            return OnChip(checked, Outcome.WRONG, wrong=share, picture=picture)
    return OnChip(checked, Outcome.RIGHT, us=report.time_us)


def chip_file(
    ref: KernelRef,
    *,
    size: int | None = None,
    shape: Shape | None = None,
    gpu: str,
    sms: int | None = None,
    seed: int = 0,
    budget: int = BUDGET,
    fill: bool = False,
    watch: WatchShare | None = None,
) -> OnChip:
    """Return the outcome of the kernel that `ref` names, with the time of the reference of its step.

    The keywords are those of `check_file`. Raises as `load_kernel` does.
    """
    spec = gpu_spec(gpu).with_sms(sms)
    filled = filling(ref.path, ref.name) if fill else None
    kernel = load_kernel(ref, size=size, shape=shape, sms=sms, stand_ins=stand_ins_of(filled))
    return on_chip(
        kernel, spec, name=ref.name, reference=_reference(ref, kernel, spec), seed=seed, budget=budget, watch=watch
    )


def _reference(ref: KernelRef, kernel: PrimFunc, spec: GpuSpec) -> PrimFunc | None:
    """Return the reference of the step whose factory `ref` names, for the shape of `kernel`, or None."""
    step, shape = step_of(ref.name), product_shape(kernel)
    if step is None or step not in STEPS or shape is None:
        return None
    return load_kernels(resource("kernels_ref"), arch_folder(spec.arch), sms=spec.sms)[step](*shape)

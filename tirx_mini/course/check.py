"""Checking one kernel: its runs in the simulator, and its product where it is a matrix multiplication."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arguments import ArgumentError
from ..diagnose import Exploration, Finding, Report, as_dict
from ..driver import explore, simulate
from ..hardware import DEFAULT_GPU
from ..ir import Buffer, PrimFunc
from ..report import ProductError, product_error, product_shape, wrong_product
from ..sim import numpy_dtype

_LARGEST_INTEGER = 8
"""Integer arguments are random numbers below it: they may be indices."""


@dataclass(frozen=True)
class Checked:
    """What a check found. product: of a matrix multiplication that ran to its end. wrong: where its result is wrong.

    exploration: where all orders of events were asked for.
    """

    report: Report
    product: ProductError | None = None
    wrong: Finding | None = None
    exploration: Exploration | None = None

    @property
    def ok(self) -> bool:
        return self.report.ok and self.wrong is None

    def as_dict(self) -> dict[str, Any]:
        """The report's object; with "product", and the verdict "wrong" where only the result is."""
        data = as_dict(self.report)
        if self.exploration is not None:
            explored = as_dict(self.exploration)
            data["exploration"] = {name: explored[name] for name in explored if name != "report"}
        if self.product is not None:
            data["product"] = {"ok": self.product.ok, **as_dict(self.product)}
        if self.wrong is not None:
            data["verdict"] = "wrong"
            data["findings"] = [*data.get("findings", []), as_dict(self.wrong)]
        return data


def check_kernel(
    kernel: PrimFunc,
    *,
    name: str = "",
    gpu: str = DEFAULT_GPU,
    schedules: int = 1,
    seed: int = 0,
    log_barriers: bool = False,
    limit: int | None = None,
) -> Checked:
    """Simulate `kernel` with random data, and where it multiplies matrices compare D with float64.

    name: what the report calls it. schedules: how many orders of events to try, from `seed` on. limit: explore all
    orders up to equivalence instead, in at most so many runs. Raises `ArgumentError` where the kernel takes what cannot
    be made up, a scalar, and `ValueError` for an unknown GPU.
    """
    arguments = make_arguments(kernel)
    exploration = None
    if limit is not None:
        exploration = explore(kernel, *arguments, gpu=gpu, limit=limit)
        report = exploration.report
    else:
        report = simulate(kernel, *arguments, gpu=gpu, schedules=schedules, seed=seed, log_barriers=log_barriers)
    report = replace(report, kernel=name or report.kernel)
    if not report.ok or product_shape(kernel) is None:
        return Checked(report, exploration=exploration)
    a, b, d = arguments
    return Checked(report, product_error(a, b, d), wrong_product(kernel, a, b, d), exploration)


def product_text(checked: Checked) -> str:
    """What is to be said of a kernel that is ok: how exact its product is, and what was tried."""
    tried = f"{checked.report.schedules} schedule{'s' * (checked.report.schedules != 1)}"
    explored = checked.exploration
    if explored is not None:
        tried = f"{explored.schedules} schedules of {explored.classes} class{'es' * (explored.classes != 1)}, "
        tried += "and there is no other" if explored.complete else "and there are more"
    findings = "no errors" if checked.report.warnings else "no findings"
    said = f"{findings} in {tried}"
    if checked.product is not None:
        said += f"; D is A @ B.T to within {checked.product.largest:.2g}, and rounding explains "
        said += f"{checked.product.allowed:.2g}"
    return said


def make_arguments(kernel: PrimFunc) -> list[npt.NDArray]:
    """Random arrays for the buffers; of a matrix multiplication D is full of NaN, so that what is not written shows."""
    rng = np.random.default_rng(0)
    arrays: list[npt.NDArray] = []
    for param in kernel.params:
        if not isinstance(param, Buffer):
            raise ArgumentError(f"{kernel.name} takes the scalar {param.name}: only buffers can be made up")
        dtype = numpy_dtype(param.dtype)
        if param.dtype.is_integer or param.dtype.is_bool:
            arrays.append(rng.integers(0, 2 if param.dtype.is_bool else _LARGEST_INTEGER, param.shape).astype(dtype))
        else:
            arrays.append(rng.standard_normal(param.shape, dtype=np.float32).astype(dtype))
    if product_shape(kernel) is not None and not kernel.params[2].dtype.is_integer:
        arrays[2].fill(np.nan)
    return arrays

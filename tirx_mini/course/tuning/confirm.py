"""Results of candidates: of a matrix multiplication against float64, of others against another candidate's."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tirx_mini.driver import simulate
from tirx_mini.records import replace

from ..check import check_kernel
from ..programs import Launched
from .program import TunedProgram, assignment_text, is_product
from .trials import Trial, built, problem_of

LARGEST_CHECKED, SLOW = 2.0 * 4096**3, 2.0 * 1024**3
"""The operations of the largest launches that are simulated with data, and of those that a smaller problem replaces."""
_SINGLE = 5e-3
"""The tolerance of float32 results, relative to the largest: sums of tf32 products."""


def confirmed(program: TunedProgram, trial: Trial, peer: Trial | None) -> tuple[Trial, str]:
    """Simulate a candidate with data and checks. Return it with the outcome, and what bounds it, in words.

    peer: a candidate with which the results are compared where there is no product. It has the file's values, whose
    results are taken to be right, or else other ones.
    """
    small = program if trial.flops <= SLOW else program.smaller() or program
    if small is program and trial.flops > LARGEST_CHECKED:
        return replace(trial, checked="not checked: the problem is too large to simulate with data"), ""
    at = "" if small is program else f" at {small.problem}"
    launches, problem = built(small, trial.assignment, data=True)
    if problem:
        return replace(trial, checked=f"not checked: {problem}{at}"), ""
    wrong, bound = _run(small, launches)
    if wrong:
        return replace(trial, wrong=f"is wrong: {wrong}{at}"), ""
    if is_product(program, launches):
        return replace(trial, checked=f"right: D is A @ B.T, without findings{at}"), bound
    if trial.present or peer is None:
        return replace(trial, checked=f"without findings{at}"), bound
    others, problem = built(small, peer.assignment, data=True)
    problem = problem or _run(small, others)[0]
    other = assignment_text(peer.assignment)
    if problem:
        return replace(trial, checked=f"without findings{at}; {other} does not run: {problem}"), bound
    difference = _difference(launches[-1].args, others[-1].args)
    if difference:
        said = "is wrong" if peer.present else "may be wrong"
        return replace(trial, wrong=f"{said}: {difference} than with {other}{at}"), ""
    return replace(trial, checked=f"right: without findings, and with the results of {other}{at}"), bound


def _run(program: TunedProgram, launches: Sequence[Launched]) -> tuple[str, str]:
    """Run launches with data; return what is wrong, or "", and what bounds a product."""
    if is_product(program, launches):
        arrays = [each for each in launches[0].args if isinstance(each, np.ndarray)]
        checked = check_kernel(launches[0].kernel, gpu=program.spec, arguments=arrays)
        problem = problem_of(checked.report) or (checked.wrong.message if checked.wrong is not None else "")
        return problem, "" if checked.report.bound is None else str(checked.report.bound)
    for launch in launches:
        report = simulate(launch.kernel, *launch.args, gpu=program.spec)
        if problem := problem_of(report):
            return problem, ""
    return "", ""


def _difference(found: Sequence[object], wanted: Sequence[object]) -> str:
    """Return in which share of its elements the first differing array differs, in words; "" if none does."""
    for got, want in zip(found, wanted, strict=False):
        if not isinstance(got, np.ndarray) or not isinstance(want, np.ndarray) or got.shape != want.shape:
            continue
        reach = float(np.nanmax(np.abs(want), initial=0.0))
        off = ~np.isclose(got, want, rtol=0.0, atol=_tolerance(got) * reach, equal_nan=True)
        if off.any():
            return f"{off.mean():.1%} of the results are others"
    return ""


def _tolerance(array: npt.NDArray) -> float:
    if array.dtype.kind in "biu":
        return 0.0
    return _SINGLE if array.dtype.itemsize >= 4 else 2 * float(ml_dtypes.finfo(array.dtype).eps)

"""Running a lowered kernel on a modelled GPU, and what is reported of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tirx_mini.hardware import GpuSpec, gpu_spec
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.isa import check_target

from .arguments import bind_arguments
from .deadlock import explain_deadlock
from .findings import Finding, Report, verdict_of, worst_first
from .machine import Gpu, Outcome
from .suspects import suspects
from .translate import translate


class SimulationError(Exception):
    """A kernel that the simulator found to be wrong. `report` is what it found; `str(error)` is the page."""

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__(f"{report.kernel}: {report.verdict}")

    def __str__(self) -> str:
        return str(self.report)


def simulate(func: PrimFunc, args: Sequence[Any], gpu: str | GpuSpec = "b200", *, schedules: int = 1, seed: int = 0,
             trace: bool = False, log_barriers: bool = False, checks: bool = True) -> Report:  # fmt: skip
    """Run a lowered kernel and report what it did. Results are written into the arguments in place.

    args: a torch tensor or NumPy array for each buffer parameter, a number for each scalar one.
    gpu: "b200", "h100", "h200" or a `GpuSpec`.
    schedules: how many orders of events to try; the first verdict that is not "ok" ends it. seed: of the first; the
        others count on from there. Seed 0 is the deterministic schedule, any other is random.
    trace: keep a timeline. log_barriers: keep every change of every mbarrier, in ``report.stats["barriers"]``.
    checks: look for hazards; without, a run is up to twice as fast, and only faults and deadlocks are found.

    Whatever the kernel does wrong is in the report. Raises `ArgumentError` for arguments that do not fit the kernel,
    and `ValueError` for an unknown GPU.
    """
    spec = gpu_spec(gpu)
    arrays, scalars = bind_arguments(func, args)
    try:
        check_target(func, spec.arch)
        image = translate(func, scalars).image
    except TirxError as error:
        return failed(func.name, error, spec.name)
    written = [b.slot for b in image.globals if b.written]
    originals = {slot: arrays[slot].copy() for slot in written} if schedules > 1 else {}
    report = Report("ok")
    for run in range(max(1, schedules)):
        for slot in written if run else ():
            np.copyto(arrays[slot], originals[slot])
        with np.errstate(all="ignore"):
            machine = Gpu(
                image, arrays, spec, seed=(seed + run) or None, trace=trace, log_barriers=log_barriers, checks=checks
            )
            outcome = machine.run()
        report = report_of(func, spec, machine, outcome, run + 1, seed + run)
        if not report.ok:
            break
    return report


def failed(name: str, error: TirxError, gpu: str) -> Report:
    """The report of a kernel of that name that could not be built or lowered."""
    diagnostic = error.diagnostic
    details = {"hint": diagnostic.hint, "notes": diagnostic.notes}
    finding = Finding(error.kind, "error", diagnostic.message, diagnostic.span, details)
    return Report("fault", (finding,), kernel=name, gpu=gpu)


def report_of(
    func: PrimFunc, spec: GpuSpec, machine: Gpu, outcome: Outcome, schedules: int = 1, seed: int = 0
) -> Report:
    """What is reported of a run."""
    findings = list(outcome.findings)
    if outcome.blocked:
        findings = explain_deadlock(func, machine, outcome.blocked, findings)
    elif any(f.severity == "error" and f.verdict == "hazard" for f in findings):
        findings = [*suspects(func), *findings]
    finished = not outcome.blocked and outcome.fault is None
    stats: dict[str, Any] = dict(outcome.stats)
    time_us = None
    if finished:
        time_us, stats["clock_ghz"] = predicted_time(func, spec, outcome)
    flops = outcome.stats.get("flops", 0.0)
    tflops = flops / time_us / 1e6 if time_us and flops else None
    if outcome.barrier_log is not None:
        stats["barriers"] = outcome.barrier_log
    return Report(
        verdict_of(findings),
        worst_first(findings),
        time_us,
        tflops,
        outcome.cycles if finished else None,
        outcome.trace,
        stats,
        func.name,
        spec.name,
        schedules,
        seed,
    )


def predicted_time(func: PrimFunc, spec: GpuSpec, outcome: Outcome) -> tuple[float, float]:
    """(microseconds, GHz) of one of many launches in a row, at the clock that the GPU's power limit leaves it."""
    launch, launch_us = func.launch, spec.launch_latency_us
    assert launch is not None
    if launch.cluster_size > 1:
        launch_us += spec.cluster_launch_latency_us
    if launch.programmatic:
        launch_us -= spec.hidden_latency_us
    busy = outcome.stats.get("tensor_cycles", 0.0) / spec.sms
    clock_ghz = spec.clock_under(busy / (outcome.cycles + launch_us * spec.clock_ghz * 1e3))
    return launch_us + outcome.cycles / (clock_ghz * 1e3), clock_ghz

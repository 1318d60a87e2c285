"""Candidates on the GPU of this machine: compiled, and measured in turn."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tirx_mini import driver
from tirx_mini.hardware import same_generation
from tirx_mini.ir import TirxError
from tirx_mini.pytorch import pytorch_on_gpu
from tirx_mini.records import replace

from ..check import make_arguments
from .program import TunedProgram
from .trials import Trial, built, sentence

if TYPE_CHECKING:
    from tirx_mini.runtime import Executable

ROUNDS = 12
"""The rounds in which candidates are measured in turn."""
_BATCH_US = 8e3
"""The microseconds of one measurement of launches in a row."""


def here(program: TunedProgram) -> bool:
    """Return whether this machine has a GPU of the architecture that a program is tuned for."""
    from tirx_mini.runtime import device_arch

    arch = device_arch()
    return arch is not None and same_generation(arch, program.spec.arch)


def device_name() -> str:
    """Return the CUDA name of this machine's GPU."""
    return str(pytorch_on_gpu("measurement").cuda.get_device_name())


def compiled(program: TunedProgram, trial: Trial) -> tuple[Trial, list[Executable]]:
    """Return a candidate with its registers and spills, and its executables. Raises `ToolchainError`."""
    from tirx_mini.runtime import Executable

    launches, problem = built(program, trial.assignment)
    if problem:
        return replace(trial, problem=problem), []
    try:
        made = [driver.compile(launch.kernel, f"cuda:{program.spec.arch}") for launch in launches]
    except (TirxError, ValueError) as error:
        return replace(trial, problem=sentence(error)), []
    executables = [each for each in made if isinstance(each, Executable)]
    used = [each.compiled.resources for each in executables]
    registers, spilled = max(r.registers for r in used), max(r.spill_store_bytes + r.spill_load_bytes for r in used)
    return replace(trial, registers=registers, spilled=spilled), executables


def measured(
    program: TunedProgram, entries: Sequence[tuple[Trial, list[Executable]]], rounds: int = ROUNDS
) -> list[Trial]:
    """Return candidates with their times on this machine's GPU, in a row and by themselves, measured in turn.

    entries: each with its executables.
    """
    from tirx_mini.runtime import FLUSH_BYTES, KernelFailure, LaunchGraph, cold_us, in_turn

    torch = pytorch_on_gpu("measurement")
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    calls: dict[int, Callable[[], None]] = {}
    found: list[Trial] = []
    for number, (trial, executables) in enumerate(entries):
        found.append(trial)
        arguments = _on_device(program, trial)
        try:
            for executable, args in zip(executables, arguments, strict=True):
                executable.run_guarded(*args)
        except KernelFailure as error:
            found[number] = replace(trial, wrong=f"is wrong: {sentence(error)}")
            continue
        calls[number] = partial(_launch, executables, arguments)
    graphs = {
        number: LaunchGraph(call, max(2, round(_BATCH_US / max(found[number].time_us or 1.0, 1.0))))
        for number, call in calls.items()
    }
    row = in_turn({str(number): graph.ms for number, graph in graphs.items()}, rounds)
    alone = in_turn({str(number): partial(cold_us, call, flush) for number, call in calls.items()}, rounds)
    for number in calls:
        times = (1e3 * statistics.median(row[str(number)]), statistics.median(alone[str(number)]))
        found[number] = replace(found[number], row_us=times[0], alone_us=times[1])
    return found


def _launch(executables: Sequence[Executable], arguments: Sequence[Sequence[object]]) -> None:
    for executable, args in zip(executables, arguments, strict=True):
        executable(*args)


def _on_device(program: TunedProgram, trial: Trial) -> list[list[object]]:
    """Return the arguments of a candidate's launches on the GPU; arrays that launches share stay shared."""
    from tirx_mini.runtime import to_device

    copies: dict[int, object] = {}
    arguments: list[list[object]] = []
    for launch in built(program, trial.assignment, data=True)[0]:
        args = launch.args or make_arguments(launch.kernel)
        for each in (each for each in args if isinstance(each, np.ndarray)):
            if each.ctypes.data not in copies:
                copies[each.ctypes.data] = to_device(each)
        arguments.append([copies[each.ctypes.data] if isinstance(each, np.ndarray) else each for each in args])
    return arguments

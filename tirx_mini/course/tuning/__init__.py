"""Tuning: the values of a program's constants that make it fastest, by the clock, and on a GPU by measuring.

`tune` predicts the time of every candidate, leaves out those that cannot be compiled or do not fit, has the best ones
compiled, simulates the best one with data and checks, and measures the best ones where there is a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tirx_mini.records import dataclass, replace
from tirx_mini.runtime import missing_compiler

from ..what_if import Assignment
from .confirm import confirmed
from .on_gpu import ROUNDS, compiled, device_name, here, measured
from .program import TunedProgram, all_candidates, assignment_text
from .trials import BEST, Trial, trials

if TYPE_CHECKING:
    from tirx_mini.runtime import Executable

__all__ = ["BEST", "ROUNDS", "Trial", "TunedProgram", "Tuning", "all_candidates", "assignment_text", "tune"]


@dataclass(frozen=True)
class Tuning:
    """The result of a search.

    ranked: the candidates that run, the fastest first. refused: the others, each with its problem. chosen: the fastest
    one that is not known to be wrong or to spill registers; None if there is none. bound: what bounds it, in words, if
    it was simulated with a timeline. device: the GPU on which the best ones were measured; "" if none were.
    """

    ranked: tuple[Trial, ...]
    refused: tuple[Trial, ...]
    chosen: Trial | None = None
    bound: str = ""
    device: str = ""

    @property
    def present(self) -> Trial | None:
        """The candidate with the values of the file, if it is among those that run."""
        return next((trial for trial in self.ranked if trial.present), None)


def tune(
    program: TunedProgram,
    assignments: Sequence[Assignment],
    *,
    jobs: int = 1,
    quick: bool = False,
    measure: bool | None = None,
    rounds: int = ROUNDS,
    done: Callable[[], object] | None = None,
) -> Tuning:
    """Search for the fastest candidate. jobs: candidates at a time.

    quick: only predict; compile, simulate with data and measure nothing. measure: whether the best ones are measured;
    None where this machine has a GPU of the architecture. done: called after each prediction.

    Raises `ConstantError` for a name that the program does not have, `KernelFileError` for a program that cannot be
    found or launched.
    """
    candidates = [each for each in assignments if program.setting(each)]
    present = _present(program, candidates)
    if present is not None and present not in candidates:
        candidates.append(present)
    found = [replace(trial, present=trial.assignment == present) for trial in trials(program, candidates, jobs, done)]
    least = min((trial.flops for trial in found if trial.flops), default=0.0)
    running = (replace(trial, flops=least) for trial in found if not trial.problem)
    ranked = sorted(running, key=lambda trial: trial.rank)
    refused = [trial for trial in found if trial.problem]
    if quick:
        return Tuning(tuple(ranked), tuple(refused), ranked[0] if ranked else None)
    device = ""
    measuring = here(program) if measure is None else measure
    if measuring or not missing_compiler():
        ranked, executables, more = _compiled(program, ranked)
        refused += more
        if measuring and executables:
            best = measured(program, list(zip(ranked, executables, strict=False)), rounds)
            ranked = sorted([*best, *ranked[len(best) :]], key=lambda trial: trial.rank)
            device = device_name()
    return _confirmed(program, ranked, refused, device)


def _present(program: TunedProgram, candidates: Sequence[Assignment]) -> Assignment | None:
    """Return the candidate with the values of the file, or these values; None if the file has none."""
    now = program.now(list(candidates[0])) if candidates else None
    if now is None:
        return None
    return next((each for each in candidates if program.setting(each) == program.setting(now)), now)


def _compiled(
    program: TunedProgram, ranked: Sequence[Trial]
) -> tuple[list[Trial], list[list[Executable]], list[Trial]]:
    """Compile the best candidates. Return all that are left, the executables of the first ones, and the refused."""
    left: list[Trial] = []
    executables: list[list[Executable]] = []
    refused: list[Trial] = []
    for trial in ranked:
        if len(executables) == BEST:
            left.append(trial)
            continue
        trial, made = compiled(program, trial)
        if trial.problem:
            refused.append(trial)
        else:
            left.append(trial)
            executables.append(made)
    return left, executables, refused


def _confirmed(program: TunedProgram, ranked: list[Trial], refused: list[Trial], device: str) -> Tuning:
    """Simulate the best candidate with data and checks, and the next one if it is wrong, up to `BEST` of them."""
    chosen: Trial | None = None
    bound = ""
    for number, trial in enumerate(ranked[:BEST]):
        if trial.wrong or (trial.spilled and trial.row_us is None):
            continue
        others = [each for each in ranked if each is not trial and not each.wrong]
        peer = next((each for each in others if each.present), others[0] if others else None)
        ranked[number], bound = confirmed(program, trial, peer)
        if not ranked[number].wrong:
            chosen = ranked[number]
            break
    return Tuning(tuple(ranked), tuple(refused), chosen, bound, device)

"""The judgement of a repair: no finding, a correct result, and the time of the kernel without the mistake."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tirx_mini.driver import simulate
from tirx_mini.ir import PrimFunc
from tirx_mini.records import dataclass, replace

from ..check import Checked
from ..kernels import KernelFileError, load_kernels
from ..on_chip import OnChip, Outcome, on_chip
from ..steps import Shape
from .drill import Dealt, modelled

SLACK = 1.02
"""The factor by which a repaired kernel may be slower than the kernel without the mistake."""


@dataclass(frozen=True)
class Attempt:
    """The judgement of a file. found: its outcome on a GPU. said: what is still wrong; "" where it is repaired."""

    found: OnChip
    said: str = ""

    @property
    def passed(self) -> bool:
        return not self.said


@contextmanager
def placed(text: str, name: str) -> Iterator[Path]:
    """Provide a file of that name with this text in its own folder, for pages that quote its lines."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8")
        yield path


def observe(dealt: Dealt, path: Path) -> OnChip:
    """Return the outcome of the drill's kernel in a file, with the time of the kernel without the mistake.

    Raises `KernelFileError` and `TirxError` for a file without such a kernel.
    """
    drill = dealt.drill
    found = on_chip(_kernel(drill.step, drill.shape, drill.sms, path), drill.gpu, name=drill.factory)
    if found.us is None:
        return found
    return replace(found, reference_us=_time_of(dealt.repaired, drill.step, drill.shape, drill.arch, drill.sms))


def attempt(dealt: Dealt, path: Path) -> Attempt:
    """Judge the kernel in a file. Raises as `observe` does."""
    return judged(observe(dealt, path))


def judged(found: OnChip) -> Attempt:
    """Judge the outcome of a drill's kernel, which has the time of the kernel without the mistake."""
    report = found.checked.report
    if found.outcome is not Outcome.RIGHT:
        return Attempt(found, "the kernel still fails")
    if report.errors or report.warnings:
        return Attempt(found, "this run is right, and another order of the same events is not")
    if found.factor is None or found.factor > SLACK:
        slower = "slow" if found.factor is None else f"slow: it can be {found.factor:.2g} × as fast"
        return Attempt(found, f"the result is right, and the kernel is still too {slower}")
    return Attempt(found)


def first_finding(checked: Checked) -> str:
    """Return the code of the first finding, or the kind of the first bound for a kernel without findings."""
    codes = [finding.code for finding in checked.report.causes]
    codes += [checked.wrong.code] if checked.wrong is not None else []
    bound = checked.report.bound
    return next(iter(codes), "" if bound is None else bound.cause.kind)


@lru_cache(maxsize=16)
def _time_of(text: str, step: int, shape: Shape, arch: str, sms: int | None) -> float | None:
    """Return the time of the kernel in a text, which all attempts at one drill are compared with."""
    with placed(text, "repaired.py") as path:
        return simulate(_kernel(step, shape, sms, path), gpu=modelled(arch, sms), data=False).time_us


def _kernel(step: int, shape: Shape, sms: int | None, path: Path) -> PrimFunc:
    kernels = load_kernels(path, sms=sms)
    if step not in kernels:
        raise KernelFileError(f"{path} defines no hgemm_v{step}")
    return kernels[step](*shape)

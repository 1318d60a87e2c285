"""Lowered kernels, simulated by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tirx_mini.diagnose import Report
from tirx_mini.driver.answering import answer
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import PrimFunc
from tirx_mini.sim import Question


def simulate(func: PrimFunc, args: Sequence[Any], gpu: str = "b200", **options: Any) -> Report:
    """The report of a lowered kernel. options: fields of `Question`."""
    return answer(func, args, Question(gpu_spec(gpu), **options))

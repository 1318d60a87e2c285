"""Tasks without a skeleton: a specification, problems, and a budget in predicted microseconds.

`TASKS` lists them by letter; `judge_task` judges a kernel for one problem.
"""

from __future__ import annotations

from .judge import Judgement, compared, judge_task, mismatch
from .specifications import TASKS
from .task import Array, KernelTask, Parameter

__all__ = ["TASKS", "Array", "Judgement", "KernelTask", "Parameter", "compared", "judge_task", "mismatch"]

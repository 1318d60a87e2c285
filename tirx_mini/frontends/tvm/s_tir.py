"""`tvm.s_tir` of Apache TVM 0.26 (formerly `tvm.tir`): block schedules and their argument types."""

from tirx_mini.ir import TirxError as ScheduleError

from .te import BlockRV as SBlockRV
from .te import IndexMap, LoopRV, Trace
from .te import RegisteredIntrin as TensorIntrin
from .te import TirSchedule as Schedule

BlockRV = SBlockRV

__all__ = ["BlockRV", "IndexMap", "LoopRV", "SBlockRV", "Schedule", "ScheduleError", "TensorIntrin", "Trace"]

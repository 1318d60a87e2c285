"""Calls of functions of CUDA C++: the compiler emits them, and the simulator does not know what they do."""

from __future__ import annotations

import numpy as np

from .core import instruction
from .facts import CudaName, LaneResult, Memory, Scope
from .machine import Machine, Thread
from .operands import any_value

NOT_IN_TABLE = frozenset(
    """
    activemask applypriority atom barrier.cta bfind bmsk brev brkpt clusterlaunchcontrol clz copysign
    cp.async.bulk.prefetch createpolicy cvt discard dp2a dp4a ex2 fence.sc fns getctarank isspacep
    istypep ld ldu lg2 lop3 mad match membar mma movmatrix multimem nanosleep pmevent popc prefetch prefetchu prmt
    rcp red redux rsqrt setp shf sin sqrt st stackrestore stacksave suld sured sust szext tanh tcgen05.cp
    tcgen05.mma.sp tcgen05.mma.ws tcgen05.shift tensormap testp tex tld4 trap txq vote wmma
    """.split()
)
"""Instructions of the PTX ISA that the table lacks (or a part of whose names it lacks), by their names in a kernel."""


def not_in_table(path: str) -> bool:
    """Whether a path below ``Tx.ptx``, as in "tcgen05.cp", is in `NOT_IN_TABLE`, or a beginning or form of one."""
    whole = f"{path}."
    return any(whole.startswith(f"{name}.") or name.startswith(whole) for name in NOT_IN_TABLE)


@instruction(
    "",
    name="func_call",
    issued_by=Scope.WARP,
    min_sm=70,
    isa="CUDA C++ Programming Guide: Function Execution Space Specifiers",
    cost="wait",
    reads=Memory.GLOBAL | Memory.SHARED,
    writes=Memory.GLOBAL | Memory.SHARED,
    lanes=LaneResult.PER_LANE,
    opaque=True,
    cuda=CudaName("func_call"),
)
def func_call(
    gpu: Machine, thread: Thread, *values: any_value, function: str, source_code: str = "", return_type: str = "void"
) -> np.ndarray | None:
    """Each thread calls `function`, a device function that `source_code` defines, with its values.

    The simulator goes on with a result of NaN, or 0 for integers, and takes what pointers point to as it is.
    """
    unknown = "its effect on memory is left out"
    if return_type == "void":
        thread.not_modelled(f"the CUDA function {function}", unknown)
        return None
    result = thread.unknown(return_type)
    thread.not_modelled(f"the CUDA function {function}", f"its result is taken as {result[0]}, and {unknown}")
    return result

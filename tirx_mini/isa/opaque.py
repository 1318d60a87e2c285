"""Calls of CUDA C++ functions: the compiler emits them, and the simulator does not model them."""

from __future__ import annotations

import numpy as np

from .core import instruction
from .facts import CudaName, LaneResult, Memory, Scope
from .machine import Machine, Thread
from .operands import any_value

NOT_IN_TABLE = frozenset(
    """
    barrier.cta brkpt getctarank isspacep istypep ldu mma.sp multimem prefetchu stackrestore stacksave suld sured sust
    tcgen05.mma.sp tex tld4 txq wmma
    """.split()
)
"""The PTX instructions, or parts of their names, that the table lacks, by their names in a kernel."""


def not_in_table(path: str) -> bool:
    """Return whether a path below ``Tx``, as in "ptx.tcgen05.cp", exists in other dialects but not in the table.

    Prefixes and forms of an instruction's name count: "ptx.st" and "ptx.st.bulk.weak" for "st.bulk".
    """
    group, _, rest = path.partition(".")
    whole = f"{rest}."
    return group == "ptx" and any(whole.startswith(f"{name}.") or name.startswith(whole) for name in NOT_IN_TABLE)


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
    """Call `function`, a device function that `source_code` defines, with each thread's values.

    If `tirx_mini.simulate` receives a definition of the function (`functions=`), it computes the result. Otherwise the
    simulator continues with a result of NaN, or 0 for integers, and leaves the pointees unchanged.
    """
    known = None if return_type == "void" else thread.computed(function, values, return_type)
    if known is not None:
        return known
    unknown = "its effect on memory is left out"
    if return_type == "void":
        thread.not_modelled(f"the CUDA function {function}", unknown)
        return None
    result = thread.unknown(return_type)
    thread.not_modelled(f"the CUDA function {function}", f"its result is taken as {result[0]}, and {unknown}")
    return result

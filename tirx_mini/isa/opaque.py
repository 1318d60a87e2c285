"""Calls of functions of CUDA C++: the compiler emits them, and the simulator does not know what they do."""

from __future__ import annotations

import numpy as np

from .core import instruction
from .facts import CudaName, LaneResult, Memory, Scope
from .machine import Machine, Thread
from .operands import any_value

NOT_IN_TABLE = frozenset(
    """
    barrier.cta brkpt getctarank isspacep istypep ldu mma.sp multimem prefetchu stackrestore stacksave suld sured sust
    tcgen05.mma.sp tensormap tex tld4 txq wmma
    """.split()
)
"""Instructions of the PTX ISA that the table lacks (or a part of whose names it lacks), by their names in a kernel."""


def not_in_table(path: str) -> bool:
    """Return whether a path below ``Tx``, as in "ptx.tcgen05.cp", is one that other dialects have and the table lacks.

    Beginnings and forms of an instruction's name count: "ptx.st" and "ptx.st.bulk.weak" for "st.bulk".
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
    """Each thread calls `function`, a device function that `source_code` defines, with its values.

    Where `tirx_mini.simulate` is given what the function computes (`functions=`), that is its result. Otherwise the
    simulator goes on with a result of NaN, or 0 for integers, and takes what pointers point to as it is.
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

"""Which architectures have the instructions of a kernel."""

from __future__ import annotations

from tirx_mini.hardware import arch_name, compute_capability
from tirx_mini.ir import PrimFunc, TirxError, walk

from .table import instruction_of


def check_target(func: PrimFunc, arch: str) -> None:
    """Raises `TirxError` at the first instruction of a lowered function that `arch`, as "sm_90a", does not have."""
    number = compute_capability(arch)
    for node in walk(func.body):
        entry = instruction_of(node)
        if entry is not None and not entry.exists_on(number):
            raise TirxError(f"{entry.name} needs {arch_name(entry.min_sm)}, but the target is {arch}", node.span)

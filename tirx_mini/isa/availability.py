"""Which architectures have the instructions of a kernel."""

from __future__ import annotations

from tirx_mini.ir import PrimFunc, TirxError, walk

from .table import instruction_of


def check_target(func: PrimFunc, arch: str) -> None:
    """Raises `TirxError` at the first instruction of a lowered function that `arch`, as "sm_90a", does not have."""
    number = int("".join(filter(str.isdigit, arch)))
    for node in walk(func.body):
        entry = instruction_of(node)
        if entry is not None and not entry.exists_on(number):
            first = f"sm_{entry.min_sm}{'a' if entry.min_sm >= 90 else ''}"
            raise TirxError(f"{entry.name} needs {first}, but the target is {arch}", node.span)

"""Which architectures have the instructions of a kernel."""

from __future__ import annotations

from collections.abc import Mapping

from tirx_mini.ir import Call, PrimFunc, TirxError, walk

from .core import Instruction


def check_instructions(func: PrimFunc, arch: str, table: Mapping[str, Instruction]) -> None:
    """Raises `TirxError` at the first instruction that `arch`, as "sm_90a", does not have."""
    number = int("".join(filter(str.isdigit, arch)))
    for node in walk(func.body):
        entry = table.get(node.op) if isinstance(node, Call) else None
        if entry is None:
            continue
        only = entry.name.startswith("wgmma")  # the one family that later architectures dropped
        if number < entry.min_sm or (only and number != entry.min_sm):
            first = f"sm_{entry.min_sm}{'a' if entry.min_sm >= 90 else ''}"
            raise TirxError(f"{entry.name} needs {first}, but the target is {arch}", node.span)

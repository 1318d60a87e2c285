"""Which architectures have the instructions of a kernel."""

from __future__ import annotations

from tirx_mini.hardware import arch_name, compute_capability
from tirx_mini.ir import Call, PrimFunc, TirxError, walk

from .table import instruction_of


def check_target(func: PrimFunc, arch: str) -> None:
    """Raises `TirxError` at the first instruction of a lowered function that `arch`, as "sm_90a", does not have.

    Nor may a modifier of it have a value that `arch` lacks, as kind::i8 on sm_103a (PTX ISA: "tcgen05.mma").
    """
    number = compute_capability(arch)
    for node in walk(func.body):
        entry = instruction_of(node)
        if entry is None:
            continue
        if not entry.exists_on(number):
            raise TirxError(f"{entry.name} needs {arch_name(entry.min_sm)}, but the target is {arch}", node.span)
        missing = entry.missing_on(number, dict(node.attrs)) if isinstance(node, Call) else None
        if missing is not None:
            name, value = missing
            some = " or ".join(map(arch_name, entry.only_on[missing]))
            raise TirxError(f"{entry.name} with {name} = {value!r} needs {some}, but the target is {arch}", node.span)

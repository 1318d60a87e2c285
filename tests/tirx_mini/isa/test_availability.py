"""Which architectures have an instruction is a fact of its entry; a kernel that uses another one is refused."""

from __future__ import annotations

import pytest

from tests.tirx_mini.codegen.samples import func
from tirx_mini.ir import HANDLE, Call, Evaluate, Span, TirxError
from tirx_mini.isa import check_target


@pytest.mark.parametrize(
    ("op", "arch", "exists"),
    [
        ("fence", "sm_80", False), ("fence", "sm_90a", True), ("fence", "sm_120a", True),
        ("wgmma.fence", "sm_80", False), ("wgmma.fence", "sm_90a", True), ("wgmma.fence", "sm_100a", False),
        ("tcgen05.wait.ld", "sm_90a", False), ("tcgen05.wait.ld", "sm_100a", True),
        ("tcgen05.wait.ld", "sm_103a", True), ("tcgen05.wait.ld", "sm_120a", False),
    ],
)  # fmt: skip
def test_an_instruction_is_refused_outside_its_architectures(op: str, arch: str, exists: bool) -> None:
    kernel = func(Evaluate(Call(HANDLE, op, (), span=Span("kernel.py", 7))))
    if exists:
        check_target(kernel, arch)
        return
    with pytest.raises(TirxError, match=rf"{op} needs sm_\d+a, but the target is {arch}") as error:
        check_target(kernel, arch)
    assert error.value.span is not None and error.value.span.line == 7


@pytest.mark.parametrize(
    ("kind", "arch", "exists"), [("i8", "sm_100a", True), ("f16", "sm_103a", True), ("i8", "sm_103a", False)]
)
def test_a_b300_has_no_mma_of_integers(kind: str, arch: str, exists: bool) -> None:
    kernel = func(Evaluate(Call(HANDLE, "tcgen05.mma", (), (("kind", kind),), span=Span("kernel.py", 7))))
    if exists:
        check_target(kernel, arch)
        return
    with pytest.raises(TirxError, match="with kind = 'i8' needs sm_100a or sm_110a, but the target is sm_103a"):
        check_target(kernel, arch)

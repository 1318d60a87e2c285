"""Which architectures have an instruction is a fact of its entry; a kernel that uses another one is refused."""

from __future__ import annotations

import pytest

from tests.tirx_mini.codegen.samples import func
from tirx_mini.ir import HANDLE, UINT32, AddressOf, Buffer, Call, Evaluate, Span, TirxError, const, int_value, walk
from tirx_mini.isa import for_target


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
        for_target(kernel, arch)
        return
    with pytest.raises(TirxError, match=rf"{op} needs sm_\d+a, but the target is {arch}") as error:
        for_target(kernel, arch)
    assert error.value.span is not None and error.value.span.line == 7


@pytest.mark.parametrize(
    ("op", "arch", "gpu"), [("wgmma.fence", "sm_100a", "h100"), ("tcgen05.wait.ld", "sm_90a", "b200")]
)
def test_the_hint_names_a_gpu_that_has_it(op: str, arch: str, gpu: str) -> None:
    with pytest.raises(TirxError) as error:
        for_target(func(Evaluate(Call(HANDLE, op, ()))), arch)
    assert f"--gpu {gpu})" in (error.value.diagnostic.hint or "")


@pytest.mark.parametrize(
    ("kind", "arch", "exists"), [("i8", "sm_100a", True), ("f16", "sm_103a", True), ("i8", "sm_103a", False)]
)
def test_a_b300_has_no_mma_of_integers(kind: str, arch: str, exists: bool) -> None:
    kernel = func(Evaluate(Call(HANDLE, "tcgen05.mma", (), (("kind", kind),), span=Span("kernel.py", 7))))
    if exists:
        for_target(kernel, arch)
        return
    with pytest.raises(TirxError, match="with kind = 'i8' needs sm_100a or sm_110a, but the target is sm_103a"):
        for_target(kernel, arch)


@pytest.mark.parametrize(("arch", "vectors"), [("sm_90a", ["v4", "v4"]), ("sm_100a", ["v8"])])
def test_32_bytes_are_two_accesses_before_blackwell(arch: str, vectors: list[str]) -> None:
    source, words = (Buffer(name, (64,), UINT32, scope) for name, scope in (("A", "global"), ("r", "local")))
    pointers = (AddressOf(HANDLE, source, (const(16),)), AddressOf(HANDLE, words, (const(8),)))
    kernel = func(Evaluate(Call(HANDLE, "ld.registers", pointers, (("vec", "v8"), ("space", "global")))))
    calls = [node for node in walk(for_target(kernel, arch).body) if isinstance(node, Call)]
    assert [call.attr("vec") for call in calls] == vectors
    places = [int_value(arg.indices[0]) for call in calls for arg in call.args if isinstance(arg, AddressOf)]
    assert places == [16, 8, 20, 12][: 2 * len(vectors)]

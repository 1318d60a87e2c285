"""What passes learn of the GPU, and what they leave for the report."""

from __future__ import annotations

import pytest

from tirx_mini.frontends.tile_ir.context import Options, context_for


@pytest.mark.parametrize(("gpu", "arch", "tensor_memory"), [("h100", "sm_90a", False), ("b200", "sm_100a", True)])
def test_the_gpu_decides_the_architecture(gpu: str, arch: str, tensor_memory: bool) -> None:
    context = context_for(gpu, Options(num_warps=8))
    assert (context.arch, context.has_tensor_memory, context.options.num_warps) == (arch, tensor_memory, 8)


def test_an_unknown_gpu_is_refused() -> None:
    with pytest.raises(ValueError, match="h101"):
        context_for("h101")


def test_notes_belong_to_one_compilation() -> None:
    first, second = context_for("h100"), context_for("h100")
    first.note("the loop stays synchronous", hint="load with `ct.load`")
    assert [(n.severity, n.message, n.hint) for n in first.notes] == [
        ("note", "the loop stays synchronous", "load with `ct.load`")
    ]
    assert not second.notes

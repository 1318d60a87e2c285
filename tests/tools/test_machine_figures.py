"""Pictures of barriers, descriptors and slices: what they are drawn from says what their pages say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirx_mini.isa import InstructionDescriptor, SmemDescriptor
from tools.figures import _page_code, completion, mbarriers, mma, proxies


@pytest.mark.parametrize(("which", "width"), [(0, 64), (1, 32)])
def test_the_fields_of_a_descriptor_are_all_its_bits(which: int, width: int) -> None:
    word = mma.words()[which]
    fields = mma.operand_fields(word) if which == 0 else mma.instruction_fields(word)
    assert [bit for field in fields for bit in range(field.high, field.low - 1, -1)] == list(range(width))[::-1]
    assert sum(field.value(word) << field.low for field in fields) == word
    assert all(field.value(word) == 0 for field in fields if not field.used)


def test_the_descriptors_are_those_of_the_first_step() -> None:
    operand, instruction = mma.words()
    assert SmemDescriptor.decode(operand) == SmemDescriptor(start=1024, leading=16, stride=1024, swizzle=128)
    assert instruction == InstructionDescriptor.decode(instruction, "f16", 1).encode() == 0x08200010


def test_only_the_first_wait_of_the_producer_passes_at_once() -> None:
    steps = mbarriers.steps_of(mbarriers.traced(1, 3))
    tests = [step for step in steps if step.test]
    assert [step.words for step in tests if step.passes] == ["wait(empty, 1)"]
    assert sum(step.starts for step in tests) == len(tests) - 1 == sum(step.words == "passes" for step in steps)
    assert [step.done for step in steps if step.done is not None] == [0, 0, 1, 1, 2, 2]


def test_a_wait_for_the_reads_returns_when_the_source_has_been_read() -> None:
    store = completion.engine(completion.traced(completion.FULL))
    assert store.moved is not None
    assert completion.waited(completion.traced(completion.READ)).end == pytest.approx(store.moved[1])
    assert completion.waited(completion.traced(completion.FULL)).end == pytest.approx(store.end)
    assert store.moved[1] < store.end


def test_the_kernel_of_the_proxies_is_wrong_without_the_fence_alone() -> None:
    assert proxies.traced(True)[1] is None
    finding = proxies.traced(False)[1]
    assert finding is not None and finding.code == "TX202" and not finding.happened


def test_the_code_of_a_page_is_its_blocks_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = ("a = 1", "if x:", "def f():\n    return a")
    first, fragment, last = (f"```python\n{part}\n```\n" for part in parts)
    text = f"{first}<!-- not run: a fragment -->\n{fragment}{last}"
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    monkeypatch.setattr(_page_code, "DOCS", tmp_path)
    assert len(_page_code.blocks("page.md")) == 2
    assert _page_code.code_of("page.md").a == 1 and not hasattr(_page_code.code_of("page.md"), "f")
    assert _page_code.code_of("page.md", "f").f() == 1

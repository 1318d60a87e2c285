"""Each line of a printed kernel has the span of the statement that it prints."""

from __future__ import annotations

import linecache

import pytest

from tests.kernels_ref.edits import SOURCES
from tirx_mini.course import load_kernels
from tirx_mini.ir import printed_lines
from tirx_mini.passes import lower


@pytest.mark.parametrize("lowered", [False, True])
def test_lines_are_those_of_the_script_and_name_lines_of_the_file(lowered: bool) -> None:
    kernel = load_kernels(SOURCES[4])[4](256, 256, 128)
    kernel = lower(kernel) if lowered else kernel
    text, spans = printed_lines(kernel)
    assert text + "\n" == kernel.script()
    lines = text.split("\n")
    assert len(lines) == len(spans)
    named = {
        line.strip(): linecache.getline(span.user.file, span.user.line)
        for line, span in zip(lines, spans, strict=True)
        if span is not None
    }
    assert len(named) > 30
    waits = [source for line, source in named.items() if "try_wait" in line]
    assert waits and all("wait" in source for source in waits)


def test_the_native_spelling_has_as_many_lines() -> None:
    from tirx_mini.script import from_source

    head = 'from tirx_mini.script import tirx as T\n@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n'
    body = "    T.device_entry()\n    T.cta_id([1])\n    T.thread_id([32])\n    A[0] = T.float32(1)\n"
    kernel = from_source(head + body)
    text, spans = printed_lines(kernel)
    assert text + "\n" == kernel.script() and len(text.split("\n")) == len(spans)
    assert any(spans)

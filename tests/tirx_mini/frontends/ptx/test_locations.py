"""Lines of headers of CUDA and of functions without lines: findings are at the user's line that calls them."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.diagnose import Report
from tirx_mini.frontends.ptx.programs import read_ptx
from tirx_mini.ir import Span, cuda_header
from tirx_mini.report.source import file_name, source_lines

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
FILES = '.file 1 "/home/me/a.cu"\n.file 2 "{}"\n'


def out_of_bounds(text: str) -> Report:
    report = read_ptx(HEAD + text).entry("k").simulate([np.zeros(1, np.uint32)], grid=1, block=1)
    assert [each.code for each in report.findings] == ["TX301"]
    return report


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("/x/site-packages/nvidia/cu13/include/cuda_fp16.h", "cuda_fp16.h"),
        ("/usr/local/cuda-13.0/include/cooperative_groups.h", "cooperative_groups.h"),
        ("/usr/local/cuda/targets/x86_64-linux/include/cccl/cuda/barrier", "cccl/cuda/barrier"),
        ("/tmp/here/__nv_nvrtc_builtin_header.h", "__nv_nvrtc_builtin_header.h"),
    ],
)
def test_a_finding_in_a_header_of_cuda_is_at_the_line_that_calls_it(header: str, name: str) -> None:
    inlined = "ld.param.u64 %d, [a];\n.loc 1 9 3\n.loc 2 50 1, function_name f, inlined_at 1 9 3\n"
    report = out_of_bounds(
        f".entry k(.param .u64 a) {{ .reg .b64 %d; .reg .b32 %r;\n{inlined}ld.global.u32 %r, [%d+4]; ret; }}\n"
        ".section .debug_str { }\n" + FILES.format(header)
    )
    span = report.findings[0].span
    assert span is not None and (span.user.file, span.user.line) == ("/home/me/a.cu", 9)
    shown = [str(line) for line in source_lines(span)]
    assert shown[0].endswith("/home/me/a.cu:9:3") and shown[-1] == f"  = in {name}:50, which it calls"


@pytest.mark.parametrize("path", ["/home/me/cuda-kernels/include/sum.cuh", "/home/me/cuda/include/sum.cuh", "a.cu"])
def test_a_header_of_the_user_is_not_one_of_cuda(path: str) -> None:
    assert cuda_header(path) == "" and file_name(Span(path, 1)) == path


def test_a_function_without_lines_is_at_the_line_of_its_call() -> None:
    report = out_of_bounds(
        ".func f(.reg .b64 %d) { .reg .b32 %r; ld.global.u32 %r, [%d+4]; ret; }\n"
        ".func g(.reg .b64 %d) { call f, (%d); ret; }\n"
        ".entry k(.param .u64 a) { .reg .b64 %d; ld.param.u64 %d, [a];\n.loc 1 9 3\ncall g, (%d); ret; }\n"
        + FILES.format("/home/me/b.cuh")
    )
    span = report.findings[0].span
    assert span is not None and [each.line for each in span.chain()] == [9]

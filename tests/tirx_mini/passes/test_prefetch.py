"""Each tensor map that a kernel uses is prefetched once, by one thread of each CTA, before anything else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.codegen import cuda_source
from tirx_mini.ir import Call, If, PrimFunc, Seq, Stmt, Var, structural_equal, walk
from tirx_mini.passes import PIPELINE, lower
from tirx_mini.runtime import build, summarise
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T
from tirx_mini.sim import translate

PREFETCH = "prefetch.tensormap"


def kernel(waits: bool = False, copies: bool = True, dead: bool = False) -> PrimFunc:
    """Copies tiles of A and B to shared memory, and the tile of B to D.

    waits: whether the kernel first waits for the previous kernel.
    copies: whether it copies anything.
    dead: whether the copy of A is unreachable.
    """
    least = 2 if dead else 0

    @T.prim_func
    def kernel(A: T.Buffer((64, 64), "float16"), B: T.Buffer((64, 64), "float16"), D: T.Buffer((64, 64), "float16")):
        T.device_entry()
        cta = T.cta_id([2])
        tx = T.thread_id([64])
        tiles = T.alloc_shared((2, 32, 64), "float16", align=128)
        bar = T.alloc_shared((1,), "uint64")
        if waits:
            T.ptx.griddepcontrol.wait()
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if copies and tx == 0:
            rows: T.let = cta * 32
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 4096 if dead else 8192)
            with T.thread():
                if cta >= least:
                    T.copy_async(tiles[0, :, :], A[rows : rows + 32, :], dispatch="tma", mbar=bar.ptr_to([0]))
                T.copy_async(tiles[1, :, :], B[rows : rows + 32, :], dispatch="tma", mbar=bar.ptr_to([0]))
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            with T.thread():
                T.copy_async(D[rows : rows + 32, :], tiles[1, :, :], dispatch="tma")
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    return kernel


def prefetches(func: PrimFunc) -> list[str]:
    """The prefetched tensor maps, in order."""
    return [_map(node).name for node in walk(func.body) if isinstance(node, Call) and node.op == PREFETCH]


def _map(call: Call) -> Var:
    (tensor_map,) = call.args
    assert isinstance(tensor_map, Var)
    return tensor_map


def statements(func: PrimFunc) -> tuple[Stmt, ...]:
    assert isinstance(func.body, Seq)
    return func.body.stmts


def passed(func: PrimFunc) -> tuple[PrimFunc, PrimFunc]:
    """The function before and after the pass."""
    after: dict[str, PrimFunc] = {}
    lower(func, after=after.__setitem__)
    names = [step.name for step in PIPELINE]
    place = names.index("PrefetchTensorMaps")
    return after[names[place - 1]], after[names[place]]


def run_pass(func: PrimFunc) -> PrimFunc:
    (step,) = [step for step in PIPELINE if step.name == "PrefetchTensorMaps"]
    return step.run(func)


# -- the pass ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("waits", [False, True])
def test_a_kernel_begins_with_the_prefetches(waits: bool) -> None:
    before, after = passed(kernel(waits))
    first, *rest = statements(after)
    assert isinstance(first, If) and repr(first.cond) == "Tx.threadIdx.x < 1" and first.orelse is None
    assert prefetches(after) == prefetches(replace(after, body=first)) == ["A_map", "B_map", "D_map"]
    assert structural_equal(Seq(tuple(rest)), before.body)


def test_each_prefetch_has_the_span_of_its_copy() -> None:
    func = lower(kernel())
    copies = {
        arg: node.span
        for node in walk(func.body)
        if isinstance(node, Call) and node.op.startswith("cp.async.bulk.tensor")
        for arg in node.args
        if isinstance(arg, Var)
    }
    for node in walk(func.body):
        if isinstance(node, Call) and node.op == PREFETCH:
            assert node.span is not None and node.span == copies[_map(node)]


def test_an_unused_map_is_not_prefetched() -> None:
    unused, *_ = lower(kernel()).tensor_maps
    before, _ = passed(kernel(dead=True))
    after = run_pass(replace(before, tensor_maps=(unused, *before.tensor_maps)))
    assert [tensor_map.var.name for tensor_map in after.tensor_maps] == ["A_map", "B_map", "D_map"]
    assert prefetches(after) == ["B_map", "D_map"]


def test_a_copy_that_is_never_executed_has_no_map() -> None:
    func = lower(kernel(dead=True))
    assert [tensor_map.var.name for tensor_map in func.tensor_maps] == prefetches(func) == ["B_map", "D_map"]


def test_a_kernel_without_maps_is_unchanged() -> None:
    before, after = passed(kernel(copies=False))
    assert after is before


def test_maps_that_the_kernel_prefetches_itself_are_skipped() -> None:
    func = lower(kernel())
    assert run_pass(func) is func
    text = func.script().replace("        Tx.ptx.prefetch.tensormap(B_map)\n", "")
    assert prefetches(from_source(text)) == ["A_map", "D_map"]
    again = run_pass(from_source(text))
    assert prefetches(again) == ["B_map", "A_map", "D_map"]


# -- generated code and simulation -------------------------------------------------------------------------------------


def test_the_cuda_code_prefetches_before_it_waits() -> None:
    text = cuda_source(lower(kernel(waits=True))).text
    body = text[text.index("__global__") :]
    expected = "".join(f"    tvm_builtin_ptx_prefetch_tensormap({name}_map);\n" for name in "ABD")
    assert f"  if (((int)threadIdx.x) < 1) {{\n{expected}  }}\n" in body
    assert body.index("prefetch_tensormap(D_map)") < body.index("griddepcontrol_wait()") < body.index("mbarrier_init(")
    assert 'asm volatile("prefetch.tensormap [%0];" :: "l"(&tensor_map) : "memory");' in text


@pytest.mark.compiler
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_the_machine_code_prefetches_each_map_in_place(arch: str) -> None:
    """There is one prefetch per map, and it reads the kernel parameter itself instead of a copy on the stack."""
    func = kernel(waits=True)
    exe = build(lower(func), arch, original=func)
    sass = exe.source("sass")
    summary = summarise(sass)
    assert summary.count("prefetch.tensormap") == summary.matching(r"^UTMACCTL\.PF$") == 3
    assert exe.compiled.resources.stack_bytes == summary.local_accesses == 0
    assert sass.rindex("UTMACCTL.PF") < sass.index("ACQBULK") < sass.index("UTMALDG")
    assert sass.rindex("UTMACCTL.PF") < sass.index("SYNCS")


@pytest.mark.parametrize("waits", [False, True])
def test_prefetches_cause_no_findings(waits: bool) -> None:
    """The previous kernel does not write tensor maps, so the prefetch needs no wait."""
    arrays = [np.random.default_rng(seed).standard_normal((64, 64)).astype(np.float16) for seed in range(3)]
    report = tvm.simulate(kernel(waits), *arrays, gpu="h100")
    assert report.verdict == "ok" and not report.findings
    np.testing.assert_array_equal(arrays[2], arrays[1])


def test_a_prefetch_does_not_mark_an_array_as_written() -> None:
    image = translate(lower(kernel())).image
    assert {buffer.name: buffer.written for buffer in image.globals} == {"A": False, "B": False, "D": True}

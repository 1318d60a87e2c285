"""Kernels that call instructions by their opcodes in PTX."""

from __future__ import annotations

from typing import Any

import pytest

from tirx_mini.ir import AddressOf, Call, Const, PrimFunc, TirxError, walk
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T


def kernel(*lines: str) -> PrimFunc:
    """A kernel with these statements."""
    body = "\n".join(f"    {line}" for line in lines)
    return from_source(f"""
@T.prim_func
def kernel(A: T.Buffer((32,), "uint32"), F: T.Buffer((32,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    bar = T.alloc_shared((2,), "uint64")
    words = T.alloc_local((4,), "uint32")
    x: T.uint32 = 0
{body}
""")


def call(*lines: str) -> Call:
    """The one instruction of such a kernel."""
    (found,) = [node for node in walk(kernel(*lines).body) if isinstance(node, Call)]
    return found


@pytest.mark.parametrize(
    ("line", "op", "attrs"),
    [
        ("T.ptx.mbarrier.init.shared.b64(bar.ptr_to([1]), 7)", "mbarrier.init", {}),
        ('T.ptx["mbarrier.init.shared::cta.b64"](bar.ptr_to([1]), 7)', "mbarrier.init", {}),
        ("T.ptx.fence.proxy.async_.shared__cta()", "fence.proxy.async", {"space": "shared::cta"}),
        ('T.ptx["fence.proxy.async"]()', "fence.proxy.async", {"space": ""}),
        ("T.ptx.tcgen05.wait__ld()", "tcgen05.wait.ld", {}),
        ("T.ptx.tcgen05.wait__st.sync.aligned()", "tcgen05.wait.st", {}),
        ("T.ptx.bar.sync(1, 64)", "bar.sync", {}),
        ('T.ptx["bar.cta.sync"](1, 64)', "bar.sync", {}),
        ("T.ptx.barrier.cta.sync.aligned(1, 64)", "bar.sync", {}),
        ('T.ptx["barrier.cta.arrive"](1, 64)', "barrier.arrive", {}),
        ('T.ptx["barrier.sync.aligned"](1, 64)', "bar.sync", {}),
        ("T.ptx.barrier.cluster.wait.acquire()", "barrier.cluster.wait", {"aligned": False}),
        ('T.ptx["barrier.cluster.arrive.aligned"]()', "barrier.cluster.arrive", {"aligned": True}),
        ('T.ptx["mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64"](words[0], bar.ptr_to([0]), 0)',
         "mbarrier.try_wait.parity", {"scope": "cluster"}),
        ('T.ptx["st.async.shared::cluster.mbarrier::complete_tx::bytes.u32"](x, words[0], x)', "st.async", {}),
        ('T.ptx["cvt.rn.bf16x2.f32"](words[0], F[0], F[1])', "cvt.packed", {}),
        ('T.ptx["setmaxnreg.dec.sync.aligned.u32"](40)', "setmaxnreg.dec", {"count": 40}),
        ("T.ptx.st.release.gpu.global_.u32(A.ptr_to([tx]), x)", "st", {"sem": "release", "scope": "gpu"}),
        ('T.ptx["st.global.v2.u32"](A.ptr_to([0]), x, x)', "st", {"vec": "v2"}),
        ("T.ptx.ld.global_.nc.v4.u32(words.ptr_to([0]), A.ptr_to([0]))", "ld.registers", {"vec": "v4", "nc": True}),
        ("T.cuda.mbarrier_wait(bar.ptr_to([0]), 0)", "mbarrier.try_wait", {}),
        ('T.ptx["tcgen05.mma.cta_group::1.kind::f16"](x, T.uint64(1), T.uint64(2), x, 0, 0, 0, 0, True)',
         "tcgen05.mma.masked", {"kind": "f16"}),
        ('T.ptx["tcgen05.mma.cta_group::1.kind::f16"](x, x, T.uint64(2), x, T.ptx.pred(x))',
         "tcgen05.mma.a_in_tmem", {"kind": "f16"}),
        ('T.ptx["tcgen05.mma.ws.cta_group::1.kind::tf32"](x, x, T.uint64(2), x, x, 0)', "tcgen05.mma.ws.a_in_tmem",
         {"kind": "tf32"}),
        ("if T.cuda.elect_sync(): x = 1", "elect.sync", {}),
    ],
)
def test_an_opcode_is_a_call_of_its_entry(line: str, op: str, attrs: dict[str, Any]) -> None:
    found = call(line)
    assert found.op == op and attrs.items() <= dict(found.attrs).items()


def test_operands_are_in_the_order_of_ptx() -> None:
    found = call("T.ptx.mbarrier.init.shared.b64(bar.ptr_to([1]), 7)")
    pointer, count = found.args
    assert isinstance(pointer, AddressOf) and isinstance(count, Const) and count.value == 7


@pytest.mark.parametrize("target", ["x", "words[2]", "words.ptr_to([2])"])
def test_a_destination_before_the_operands_gets_the_result(target: str) -> None:
    one = kernel(f'T.ptx["ld.acquire.gpu.global.u32"]({target}, A.ptr_to([tx]))').script()
    place = target.replace(".ptr_to([2])", "[2]")
    assert f"{place} = T.ptx.ld(A.ptr_to([tx])" in one
    other = kernel(f'{place} = T.ptx["ld.acquire.gpu.global.u32"](A.ptr_to([tx]))').script()
    assert one == other


def test_numbers_in_fixed_places_may_be_given_and_have_to_be_right() -> None:
    short, long = ('T.ptx["shfl.sync.bfly.b32"](x, 1)', 'T.ptx["shfl.sync.bfly.b32"](x, 1, 31, 0xFFFFFFFF)')
    assert repr(call(f"A[tx] = {short}")) == repr(call(f"A[tx] = {long}"))
    with pytest.raises(TirxError, match="has 0x1f here, but 15 is given"):
        call('A[tx] = T.ptx["shfl.sync.bfly.b32"](x, 1, 15, 0xFFFFFFFF)')


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('T.ptx["mbarrier.unit.b64"](1)', "no instruction of the table has the opcode `mbarrier.unit.b64`"),
        ('T.ptx["mbarrier.unit.b64"](1)', "after `mbarrier` can come `.init`"),
        ("T.ptx.mbarrier.init.shared(1, 2)", "only the beginning of an opcode"),
        ("T.ptx.mbarrier.init.shard.b64(1, 2)", "after `mbarrier.init` can come `.shared::cta`"),
        ("T.ptx.mbarrier.init.shared.b64(bar.ptr_to([0]))", "takes bar, count, but 1 are given"),
        ("T.cuda['x']()", "is not indexed"),
        ('T.ptx["ld.acquire.global.u32"](A.ptr_to([0]))', 'sem="acquire" needs a scope'),
        ('T.ptx["ld.global.u32"](A.ptr_to([0]), A.ptr_to([1]))', "is stored in a register"),
    ],
)
def test_a_wrong_opcode_or_call_is_explained(line: str, message: str) -> None:
    with pytest.raises(TirxError) as caught:
        call(line)
    assert message in str(caught.value)


def test_an_opcode_shows_what_it_is() -> None:
    assert repr(T.ptx.mbarrier.init.shared) == 'Tx.ptx["mbarrier.init.shared"]'


def test_an_opcode_that_is_a_name_too_takes_its_destination_first() -> None:
    """`T.ptx.prmt.b32` is a function with a result, and an opcode whose first operand is the destination."""
    func = kernel("T.ptx.prmt.b32(words[1], A[tx], A[tx], 0x0123)", "A[tx] = T.ptx.prmt.b32(A[tx], words[1], 0x3210)")
    assert [node.op for node in walk(func.body) if isinstance(node, Call)] == ["prmt.b32", "prmt.b32"]
    with pytest.raises(TirxError, match="takes 3 arguments, but 5 are given"):
        kernel("T.ptx.prmt.b32(words[1], x, x, x, x)")

"""Barrier arrays: the IR of each method."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tirx_mini.script.reading import error_in, line_of, printed
from tirx_mini import lang

NAMES = {name: getattr(lang, name) for name in lang.__all__}


def becomes(*lines: str, kind: str = "MBarrier") -> str:
    """The IR, as text, of statements that use a barrier array ``full`` of two stages."""
    body = ["shared = SMEMPool()", f'full = {kind}(shared, 2, "tma2mma")', "shared.commit()", *lines]
    text = printed("\n".join(body), **NAMES)
    head, _, rest = text.partition("align=8)\n")
    assert 'full = Tx.decl_buffer((2,), "uint64", scope="shared"' in head
    return rest


def test_only_the_first_thread_of_the_cta_initialises_barriers() -> None:
    assert becomes("full.init(128)") == (
        "if Tx.threadIdx.x < 1:\n"
        "    Tx.ptx.mbarrier.init(full.ptr_to([0]), Tx.uint32(128))\n"
        "    Tx.ptx.mbarrier.init(full.ptr_to([1]), Tx.uint32(128))"
    )


METHODS = {
    ("MBarrier", "full.wait(lane_id, phase)"): "Tx.ptx.mbarrier.try_wait(full.ptr_to([lane_id]), Tx.uint32(phase))",
    ("MBarrier", "full.arrive(1)"): "Tx.ptx.mbarrier.arrive(full.ptr_to([1]))",
    ("MBarrier", "full.arrive(0, cta_id=0, pred=True)"): (
        "Tx.ptx.mbarrier.arrive.remote(full.ptr_to([0]), Tx.uint32(0), True)"
    ),
    ("MBarrier", "full.arrive(0, cta_id=1)"): "Tx.ptx.mbarrier.arrive.remote(full.ptr_to([0]), Tx.uint32(1), True)",
    ("MBarrier", "full.arrive(0, pred=lane_id == 0)"): (
        "if lane_id == 0:\n    Tx.ptx.mbarrier.arrive(full.ptr_to([0]))"
    ),
    ("MBarrier", "full.arrive(0, pred=False)"): "",
    ("MBarrier", "Tx.ptx.mbarrier.arrive(full.ptr_to([phase]))"): "Tx.ptx.mbarrier.arrive(full.ptr_to([phase]))",
    ("TMABar", "full.arrive(phase, 4096)"): (
        "Tx.ptx.mbarrier.arrive.expect_tx(full.ptr_to([phase]), Tx.uint32(4096))"
    ),
    ("TMABar", "full.arrive(0, bytes=M * 2)"): "Tx.ptx.mbarrier.arrive.expect_tx(full.ptr_to([0]), Tx.uint32(256))",
    ("TMABar", "full.remote_view(0).arrive(1, 64)"): (
        "Tx.ptx.mbarrier.arrive.expect_tx(Tx.ptx.mapa(full.ptr_to([1]), Tx.uint32(0)), Tx.uint32(64))"
    ),
    ("MBarrier", "full.remote_view(1).arrive(0)"): (
        "Tx.ptx.mbarrier.arrive.remote(full.ptr_to([0]), Tx.uint32(1), True)"
    ),
    ("TCGen05Bar", "full.arrive(phase, cta_group=1, cta_mask=1)"): (
        "Tx.ptx.tcgen05.commit(full.ptr_to([phase]), cta_group=1, cta_mask=1)"
    ),
    ("TCGen05Bar", "full.arrive(0, cta_group=2, cta_mask=3)"): (
        "Tx.ptx.tcgen05.commit(full.ptr_to([0]), cta_group=2, cta_mask=3)"
    ),
}


@pytest.mark.parametrize("kind, call", METHODS)
def test_a_method_becomes_this_ir(kind: str, call: str) -> None:
    assert becomes(call, kind=kind) == METHODS[kind, call]


def test_a_remote_view_addresses_the_other_cta() -> None:
    text = becomes(
        "other = full.remote_view(0)",
        "Tx.copy_async(Asmem, A, dispatch='tma', mbar=other.ptr_to([phase]))",
        kind="TMABar",
    )
    assert "mbar=Tx.ptx.mapa(full.ptr_to([phase]), Tx.uint32(0))" in text


def test_a_barrier_is_named_after_its_variable() -> None:
    text = printed("shared = SMEMPool()\nempty = MBarrier(shared, 4)\nshared.commit()", **NAMES)
    assert 'empty = Tx.decl_buffer((4,), "uint64"' in text


def test_a_barrier_after_commit_is_reported() -> None:
    error = error_in('late = MBarrier(pool, 4, "late")', **NAMES)
    assert "late is allocated after `pool.commit()`" in str(error)


def test_the_error_for_a_wrong_argument_shows_the_signature() -> None:
    error = error_in('b = TCGen05Bar(Tx.PoolAllocator(), 1, "b")\nb.arrive(0, mask=1)', **NAMES)
    assert "`arrive` has no parameter `mask`" in str(error) and "cta_mask" in str(error)


class Ring:
    """A user's class of barriers."""

    def __init__(self, pool: Any, depth: int) -> None:
        self.full = lang.TMABar(pool, depth, "tma2mma")
        self.empty = lang.TCGen05Bar(pool, depth, "mma2tma")


def test_barriers_of_a_users_object_keep_the_names_that_they_are_given() -> None:
    body = "shared = SMEMPool()\nring = Ring(shared, 2)\nshared.commit()\nring.full.init(1)\nring.empty.init(1)"
    text = printed(body, **NAMES, Ring=Ring)
    assert "tma2mma = Tx.decl_buffer((2,)" in text and "mma2tma = Tx.decl_buffer((2,)" in text
    assert "ring" not in text


CALLS = (
    "Tx.copy_async(tile[:, :], A[0:128, 0:64], dispatch='tma', mbar={})",
    "Tx.copy_async(tile, A, bar={}, dispatch='tma')",
    "Tx.ptx.mbarrier.init({}, 1)", "Tx.ptx.mbarrier.arrive({})", "Tx.ptx.mbarrier.arrive({}, cta_id=1, pred=True)",
    "Tx.ptx.mbarrier.arrive.expect_tx({}, 1024)", "Tx.ptx.mbarrier.expect_tx({}, 16)",
    "Tx.ptx.mbarrier.try_wait({}, phase)",
    "Tx.ptx.mbarrier.try_wait(mbar={}, phase=phase)", "x = Tx.ptx.mbarrier.test_wait({}, phase)",
    "Tx.cuda.mbarrier_wait({}, 0)",
    "Tx.ptx.tcgen05.commit({}, cta_group=1)", "Tx.ptx.cp_async.mbarrier.arrive({})",
    "x = Tx.ptx.map_shared_rank({}, 1)",
    "Tx.ptx.mbarrier.init.shared.b64({}, 1)", 'Tx.ptx["mbarrier.arrive.expect_tx.shared::cta.b64"]({}, 16)',
)  # fmt: skip
"""Calls that take a barrier, of the language and in the spelling of PTX."""


def with_barriers(call: str) -> str:
    return f"""
shared = SMEMPool()
one, many = TMABar(shared, 1), TMABar(shared, 3)
words, rows = shared.alloc((1,), "uint64"), shared.alloc((2, 4), "uint64")
tile = shared.alloc((128, 64), "float16", layout=A_layout)
shared.commit()
{call}"""


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("bare", "pointer"),
    [("one", "one.ptr_to([0])"), ("words", "words.ptr_to([0])"), ("one.buf", "one.ptr_to(0)")],
)
def test_a_bare_barrier_is_a_pointer_to_it(call: str, bare: str, pointer: str) -> None:
    assert printed(with_barriers(call.format(bare)), **NAMES) == printed(with_barriers(call.format(pointer)), **NAMES)


@pytest.mark.parametrize("call", CALLS)
def test_several_barriers_get_a_page_that_names_the_stage(call: str) -> None:
    error = error_in(with_barriers(call.format("many")), **NAMES)
    assert line_of(error) == "many", str(error)
    assert "the TMABar many holds 3, one for each stage" in error.diagnostic.message
    assert error.diagnostic.hint == "write many.ptr_to([stage])"


def test_so_does_a_buffer_of_several_barriers_and_one_of_another_type() -> None:
    call = "Tx.ptx.mbarrier.arrive({})"
    error = error_in(with_barriers(call.format("rows")), **NAMES)
    assert "the buffer rows holds 8" in error.diagnostic.message
    assert error.diagnostic.hint == "write rows.ptr_to([stage, i])"
    error = error_in(with_barriers(call.format("tile")), **NAMES)
    assert "which is uint64, but the buffer tile has elements of float16" in error.diagnostic.message


@pytest.mark.parametrize("wrong", ["state", "3.5", "'one'", "None", "[one]", "lane_id + 0.5", "reg"])
def test_what_is_no_barrier_gets_a_page(wrong: str) -> None:
    lines = with_barriers(f"Tx.ptx.mbarrier.arrive.expect_tx({wrong}, 16)")
    error = error_in(f'state = PipelineState("tma", 2)\n{lines}', **NAMES)
    assert "'bar' of mbarrier.arrive.expect_tx needs an mbarrier" in error.diagnostic.message
    assert error.diagnostic.hint is not None


def test_an_index_of_the_object_says_how_its_barriers_are_named() -> None:
    error = error_in(with_barriers("Tx.ptx.mbarrier.arrive(many[0])"), **NAMES)
    assert line_of(error) == "many[0]" and "write `many.ptr_to([stage])`" in str(error)
    error = error_in(with_barriers("Tx.ptx.mbarrier.arrive(rows[0, 1])"), **NAMES)
    assert line_of(error) == "rows[0, 1]" and error.diagnostic.hint == "write rows.ptr_to([0, 1])"

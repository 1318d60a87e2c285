"""Copies between tensor memory and registers: the lanes and columns that every warp accesses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tirx_mini.tile.interpreter import Machine
from tests.tirx_mini.tile.kernels import call, gmem, ids, kernel, local, lowered, register_view, tmem, var
from tirx_mini.ir import AllocBuffer, Buffer, DeclBuffer, If, Scope, Stmt, TirxError, binary, seq
from tirx_mini.layout import S, TCol, TileLayout, TLane, laneid, tid_in_wg, wid_in_wg
from tirx_mini.passes import lower


def registers(columns: int, dtype: str = "float32") -> tuple[Stmt, Buffer, Buffer]:
    own = local("Dreg", (columns,), dtype)
    view = register_view(own, 128, columns)
    return seq(AllocBuffer(own), DeclBuffer(view)), own, view


def covered(machine: Machine, warpgroup: int, op: str) -> list[tuple[int, int]]:
    """The (register, column) pairs of the loads or stores. Each warp must address its own lanes."""
    pairs = []
    for issued in machine.issued:
        if issued.op != op:
            continue
        register, address = (issued.args[0], issued.args[1]) if op.endswith("ld") else (issued.args[1], issued.args[0])
        assert list(issued.threads) == list(range(128 * warpgroup, 128 * warpgroup + 128))
        for thread in issued.threads:
            assert int(address[thread]) >> 16 == thread % 128 // 32 * 32
        count = issued.attrs["num"]
        assert issued.attrs["shape"] == "32x32b" and count & (count - 1) == 0 and count <= 128
        first = issued.threads[0]
        pairs += [(int(register[first]) // 4 + i, (int(address[first]) & 0xFFFF) + i) for i in range(count)]
    return pairs


@given(columns=st.integers(1, 256), first=st.integers(0, 255))
def test_loads_cover_the_columns_in_powers_of_two(columns, first):
    declare, _, view = registers(columns)
    c = var("c")
    declared, wg, _, _ = ids(2)
    read = Scope("warpgroup", call("copy", view[:, :], tmem()[:, c : c + columns]))
    func = lowered(declared, declare, If(binary("==", wg, 1), read), params=(c,), warpgroups=None)
    machine = Machine(func, {}, {"c": first}).run()
    assert covered(machine, 1, "tcgen05.ld") == [(i, 64 + first + i) for i in range(columns)]
    assert machine.issued[-1].op == "tcgen05.wait.ld"


@pytest.mark.parametrize("chunk", [8, 16, 128])
def test_a_slice_of_the_view_uses_a_slice_of_the_registers(chunk):
    declare, _, view = registers(128)
    i = var("i")
    part = slice(i * chunk, (i + 1) * chunk)
    body = seq(declare, Scope("warpgroup", call("copy", view[:, part], tmem()[:, part])))
    last = 128 // chunk - 1
    machine = Machine(lowered(body, params=(i,)), {}, {"i": last}).run()
    assert covered(machine, 0, "tcgen05.ld") == [(last * chunk + j, 64 + last * chunk + j) for j in range(chunk)]


def test_copy_async_emits_no_wait():
    declare, _, view = registers(64)
    bound = call("copy_async", view, tmem()[:, :64])
    from dataclasses import replace

    func = lowered(declare, replace(bound, scope="warpgroup"))  # Tx.wg.copy_async(reg, tmem)
    assert [i.op for i in Machine(func, {}).run().issued] == ["tcgen05.ld"]


def test_registers_are_stored_to_tensor_memory():
    declare, _, view = registers(48)
    machine = Machine(lowered(declare, Scope("warpgroup", call("copy", tmem()[:, 16:64], view))), {}).run()
    assert covered(machine, 0, "tcgen05.st") == [(i, 80 + i) for i in range(48)]
    assert machine.issued[-1].op == "tcgen05.wait.st"


@pytest.mark.parametrize(
    "layout",
    [
        TileLayout(S[(128, 32) : (1 @ tid_in_wg, 1)]),
        TileLayout(S[(128, 32) : (1 @ TLane, 1 @ TCol)]),
        TileLayout(S[((4, 32), 32) : ((1 @ wid_in_wg, 1 @ laneid), 1)]),
    ],
)
def test_equivalent_layouts_of_one_row_per_thread(layout):
    own = local("Dreg", (32,), "float32")
    view = own.view((128, 32), layout=layout)
    body = seq(AllocBuffer(own), DeclBuffer(view), Scope("warpgroup", call("copy", view, tmem()[:, :32])))
    assert covered(Machine(lowered(body), {}).run(), 0, "tcgen05.ld") == [(i, 64 + i) for i in range(32)]


def error_page(*body: Stmt, warpgroups: int | None = 1) -> str:
    with pytest.raises(TirxError) as error:
        lower(kernel(*body, warpgroups=warpgroups))
    return str(error.value)


def test_unsupported_copies_are_reported_with_the_reason():
    declare, own, view = registers(64)
    c = tmem()
    read = call("copy", view, c[:, :64])
    assert "the call is in thread scope" in error_page(declare, Scope("thread", read))
    assert "the call is in warp scope" in error_page(declare, Scope("warp", read))
    declared, _, warp, _ = ids()
    one_warp = If(binary("==", warp, 0), Scope("warpgroup", read))
    assert "only 32 of the 128 threads" in error_page(declared, declare, one_warp, warpgroups=None)
    transposed = own.view((64, 128), layout=TileLayout(S[(64, 128) : (1, 1 @ tid_in_wg)]))
    page = error_page(declare, Scope("warpgroup", call("copy", transposed, tmem(128)[:64, :])))
    assert "does not hold row r in thread r" in page
    own = local("H", (64,), "float16")
    odd = call("copy", register_view(own, 128, 64)[:, :3], tmem(dtype="float16")[:, :3])
    page = error_page(AllocBuffer(own), Scope("warpgroup", odd))
    assert "does not begin and end at a column of 32 bits, which 2 elements fill" in page
    wide = local("W", (64,), "float64")
    doubles = Scope("warpgroup", call("copy", register_view(wide, 128, 64), tmem(dtype="float64")[:, :64]))
    assert "32 bits" in error_page(AllocBuffer(wide), doubles)
    g = gmem("G", (128, 64), "float32")
    assert "G must be in registers, but is in global" in error_page(Scope("warpgroup", call("copy", g, c[:, :64])))


def test_two_elements_of_16_bits_share_a_column():
    own = local("H", (64,), "float16")
    copy = call("copy", tmem(dtype="float16")[:, 32:96], register_view(own, 128, 64))
    machine = Machine(lowered(AllocBuffer(own), Scope("warpgroup", copy)), {}).run()
    (store, _) = machine.issued
    assert store.attrs["num"] == 32 and {int(a) & 0xFFFF for a in store.args[0]} == {64 + 16}


def test_a_copy_of_some_lanes_is_reported():
    declare, _, view = registers(64)
    layout = TileLayout(S[(256, 64) : (1 @ TLane, 1 @ TCol)])
    tall = Buffer("tall", (256, 64), view.dtype, "tmem", layout, allocated_addr=tmem().allocated_addr)
    r = var("r")
    page = error_page(declare, Scope("warpgroup", call("copy", view, tall[r : r + 128, :])))
    assert "does not begin at lane 0" in page


def test_an_element_access_to_tensor_memory_is_reported():
    declare, own, _ = registers(4)
    from tirx_mini.ir import BufferStore, const

    touch = BufferStore(own, (const(0),), tmem()[3, 4])
    assert "tensor memory, whose elements a thread cannot load" in error_page(declare, Scope("thread", touch))

"""Each entry of the instruction table is documented, has PTX for all its operands, and executes on a small machine.

Long because the table of programs has a row for each instruction.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import (
    FakeRegisters,
    address,
    all_lanes,
    block,
    buffer,
    do,
    mapped,
    one_lane,
    run,
    tensor_map,
)
from tirx_mini.hardware import ISSUE_CYCLES
from tirx_mini.isa import NAMES, TABLE, Instruction, InstructionDescriptor, Scope, SmemDescriptor, mma_format
from tirx_mini.sim import Fault, RunningWarp

ENTRIES = [pytest.param(entry, id=name) for name, entry in TABLE.items()]
REQUIRED = {"dim": 2, "count": 40, "n": 64, "op": "add"}
"""Values of the modifiers that have no default."""


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_is_documented(entry: Instruction) -> None:
    assert entry.doc.endswith(".") and "\n\n\n" not in entry.doc
    assert entry.cost in ISSUE_CYCLES and entry.min_sm in (70, 80, 90, 100)
    assert isinstance(entry.issued_by, Scope) and len(entry.section) > 1


@pytest.mark.parametrize("entry", [p for p in ENTRIES if TABLE[str(p.id)].ptx])
def test_the_ptx_of_an_entry_names_each_operand_and_the_result(entry: Instruction) -> None:
    attrs = {a.name: REQUIRED[a.name] for a in entry.attributes if a.name in REQUIRED}
    text = entry.template(attrs)
    names = set(re.findall(r"\{(\w+)\}", text))
    operands = {operand.name for operand in entry.operands}
    assert names - {f"{name}_space" for name in operands} == operands | ({"result"} if entry.result else set())
    assert text.rstrip().endswith((";", "}"))


def test_names_lead_to_their_instruction() -> None:
    assert [entry for entry, _ in NAMES["ptx.mbarrier.init"].entries] == [TABLE["mbarrier.init"]]
    assert [entry for entry, _ in NAMES["cuda.cta_sync"].entries] == [TABLE["bar.sync.all"]]
    for path, overloads in NAMES.items():
        assert path.split(".")[0] in ("ptx", "cuda") and overloads.entries
        for entry, alias in overloads.entries:
            assert alias.path == path and set(alias.preset) <= {p.name for p in (*entry.operands, *entry.attributes)}


COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{bar}];"
LOAD = (
    "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
    "[{dst}], [{tensor_map}, {{coords}}], [{bar}];"
)


@pytest.mark.parametrize(
    ("name", "attrs", "text"),
    [
        ("tcgen05.mma", {"cta_group": 2},
         "tcgen05.mma.cta_group::2.kind::f16 [{d}], {a_desc}, {b_desc}, {idesc}, {accumulate};"),
        ("tcgen05.commit", {}, COMMIT), ("tcgen05.commit", {"cta_mask": 1}, COMMIT),
        ("tcgen05.ld", {"num": 32}, "tcgen05.ld.sync.aligned.32x32b.x32.b32 {{dst}}, [{addr}];"),
        ("cp.async.bulk.tensor.load", {"dim": 3}, LOAD),
        ("cp.async.bulk.tensor.store", {"dim": 2},
         "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [{tensor_map}, {{coords}}], [{src}];"),
        ("cp.async.bulk.wait_group", {"n": 1, "read": True}, "cp.async.bulk.wait_group.read 1;"),
        ("cp.async", {"bytes": 8}, "cp.async.ca.shared::cta.global [{dst}], [{src}], 8;"),
        ("cp.async", {}, "cp.async.cg.shared::cta.global [{dst}], [{src}], 16;"),
        ("fence.proxy.async", {}, "fence.proxy.async.shared::cta;"),
        ("fence.proxy.async", {"space": ""}, "fence.proxy.async;"),
        ("griddepcontrol.wait", {}, "griddepcontrol.wait;"),
        ("globaltimer", {}, "mov.u64 {result}, %globaltimer;"),
        ("prefetch.tensormap", {}, "prefetch.tensormap [{tensor_map}];"),
        ("griddepcontrol.launch_dependents", {}, "griddepcontrol.launch_dependents;"),
    ],
)  # fmt: skip
def test_modifiers_are_in_the_ptx(name: str, attrs: dict[str, Any], text: str) -> None:
    assert TABLE[name].template(attrs) == text


def test_multicast_is_in_the_ptx() -> None:
    commit = TABLE["tcgen05.commit"].template({"cta_group": 2, "cta_mask": 3})
    assert "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [{bar}]" in commit
    load = TABLE["cp.async.bulk.tensor.load"].template({"dim": 2, "cta_group": 2, "cta_mask": 3})
    assert "::complete_tx::bytes.multicast::cluster.cta_group::2 [{dst}]" in load


@pytest.mark.parametrize("mask", [0, 1, 2, 1 << 15])
@pytest.mark.parametrize("group", [1, 2])
def test_a_mask_of_at_most_one_bit_is_no_multicast(mask: int, group: int) -> None:
    for name, attrs in (("tcgen05.commit", {}), ("cp.async.bulk.tensor.load", {"dim": 3})):
        template = TABLE[name].template
        unmasked = template({**attrs, "cta_group": group})
        assert template({**attrs, "cta_group": group, "cta_mask": mask}) == unmasked
        assert "multicast" not in unmasked


# -- every entry executes --------------------------------------------------------------------------------------------

SOURCE = np.arange(4096, dtype=np.float16).reshape(64, 64)


def ready(w: RunningWarp, count: int = 1) -> Any:
    """An mbarrier at `bar`, tensor memory at column 0."""
    yield from block(w, "tcgen05.alloc", address(w, "slot"), 64)
    one_lane(w)
    do(w, "mbarrier.init", address(w, "bar"), count)
    all_lanes(w)
    do(w, "fence.mbarrier_init")
    do(w, "bar.warp.sync")


def phases(w: RunningWarp) -> int:
    return w.cta.mbarriers[address(w, "bar") & 0xFFFFFF].phase


def arrives(*before: tuple[Any, ...]) -> Callable[[RunningWarp], Any]:
    """Instructions of one lane that complete one phase."""

    def program(w: RunningWarp) -> Any:
        yield from ready(w)
        one_lane(w)
        for op, *operands in before:
            do(w, op, address(w, "bar"), *operands)
        assert phases(w) == 1
        yield from finish(w)

    return program


def polls(w: RunningWarp) -> Any:
    yield from ready(w)
    bar = address(w, "bar")
    assert [do(w, "mbarrier.test_wait", bar, parity) for parity in (0, 1)] == [False, True]
    one_lane(w)
    do(w, "mbarrier.arrive", bar)
    assert [do(w, "mbarrier.test_wait", bar, parity) for parity in (0, 1)] == [True, False]
    assert [do(w, "mbarrier.try_wait.once", bar, parity, 100) for parity in (0, 1)] == [True, False]
    yield from finish(w)


def states(w: RunningWarp) -> Any:
    """Arrivals that return the state of the barrier, and waits for it; arrivals by an address in the cluster."""
    yield from ready(w)
    bar = address(w, "bar")
    one_lane(w)
    there = do(w, "mapa", bar, 0)
    arrivals = [("mbarrier.arrive.state",), ("mbarrier.arrive.count.state", 1), ("mbarrier.arrive.expect_tx.state", 0)]
    for phase, (op, *operands) in enumerate(arrivals):
        state = do(w, op, bar, *operands)
        assert [do(w, f"mbarrier.{word}.state", bar, state) for word in ("test_wait", "try_wait")] == [True, True]
        assert do(w, "mbarrier.try_wait.parity", bar, phase & 1)
    do(w, "mbarrier.arrive.cluster", there)
    assert do(w, "mbarrier.try_wait.parity", bar, 1)
    do(w, "mbarrier.arrive.count.cluster", there, 1)
    assert do(w, "mbarrier.try_wait.parity", bar, 0)
    yield from finish(w)


def traps(w: RunningWarp) -> Any:
    with pytest.raises(Fault):
        do(w, "trap")
    yield from ()


def halves_with_one_rounding(w: RunningWarp) -> Any:
    one, tiny = 0x3C003C00, 0x00010001
    assert do(w, "fma.f16x2", one, one, tiny) == one and do(w, "fma.f16x2", one, 0xBC003C00, one) == 0x00004000
    assert do(w, "fma.bf16x2", 0x3F803F80, 0x40004000, 0x3F803F80) == 0x40404040
    yield from ()


def rounded_once(w: RunningWarp) -> Any:
    """1 / 3, and the root of 2, above and below the exact numbers; in both formats."""
    for name, kind in (("f32", np.float32), ("f64", np.float64)):
        third, root = kind(1) / kind(3), np.sqrt(kind(2))
        for op, operands, nearest in (("div", (1.0, 3.0), third), ("rcp", (3.0,), third), ("sqrt", (2.0,), root)):
            below, above = (do(w, f"{op}.rounded.{name}", *operands, rounding=mode) for mode in ("rm", "rp"))
            assert nearest in (below, above) and above == np.nextafter(below, kind(np.inf))
    yield from ()


def finish(w: RunningWarp) -> Any:
    all_lanes(w)
    yield from ()
    do(w, "tcgen05.dealloc", 0, 64)


def simple(op: str, *operands: Any, **attrs: Any) -> Callable[[RunningWarp], Any]:
    def program(w: RunningWarp) -> Any:
        if TABLE[op].blocking:
            yield from block(w, op, *operands, **attrs)
        else:
            do(w, op, *operands, **attrs)

    return program


def moves_registers(w: RunningWarp) -> Any:
    yield from block(w, "setmaxnreg.dec", count=24)
    yield from block(w, "setmaxnreg.inc", count=240)
    assert w.cta.registers.held == [240]


def mma(w: RunningWarp) -> Any:
    yield from ready(w)
    kind, fmt = mma_format("float16")
    idesc = InstructionDescriptor(128, 64, fmt, fmt, "float32", 16).encode(kind)
    tile = buffer(w, "tile")
    w.store(tile, np.arange(16)[:, None] * 256 + np.arange(32) * 8, np.ones((16, 32, 8), np.float16), 8)
    do(w, "fence.proxy.async")
    do(w, "bar.warp.sync")
    do(w, "tcgen05.fence.after_thread_sync")
    one_lane(w)
    word = SmemDescriptor(tile.byte_offset, 16, 256, 32).encode()
    do(w, "tcgen05.mma", 0, word, word, idesc, False)
    do(w, "tcgen05.commit", address(w, "bar"))
    yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
    do(w, "tcgen05.commit.multicast", address(w, "bar"), 1)
    yield from block(w, "mbarrier.try_wait", address(w, "bar"), 1)
    all_lanes(w)
    do(w, "bar.warp.sync")
    do(w, "tcgen05.fence.after_thread_sync")
    registers = FakeRegisters()
    do(w, "tcgen05.ld", registers, 0, num=64)
    do(w, "tcgen05.wait.ld")
    assert registers.values is not None and (registers.values.view(np.float32) == 16).all()
    do(w, "tcgen05.fence.before_thread_sync")
    do(w, "tcgen05.st", 0, FakeRegisters(np.full((8, 32), 7, np.uint32)), num=8)
    do(w, "tcgen05.wait.st")
    assert (w.cta.tmem.words(0, 8)[:32] == 7).all()
    do(w, "tcgen05.relinquish_alloc_permit")
    yield from finish(w)


def copies(w: RunningWarp) -> Any:
    """A box comes by TMA, is stored and added elsewhere by TMA."""
    yield from ready(w)
    one_lane(w)
    bar, tile = address(w, "bar"), address(w, "tile")
    do(w, "prefetch.tensormap", mapped(w, "A"))
    do(w, "cp.async.bulk.prefetch.tensor", mapped(w, "A"), 0, 0, dim=2)
    do(w, "cp.async.bulk.tensor.load", tile, mapped(w, "A"), bar, 0, 0, dim=2)
    do(w, "mbarrier.arrive.expect_tx", bar, 8192)
    yield from block(w, "mbarrier.try_wait", bar, 0)
    do(w, "cp.async.bulk.tensor.load.multicast", tile, mapped(w, "A"), bar, 1, 0, 0, dim=2)
    do(w, "mbarrier.arrive.expect_tx", bar, 8192)
    yield from block(w, "mbarrier.try_wait", bar, 1)
    for op in ("cp.async.bulk.tensor.store", "cp.reduce.async.bulk.tensor"):
        do(w, op, mapped(w, "D"), tile, 0, 0, dim=2)
        do(w, "cp.async.bulk.commit_group")
        yield from block(w, "cp.async.bulk.wait_group", n=0)
    yield from finish(w)


def bytes_by_bulk(w: RunningWarp) -> Any:
    """Bytes come to shared memory, are stored elsewhere and added there."""
    yield from ready(w)
    one_lane(w)
    bar, tile = address(w, "bar"), address(w, "tile")
    do(w, "cp.async.bulk.load", tile, w.global_address(buffer(w, "A"), 0), 8192, bar)
    do(w, "mbarrier.arrive.expect_tx", bar, 8192)
    yield from block(w, "mbarrier.try_wait", bar, 0)
    target = w.global_address(buffer(w, "D"), 0)
    for op, attrs in (("cp.async.bulk.store", {}), ("cp.reduce.async.bulk", {"type": "f16"})):
        do(w, op, target, tile, 8192, **attrs)
        do(w, "cp.async.bulk.commit_group")
        yield from block(w, "cp.async.bulk.wait_group", n=0)
    yield from finish(w)


def bytes_to_the_cluster(w: RunningWarp) -> Any:
    """Bytes come to another place of the only CTA of a cluster."""
    yield from ready(w)
    one_lane(w)
    bar, tile = address(w, "bar"), address(w, "tile")
    do(w, "cp.async.bulk.load", tile, w.global_address(buffer(w, "A"), 0), 4096, bar)
    do(w, "mbarrier.arrive.expect_tx", bar, 4096)
    yield from block(w, "mbarrier.try_wait", bar, 0)
    do(w, "mbarrier.arrive.expect_tx", bar, 4096)
    do(w, "cp.async.bulk.copy", tile + 4096, tile, 4096, bar)
    yield from block(w, "mbarrier.try_wait", bar, 1)
    yield from finish(w)


def asks_for_a_cluster(w: RunningWarp) -> Any:
    """No cluster is left in a grid of one CTA."""
    yield from ready(w)
    one_lane(w)
    bar, tile = address(w, "bar"), address(w, "tile")
    do(w, "mbarrier.arrive.expect_tx", bar, 16)
    do(w, "clusterlaunchcontrol.try_cancel", tile, bar)
    yield from block(w, "mbarrier.try_wait", bar, 0)
    assert do(w, "clusterlaunchcontrol.query_cancel", tile) == 0xFFFFFFFF
    yield from finish(w)


def cp_async(w: RunningWarp) -> Any:
    yield from ready(w, 32)
    lane = np.arange(32)
    do(w, "cp.async", address(w, "tile") + lane * 16, w.global_address(buffer(w, "A"), lane * 8))
    do(w, "cp.async.commit_group")
    do(w, "cp.async.mbarrier.arrive.noinc", address(w, "bar"))
    do(w, "cp.async.wait_group", n=0)
    yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
    np.testing.assert_array_equal(w.load(buffer(w, "tile"), lane * 8, 8), SOURCE.reshape(-1, 8)[:32])
    yield from finish(w)


def cp_async_with_zeros(w: RunningWarp) -> Any:
    lane = np.arange(32)
    source = np.where(lane < 16, w.global_address(buffer(w, "A"), lane % 16 * 8), 0)
    do(w, "cp.async.zfill", address(w, "tile") + lane * 16, source, lane // 2 * 2 * (lane < 16), bytes=16)
    do(w, "cp.async.wait_all")
    expected = np.zeros((32, 8), np.float16)
    for row in range(16):
        expected[row, : row // 2] = SOURCE.reshape(-1, 8)[row, : row // 2]
    np.testing.assert_array_equal(w.load(buffer(w, "tile"), lane * 8, 8), expected)
    yield from ()


def cp_async_and_another(w: RunningWarp) -> Any:
    """Arrivals of copies that are pending besides the one that the barrier expects."""
    yield from ready(w)
    lane = np.arange(32)
    do(w, "cp.async", address(w, "tile") + lane * 16, w.global_address(buffer(w, "A"), lane * 8))
    do(w, "cp.async.mbarrier.arrive", address(w, "bar"))
    one_lane(w)
    do(w, "mbarrier.arrive", address(w, "bar"))
    all_lanes(w)
    yield from block(w, "mbarrier.try_wait.cluster", address(w, "bar"), 0)
    np.testing.assert_array_equal(w.load(buffer(w, "tile"), lane * 8, 8), SOURCE.reshape(-1, 8)[:32])
    yield from finish(w)


def cluster(w: RunningWarp) -> Any:
    do(w, "barrier.cluster.arrive.relaxed")
    yield from block(w, "barrier.cluster.wait")
    do(w, "barrier.cluster.arrive")
    yield from block(w, "barrier.cluster.wait")
    yield from block(w, "barrier.cluster.sync")


def value(op: str, expected: Any, *operands: Any, **attrs: Any) -> Callable[[RunningWarp], Any]:
    def program(w: RunningWarp) -> Any:
        np.testing.assert_array_equal(do(w, op, *operands, **attrs), expected)
        for place, operand in enumerate(operands):  # the same in a register of each lane, beside numbers of all lanes
            if TABLE[op].lanewise and np.ndim(operand) == 0:
                lanes = np.full(32, operand)
                spread = lanes.astype(np.float32) if op.endswith("f32") and isinstance(operand, float) else lanes
                given = (*operands[:place], spread, *operands[place + 1 :])
                np.testing.assert_array_equal(do(w, op, *given, **attrs), np.broadcast_to(expected, 32))
        yield from ()

    return program


def reversed_bits(w: RunningWarp) -> Any:
    words = np.random.default_rng(0).integers(0, 1 << 32, 32)
    np.testing.assert_array_equal(do(w, "brev.b32", words), [int(f"{word:032b}"[::-1], 2) for word in words.tolist()])
    assert do(w, "brev.b64", 5) == 5 << 61
    yield from ()


def found_bits(w: RunningWarp) -> Any:
    words = np.array([0, 1, 2, 0x80000000, 0xFFFFFFFF] + [9] * 27)
    np.testing.assert_array_equal(do(w, "bfind.u32", words), [0xFFFFFFFF, 0, 1, 31, 31] + [3] * 27)
    signed = np.array([0, 1, -1, -2, -(2**31)] + [9] * 27)
    np.testing.assert_array_equal(do(w, "bfind.s32", signed), [0xFFFFFFFF, 0, 0xFFFFFFFF, 0, 30] + [3] * 27)
    yield from ()


def shifts(w: RunningWarp) -> Any:
    low, high = 0x89ABCDEF, 0x01234567
    both = high << 32 | low
    for mode, count in (("wrap", LANE * 3), ("clamp", LANE * 3)):
        places = [n % 32 if mode == "wrap" else min(n, 32) for n in count.tolist()]
        right = do(w, "shf", low, high, count, direction="r", mode=mode)
        np.testing.assert_array_equal(right, [both >> n & 0xFFFFFFFF for n in places])
        left = do(w, "shf", low, high, count, direction="l", mode=mode)
        np.testing.assert_array_equal(left, [both << n >> 32 & 0xFFFFFFFF for n in places])
    yield from ()


def fields(w: RunningWarp) -> Any:
    """The definition of the PTX ISA, bit by bit, also beyond the word."""
    random = np.random.default_rng(0)
    words, into = (random.integers(0, 1 << 32, 32) for _ in range(2))
    start, length = random.integers(0, 40, 32), random.integers(0, 40, 32)
    start[:2], length[:2] = 0, (0, 32)
    for signed in (False, True):
        wanted = []
        for word, first, count in zip(words.tolist(), start.tolist(), length.tolist(), strict=True):
            sign = word >> min(first + count - 1, 31) & 1 if signed and count else 0
            bits = [word >> first + i & 1 if i < count and first + i < 32 else sign for i in range(32)]
            number = sum(bit << i for i, bit in enumerate(bits))
            wanted.append(number - (1 << 32) if signed and number >> 31 else number)
        given = words.astype(np.uint32).view(np.int32).astype(np.int64) if signed else words
        np.testing.assert_array_equal(do(w, f"bfe.{'s' if signed else 'u'}32", given, start, length), wanted)
    wanted = []
    for word, under, first, count in zip(*(x.tolist() for x in (words, into, start, length)), strict=True):
        taken = range(first, min(first + count, 32))
        number = sum((word >> i - first if i in taken else under >> i) % 2 << i for i in range(32))
        wanted.append(number)
    np.testing.assert_array_equal(do(w, "bfi.b32", words, into, start, length), wanted)
    yield from ()


def products(w: RunningWarp) -> Any:
    a, b, c = (int(x) for x in np.random.default_rng(0).integers(1 << 31, 1 << 32, 3))
    sa, sb, sc = a - (1 << 32), b - (1 << 32), c - (1 << 32)
    word, half = (1 << 32) - 1, 1 << 31
    assert do(w, "mul.hi.u32", a, b) == a * b >> 32 and do(w, "mul.hi.s32", sa, 3) == sa * 3 >> 32
    assert do(w, "mul.wide.u32", a, b) == a * b and do(w, "mad.wide.u32", a, b, 7) == a * b + 7
    assert do(w, "mad.lo.u32", a, b, c) == a * b + c & word and do(w, "mad.hi.u32", a, b, c) == (a * b >> 32) + c & word
    assert do(w, "mad.lo.s32", sa, sb, sc) == (sa * sb + sc + half) % (1 << 32) - half
    yield from ()


def hints(w: RunningWarp) -> Any:
    place = w.global_address(buffer(w, "A"), 0)
    do(w, "prefetch", place)
    do(w, "applypriority", place)
    do(w, "cp.async.bulk.prefetch", place, 128)
    yield from ()


def sleeps(w: RunningWarp) -> Any:
    first = do(w, "clock64")
    do(w, "nanosleep.u32", 100)
    assert do(w, "clock64") >= first + int(100 * w.gpu.spec.clock_ghz)
    yield from ()


def conditions_of_a_cta(w: RunningWarp) -> Any:
    assert not (yield from block(w, "bar.red.and", 1, LANE < 31)).any()
    assert (yield from block(w, "bar.red.and", 1, True))
    assert (yield from block(w, "bar.red.or", 1, LANE == 3)).all()
    assert (yield from block(w, "bar.red.popc", 1, LANE < 5)).tolist() == [5] * 32


def clock(w: RunningWarp) -> Any:
    first = do(w, "globaltimer")
    w.time += 1000 * w.gpu.spec.clock_ghz
    assert do(w, "globaltimer") == first + 1000
    yield from ()


LANE = np.arange(32)


def library(name: str, expected: float, *operands: float) -> Callable[[RunningWarp], Any]:
    """A function of float32, and the same of float64."""

    def program(w: RunningWarp) -> Any:
        assert do(w, name, *operands) == np.float32(expected)
        assert do(w, f"{name.removesuffix('f')}.f64", *operands) == pytest.approx(expected, rel=1e-15)
        yield from ()

    return program


def accesses(w: RunningWarp) -> Any:
    """Each lane loads words from global memory, and stores them to shared memory and back."""
    source, tile = w.global_address(buffer(w, "A"), 2 * LANE), address(w, "tile") + 16 * LANE
    words = do(w, "ld", source, type="b32")
    do(w, "st", tile, words, type="b32")
    assert (do(w, "ld", tile, type="b32", space="shared") == words).all()
    registers = FakeRegisters()
    do(w, "ld.registers", tile, registers, space="shared")
    assert registers.values is not None and (registers.values[0] == words).all()
    do(w, "st.registers", tile, registers)
    yield from ()


def stores_that_complete(w: RunningWarp) -> Any:
    """Each lane of the only CTA of a cluster stores words, whose bytes complete a phase."""
    yield from ready(w)
    bar, tile, registers = address(w, "bar"), address(w, "tile"), FakeRegisters()
    registers.values = np.arange(128, dtype=np.uint32).reshape(4, 32)
    one_lane(w)
    do(w, "mbarrier.arrive.expect_tx", bar, 512)
    all_lanes(w)
    do(w, "st.async", tile + 16 * LANE, registers, bar, vec="v4")
    yield from block(w, "mbarrier.try_wait", bar, 0)
    words = [do(w, "ld", tile + 16 * LANE + 4 * i, type="u32", space="shared") for i in range(4)]
    assert (np.array(words) == registers.values).all()
    yield from finish(w)


def accesses_of_devices(w: RunningWarp) -> Any:
    place = w.global_address(buffer(w, "D"), 2 * LANE)
    do(w, "st.mmio", place, LANE * 3, type="u32")
    assert (do(w, "ld.mmio", place, type="u32") == LANE * 3).all()
    yield from ()


def many_zeros(w: RunningWarp) -> Any:
    tile = buffer(w, "tile")
    w.store(tile, LANE * 8, np.ones((32, 8), np.float16), 8)
    do(w, "bar.warp.sync")
    one_lane(w)
    do(w, "st.bulk", address(w, "tile") + 64, 128)
    all_lanes(w)
    do(w, "bar.warp.sync")
    left = w.load(tile, LANE * 8, 8).astype(float).reshape(-1)
    assert (left == ((np.arange(256) < 32) | (np.arange(256) >= 96))).all()
    yield from ()


def atomics(w: RunningWarp) -> Any:
    slot = address(w, "slot")
    one_lane(w)
    do(w, "st", slot, 5, type="u32", sem="relaxed", scope="cta")
    all_lanes(w)
    do(w, "bar.warp.sync")
    space = {"type": "u32", "space": "shared", "scope": "cta"}
    assert (do(w, "atom", slot, 1, op="add", **space) == 5 + LANE).all()
    do(w, "red", slot, 1, op="add", **space)
    assert do(w, "atom.cas", slot, 69, 7, **space).tolist() == [69] + 31 * [7]
    yield from ()


def pair(*numbers: float) -> int:
    """Two float32 as 64 bits."""
    return int(np.array(numbers, np.float32).view(np.uint64)[0])


EVERY = 0xFFFFFFFF
PROGRAMS: dict[tuple[str, ...], Callable[[RunningWarp], Any]] = {
    ("mbarrier.init", "mbarrier.arrive", "fence.mbarrier_init"): arrives(("mbarrier.arrive",)),
    ("mbarrier.arrive.remote",): arrives(("mbarrier.arrive.remote", 0, True)),
    ("mbarrier.arrive.expect_tx",): arrives(("mbarrier.arrive.expect_tx", 0)),
    ("mbarrier.arrive.count",): arrives(("mbarrier.arrive.count", 1)),
    ("mbarrier.arrive.no_complete",): arrives(("mbarrier.arrive.no_complete", 1)),
    ("mbarrier.arrive.expect_tx.remote",): arrives(("mbarrier.arrive.expect_tx.remote", 0, 0, True)),
    ("mbarrier.complete_tx",): arrives(("mbarrier.arrive.expect_tx", 48), ("mbarrier.complete_tx", 48)),
    ("mbarrier.expect_tx",): arrives(("mbarrier.expect_tx", 0), ("mbarrier.arrive",)),
    ("mbarrier.inval",): arrives(("mbarrier.inval",), ("mbarrier.init", 1), ("mbarrier.arrive",)),
    ("mbarrier.test_wait", "mbarrier.try_wait.once"): polls,
    ("mbarrier.arrive.state", "mbarrier.arrive.count.state", "mbarrier.arrive.expect_tx.state",
     "mbarrier.arrive.cluster", "mbarrier.arrive.count.cluster", "mbarrier.test_wait.state", "mbarrier.try_wait.state",
     "mbarrier.try_wait.parity"): states,
    ("fence",): simple("fence"),
    ("membar",): simple("membar", level="gl"),
    ("fence.proxy.tensormap.release",): simple("fence.proxy.tensormap.release"),
    ("fence.proxy.tensormap.acquire",): simple("fence.proxy.tensormap.acquire", 0),
    ("trap",): traps,
    ("pmevent",): simple("pmevent", event=3),
    ("discard",): simple("discard", 0),
    ("createpolicy.fractional",): value("createpolicy.fractional", 0, 1.0),
    ("div.rounded.f32", "div.rounded.f64", "rcp.rounded.f32", "rcp.rounded.f64", "sqrt.rounded.f32",
     "sqrt.rounded.f64"): rounded_once,
    ("fma.f16x2", "fma.bf16x2"): halves_with_one_rounding,
    ("ld", "st", "ld.registers", "st.registers"): accesses,
    ("atom", "atom.cas", "red"): atomics,
    ("ld.mmio", "st.mmio"): accesses_of_devices,
    ("st.async",): stores_that_complete,
    ("st.bulk",): many_zeros,
    ("vote.any",): value("vote.any", np.full(32, True), EVERY, LANE == 7),
    ("vote.all",): value("vote.all", np.full(32, False), EVERY, LANE == 7),
    ("vote.ballot",): value("vote.ballot", np.full(32, 6), EVERY, (LANE == 1) | (LANE == 2)),
    ("redux.u32",): value("redux.u32", np.full(32, 496), EVERY, LANE),
    ("redux.s32",): value("redux.s32", -32, EVERY, -1),
    ("redux.f32",): value("redux.f32", np.float32(31), EVERY, LANE.astype(np.float32)),
    ("add.f32",): value("add.f32", LANE + 0.5, LANE.astype(np.float32), 0.5),
    ("sub.f32",): value("sub.f32", LANE - 0.5, LANE.astype(np.float32), 0.5),
    ("mul.f32",): value("mul.f32", LANE * 0.5, LANE.astype(np.float32), 0.5),
    ("div.approx",): value("div.approx", LANE / np.float32(4), LANE.astype(np.float32), 4.0),
    ("prmt.b32",): value(
        "prmt.b32", [0xDD11FFAA, 0x44332211] * 16, 0x44332211, 0xDDCCBBAA, np.array([0x70F4, 0x3210] * 16)
    ),
    ("lop3.b32",): value("lop3.b32", 0x5A ^ 0x33 ^ LANE, 0x5A, 0x33, LANE, lut=0x96),
    ("brev.b32", "brev.b64"): reversed_bits,
    ("bfind.u32", "bfind.s32"): found_bits,
    ("shf",): shifts,
    ("bfe.u32", "bfe.s32", "bfi.b32"): fields,
    ("mul.hi.u32", "mul.hi.s32", "mul.wide.u32", "mad.lo.u32", "mad.lo.s32", "mad.hi.u32", "mad.wide.u32"): products,
    ("activemask.b32",): value("activemask.b32", 0xFFFFFFFF),
    ("match.any.sync.b32",): value(
        "match.any.sync.b32", np.where(LANE < 2, 3, 0xFFFFFFFC), np.where(LANE < 2, 7, 9), EVERY
    ),
    ("match.all.sync.b32",): value("match.all.sync.b32", np.zeros(32), np.where(LANE < 2, 7, 9), EVERY),
    ("movmatrix",): value("movmatrix", (LANE // 4) | (LANE // 4) << 16, (2 * (LANE % 4)) | (2 * (LANE % 4) + 1) << 16),
    ("sin.approx",): value("sin.approx", np.sin(LANE / 16).astype(np.float32), (LANE / 16).astype(np.float32)),
    ("cos.approx",): value("cos.approx", np.cos(LANE / 16).astype(np.float32), (LANE / 16).astype(np.float32)),
    ("tanh.approx",): value("tanh.approx", np.tanh(LANE / 16).astype(np.float32), (LANE / 16).astype(np.float32)),
    ("sqrt.approx",): value("sqrt.approx", np.sqrt(LANE.astype(np.float32)), LANE.astype(np.float32)),
    ("prefetch", "applypriority", "cp.async.bulk.prefetch"): hints,
    ("ffs",): value("ffs", [(lane & -lane).bit_length() for lane in range(32)], LANE),
    ("fns.b32",): value("fns.b32", [2, 5, 0xFFFFFFFF] + [2] * 29, 0b100100, 1, np.array([1, 2, 3] + [1] * 29)),
    ("max.bf16x2",): value("max.bf16x2", 0x40003F80, 0x40003F00, 0x3F803F80),
    ("min.bf16x2",): value("min.bf16x2", 0x3F803F00, 0x40003F00, 0x3F803F80),
    ("add.f64",): value("add.f64", LANE + 0.5, LANE.astype(float), 0.5),
    ("sub.f64",): value("sub.f64", np.float64(-1), 1.0, 2.0),
    ("mul.f64",): value("mul.f64", LANE * 0.5, LANE.astype(float), 0.5),
    ("fma.f64",): value("fma.f64", np.float64(7), 2.0, 3.0, 1.0),
    ("fma.f32",): value("fma.f32", np.float32(7), 2.0, 3.0, 1.0),
    ("cvt",): value("cvt", 3, np.float32(2.5), dtype="s32", atype="f32", rounding="rpi"),
    ("cvt.rs",): value("cvt.rs", 0x3C004000, 0, 1.0, 2.0, dtype="f16x2"),
    ("cvt.packed",): value("cvt.packed", 0x3C004000, 1.0, 2.0, dtype="f16x2", atype="f32", rounding="rn"),
    ("max.f32",): value("max.f32", np.float32(2), 1.0, 2.0),
    ("min.f32",): value("min.f32", np.float32(1), 1.0, np.nan),
    ("max3.f32",): value("max3.f32", np.float32(np.nan), 1.0, 3.0, np.nan, nan=True),
    ("min3.f32",): value("min3.f32", np.float32(1), 2.0, 3.0, 1.0),
    ("add.f32x2",): value("add.f32x2", pair(4, 6), pair(1, 2), pair(3, 4)),
    ("sub.f32x2",): value("sub.f32x2", pair(-2, -2), pair(1, 2), pair(3, 4)),
    ("mul.f32x2",): value("mul.f32x2", pair(3, 8), pair(1, 2), pair(3, 4)),
    ("fma.f32x2",): value("fma.f32x2", pair(4, 9), pair(1, 2), pair(3, 4), pair(1, 1)),
    ("barrier.sync",): simple("barrier.sync", 1, 32),
    ("barrier.arrive",): simple("barrier.arrive", 1, 32),
    ("bar.warp.sync.mask",): simple("bar.warp.sync.mask", EVERY),
    ("grid.sync",): simple("grid.sync"),
    ("griddepcontrol.wait",): simple("griddepcontrol.wait"),
    ("griddepcontrol.launch_dependents",): simple("griddepcontrol.launch_dependents"),
    ("globaltimer",): clock,
    ("clock64", "nanosleep.u32"): sleeps,
    ("bar.red.and", "bar.red.or", "bar.red.popc"): conditions_of_a_cta,
    ("trap.unless",): simple("trap.unless", LANE < 32),
    ("cvta.shared",): value("cvta.shared", 64, 64),
    ("bar.sync",): simple("bar.sync", 1, 32),
    ("bar.sync.all",): simple("bar.sync.all", 0),
    ("bar.arrive",): simple("bar.arrive", 1, 32),
    ("bar.warp.sync",): simple("bar.warp.sync"),
    ("barrier.cluster.arrive", "barrier.cluster.arrive.relaxed", "barrier.cluster.wait",
     "barrier.cluster.sync"): cluster,
    ("elect.sync",): value("elect.sync", LANE == 0),
    ("elect.sync.members",): value("elect.sync.members", LANE == 0, (1 << 32) - 1),
    ("mapa",): value("mapa", 16, 16, 0),
    ("ex2.approx",): value("ex2.approx", np.float32(8), np.float32(3)),
    ("lg2.approx",): value("lg2.approx", np.float32(3), np.float32(8)),
    ("rcp.approx",): value("rcp.approx", np.float32(0.125), np.float32(8)),
    ("rsqrt.approx",): value("rsqrt.approx", np.full(32, 0.5, np.float32), np.full(32, 4, np.float32)),
    ("sqrt.rn",): value("sqrt.rn", np.sqrt(LANE.astype(np.float32)), LANE.astype(np.float32)),
    ("fma.rn",): value("fma.rn", np.float32(7), np.float32(2), np.float32(3), np.float32(1)),
    **{(name, f"{name.removesuffix('f')}.f64"): library(name, expected, *operands) for name, expected, *operands in (
        *((f"{f.__name__}f", f(2.0), 2) for f in (
            np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh, np.log10, np.log1p)),
        *((f"{f.__name__.replace('arc', 'a')}f", f(0.5), 0.5) for f in (np.arcsin, np.arccos, np.arctan)),
        *((f"{f.__name__.replace('arc', 'a')}f", f(x), x) for f, x in (
            (np.arcsinh, 2), (np.arccosh, 2), (np.arctanh, 0.5))),
        ("erff", math.erf(0.5), 0.5), ("exp10f", 1000, 3), ("powf", 0.125, 2, -3), ("atan2f", np.pi, 0, -1),
        ("floorf", -3, -2.5), ("ceilf", -2, -2.5), ("truncf", -2, -2.5), ("nearbyintf", -2, -2.5),
        ("fmodf", -1.5, -5.5, 2), ("hypotf", 5, 3, 4), ("copysignf", -3, 3, -0.0), ("ldexpf", 12, 3, 2),
    )},
    ("nextafterf",): value("nextafterf", np.float32(1 - 2**-24), np.float32(1), np.float32(0)),
    ("nextafter.f64",): value("nextafter.f64", 1 - 2**-53, 1.0, 0.0),
    **{(f"{f.__name__}.f64",): value(f"{f.__name__}.f64", f(2.0), 2.0) for f in (
        np.exp, np.exp2, np.log, np.log2, np.sqrt)},
    ("rsqrt.f64",): value("rsqrt.f64", 0.5, 4.0),
    ("popc.b32",): value("popc.b32", [lane.bit_count() for lane in range(32)], LANE),
    ("popc.b64",): value("popc.b64", 40, (1 << 40) - 1),
    ("clz.b32",): value("clz.b32", [32 - lane.bit_length() for lane in range(32)], LANE),
    ("clz.b64",): value("clz.b64", 64, 0),
    ("dp4a",): value("dp4a", -1 * 2 + 3 * 4 + 10, 0x0300FF, 0x040002, 10),
    ("shfl.xor",): value("shfl.xor", LANE ^ 1, LANE, 1),
    ("shfl.idx",): value("shfl.idx", np.full(32, 9), LANE, 9),
    ("shfl.down",): value("shfl.down", np.minimum(LANE + 1, 31), LANE, 1),
    ("shfl.up",): value("shfl.up", np.maximum(LANE - 1, 0), LANE, 1),
    ("shfl.xor.segment",): value("shfl.xor.segment", LANE ^ 1, LANE, 1, EVERY, width=8),
    ("shfl.idx.segment",): value("shfl.idx.segment", LANE & -8 | 3, LANE, 11, EVERY, width=8),
    ("shfl.down.segment",): value("shfl.down.segment", np.minimum(LANE + 1, LANE | 7), LANE, 1, EVERY, width=8),
    ("shfl.up.segment",): value("shfl.up.segment", np.maximum(LANE - 1, LANE & -8), LANE, 1, EVERY, width=8),
    ("setmaxnreg.dec", "setmaxnreg.inc"): moves_registers,
    ("cp.async.bulk.tensor.load", "cp.async.bulk.tensor.store", "cp.reduce.async.bulk.tensor",
     "cp.async.bulk.commit_group", "cp.async.bulk.wait_group", "mbarrier.try_wait", "prefetch.tensormap",
     "cp.async.bulk.prefetch.tensor", "cp.async.bulk.tensor.load.multicast"): copies,
    ("cp.async.bulk.load", "cp.async.bulk.store", "cp.reduce.async.bulk"): bytes_by_bulk,
    ("cp.async.bulk.copy",): bytes_to_the_cluster,
    ("clusterlaunchcontrol.try_cancel", "clusterlaunchcontrol.query_cancel"): asks_for_a_cluster,
    ("cp.async", "cp.async.commit_group", "cp.async.wait_group", "cp.async.mbarrier.arrive.noinc"): cp_async,
    ("cp.async.zfill", "cp.async.wait_all"): cp_async_with_zeros,
    ("cp.async.mbarrier.arrive", "mbarrier.try_wait.cluster"): cp_async_and_another,
    ("tcgen05.alloc", "tcgen05.dealloc", "tcgen05.relinquish_alloc_permit", "tcgen05.mma", "tcgen05.commit",
     "tcgen05.ld", "tcgen05.st", "tcgen05.wait.ld", "tcgen05.wait.st", "tcgen05.fence.before_thread_sync",
     "tcgen05.fence.after_thread_sync", "fence.proxy.async", "tcgen05.commit.multicast"): mma,
}  # fmt: skip
ELSEWHERE = re.compile(
    r"tcgen05\.shift|wgmma\..*|mma\.(sync.*|sp)|(ld|st)matrix(\.\w+)?|tcgen05\.(mma\.(a_in_tmem|block_scale|sparse|ws|.*masked).*|cp)"
    r"|(atom|red)\.registers|atom\.(exch|cas)\.b128|tensormap\..*|mbarrier\.arrive_drop.*|printf|func_call"
)
"""Instructions that tests of their own execute: they need registers of a kernel, or all lanes of tensor memory."""


@pytest.mark.parametrize("names", list(PROGRAMS), ids=lambda names: names[0])
def test_entries_execute_on_a_small_machine(names: tuple[str, ...]) -> None:
    target = np.zeros((64, 64), np.float16)
    result = run(
        PROGRAMS[names],
        shared={"bar": ("uint64", 1), "slot": ("uint32", 1, 4), "tile": ("float16", 4096)},
        arrays={"A": SOURCE, "D": target},
        maps=[tensor_map("A", SOURCE, (64, 64), 128), tensor_map("D", target, (64, 64), 128)],
    )
    assert not result.findings and not result.outcome.blocked
    if {"cp.reduce.async.bulk.tensor", "cp.reduce.async.bulk"} & set(names):
        np.testing.assert_array_equal(target, 2 * SOURCE)


def test_every_entry_is_executed() -> None:
    executed = {name for names in PROGRAMS for name in names}
    assert executed <= set(TABLE)
    assert {name for name in set(TABLE) - executed if not ELSEWHERE.fullmatch(name)} == set()

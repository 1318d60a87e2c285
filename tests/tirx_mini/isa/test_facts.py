"""What entries declare is checked against their signatures and bodies, when the table is built or by a walk over it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from tirx_mini.frontends.tvm.instructions import SPELLINGS
from tirx_mini.ir import HANDLE, UINT32, Call, const
from tirx_mini.isa import TABLE, BarrierEffect, Completion, Instruction, Memory, Scope, Spelling, Spellings
from tirx_mini.isa.core import instruction
from tirx_mini.isa.facts import Facts
from tirx_mini.isa.machine import Blocking, Machine, Thread
from tirx_mini.isa.names import COURSE
from tirx_mini.isa.operands import MbarrierAddress, SharedAddress, TensorMapHandle, u32
from tirx_mini.isa.table import aliases

STATED: dict[str, Any] = {"name": "test", "issued_by": Scope.THREAD, "min_sm": 90, "cost": "alu"}
"""Facts of an entry that is made up."""


def waits(gpu: Machine, thread: Thread, bar: MbarrierAddress) -> Blocking:
    yield from gpu.mbarrier(thread, bar).wait(thread, 0)


def hides_its_barrier(gpu: Machine, thread: Thread, place: SharedAddress) -> None:
    gpu.cp_async_arrive(thread, place)


def hides_its_barrier_in_a_function(gpu: Machine, thread: Thread, place: SharedAddress) -> None:
    for barrier in (gpu.mbarrier(thread, place) for _ in range(thread.mask.count)):
        barrier.invalidate(thread)


def leaves_its_barrier_alone(gpu: Machine, thread: Thread, bar: MbarrierAddress) -> None:
    thread.fence_mbarrier_init()


def fences(gpu: Machine, thread: Thread) -> None:
    thread.fence_mbarrier_init()


@pytest.mark.parametrize("body", [waits, hides_its_barrier, hides_its_barrier_in_a_function, leaves_its_barrier_alone])
def test_an_entry_that_touches_an_mbarrier_and_declares_no_effect_is_refused(body: Any) -> None:
    with pytest.raises(ValueError, match=r"test touches an mbarrier \(.*\): declare barrier=BarrierEffect"):
        instruction("test [{bar}];", **STATED)(body)


@pytest.mark.parametrize("body", [hides_its_barrier, fences])
def test_an_effect_on_a_barrier_that_is_not_among_the_operands_is_refused(body: Any) -> None:
    with pytest.raises(ValueError, match=r"declares BarrierEffect.ARRIVE: the operand that it affects must be"):
        instruction("test;", barrier=BarrierEffect.ARRIVE, **STATED)(body)


def test_a_declared_effect_is_accepted() -> None:
    assert instruction("test [{bar}];", barrier=BarrierEffect.WAIT, **STATED)(waits).blocking
    assert instruction("test;", **STATED)(fences).barrier is None


def test_every_effect_is_some_entrys() -> None:
    assert {entry.barrier for entry in TABLE.values()} == {None, *BarrierEffect}


def test_only_a_wait_for_a_phase_blocks() -> None:
    for entry in TABLE.values():
        if entry.barrier is not None:
            assert entry.blocking == (entry.barrier is BarrierEffect.WAIT), entry.name


# -- purity, and the name in CUDA C++ ----------------------------------------------------------------------------------


def answers(gpu: Machine, thread: Thread, value: u32) -> u32:
    return value


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        (fences, {}),
        (waits, {"barrier": BarrierEffect.WAIT}),
        (answers, {"reads": Memory.SHARED}),
        (answers, {"writes": Memory.GLOBAL}),
    ],
    ids=["no result", "a wait", "a read", "a write"],
)
def test_a_pure_entry_has_a_result_and_no_effect(body: Any, facts: dict[str, Any]) -> None:
    assert instruction("test;", pure=True, **STATED)(answers).pure
    with pytest.raises(ValueError, match="test is declared pure"):
        instruction("test;", pure=True, **STATED, **facts)(body)


def test_an_entry_without_ptx_names_a_function_of_cuda() -> None:
    with pytest.raises(ValueError, match="test has no PTX: declare cuda="):
        instruction("", **STATED)(fences)


def test_operands_that_a_cuda_name_stands_for_exist() -> None:
    for entry in TABLE.values():
        if entry.cuda is not None:
            assert set(entry.cuda.fixed) <= {operand.name for operand in entry.operands}, entry.name


# -- other spellings of parameters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("spellings", [{"bar": "bar"}, {"parity": "phase"}])
def test_a_spelling_means_a_parameter_and_is_not_one(spellings: dict[str, str]) -> None:
    entry = instruction("test;", barrier=BarrierEffect.WAIT, **STATED)(waits)
    with pytest.raises(ValueError, match="as a spelling of"):
        aliases(entry, [Spellings((Spelling("test", parameters=spellings),))])


@pytest.mark.parametrize(("fact", "names"), [
    ("is_atomic", {"atom", "atom.cas", "red"}),
    ("stores_words", {"st", "st.mmio"}),
    ("arrives_at_named_barrier", {"bar.arrive", "barrier.arrive"}),
    ("counts_threads", {"bar.arrive", "barrier.arrive", "bar.sync", "barrier.sync"}),
    ("adds_arrival", {"cp.async.mbarrier.arrive"}),
])  # fmt: skip
def test_families_follow_from_the_facts(fact: str, names: set[str]) -> None:
    assert {name for name, entry in TABLE.items() if getattr(entry, fact)} == names


def test_every_spelling_is_one_of_an_instruction() -> None:
    assert {each.instruction for language in (COURSE, SPELLINGS) for each in language.instructions} <= set(TABLE)


def test_an_entry_states_the_isa_and_no_language() -> None:
    assert not {"api", "spellings", "values"} & {fact.name for fact in fields(Facts)}
    assert {alias.path for alias in aliases(TABLE["tcgen05.mma"], [])} == {"ptx.tcgen05.mma"}
    assert any(alias.order for alias in aliases(TABLE["tcgen05.mma"], [SPELLINGS]))


def test_an_entry_that_moves_registers_says_how_many() -> None:
    with pytest.raises(ValueError, match="a modifier `count` must say"):
        instruction("test;", moves_registers=True, **STATED)(fences)


# -- memory ------------------------------------------------------------------------------------------------------------

LINEAR = Memory.GLOBAL | Memory.SHARED
TOUCHED = {
    "load_memory": (LINEAR, Memory.NONE),
    "load_registers": (LINEAR, Memory.NONE),
    "store_memory": (Memory.NONE, LINEAR),
    "store_registers": (Memory.NONE, LINEAR),
    "update_memory": (LINEAR, LINEAR),
    "update_registers": (LINEAR, LINEAR),
    "cp_async": (Memory.GLOBAL, Memory.SHARED),
    "cancel_cluster": (Memory.NONE, Memory.SHARED),
    "cancelled_cluster": (Memory.SHARED, Memory.NONE),
    "bulk_load": (Memory.GLOBAL, Memory.SHARED),
    "bulk_copy": (Memory.SHARED, Memory.SHARED),
    "store_async": (Memory.NONE, Memory.SHARED),
    "bulk_store": (Memory.SHARED, Memory.GLOBAL),
    "tma_load": (Memory.GLOBAL, Memory.SHARED),
    "tma_store": (Memory.SHARED, Memory.GLOBAL),
    "load_matrices": (Memory.SHARED, Memory.NONE),
    "store_matrices": (Memory.NONE, Memory.SHARED),
    "load_byte_matrices": (Memory.SHARED, Memory.NONE),
    "store_byte_matrices": (Memory.NONE, Memory.SHARED),
    "write_shared": (Memory.NONE, Memory.SHARED),
    "issue": (Memory.SHARED, Memory.NONE),
    "mma": (Memory.SHARED | Memory.TENSOR, Memory.TENSOR),
    "tmem_copy": (Memory.SHARED, Memory.TENSOR),
    "tmem_load": (Memory.TENSOR, Memory.NONE),
    "tmem_store": (Memory.NONE, Memory.TENSOR),
}
"""(memories that it reads, memories that it writes) of each verb that touches data."""


def undeclared(entry: Instruction) -> Memory:
    """The memories that the body of an entry reads or writes, and the entry does not declare."""
    verbs = TOUCHED.keys() & entry.used_names
    missing = Memory.NONE
    for reads, writes in (TOUCHED[verb] for verb in verbs):
        missing |= reads & ~entry.reads | writes & ~entry.writes
    return missing


@pytest.mark.parametrize("entry", [pytest.param(entry, id=name) for name, entry in TABLE.items()])
def test_an_entry_declares_the_memories_that_its_body_touches(entry: Instruction) -> None:
    assert undeclared(entry) == Memory.NONE
    if not entry.opaque and not TOUCHED.keys() & entry.used_names:
        assert entry.reads == entry.writes == Memory.NONE


def test_an_undeclared_memory_is_noticed() -> None:
    def stores(gpu: Machine, thread: Thread, tensor_map: TensorMapHandle, src: SharedAddress) -> None:
        gpu.tma_store(thread, tensor_map, src, (0, 0), None)

    assert undeclared(instruction("test;", reads=Memory.SHARED, **STATED)(stores)) == Memory.GLOBAL


COMPLETED = {
    "cp_async": Completion.CP_ASYNC_GROUP,
    "cancel_cluster": Completion.MBARRIER,
    "bulk_load": Completion.MBARRIER,
    "bulk_copy": Completion.MBARRIER,
    "store_async": Completion.MBARRIER,
    "bulk_store": Completion.BULK_GROUP,
    "tma_load": Completion.MBARRIER,
    "tma_store": Completion.BULK_GROUP,
    "issue": Completion.WGMMA_GROUP,
    "mma": Completion.COMMIT,
    "tmem_copy": Completion.COMMIT,
    "tmem_load": Completion.TCGEN05_WAIT,
    "tmem_store": Completion.TCGEN05_WAIT,
}
"""How the work ends that each asynchronous verb begins."""


@pytest.mark.parametrize("entry", [pytest.param(entry, id=name) for name, entry in TABLE.items()])
def test_an_entry_says_how_the_work_ends_that_its_body_begins(entry: Instruction) -> None:
    begun = {COMPLETED[verb] for verb in COMPLETED.keys() & entry.used_names}
    assert begun == ({entry.completion} if entry.completion else set())


# -- calls -------------------------------------------------------------------------------------------------------------


def test_the_cta_that_a_call_addresses() -> None:
    bar, rank = const(16, "uint32"), const(3, "uint32")
    mapped, arrive = Call(UINT32, "mapa", (bar, rank)), Call(HANDLE, "mbarrier.arrive", (bar,))
    assert TABLE["mapa"].peer(mapped) is rank and TABLE["mapa"].argument(mapped, "bar") is bar
    assert TABLE["mbarrier.arrive"].peer(arrive) is None

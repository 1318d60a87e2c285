"""Every instruction of the table assembles, with every combination of its modifiers and on each architecture."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from math import prod

import pytest

from tests.tirx_mini.codegen.samples import func, vector
from tirx_mini.codegen import cuda_source
from tirx_mini.hardware import compute_capability
from tirx_mini.ir import (
    HANDLE,
    INT32,
    AddressOf,
    AllocBuffer,
    Bind,
    Buffer,
    Call,
    DataType,
    DeclBuffer,
    Evaluate,
    Expr,
    Stmt,
    TensorMap,
    TirxError,
    Var,
    cast,
    const,
    special,
)
from tirx_mini.isa import REGISTER_TYPES, TABLE, Access, Instruction, OperandKind
from tirx_mini.runtime import compile_cuda

MANY = 6000
"""Forms of an instruction of which not all are assembled, but each two values of its modifiers."""
FEW, TOGETHER = 20, 40
"""The most forms of an instruction that shares a program, and the most instructions in one."""
BLACKWELLS = ("sm_100a", "sm_103a")
ARCHITECTURES = {70: "sm_75", 80: "sm_80", 90: "sm_90a", 100: "sm_100a"}
"""The architecture to compile for, by the first one with the instruction; NVRTC 13 starts at sm_75."""

SMEM = Buffer("smem", (1024,), DataType("uint8"), "shared", align=1024)
BARS = Buffer("bars", (4,), DataType("uint64"), "shared", source=SMEM, byte_offset=64)
GLOBAL = vector("A", 64, "float32")
FLOATS = vector("floats", 128, "float32", "local")
WORDS = vector("words", 128, "uint32", "local")
MATRIX = Buffer("M", (64, 64), DataType("float16"))
MAP = TensorMap(Var(DataType("tensormap"), "M_map"), MATRIX, (64, 64), (128,), (64, 64), 128)
NUMBERS = {
    "n": (0, 3),
    "count": (64,),
    "dim": (1, 2, 3, 4, 5),
    "num": (1, 8, 32),
    "half": (2,),
    "cta_mask": (None, 3),
    "bytes": (16,),
    "lut": (0x96,),
    "event": (0, 15),
    "cache_policy": (0, 0x12F0000000000000),
    "format": ("%g\n",),
    "function": ("take",),
    "source_code": ("template <typename T> __device__ void take(T) {}",),
    "return_type": ("void",),
    "returned": ("",),
    "scale_input_d": (0, 3),
    "selector": (0,),
}
"""Values of the modifiers that the table does not enumerate."""
IMMEDIATE = {"n_cols": 64, "barrier_id": 1, "threads": 64}
"""Operands that are constants."""
COLUMNS = (8, 136, 256)
"""Values of `n` where it is a number of columns, as wgmma has it."""


@cache
def samples() -> Mapping[OperandKind, Expr]:
    """Arguments of the kinds that are the same in every call."""
    tid = special("threadIdx.x")
    return {
        OperandKind.U32: cast("uint32", tid),
        OperandKind.S32: tid,
        OperandKind.U64: cast("uint64", tid),
        OperandKind.F32: cast("float32", tid),
        OperandKind.F64: cast("float64", tid),
        OperandKind.PREDICATE: tid < 3,
        OperandKind.ANY: cast("float32", tid),
        OperandKind.SHARED: AddressOf(HANDLE, BARS, (const(1),)),
        OperandKind.MBARRIER: AddressOf(HANDLE, BARS, (const(1),)),
        OperandKind.CTA_RANK: cast("uint32", tid),
        OperandKind.GLOBAL: AddressOf(HANDLE, GLOBAL, (tid,)),
        OperandKind.TMEM: cast("uint32", tid),
        OperandKind.TENSOR_MAP: MAP.var,
        OperandKind.TCGEN05_DESCRIPTOR: cast("uint64", tid),
        OperandKind.WGMMA_DESCRIPTOR: cast("uint64", tid),
        OperandKind.INSTRUCTION_DESCRIPTOR: cast("uint32", tid),
    }


def operands(entry: Instruction, attrs: dict[str, object]) -> tuple[Expr, ...]:
    """Arguments of one legal call; only the operands that PTX needs as immediates are constants."""

    def sample(kind: OperandKind) -> Expr:
        if kind is OperandKind.MEMORY:
            return AddressOf(HANDLE, BARS if "shared" in str(attrs.get("space")) else GLOBAL, (const(2),))
        if kind is OperandKind.TYPED:
            held = entry.carriers(**attrs)[0] if entry.carriers else str(attrs.get("type"))
            return cast(REGISTER_TYPES.get(held, "uint32"), special("threadIdx.x"))
        if kind is OperandKind.REGISTERS:
            return AddressOf(HANDLE, WORDS if entry.scattered else FLOATS, (const(0),))
        return samples()[kind]

    out: list[Expr] = []
    for operand in entry.operands:
        number = attrs.get("dim", {"v2": 2, "v4": 4}.get(str(attrs.get("vec")), 1)) if operand.variadic else 1
        if operand.name == "coords" and "4" in str(attrs.get("load_mode", attrs.get("store_mode"))):
            number = 5
        if operand.name == "lanes":
            number = 4 * int(str(attrs["cta_group"]))
        if entry.carriers and attrs["atype"] == "f32" and str(attrs["dtype"]).endswith("x2"):
            number = 2
        assert isinstance(number, int)
        words = str(attrs.get("dtype")) in ("s8", "u8") or entry.name.endswith(".f16")  # sums of wgmma
        if operand.type.kind is OperandKind.REGISTERS and (operand.type.access is Access.READ or words):
            one: Expr = AddressOf(HANDLE, WORDS, (const(0),))
        elif operand.name in IMMEDIATE:
            one = const(IMMEDIATE[operand.name], "uint32")
        else:
            one = sample(operand.type.kind)
        out += [one] * number
    return tuple(out)


def forms(entry: Instruction) -> Iterator[dict[str, object]]:
    """Every legal combination of the entry's modifiers, of very many those that `_pairs` takes."""
    numbers = NUMBERS | ({"n": COLUMNS} if entry.name.startswith("wgmma.mma_async") else {})
    choices = {a.name: a.choices or numbers.get(a.name) or _either(a.default) for a in entry.attributes}
    if entry.typed:
        choices[entry.typed] = tuple(filter(None, choices[entry.typed]))
    for values in itertools.product(*choices.values()) if prod(map(len, choices.values())) < MANY else _pairs(choices):
        attrs = dict(zip(choices, values, strict=True))
        if entry.check is None or entry.check(operands(entry, attrs), **attrs) is None:
            yield attrs


def _pairs(choices: dict[str, tuple[object, ...]]) -> Iterator[tuple[object, ...]]:
    """Combinations in which each two values of different modifiers are together.

    A memory order has a scope, so these two are taken as one.
    """
    names = [name for name in choices if name != "scope"]
    first = {name: values[0] for name, values in choices.items()}
    found: dict[tuple[object, ...], None] = {}
    for one, other in itertools.combinations(names, 2):
        for a, b, scope in itertools.product(choices[one], choices[other], choices["scope"]):
            found[tuple({**first, one: a, other: b, "scope": scope}.values())] = None
    return iter(found)


def _either(default: object) -> tuple[object, ...]:
    assert isinstance(default, bool), "say in NUMBERS what values this modifier has"
    return (True, False)


def statements(entry: Instruction, cta_group: int, arch: str) -> Iterator[Stmt]:
    """One call of each form with this cta_group that the architecture has."""
    for attrs in forms(entry):
        if entry.missing_on(compute_capability(arch), attrs):
            continue
        if attrs.get("cta_group", cta_group) != cta_group or (
            attrs.get("num") == 32 and attrs.get("shape") == "16x256b"
        ):
            continue
        arguments = operands(entry, attrs)
        dtype = entry.result_type(arguments, attrs) or INT32
        call = Call(dtype, entry.name, arguments, tuple(attrs.items()))
        yield Bind(Var(dtype, "result"), call) if entry.result else Evaluate(call)


def architectures(entry: Instruction) -> list[str]:
    """The first architecture that has the instruction, and those of Blackwell, which have all but wgmma."""
    first = ARCHITECTURES[entry.min_sm]
    return sorted({first, *BLACKWELLS}) if entry.exists_on(100) else [first]


def programs() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each architecture with the names of instructions that one program calls.

    Headers and the start of the compiler take most of the time of a small program, so `TOGETHER` instructions share it.
    An instruction of many forms is alone in its program, and so is one with a `cta_group`.
    """
    held: dict[str, list[str]] = {}
    for name, entry in TABLE.items():
        for arch in () if entry.only_in_ptx else architectures(entry):
            if grouped(entry) or len(list(itertools.islice(forms(entry), FEW + 1))) > FEW:
                yield arch, (name,)
            else:
                held.setdefault(arch, []).append(name)
    for arch, names in held.items():
        yield from ((arch, tuple(names[i : i + TOGETHER])) for i in range(0, len(names), TOGETHER))


def grouped(entry: Instruction) -> bool:
    """Return whether the instruction says how many CTAs it is of; a function has room for one such number."""
    return any(attribute.name == "cta_group" for attribute in entry.attributes)


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("arch", "names"), [pytest.param(arch, names, id=f"{names[0]}-{arch}") for arch, names in programs()]
)
def test_every_instruction_assembles(arch: str, names: tuple[str, ...]) -> None:
    entries = [TABLE[name] for name in names]
    for cta_group in (1, 2) if any(map(grouped, entries)) and arch in BLACKWELLS else (1,):
        calls = [list(statements(entry, cta_group, arch)) for entry in entries]
        assert all(calls)
        frame = [AllocBuffer(SMEM), DeclBuffer(BARS), AllocBuffer(FLOATS), AllocBuffer(WORDS)]
        kernel = func(*frame, *itertools.chain.from_iterable(calls), params=(GLOBAL, MATRIX), smem=1024)
        needs_map = any(o.type.kind is OperandKind.TENSOR_MAP for entry in entries for o in entry.operands)
        assert compile_cuda(cuda_source(replace(kernel, tensor_maps=(MAP,) if needs_map else ())), arch).cubin


@pytest.mark.compiler
def test_a_shared_operand_may_be_an_address_of_the_cluster() -> None:
    bar = AddressOf(HANDLE, BARS, (const(0),))
    remote = Call(DataType("uint32"), "mapa", (bar, const(1, "uint32")))
    arrive = TABLE["mbarrier.arrive.expect_tx"]
    calls = [Evaluate(Call(INT32, arrive.name, (place, const(128, "uint32")))) for place in (bar, remote)]
    source = cuda_source(func(AllocBuffer(SMEM), DeclBuffer(BARS), *calls, smem=1024))
    assert "tvm_builtin_ptx_mbarrier_arrive_expect_tx(&bars[0], 128);" in source.text
    assert "tvm_builtin_ptx_mbarrier_arrive_expect_tx(tvm_builtin_ptx_mapa(&bars[0], 1), 128);" in source.text
    ptx = compile_cuda(source, "sm_90a").ptx
    assert "mbarrier.arrive.expect_tx.shared::cta.b64" in ptx
    assert "mbarrier.arrive.expect_tx.shared::cluster.b64" in ptx


@pytest.mark.parametrize(
    ("op", "attrs", "name"),
    [
        ("mbarrier.init", {}, "tvm_builtin_ptx_mbarrier_init(&bars[1], "),
        ("mbarrier.try_wait", {}, "tvm_builtin_ptx_mbarrier_wait(&bars[1], "),
        ("tcgen05.alloc", {"cta_group": 1}, "tvm_builtin_ptx_tcgen05_alloc_cta_group_1(&bars[1], 64)"),
        ("fence.proxy.async", {"space": "shared::cta"}, "tvm_builtin_ptx_fence_proxy_async_shared_cta()"),
        ("fence.mbarrier_init", {}, "tvm_builtin_ptx_fence_mbarrier_init()"),
        ("bar.sync.all", {}, "tvm_builtin_ptx_bar_sync_all(1)"),
        ("elect.sync", {}, "tvm_builtin_elect_one_sync_op()"),
        ("tcgen05.ld", {"shape": "32x32b", "num": 8}, "tvm_builtin_ptx_tcgen05_ld_32x32b_x8(&floats[0], "),
        ("cp.async.bulk.wait_group", {"n": 0, "read": True}, "tvm_builtin_ptx_cp_async_bulk_wait_group_0_read()"),
        (
            "tcgen05.commit",
            {"cta_group": 2, "cta_mask": 3},
            "tvm_builtin_ptx_tcgen05_commit_cta_group_2_cta_mask_3(&bars[1])",
        ),
    ],
)
def test_a_function_is_named_after_its_instruction_and_modifiers(op: str, attrs: dict[str, object], name: str) -> None:
    entry = TABLE[op]
    call = Call(
        entry.result_type((), attrs) or INT32,
        op,
        operands(entry, attrs),
        tuple(attrs.items()),
    )
    stmt = Bind(Var(call.dtype, "chosen"), call) if entry.result else Evaluate(call)
    text = cuda_source(func(AllocBuffer(SMEM), DeclBuffer(BARS), AllocBuffer(FLOATS), stmt, smem=1024)).text
    assert name in text.split("__global__", 1)[1]


def test_barrier_0_has_its_cuda_name() -> None:
    text = cuda_source(func(Evaluate(Call(INT32, "bar.sync.all", (const(0),))))).text
    assert "tvm_builtin_cuda_cta_sync();" in text and '"bar.sync 0;"' in text


@pytest.mark.compiler
@pytest.mark.parametrize("op", ["ldmatrix", "stmatrix"])
def test_a_32_bit_register_holds_two_halves(op: str) -> None:
    halves = vector("halves", 8, "float16", "local")
    entry, attrs = TABLE[op], {"num": 4, "transpose": False}
    args = [
        AddressOf(HANDLE, halves, (const(0),)) if operand.type.kind is OperandKind.REGISTERS else value
        for operand, value in zip(entry.operands, operands(entry, attrs), strict=True)
    ]
    call = Evaluate(Call(INT32, op, tuple(args), tuple(attrs.items())))
    kernel = func(AllocBuffer(SMEM), DeclBuffer(BARS), AllocBuffer(halves), call, call, smem=1024)
    compiled = compile_cuda(cuda_source(kernel), "sm_90a")
    assert compiled.ptx.count(f"{op}.sync.aligned.m8n8.x4.shared::cta.b16") == 2


def test_a_function_with_several_calls_is_defined_once() -> None:
    fence = Evaluate(Call(INT32, "fence.mbarrier_init", ()))
    text = cuda_source(func(fence, fence, fence)).text
    assert text.count("__device__") == 1 and text.count("tvm_builtin_ptx_fence_mbarrier_init();") == 3


SIZES = ("float64", "int64", "uint64", "float32", "int32", "float16", "bfloat16", "int8", "bool")


@pytest.mark.compiler
@pytest.mark.parametrize("dtype", SIZES)
def test_a_shuffle_moves_values_of_all_sizes_as_words(dtype: str) -> None:
    own = vector("own", 1, dtype, "local")
    moved = [Call(DataType(dtype), name, (own[0], const(1))) for name in ("shfl.xor", "shfl.idx", "shfl.up")]
    binds = [Bind(Var(DataType(dtype), f"x{i}"), call) for i, call in enumerate(moved)]
    compiled = compile_cuda(cuda_source(func(AllocBuffer(own), *binds)), "sm_90a")
    assert compiled.ptx.count("shfl.sync.bfly.b32") == (2 if DataType(dtype).bits == 64 else 1)


@pytest.mark.parametrize(
    "name", sorted(n for n, e in TABLE.items() if e.only_in_ptx and not n.endswith(".dimension"))
)
def test_what_only_ptx_programs_have_is_refused(name: str) -> None:
    entry = TABLE[name]
    attrs = {
        a.name: (a.choices or NUMBERS[a.name])[0] if a.default is inspect.Parameter.empty else a.default
        for a in entry.attributes
    }
    call = Call(INT32, name, operands(entry, attrs), tuple(attrs.items()))
    with pytest.raises(TirxError, match="read as PTX, and is not compiled"):
        frame = (AllocBuffer(SMEM), DeclBuffer(BARS), AllocBuffer(WORDS))
        cuda_source(func(*frame, Evaluate(call), params=(GLOBAL,), smem=1024))

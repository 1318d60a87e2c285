"""The language, as kernels import it: ``from tirx_mini.script import tirx as Tx``.

Written by `make stubs` from the tables of instructions and tile primitives. Do not edit it.
"""

from builtins import bool as _bool
from typing import Any, Literal, TypeAlias, overload

from tirx_mini.ir import Buffer as _Buffer
from tirx_mini.ir import Expr, ExprLike, Region
from tirx_mini.ir import const as const
from tirx_mini.isa import Barriers
from tirx_mini.layout import ComposeLayout as ComposeLayout
from tirx_mini.layout import Iter as Iter
from tirx_mini.layout import Layout as Layout
from tirx_mini.layout import R as R
from tirx_mini.layout import S as S
from tirx_mini.layout import TileLayout as TileLayout

from .annotations import LanguageDType, ScopeName
from .blocks import alloc_block_buffer as _alloc_block_buffer
from .blocks import axis as axis
from .blocks import block as _block
from .blocks import block_attr as _block_attr
from .blocks import init as init
from .blocks import reads as reads
from .blocks import where as where
from .blocks import writes as writes
from .frames import Assert as Assert
from .frames import Bind as Bind
from .frames import BufferLoad as BufferLoad
from .frames import Else as Else
from .frames import If as If
from .frames import Let as Let
from .frames import Return as Return
from .frames import Then as Then
from .frames import While as While
from .frames import break_loop as break_loop
from .frames import buffer_store as buffer_store
from .frames import continue_loop as continue_loop
from .frames import thread_return as thread_return
from .frames import tvm_storage_sync as tvm_storage_sync
from .functions import inline as inline
from .handles import OpenScope
from .handles import Ptr as Ptr
from .handles import bind as bind
from .handles import hint as hint
from .handles import let as let
from .handles import meta_class as meta_class
from .handles import meta_var as meta_var
from .instructions import raw_call as _raw_call
from .jit import Optional as Optional
from .jit import constexpr as constexpr
from .jit import jit as jit
from .kernels import prim_func as prim_func
from .loops import grid as grid
from .loops import parallel as parallel
from .loops import serial as serial
from .loops import thread_binding as thread_binding
from .loops import unroll as unroll
from .loops import vectorized as vectorized
from .lowered import launch as launch
from .lowered import node as node
from .lowered import tensor_map as tensor_map
from .memory import address_of as address_of
from .memory import alloc_buffer as alloc_buffer
from .memory import alloc_local as alloc_local
from .memory import alloc_scalar as alloc_scalar
from .memory import alloc_shared as alloc_shared
from .memory import buffer_type as _buffer_type
from .memory import decl_buffer as decl_buffer
from .memory import match_buffer as match_buffer
from .memory import shared_scalar as shared_scalar
from .memory import variable_name as variable_name
from .memory import wg_reg_tile as wg_reg_tile
from .pointers import LetAnnotation as LetAnnotation
from .pointers import LocalVectorAnnotation as LocalVectorAnnotation
from .pointers import Range as Range
from .pointers import StringImm as StringImm
from .pointers import Var as Var
from .pointers import alloc_cast_frag as alloc_cast_frag
from .pointers import alloc_tcgen05_ldst_frag as alloc_tcgen05_ldst_frag
from .pointers import buffer as buffer
from .pointers import buffer_var as buffer_var
from .pointers import decl_scalar as decl_scalar
from .pointers import isnullptr as isnullptr
from .pointers import ptr as ptr
from .pointers import scalar_wrapper as scalar_wrapper
from .pointers import smem as smem
from .pointers import tmem as tmem
from .pointers import tvm_access_ptr as tvm_access_ptr
from .pointers import type_annotation as type_annotation
from .pointers import var as var
from .pool import PoolAllocator as PoolAllocator
from .primitives import max as max
from .primitives import min as min
from .printing import print_buffer as print_buffer
from .scopes import attr as attr
from .scopes import cluster_id as cluster_id
from .scopes import cta_id as cta_id
from .scopes import cta_id_in_cluster as cta_id_in_cluster
from .scopes import cta_id_in_pair as cta_id_in_pair
from .scopes import device_entry as device_entry
from .scopes import filter as filter
from .scopes import func_attr as func_attr
from .scopes import lane_id as lane_id
from .scopes import thread_id as thread_id
from .scopes import thread_id_in_wg as thread_id_in_wg
from .scopes import warp_id as warp_id
from .scopes import warp_id_in_wg as warp_id_in_wg
from .scopes import warpgroup_id as warpgroup_id
from .tensor_maps import TensorMap as TensorMap
from .tensor_maps import call_packed as call_packed
from .tensor_maps import tvm_stack_alloca as tvm_stack_alloca
from .threads import env_thread as env_thread
from .threads import launch_thread as launch_thread
from .values import Cast as Cast
from .values import assume as assume
from .values import ceildiv as ceildiv
from .values import evaluate as evaluate
from .values import handle_add_byte_offset as handle_add_byte_offset
from .values import if_then_else as if_then_else
from .values import likely as likely
from .values import ptr_byte_offset as ptr_byte_offset
from .values import reinterpret as reinterpret
from .values import static_assert as static_assert
from .vectors import Shuffle as Shuffle
from .vectors import broadcast as broadcast
from .vectors import ramp as ramp
from .vectors import vectorcombine as vectorcombine
from .vectors import vectorhigh as vectorhigh
from .vectors import vectorlow as vectorlow

Break = break_loop
Broadcast = broadcast
Buffer = _buffer_type
Continue = continue_loop
Ramp = ramp
SMEMPool = PoolAllocator
Select = if_then_else
buffer_decl = decl_buffer
call = _raw_call
cdiv = ceildiv
local_cell = alloc_scalar
local_scalar = alloc_scalar
macro = inline
sblock = _block
sblock_alloc_buffer = _alloc_block_buffer
sblock_attr = _block_attr
select = if_then_else
__all__: list[str]

Integer: TypeAlias = Expr | _Buffer | int
Number: TypeAlias = Expr | _Buffer | int | float
Condition: TypeAlias = Expr | int
SharedPointer: TypeAlias = Expr | _Buffer | int
BarrierPointer: TypeAlias = Expr | _Buffer | Barriers | int
GlobalPointer: TypeAlias = Expr | _Buffer
RegisterPointer: TypeAlias = Expr | _Buffer
TmemAddress: TypeAlias = Expr | _Buffer | int
MapPointer: TypeAlias = Expr
Tile: TypeAlias = _Buffer | Region | Expr

bool: LanguageDType
handle: LanguageDType
int8: LanguageDType
int16: LanguageDType
int32: LanguageDType
int64: LanguageDType
uint8: LanguageDType
uint16: LanguageDType
uint32: LanguageDType
uint64: LanguageDType
float16: LanguageDType
bfloat16: LanguageDType
float32: LanguageDType
float64: LanguageDType
float8_e4m3fn: LanguageDType
float8_e5m2: LanguageDType
float6_e2m3fn: LanguageDType
float6_e3m2fn: LanguageDType
boolean: LanguageDType
i8: LanguageDType
i16: LanguageDType
i32: LanguageDType
i64: LanguageDType
u8: LanguageDType
u16: LanguageDType
u32: LanguageDType
u64: LanguageDType
f16: LanguageDType
f32: LanguageDType
f64: LanguageDType
bf16: LanguageDType
int8x2: LanguageDType
int8x4: LanguageDType
int8x8: LanguageDType
int8x16: LanguageDType
int16x2: LanguageDType
int16x4: LanguageDType
int16x8: LanguageDType
int16x16: LanguageDType
int32x2: LanguageDType
int32x4: LanguageDType
int32x8: LanguageDType
int32x16: LanguageDType
int64x2: LanguageDType
int64x4: LanguageDType
int64x8: LanguageDType
int64x16: LanguageDType
uint8x2: LanguageDType
uint8x4: LanguageDType
uint8x8: LanguageDType
uint8x16: LanguageDType
uint16x2: LanguageDType
uint16x4: LanguageDType
uint16x8: LanguageDType
uint16x16: LanguageDType
uint32x2: LanguageDType
uint32x4: LanguageDType
uint32x8: LanguageDType
uint32x16: LanguageDType
uint64x2: LanguageDType
uint64x4: LanguageDType
uint64x8: LanguageDType
uint64x16: LanguageDType
float16x2: LanguageDType
float16x4: LanguageDType
float16x8: LanguageDType
float16x16: LanguageDType
bfloat16x2: LanguageDType
bfloat16x4: LanguageDType
bfloat16x8: LanguageDType
bfloat16x16: LanguageDType
float32x2: LanguageDType
float32x4: LanguageDType
float32x8: LanguageDType
float32x16: LanguageDType
float64x2: LanguageDType
float64x4: LanguageDType
float64x8: LanguageDType
float64x16: LanguageDType
float8_e4m3fnx2: LanguageDType
float8_e4m3fnx4: LanguageDType
float8_e4m3fnx8: LanguageDType
float8_e4m3fnx16: LanguageDType
float8_e5m2x2: LanguageDType
float8_e5m2x4: LanguageDType
float8_e5m2x8: LanguageDType
float8_e5m2x16: LanguageDType
float6_e2m3fnx2: LanguageDType
float6_e2m3fnx4: LanguageDType
float6_e2m3fnx8: LanguageDType
float6_e2m3fnx16: LanguageDType
float6_e3m2fnx2: LanguageDType
float6_e3m2fnx4: LanguageDType
float6_e3m2fnx8: LanguageDType
float6_e3m2fnx16: LanguageDType

warp_id_in_cta: Expr
cluster_ctarank: Expr

class _Axes:
    """The components of a special register."""

    x: Expr
    y: Expr
    z: Expr

threadIdx: _Axes
blockIdx: _Axes
clusterCtaIdx: _Axes
gridDim: _Axes

def Add(a: ExprLike, b: ExprLike) -> Expr: ...
def Sub(a: ExprLike, b: ExprLike) -> Expr: ...
def Mul(a: ExprLike, b: ExprLike) -> Expr: ...
def FloorDiv(a: ExprLike, b: ExprLike) -> Expr: ...
def Mod(a: ExprLike, b: ExprLike) -> Expr: ...
def FloorMod(a: ExprLike, b: ExprLike) -> Expr: ...
def EQ(a: ExprLike, b: ExprLike) -> Expr: ...
def NE(a: ExprLike, b: ExprLike) -> Expr: ...
def LT(a: ExprLike, b: ExprLike) -> Expr: ...
def LE(a: ExprLike, b: ExprLike) -> Expr: ...
def GT(a: ExprLike, b: ExprLike) -> Expr: ...
def GE(a: ExprLike, b: ExprLike) -> Expr: ...
def Max(a: ExprLike, b: ExprLike) -> Expr: ...
def Min(a: ExprLike, b: ExprLike) -> Expr: ...
def Div(a: ExprLike, b: ExprLike) -> Expr: ...
def IntImm(a: ExprLike, b: ExprLike) -> Expr: ...
def FloatImm(a: ExprLike, b: ExprLike) -> Expr: ...
def infinity(a: ExprLike, b: ExprLike) -> Expr: ...
def max_value(a: ExprLike, b: ExprLike) -> Expr: ...
def min_value(a: ExprLike, b: ExprLike) -> Expr: ...
def isnan(a: ExprLike, b: ExprLike) -> Expr: ...
def abs(a: ExprLike, b: ExprLike) -> Expr: ...
def fabs(a: ExprLike, b: ExprLike) -> Expr: ...
def And(*values: ExprLike) -> Expr: ...
def Or(*values: ExprLike) -> Expr: ...
def all(a: ExprLike, b: ExprLike) -> Expr: ...
def any(a: ExprLike, b: ExprLike) -> Expr: ...
def Not(value: ExprLike) -> Expr: ...
def bitwise_and(a: ExprLike, b: ExprLike) -> Expr: ...
def bitwise_or(a: ExprLike, b: ExprLike) -> Expr: ...
def bitwise_xor(a: ExprLike, b: ExprLike) -> Expr: ...
def bitwise_not(value: ExprLike) -> Expr: ...
def shift_left(a: ExprLike, b: ExprLike) -> Expr: ...
def shift_right(a: ExprLike, b: ExprLike) -> Expr: ...
def floordiv(a: ExprLike, b: ExprLike) -> Expr: ...
def floormod(a: ExprLike, b: ExprLike) -> Expr: ...
def truncdiv(a: ExprLike, b: ExprLike) -> Expr: ...
def truncmod(a: ExprLike, b: ExprLike) -> Expr: ...

class _Primitives:
    """Tile primitives: operations on tiles, which the threads of a scope execute together."""

    def copy(self, dst: Tile, src: Tile, dispatch: Literal['tcgen05.ld', 'tmem<->local', 'tcgen05.st', 'stmatrix', 'ldstmatrix', 'ldmatrix', 'vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None, vec_len: int | None = None, cache: Literal['nc'] | None = None, l1_evict: str | None = None, l2_evict: str | None = None, prefetch_size: str | int | None = None) -> None:
        """Copy a tile. For the executing threads, the copy is complete when the call returns.

        dispatch: the rule that implements the call; without it, the first that supports it

        vec_len: the elements of one access; the compiler takes as many as fit

        cache: a hint for loads, which is not used

        l1_evict: a hint for loads, which is not used

        l2_evict: a hint for loads, which is not used

        prefetch_size: a hint for loads, which is not used
        """

    def copy_async(self, dst: Tile, src: Tile, dispatch: Literal['tcgen05.ld', 'tmem<->local', 'tcgen05.st', 'tma', 'tma_auto', 'tma_explicit', 'cp_async', 'ldgsts', 'dsmem', 'tcgen05.cp', 'smem->tmem'] | None = None, mbar: BarrierPointer | None = None, cta_group: int = 1, cta_mask: Expr | int | str | None = None, cache_hint: Literal['evict_first', 'evict_normal', 'evict_last'] | str | None = None, prefetch_tensormap: _bool = False, tma_dtype: str | None = None, shape: str | None = None, remote_cta_id: Expr | int | None = None, use_tma_reduce: Literal['add'] | None = None, oob: Literal['zero'] | None = None, mbarrier_addr: _bool = False, tensormap_l2_promotion: object | None = None, prefetch_size: str | int | None = None, vec_len: int | None = None, decompress: _bool = False) -> None:
        """Start to copy a tile: by TMA, by cp.async, or from tensor memory to registers.

        dispatch: the rule that implements the call; without it, the first that supports it

        mbar: the mbarrier on which a TMA load completes its bytes; none for a store

        cta_group: the number of CTAs of a cluster that cooperate in the operation

        cta_mask: the CTAs of the cluster that receive the tile, bit r for rank r; several bits are a multicast; of a tcgen05.cp, as `multicast`, the form of its copies

        cache_hint: the priority with which the L2 cache evicts the data

        prefetch_tensormap: whether to prefetch the tensor map; the compiler does so in any case

        tma_dtype: another dtype for the elements of the tensor map, as wide as the buffer's

        shape: the shape of a tcgen05.cp, which is checked; it follows from the layouts

        remote_cta_id: of a copy between CTAs, the rank of the receiving CTA

        use_tma_reduce: of a TMA store, the operation with which it combines what the memory holds

        oob: what a TMA load leaves for elements outside of the tensor

        mbarrier_addr: whether mbar is an address of shared memory; the compiler sees it by its dtype

        tensormap_l2_promotion: a hint for the L2 cache, which is not used

        prefetch_size: a hint for loads, which is not used

        vec_len: the elements of one access; the compiler takes as many as fit

        decompress: of a tcgen05.cp, whether it unpacks elements; it must be False
        """

    @overload
    def cast(self, dst: Tile, src: Tile, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
        """Convert each element to the dtype of the destination.

        dispatch: the rule that implements the call; without it, the first that supports it
        """
    @overload
    def cast(self, value: ExprLike, dtype: str | LanguageDType) -> Expr:
        """`value` converted to `dtype`."""

    def fill(self, dst: Tile, value: Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
        """Set every element to one value.

        dispatch: the rule that implements the call; without it, the first that supports it
        """

    def zero(self, dst: Tile, src: Tile | None = None, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
        """Set every element to 0; the second operand is not read.

        dispatch: the rule that implements the call; without it, the first that supports it
        """

    def permute_layout(self, dst: Tile, src: Tile, dispatch: Literal['registers', 'warp_xor_swizzle'] | None = None) -> None:
        """Copy a tile of shared memory to another layout, also in place.

        dispatch: the rule that implements the call; without it, the first that supports it
        """

    def gemm_async(self, C: Tile, A: Tile, B: Tile, SFA: Tile | None = None, SFB: Tile | None = None, transA: _bool = False, transB: _bool = False, accum: Condition = False, dispatch: Literal['tcgen05', 'wgmma'] | None = None, cta_group: int = 1, mma_m: int | None = None, mma_n: int | None = None, smem_desc: Literal['hoist', 'local_hoist', 'recompute', 'encode'] = 'hoist', descI: object | None = None, is_AB_tf32: _bool = False, weight_stationary: _bool = False) -> None:
        """Start C = A @ B.T, or C += A @ B.T where `accum` holds; SFA and SFB are factors that scale blocks of A and B.

        transA: whether A is K × M, contiguous along M, and not M × K

        transB: whether B is K × N, contiguous along N, and not N × K

        accum: whether the result is added to the destination; otherwise it overwrites it

        dispatch: the rule that implements the call; without it, the first that supports it

        cta_group: the number of CTAs of a cluster that cooperate in the operation

        mma_m: M of one instruction, of both CTAs of a pair; given together with mma_n

        mma_n: N of one instruction, which must divide that of the product

        smem_desc: where TVM computes the descriptors of A and B; here the compiler decides, and each value means the same

        descI: TVM's place for an instruction descriptor; the compiler encodes it

        is_AB_tf32: whether A and B of float32 are multiplied as tf32, as they are here

        weight_stationary: whether to issue tcgen05.mma.ws, which keeps B in the tensor core
        """

    def gemm(self, D: Tile, A: Tile, B: Tile, C: Tile, transpose_A: _bool = False, transpose_B: _bool = False, alpha: float = 1.0, beta: float = 0.0, dispatch: Literal['mma.sync', 'mma.m16n8k*'] | None = None) -> None:
        """D = alpha A @ B + beta C on matrices in the registers of warps. Complete when the call returns.

        transpose_A: whether A is K × M and not M × K

        transpose_B: whether B is N × K and not K × N

        alpha: the factor of the product; mma.sync has only 1

        beta: the factor of C: 1, or 0 to leave C out

        dispatch: the rule that implements the call; without it, the first that supports it
        """

    def add(self, dst: Tile, a: Tile, b: Tile | Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None, rounding_mode: Literal['rn', 'rz', 'rm', 'rp'] | None = None) -> None:
        """dst = a + b.

        dispatch: the rule that implements the call; without it, the first that supports it

        rounding_mode: how float32 is rounded; without it, to nearest
        """

    def sub(self, dst: Tile, a: Tile, b: Tile | Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None, rounding_mode: Literal['rn', 'rz', 'rm', 'rp'] | None = None) -> None:
        """dst = a - b.

        dispatch: the rule that implements the call; without it, the first that supports it

        rounding_mode: how float32 is rounded; without it, to nearest
        """

    def mul(self, dst: Tile, a: Tile, b: Tile | Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None, rounding_mode: Literal['rn', 'rz', 'rm', 'rp'] | None = None) -> None:
        """dst = a * b.

        dispatch: the rule that implements the call; without it, the first that supports it

        rounding_mode: how float32 is rounded; without it, to nearest
        """

    def fdiv(self, dst: Tile, a: Tile, b: Tile | Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
        """dst = a / b.

        dispatch: the rule that implements the call; without it, the first that supports it
        """

    def maximum(self, dst: Tile, a: Tile, b: Tile | Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
        """dst = max(a, b).

        dispatch: the rule that implements the call; without it, the first that supports it
        """

    def minimum(self, dst: Tile, a: Tile, b: Tile | Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
        """dst = min(a, b).

        dispatch: the rule that implements the call; without it, the first that supports it
        """

    def neg(self, dst: Tile, a: Tile, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
        """dst = -a.

        dispatch: the rule that implements the call; without it, the first that supports it
        """

    def fma(self, dst: Tile, src: Tile, scale: Tile | Number, bias: Tile | Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None, rounding_mode: Literal['rn', 'rz', 'rm', 'rp'] | None = None) -> None:
        """dst = src * scale + bias, rounded once.

        dispatch: the rule that implements the call; without it, the first that supports it

        rounding_mode: how float32 is rounded; without it, to nearest
        """

    def exp2(self, dst: Tile, src: Tile | None = None, bias: Tile | Number | None = None, scale: Tile | Number | None = None, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
        """2 to the power of each element of src. With `scale` or `bias`, of src * scale + bias in place of src.

        dispatch: the rule that implements the call; without it, the first that supports it
        """

    def exp(self, dst: Tile, src: Tile | None = None, bias: Tile | Number | None = None, scale: Tile | Number | None = None, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
        """e to the power of each element of src. With `scale` or `bias`, of src * scale + bias in place of src.

        dispatch: the rule that implements the call; without it, the first that supports it
        """

    def log2(self, dst: Tile, src: Tile | None = None, bias: Tile | Number | None = None, scale: Tile | Number | None = None, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
        """The logarithm of each element of src to the base 2. With `scale` or `bias`, of src * scale + bias in place of src.

        dispatch: the rule that implements the call; without it, the first that supports it
        """

    def sqrt(self, dst: Tile, src: Tile | None = None, bias: Tile | Number | None = None, scale: Tile | Number | None = None, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
        """The square root of each element of src. With `scale` or `bias`, of src * scale + bias in place of src.

        dispatch: the rule that implements the call; without it, the first that supports it
        """

    def reciprocal(self, dst: Tile, src: Tile | None = None, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
        """1 / each element of src.

        dispatch: the rule that implements the call; without it, the first that supports it
        """

    def silu(self, dst: Tile, src: Tile | None = None, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
        """src * sigmoid(src) = src / (1 + exp(-src)).

        dispatch: the rule that implements the call; without it, the first that supports it
        """

    def reduce_sum(self, dst: Tile, src: Tile, axes: int | tuple[int, ...] | None = None, accum: Condition = False, dispatch: Literal['thread', 'local', 'packed_add_sum', '3input_maxmin', 'registers', 'shuffle', 'shared'] | None = None, thread_reduce: _bool = False) -> None:
        """The sum of src over the dimensions `axes`; without them, over those that dst lacks.

        axes: the dimensions of src to reduce, from the end if negative

        accum: whether the result is added to the destination; otherwise it overwrites it

        dispatch: the rule that implements the call; without it, the first that supports it

        thread_reduce: whether threads that hold parts of a row combine their results by shuffles
        """

    def reduce_max(self, dst: Tile, src: Tile, axes: int | tuple[int, ...] | None = None, accum: Condition = False, dispatch: Literal['thread', 'local', 'packed_add_sum', '3input_maxmin', 'registers', 'shuffle', 'shared'] | None = None, thread_reduce: _bool = False) -> None:
        """The max of src over the dimensions `axes`; without them, over those that dst lacks.

        axes: the dimensions of src to reduce, from the end if negative

        accum: whether the result is added to the destination; otherwise it overwrites it

        dispatch: the rule that implements the call; without it, the first that supports it

        thread_reduce: whether threads that hold parts of a row combine their results by shuffles
        """

    def reduce_min(self, dst: Tile, src: Tile, axes: int | tuple[int, ...] | None = None, accum: Condition = False, dispatch: Literal['thread', 'local', 'packed_add_sum', '3input_maxmin', 'registers', 'shuffle', 'shared'] | None = None, thread_reduce: _bool = False) -> None:
        """The min of src over the dimensions `axes`; without them, over those that dst lacks.

        axes: the dimensions of src to reduce, from the end if negative

        accum: whether the result is added to the destination; otherwise it overwrites it

        dispatch: the rule that implements the call; without it, the first that supports it

        thread_reduce: whether threads that hold parts of a row combine their results by shuffles
        """

    def warp_sum(self, dst: Tile, value: Number, width: int = 32) -> None:
        """The sum of one value per thread, returned to every thread of the warp.

        width: the number of adjacent lanes whose values are reduced together
        """

    def warp_max(self, dst: Tile, value: Number, width: int = 32) -> None:
        """The max of one value per thread, returned to every thread of the warp.

        width: the number of adjacent lanes whose values are reduced together
        """

    def warp_min(self, dst: Tile, value: Number, width: int = 32) -> None:
        """The min of one value per thread, returned to every thread of the warp.

        width: the number of adjacent lanes whose values are reduced together
        """

    def cta_sum(self, dst: Tile, value: Number, num_warps: int | None = None, scratch: SharedPointer | None = None) -> None:
        """The sum of one value per thread, returned to every thread of the cta.

        num_warps: the number of warps of the CTA, which is checked

        scratch: shared memory with one element for each warp; without it, the compiler allocates it
        """

    def cta_max(self, dst: Tile, value: Number, num_warps: int | None = None, scratch: SharedPointer | None = None) -> None:
        """The max of one value per thread, returned to every thread of the cta.

        num_warps: the number of warps of the CTA, which is checked

        scratch: shared memory with one element for each warp; without it, the compiler allocates it
        """

    def cta_min(self, dst: Tile, value: Number, num_warps: int | None = None, scratch: SharedPointer | None = None) -> None:
        """The min of one value per thread, returned to every thread of the cta.

        num_warps: the number of warps of the CTA, which is checked

        scratch: shared memory with one element for each warp; without it, the compiler allocates it
        """

    def sum(self, dst: Tile, src: Tile, axes: int | tuple[int, ...] | None = None, accum: Condition = False, dispatch: Literal['thread', 'local', 'packed_add_sum', '3input_maxmin', 'registers', 'shuffle', 'shared'] | None = None, thread_reduce: _bool = False) -> None:
        """The sum of src over the dimensions `axes`; without them, over those that dst lacks.

        axes: the dimensions of src to reduce, from the end if negative

        accum: whether the result is added to the destination; otherwise it overwrites it

        dispatch: the rule that implements the call; without it, the first that supports it

        thread_reduce: whether threads that hold parts of a row combine their results by shuffles
        """

    def max(self, dst: Tile, src: Tile, axes: int | tuple[int, ...] | None = None, accum: Condition = False, dispatch: Literal['thread', 'local', 'packed_add_sum', '3input_maxmin', 'registers', 'shuffle', 'shared'] | None = None, thread_reduce: _bool = False) -> None:
        """The max of src over the dimensions `axes`; without them, over those that dst lacks.

        axes: the dimensions of src to reduce, from the end if negative

        accum: whether the result is added to the destination; otherwise it overwrites it

        dispatch: the rule that implements the call; without it, the first that supports it

        thread_reduce: whether threads that hold parts of a row combine their results by shuffles
        """

    def min(self, dst: Tile, src: Tile, axes: int | tuple[int, ...] | None = None, accum: Condition = False, dispatch: Literal['thread', 'local', 'packed_add_sum', '3input_maxmin', 'registers', 'shuffle', 'shared'] | None = None, thread_reduce: _bool = False) -> None:
        """The min of src over the dimensions `axes`; without them, over those that dst lacks.

        axes: the dimensions of src to reduce, from the end if negative

        accum: whether the result is added to the destination; otherwise it overwrites it

        dispatch: the rule that implements the call; without it, the first that supports it

        thread_reduce: whether threads that hold parts of a row combine their results by shuffles
        """

    def memset(self, dst: Tile, value: Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
        """Set every element to one value.

        dispatch: the rule that implements the call; without it, the first that supports it
        """

class _Scope(_Primitives):
    """An execution scope. A call opens it; its attributes are tile primitives that it executes."""

    def __call__(self, parent: ScopeName | None = None) -> OpenScope: ...

class _Tiles(_Primitives):
    """The tile primitives, and the scopes to which they can be bound."""

    kernel: _Scope
    cluster: _Scope
    cta: _Scope
    warpgroup: _Scope
    warp: _Scope
    thread: _Scope
    wg: _Scope

kernel: _Scope
"""The execution scope of a kernel."""
cluster: _Scope
"""The execution scope of a cluster."""
cta: _Scope
"""The execution scope of a cta."""
warpgroup: _Scope
"""The execution scope of a warpgroup."""
warp: _Scope
"""The execution scope of a warp."""
thread: _Scope
"""The execution scope of a thread."""
wg: _Scope

tile: _Tiles

def copy(dst: Tile, src: Tile, dispatch: Literal['tcgen05.ld', 'tmem<->local', 'tcgen05.st', 'stmatrix', 'ldstmatrix', 'ldmatrix', 'vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None, vec_len: int | None = None, cache: Literal['nc'] | None = None, l1_evict: str | None = None, l2_evict: str | None = None, prefetch_size: str | int | None = None) -> None:
    """Copy a tile. For the executing threads, the copy is complete when the call returns.

    dispatch: the rule that implements the call; without it, the first that supports it

    vec_len: the elements of one access; the compiler takes as many as fit

    cache: a hint for loads, which is not used

    l1_evict: a hint for loads, which is not used

    l2_evict: a hint for loads, which is not used

    prefetch_size: a hint for loads, which is not used
    """

def copy_async(dst: Tile, src: Tile, dispatch: Literal['tcgen05.ld', 'tmem<->local', 'tcgen05.st', 'tma', 'tma_auto', 'tma_explicit', 'cp_async', 'ldgsts', 'dsmem', 'tcgen05.cp', 'smem->tmem'] | None = None, mbar: BarrierPointer | None = None, cta_group: int = 1, cta_mask: Expr | int | str | None = None, cache_hint: Literal['evict_first', 'evict_normal', 'evict_last'] | str | None = None, prefetch_tensormap: _bool = False, tma_dtype: str | None = None, shape: str | None = None, remote_cta_id: Expr | int | None = None, use_tma_reduce: Literal['add'] | None = None, oob: Literal['zero'] | None = None, mbarrier_addr: _bool = False, tensormap_l2_promotion: object | None = None, prefetch_size: str | int | None = None, vec_len: int | None = None, decompress: _bool = False) -> None:
    """Start to copy a tile: by TMA, by cp.async, or from tensor memory to registers.

    dispatch: the rule that implements the call; without it, the first that supports it

    mbar: the mbarrier on which a TMA load completes its bytes; none for a store

    cta_group: the number of CTAs of a cluster that cooperate in the operation

    cta_mask: the CTAs of the cluster that receive the tile, bit r for rank r; several bits are a multicast; of a tcgen05.cp, as `multicast`, the form of its copies

    cache_hint: the priority with which the L2 cache evicts the data

    prefetch_tensormap: whether to prefetch the tensor map; the compiler does so in any case

    tma_dtype: another dtype for the elements of the tensor map, as wide as the buffer's

    shape: the shape of a tcgen05.cp, which is checked; it follows from the layouts

    remote_cta_id: of a copy between CTAs, the rank of the receiving CTA

    use_tma_reduce: of a TMA store, the operation with which it combines what the memory holds

    oob: what a TMA load leaves for elements outside of the tensor

    mbarrier_addr: whether mbar is an address of shared memory; the compiler sees it by its dtype

    tensormap_l2_promotion: a hint for the L2 cache, which is not used

    prefetch_size: a hint for loads, which is not used

    vec_len: the elements of one access; the compiler takes as many as fit

    decompress: of a tcgen05.cp, whether it unpacks elements; it must be False
    """

@overload
def cast(dst: Tile, src: Tile, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
    """Convert each element to the dtype of the destination.

    dispatch: the rule that implements the call; without it, the first that supports it
    """
@overload
def cast(value: ExprLike, dtype: str | LanguageDType) -> Expr:
    """`value` converted to `dtype`."""

def fill(dst: Tile, value: Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
    """Set every element to one value.

    dispatch: the rule that implements the call; without it, the first that supports it
    """

def zero(dst: Tile, src: Tile | None = None, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
    """Set every element to 0; the second operand is not read.

    dispatch: the rule that implements the call; without it, the first that supports it
    """

def permute_layout(dst: Tile, src: Tile, dispatch: Literal['registers', 'warp_xor_swizzle'] | None = None) -> None:
    """Copy a tile of shared memory to another layout, also in place.

    dispatch: the rule that implements the call; without it, the first that supports it
    """

def gemm_async(C: Tile, A: Tile, B: Tile, SFA: Tile | None = None, SFB: Tile | None = None, transA: _bool = False, transB: _bool = False, accum: Condition = False, dispatch: Literal['tcgen05', 'wgmma'] | None = None, cta_group: int = 1, mma_m: int | None = None, mma_n: int | None = None, smem_desc: Literal['hoist', 'local_hoist', 'recompute', 'encode'] = 'hoist', descI: object | None = None, is_AB_tf32: _bool = False, weight_stationary: _bool = False) -> None:
    """Start C = A @ B.T, or C += A @ B.T where `accum` holds; SFA and SFB are factors that scale blocks of A and B.

    transA: whether A is K × M, contiguous along M, and not M × K

    transB: whether B is K × N, contiguous along N, and not N × K

    accum: whether the result is added to the destination; otherwise it overwrites it

    dispatch: the rule that implements the call; without it, the first that supports it

    cta_group: the number of CTAs of a cluster that cooperate in the operation

    mma_m: M of one instruction, of both CTAs of a pair; given together with mma_n

    mma_n: N of one instruction, which must divide that of the product

    smem_desc: where TVM computes the descriptors of A and B; here the compiler decides, and each value means the same

    descI: TVM's place for an instruction descriptor; the compiler encodes it

    is_AB_tf32: whether A and B of float32 are multiplied as tf32, as they are here

    weight_stationary: whether to issue tcgen05.mma.ws, which keeps B in the tensor core
    """

def gemm(D: Tile, A: Tile, B: Tile, C: Tile, transpose_A: _bool = False, transpose_B: _bool = False, alpha: float = 1.0, beta: float = 0.0, dispatch: Literal['mma.sync', 'mma.m16n8k*'] | None = None) -> None:
    """D = alpha A @ B + beta C on matrices in the registers of warps. Complete when the call returns.

    transpose_A: whether A is K × M and not M × K

    transpose_B: whether B is N × K and not K × N

    alpha: the factor of the product; mma.sync has only 1

    beta: the factor of C: 1, or 0 to leave C out

    dispatch: the rule that implements the call; without it, the first that supports it
    """

def add(dst: Tile, a: Tile, b: Tile | Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None, rounding_mode: Literal['rn', 'rz', 'rm', 'rp'] | None = None) -> None:
    """dst = a + b.

    dispatch: the rule that implements the call; without it, the first that supports it

    rounding_mode: how float32 is rounded; without it, to nearest
    """

def sub(dst: Tile, a: Tile, b: Tile | Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None, rounding_mode: Literal['rn', 'rz', 'rm', 'rp'] | None = None) -> None:
    """dst = a - b.

    dispatch: the rule that implements the call; without it, the first that supports it

    rounding_mode: how float32 is rounded; without it, to nearest
    """

def mul(dst: Tile, a: Tile, b: Tile | Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None, rounding_mode: Literal['rn', 'rz', 'rm', 'rp'] | None = None) -> None:
    """dst = a * b.

    dispatch: the rule that implements the call; without it, the first that supports it

    rounding_mode: how float32 is rounded; without it, to nearest
    """

def fdiv(dst: Tile, a: Tile, b: Tile | Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
    """dst = a / b.

    dispatch: the rule that implements the call; without it, the first that supports it
    """

def maximum(dst: Tile, a: Tile, b: Tile | Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
    """dst = max(a, b).

    dispatch: the rule that implements the call; without it, the first that supports it
    """

def minimum(dst: Tile, a: Tile, b: Tile | Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
    """dst = min(a, b).

    dispatch: the rule that implements the call; without it, the first that supports it
    """

def neg(dst: Tile, a: Tile, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
    """dst = -a.

    dispatch: the rule that implements the call; without it, the first that supports it
    """

@overload
def fma(dst: Tile, src: Tile, scale: Tile | Number, bias: Tile | Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None, rounding_mode: Literal['rn', 'rz', 'rm', 'rp'] | None = None) -> None:
    """dst = src * scale + bias, rounded once.

    dispatch: the rule that implements the call; without it, the first that supports it

    rounding_mode: how float32 is rounded; without it, to nearest
    """
@overload
def fma(x: ExprLike, y: ExprLike, z: ExprLike) -> Expr:
    """Return x * y + z with a single rounding."""

@overload
def exp2(dst: Tile, src: Tile | None = None, bias: Tile | Number | None = None, scale: Tile | Number | None = None, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
    """2 to the power of each element of src. With `scale` or `bias`, of src * scale + bias in place of src.

    dispatch: the rule that implements the call; without it, the first that supports it
    """
@overload
def exp2(x: ExprLike) -> Expr:
    """Return 2 to the power of `x` (``ex2.approx``)."""

@overload
def exp(dst: Tile, src: Tile | None = None, bias: Tile | Number | None = None, scale: Tile | Number | None = None, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
    """e to the power of each element of src. With `scale` or `bias`, of src * scale + bias in place of src.

    dispatch: the rule that implements the call; without it, the first that supports it
    """
@overload
def exp(x: ExprLike) -> Expr:
    """Return e to the power of `x`, computed as 2 to the power of x · log2(e) like CUDA's ``__expf``."""

@overload
def log2(dst: Tile, src: Tile | None = None, bias: Tile | Number | None = None, scale: Tile | Number | None = None, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
    """The logarithm of each element of src to the base 2. With `scale` or `bias`, of src * scale + bias in place of src.

    dispatch: the rule that implements the call; without it, the first that supports it
    """
@overload
def log2(x: ExprLike) -> Expr:
    """Return the base-2 logarithm of `x` (``lg2.approx``)."""

@overload
def sqrt(dst: Tile, src: Tile | None = None, bias: Tile | Number | None = None, scale: Tile | Number | None = None, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
    """The square root of each element of src. With `scale` or `bias`, of src * scale + bias in place of src.

    dispatch: the rule that implements the call; without it, the first that supports it
    """
@overload
def sqrt(x: ExprLike) -> Expr:
    """Return the square root of `x`, rounded to nearest."""

def reciprocal(dst: Tile, src: Tile | None = None, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
    """1 / each element of src.

    dispatch: the rule that implements the call; without it, the first that supports it
    """

def silu(dst: Tile, src: Tile | None = None, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
    """src * sigmoid(src) = src / (1 + exp(-src)).

    dispatch: the rule that implements the call; without it, the first that supports it
    """

def reduce_sum(dst: Tile, src: Tile, axes: int | tuple[int, ...] | None = None, accum: Condition = False, dispatch: Literal['thread', 'local', 'packed_add_sum', '3input_maxmin', 'registers', 'shuffle', 'shared'] | None = None, thread_reduce: _bool = False) -> None:
    """The sum of src over the dimensions `axes`; without them, over those that dst lacks.

    axes: the dimensions of src to reduce, from the end if negative

    accum: whether the result is added to the destination; otherwise it overwrites it

    dispatch: the rule that implements the call; without it, the first that supports it

    thread_reduce: whether threads that hold parts of a row combine their results by shuffles
    """

def reduce_max(dst: Tile, src: Tile, axes: int | tuple[int, ...] | None = None, accum: Condition = False, dispatch: Literal['thread', 'local', 'packed_add_sum', '3input_maxmin', 'registers', 'shuffle', 'shared'] | None = None, thread_reduce: _bool = False) -> None:
    """The max of src over the dimensions `axes`; without them, over those that dst lacks.

    axes: the dimensions of src to reduce, from the end if negative

    accum: whether the result is added to the destination; otherwise it overwrites it

    dispatch: the rule that implements the call; without it, the first that supports it

    thread_reduce: whether threads that hold parts of a row combine their results by shuffles
    """

def reduce_min(dst: Tile, src: Tile, axes: int | tuple[int, ...] | None = None, accum: Condition = False, dispatch: Literal['thread', 'local', 'packed_add_sum', '3input_maxmin', 'registers', 'shuffle', 'shared'] | None = None, thread_reduce: _bool = False) -> None:
    """The min of src over the dimensions `axes`; without them, over those that dst lacks.

    axes: the dimensions of src to reduce, from the end if negative

    accum: whether the result is added to the destination; otherwise it overwrites it

    dispatch: the rule that implements the call; without it, the first that supports it

    thread_reduce: whether threads that hold parts of a row combine their results by shuffles
    """

def warp_sum(dst: Tile, value: Number, width: int = 32) -> None:
    """The sum of one value per thread, returned to every thread of the warp.

    width: the number of adjacent lanes whose values are reduced together
    """

def warp_max(dst: Tile, value: Number, width: int = 32) -> None:
    """The max of one value per thread, returned to every thread of the warp.

    width: the number of adjacent lanes whose values are reduced together
    """

def warp_min(dst: Tile, value: Number, width: int = 32) -> None:
    """The min of one value per thread, returned to every thread of the warp.

    width: the number of adjacent lanes whose values are reduced together
    """

def cta_sum(dst: Tile, value: Number, num_warps: int | None = None, scratch: SharedPointer | None = None) -> None:
    """The sum of one value per thread, returned to every thread of the cta.

    num_warps: the number of warps of the CTA, which is checked

    scratch: shared memory with one element for each warp; without it, the compiler allocates it
    """

def cta_max(dst: Tile, value: Number, num_warps: int | None = None, scratch: SharedPointer | None = None) -> None:
    """The max of one value per thread, returned to every thread of the cta.

    num_warps: the number of warps of the CTA, which is checked

    scratch: shared memory with one element for each warp; without it, the compiler allocates it
    """

def cta_min(dst: Tile, value: Number, num_warps: int | None = None, scratch: SharedPointer | None = None) -> None:
    """The min of one value per thread, returned to every thread of the cta.

    num_warps: the number of warps of the CTA, which is checked

    scratch: shared memory with one element for each warp; without it, the compiler allocates it
    """

def sum(dst: Tile, src: Tile, axes: int | tuple[int, ...] | None = None, accum: Condition = False, dispatch: Literal['thread', 'local', 'packed_add_sum', '3input_maxmin', 'registers', 'shuffle', 'shared'] | None = None, thread_reduce: _bool = False) -> None:
    """The sum of src over the dimensions `axes`; without them, over those that dst lacks.

    axes: the dimensions of src to reduce, from the end if negative

    accum: whether the result is added to the destination; otherwise it overwrites it

    dispatch: the rule that implements the call; without it, the first that supports it

    thread_reduce: whether threads that hold parts of a row combine their results by shuffles
    """

def memset(dst: Tile, value: Number, dispatch: Literal['vector', 'vec_auto', 'vec_16b', 'vec_32b', 'vec_64b', 'vec_128b', 'vec_256b', 'fallback', 'reg', 'smem'] | None = None) -> None:
    """Set every element to one value.

    dispatch: the rule that implements the call; without it, the first that supports it
    """

def log(x: ExprLike) -> Expr:
    """Return the natural logarithm of `x`, computed as log2(x) · ln(2) like CUDA's ``__logf``."""

def rsqrt(x: ExprLike) -> Expr:
    """Return the reciprocal square root of `x` (``rsqrt.approx``)."""

def sigmoid(x: ExprLike) -> Expr:
    """Return the logistic function, 1 / (1 + e to the power of -`x`)."""

def sin(x: ExprLike) -> Expr:
    """The sine of `x`, in radians."""

def cos(x: ExprLike) -> Expr:
    """The cosine of `x`, in radians."""

def tan(x: ExprLike) -> Expr:
    """The tangent of `x`, in radians."""

def asin(x: ExprLike) -> Expr:
    """The angle whose sine is `x`, in radians."""

def acos(x: ExprLike) -> Expr:
    """The angle whose cosine is `x`, in radians."""

def atan(x: ExprLike) -> Expr:
    """The angle whose tangent is `x`, in radians."""

def sinh(x: ExprLike) -> Expr:
    """The hyperbolic sine of `x`."""

def cosh(x: ExprLike) -> Expr:
    """The hyperbolic cosine of `x`."""

def tanh(x: ExprLike) -> Expr:
    """The hyperbolic tangent of `x`."""

def asinh(x: ExprLike) -> Expr:
    """The number whose hyperbolic sine is `x`."""

def acosh(x: ExprLike) -> Expr:
    """The number whose hyperbolic cosine is `x`."""

def atanh(x: ExprLike) -> Expr:
    """The number whose hyperbolic tangent is `x`."""

def erf(x: ExprLike) -> Expr:
    """The error function of `x`."""

def exp10(x: ExprLike) -> Expr:
    """10 to the power of `x`."""

def log10(x: ExprLike) -> Expr:
    """The logarithm of `x` to the base 10."""

def log1p(x: ExprLike) -> Expr:
    """The natural logarithm of 1 + `x`."""

def pow(x: ExprLike, y: ExprLike) -> Expr:
    """`x` to the power of `y`."""

def fmod(x: ExprLike, y: ExprLike) -> Expr:
    """The remainder of `x` / `y`, with the sign of `x`."""

def hypot(x: ExprLike, y: ExprLike) -> Expr:
    """The square root of x² + y²."""

def copysign(x: ExprLike, y: ExprLike) -> Expr:
    """The size of `x` with the sign of `y`."""

def atan2(y: ExprLike, x: ExprLike) -> Expr:
    """Return the angle of the point (`x`, `y`), in radians."""

def nextafter(x: ExprLike, y: ExprLike) -> Expr:
    """Return the neighbour of `x` towards `y` in its type. Raises `TirxError` for 16-bit floats."""

def ldexp(x: ExprLike, exponent: ExprLike) -> Expr:
    """Return `x` times 2 to the power of an integer."""

def isfinite(x: ExprLike) -> Expr:
    """Return whether `x` is finite, neither infinite nor NaN."""

def isinf(x: ExprLike) -> Expr:
    """Return whether `x` is infinite."""

def floor(x: ExprLike) -> Expr:
    """The greatest whole number up to `x`."""

def ceil(x: ExprLike) -> Expr:
    """The least whole number from `x` on."""

def trunc(x: ExprLike) -> Expr:
    """`x` without its fraction."""

def nearbyint(x: ExprLike) -> Expr:
    """The nearest whole number, the even one of two."""

def round(x: ExprLike) -> Expr:
    """The nearest whole number, the even one of two."""

def popcount(x: ExprLike) -> Expr:
    """Return the number of set bits of `x`, in its type."""

def clz(x: ExprLike) -> Expr:
    """Return the number of leading zeros of `x`, or all bits of its type for 0."""

def dp4a(vec1: ExprLike, vec2: ExprLike, acc: ExprLike) -> Expr:
    """Return `acc` plus the dot product of the four bytes of `vec1` and `vec2`, signed unless their type is not."""

class _PtxLd:
    """Tx.ptx.ld: instructions."""

    @overload
    def __call__(self, address: Integer, returned: str = '', type: Literal['', 'b8', 'b16', 'b32', 'b64', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f32', 'f64'] | str = '', sem: Literal['', 'weak', 'volatile', 'relaxed', 'acquire'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global', cop: Literal['', 'ca', 'cg', 'cs', 'lu', 'cv'] | str = '', nc: _bool = False, evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '', prefetch: Literal['', 'L2::64B', 'L2::128B', 'L2::256B'] | str = '') -> Expr:
        """Load the value at `address`, by default in the buffer's type.

        With sem = "acquire", everything before the release that wrote the value happens before later accesses.

        PTX:
            ld.global result, [address];

        address:       a pointer to global or shared memory (also addr, ptr)
        returned:      known at compile time
        type:          one of "", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"
        sem:           one of "", "weak", "volatile", "relaxed", "acquire"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "ca", "cg", "cs", "lu", "cv"
        nc:            known at compile time
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        prefetch:      one of "", "L2::64B", "L2::128B", "L2::256B"
        returns:       a value of the instruction's type
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       ld
        """
    @overload
    def __call__(self, address: Integer, dst: RegisterPointer, returned: str = '', type: Literal['', 'b32', 'u32', 's32', 'f32'] | str = 'b32', vec: Literal['', 'v2', 'v4', 'v8'] | str = '', sem: Literal['', 'weak', 'volatile', 'relaxed', 'acquire'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global', cop: Literal['', 'ca', 'cg', 'cs', 'lu', 'cv'] | str = '', nc: _bool = False, evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '', prefetch: Literal['', 'L2::64B', 'L2::128B', 'L2::256B'] | str = '') -> None:
        """Load 1, 2, 4 or 8 words of 32 bits from `address` into registers; a vector acts as as many scalar accesses.

        Before Blackwell a load of 8 words is two of 4.

        PTX:
            ld.global.b32 dst, [address];

        address:       a pointer to global or shared memory (also addr, ptr)
        dst:           a pointer to a register buffer
        returned:      known at compile time
        type:          one of "", "b32", "u32", "s32", "f32"
        vec:           one of "", "v2", "v4", "v8"
        sem:           one of "", "weak", "volatile", "relaxed", "acquire"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "ca", "cg", "cs", "lu", "cv"
        nc:            known at compile time
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        prefetch:      one of "", "L2::64B", "L2::128B", "L2::256B"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        vec="v8":      only on sm_100a and sm_101a and sm_103a and sm_110a and sm_120a and sm_121a
        PTX ISA:       ld
        """

    def registers(self, address: Integer, dst: RegisterPointer, returned: str = '', type: Literal['', 'b32', 'u32', 's32', 'f32'] | str = 'b32', vec: Literal['', 'v2', 'v4', 'v8'] | str = '', sem: Literal['', 'weak', 'volatile', 'relaxed', 'acquire'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global', cop: Literal['', 'ca', 'cg', 'cs', 'lu', 'cv'] | str = '', nc: _bool = False, evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '', prefetch: Literal['', 'L2::64B', 'L2::128B', 'L2::256B'] | str = '') -> None:
        """Load 1, 2, 4 or 8 words of 32 bits from `address` into registers; a vector acts as as many scalar accesses.

        Before Blackwell a load of 8 words is two of 4.

        PTX:
            ld.global.b32 dst, [address];

        address:       a pointer to global or shared memory (also addr, ptr)
        dst:           a pointer to a register buffer
        returned:      known at compile time
        type:          one of "", "b32", "u32", "s32", "f32"
        vec:           one of "", "v2", "v4", "v8"
        sem:           one of "", "weak", "volatile", "relaxed", "acquire"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "ca", "cg", "cs", "lu", "cv"
        nc:            known at compile time
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        prefetch:      one of "", "L2::64B", "L2::128B", "L2::256B"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        vec="v8":      only on sm_100a and sm_101a and sm_103a and sm_110a and sm_120a and sm_121a
        PTX ISA:       ld
        """

    def mmio(self, address: Integer, returned: str = '', type: Literal['', 'b8', 'b16', 'b32', 'b64', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f32', 'f64'] | str = '') -> Expr:
        """Load the value at `address` once, as a strong system-scope access (memory-mapped input and output).

        PTX:
            ld.mmio.relaxed.sys.global result, [address];

        address:       a pointer to global or shared memory (also addr, ptr)
        returned:      known at compile time
        type:          one of "", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"
        returns:       a value of the instruction's type
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       ld
        """


class _PtxSt:
    """Tx.ptx.st: instructions."""

    @overload
    def __call__(self, address: Integer, *values: Integer, type: Literal['', 'b8', 'b16', 'b32', 'b64', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f32', 'f64'] | str = '', vec: Literal['', 'v2', 'v4'] | str = '', sem: Literal['', 'weak', 'volatile', 'relaxed', 'release'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'shared', cop: Literal['', 'wb', 'cg', 'cs', 'wt'] | str = '', evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '') -> None:
        """Store a value at `address`, or with `vec` 2 or 4 contiguous values.

        With sem = "release", a thread that acquires the value observes everything before the store.

        PTX:
            st.shared [address], values;

        address:       a pointer to global or shared memory (also addr, ptr)
        values:        a value of the instruction's type
        type:          one of "", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"
        vec:           one of "", "v2", "v4"
        sem:           one of "", "weak", "volatile", "relaxed", "release"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "wb", "cg", "cs", "wt"
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       st
        """
    @overload
    def __call__(self, address: Integer, src: RegisterPointer, type: Literal['', 'b32', 'u32', 's32', 'f32'] | str = 'b32', vec: Literal['', 'v2', 'v4', 'v8'] | str = '', sem: Literal['', 'weak', 'volatile', 'relaxed', 'release'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'shared', cop: Literal['', 'wb', 'cg', 'cs', 'wt'] | str = '', evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '') -> None:
        """Store 1, 2, 4 or 8 words of 32 bits from registers at `address`.

        Before Blackwell a store of 8 words is two of 4.

        PTX:
            st.shared.b32 [address], src;

        address:       a pointer to global or shared memory (also addr, ptr)
        src:           a pointer to a register buffer
        type:          one of "", "b32", "u32", "s32", "f32"
        vec:           one of "", "v2", "v4", "v8"
        sem:           one of "", "weak", "volatile", "relaxed", "release"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "wb", "cg", "cs", "wt"
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        vec="v8":      only on sm_100a and sm_101a and sm_103a and sm_110a and sm_120a and sm_121a
        PTX ISA:       st
        """

    def registers(self, address: Integer, src: RegisterPointer, type: Literal['', 'b32', 'u32', 's32', 'f32'] | str = 'b32', vec: Literal['', 'v2', 'v4', 'v8'] | str = '', sem: Literal['', 'weak', 'volatile', 'relaxed', 'release'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'shared', cop: Literal['', 'wb', 'cg', 'cs', 'wt'] | str = '', evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '') -> None:
        """Store 1, 2, 4 or 8 words of 32 bits from registers at `address`.

        Before Blackwell a store of 8 words is two of 4.

        PTX:
            st.shared.b32 [address], src;

        address:       a pointer to global or shared memory (also addr, ptr)
        src:           a pointer to a register buffer
        type:          one of "", "b32", "u32", "s32", "f32"
        vec:           one of "", "v2", "v4", "v8"
        sem:           one of "", "weak", "volatile", "relaxed", "release"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "wb", "cg", "cs", "wt"
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        vec="v8":      only on sm_100a and sm_101a and sm_103a and sm_110a and sm_120a and sm_121a
        PTX ISA:       st
        """

    def mmio(self, address: Integer, value: Integer, type: Literal['', 'b8', 'b16', 'b32', 'b64', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f32', 'f64'] | str = '') -> None:
        """Store a value at `address` once, as a strong system-scope access.

        PTX:
            st.mmio.relaxed.sys.global [address], value;

        address:       a pointer to global or shared memory (also addr, ptr)
        value:         a value of the instruction's type
        type:          one of "", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       st
        """

    def bulk(self, address: SharedPointer, bytes: Integer, weak: _bool = False) -> None:
        """Set `bytes` bytes of shared memory to zero; both are multiples of 8.

        PTX:
            st.bulk.shared::cta [address], bytes, 0;

        address:       a pointer to shared memory, as in tile.ptr_to([0, 0])
        bytes:         a 64-bit integer
        weak:          known at compile time
        issued by:     each active thread
        architectures: sm_100a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       st.bulk
        """


class _PtxAtomCas:
    """Tx.ptx.atom.cas: instructions."""

    def __call__(self, address: Integer, compare: Integer, value: Integer, returned: str = '', type: Literal['', 'b16', 'b32', 'b64', 'u16', 'u32', 'u64', 's16', 's32', 's64'] | str = '', sem: Literal['', 'relaxed', 'acquire', 'release', 'acq_rel'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global') -> Expr:
        """Replace the value at `address` atomically by `value` if it equals `compare`; return the old value.

        PTX:
            atom.global.cas.b result, [address], compare, value;

        address:       a pointer to global or shared memory (also addr, ptr)
        compare:       a value of the instruction's type (also old_val)
        value:         a value of the instruction's type (also new_val)
        returned:      known at compile time
        type:          one of "", "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"
        sem:           one of "", "relaxed", "acquire", "release", "acq_rel"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        returns:       a value of the instruction's type
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       atom
        """

    def b128(self, dst: RegisterPointer, address: Integer, compare: RegisterPointer, src: RegisterPointer, sem: Literal['', 'relaxed', 'acquire', 'release', 'acq_rel'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global') -> None:
        """Replace 128 bits atomically where they equal `compare`; return the old ones.

        PTX:
            atom.global.cas.b128 {dst}, [address], {compare}, {src};

        dst:           a pointer to a register buffer
        address:       a pointer to global or shared memory (also addr, ptr)
        compare:       a pointer to a register buffer
        src:           a pointer to a register buffer
        sem:           one of "", "relaxed", "acquire", "release", "acq_rel"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       atom
        """


class _PtxAtomExch:
    """Tx.ptx.atom.exch: instructions."""

    def b128(self, dst: RegisterPointer, address: Integer, src: RegisterPointer, sem: Literal['', 'relaxed', 'acquire', 'release', 'acq_rel'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global') -> None:
        """Replace the 128 bits of four registers atomically; return the old ones.

        PTX:
            atom.global.exch.b128 {dst}, [address], {src};

        dst:           a pointer to a register buffer
        address:       a pointer to global or shared memory (also addr, ptr)
        src:           a pointer to a register buffer
        sem:           one of "", "relaxed", "acquire", "release", "acq_rel"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       atom
        """


class _PtxAtom:
    """Tx.ptx.atom: instructions."""

    def __call__(self, address: Integer, value: Integer, op: Literal['add', 'inc', 'dec', 'min', 'max', 'and', 'or', 'xor', 'exch'] | str, returned: str = '', type: Literal['', 'b32', 'b64', 'u32', 'u64', 's32', 's64', 'f16', 'bf16', 'f32', 'f64'] | str = '', sem: Literal['', 'relaxed', 'acquire', 'release', 'acq_rel'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global') -> Expr:
        """Replace the value at `address` atomically by `op` applied to it and `value`; return the old value.

        Without `sem` the operation is relaxed and orders nothing by itself. The lanes of a warp update in some order.

        PTX:
            atom.global.op. result, [address], value;

        address:       a pointer to global or shared memory (also addr, ptr, res_addr)
        value:         a value of the instruction's type
        op:            one of "add", "inc", "dec", "min", "max", "and", "or", "xor", "exch"
        returned:      known at compile time
        type:          one of "", "b32", "b64", "u32", "u64", "s32", "s64", "f16", "bf16", "f32", "f64"
        sem:           one of "", "relaxed", "acquire", "release", "acq_rel"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        returns:       a value of the instruction's type
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       atom
        """

    cas: _PtxAtomCas
    def registers(self, dst: RegisterPointer, address: Integer, src: RegisterPointer, type: Literal['f32', 'f16', 'bf16', 'f16x2', 'bf16x2'] | str, vec: Literal['', 'v2', 'v4', 'v8'] | str, op: Literal['add', 'min', 'max'] | str = 'add', sem: Literal['', 'relaxed', 'acquire', 'release', 'acq_rel'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global') -> None:
        """Update adjacent elements atomically, each by itself, and return the old ones.

        A register holds an element of f32, f16 or bf16, or a pair. A minimum or maximum ignores NaN.

        PTX:
            atom.global.add.noftz.vec.type {dst}, [address], {src};

        dst:           a pointer to a register buffer
        address:       a pointer to global or shared memory (also addr, ptr)
        src:           a pointer to a register buffer
        type:          one of "f32", "f16", "bf16", "f16x2", "bf16x2"
        vec:           one of "", "v2", "v4", "v8"
        op:            one of "add", "min", "max"
        sem:           one of "", "relaxed", "acquire", "release", "acq_rel"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       atom
        """

    exch: _PtxAtomExch

class _PtxRed:
    """Tx.ptx.red: instructions."""

    def __call__(self, address: Integer, value: Integer, op: Literal['add', 'inc', 'dec', 'min', 'max', 'and', 'or', 'xor'] | str, type: Literal['', 'b32', 'b64', 'u32', 'u64', 's32', 's64', 'f16', 'bf16', 'f32', 'f64'] | str = '', sem: Literal['', 'relaxed', 'release'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global') -> None:
        """Update memory as `atom` does, without a result.

        PTX:
            red.global.op. [address], value;

        address:       a pointer to global or shared memory (also addr, ptr)
        value:         a value of the instruction's type
        op:            one of "add", "inc", "dec", "min", "max", "and", "or", "xor"
        type:          one of "", "b32", "b64", "u32", "u64", "s32", "s64", "f16", "bf16", "f32", "f64"
        sem:           one of "", "relaxed", "release"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       red
        """

    def registers(self, address: Integer, src: RegisterPointer, type: Literal['f32', 'f16', 'bf16', 'f16x2', 'bf16x2'] | str, vec: Literal['', 'v2', 'v4', 'v8'] | str, op: Literal['add', 'min', 'max'] | str = 'add', sem: Literal['', 'relaxed', 'release'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global') -> None:
        """Update memory as `atom.registers` does, without a result.

        PTX:
            red.global.add.noftz.vec.type [address], {src};

        address:       a pointer to global or shared memory (also addr, ptr)
        src:           a pointer to a register buffer
        type:          one of "f32", "f16", "bf16", "f16x2", "bf16x2"
        vec:           one of "", "v2", "v4", "v8"
        op:            one of "add", "min", "max"
        sem:           one of "", "relaxed", "release"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       red
        """


class _PtxPrefetch:
    """Tx.ptx.prefetch: instructions."""

    def __call__(self, address: GlobalPointer, level: Literal['L1', 'L2', 'L2::evict_last', 'L2::evict_normal'] | str = 'L2') -> None:
        """Bring the line at `address` into a cache, without effect on the simulator's clock.

        PTX:
            prefetch.global.L2 [address];

        address:       a pointer to global memory, as in A.ptr_to([0, 0])
        level:         one of "L1", "L2", "L2::evict_last", "L2::evict_normal"
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       prefetch, prefetchu
        """

    def tensormap(self, tensor_map: MapPointer) -> None:
        """Prefetch a tensor map to the TMA unit to start the next copy sooner; no access is ordered.

        The compiler puts one at the start of a kernel for each of its tensor maps. The address is generic, that of a
        kernel's parameter. No earlier kernel writes it, so no wait is needed.

        PTX:
            prefetch.tensormap [tensor_map];

        tensor_map:    a tensor map
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       prefetch, prefetchu
        """


class _PtxCreatepolicy:
    """Tx.ptx.createpolicy: instructions."""

    def fractional(self, fraction: Number, primary: Literal['L2::evict_last', 'L2::evict_normal', 'L2::evict_first', 'L2::evict_unchanged'] | str = 'L2::evict_last') -> Expr:
        """Return an L2 policy for a fraction of the accesses; its bits are chip-specific, and 0 in the simulator.

        PTX:
            createpolicy.fractional.L2::evict_last.b64 result, fraction;

        fraction:      a number
        primary:       one of "L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"
        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       createpolicy
        """


class _PtxCp_asyncBulkPrefetch:
    """Tx.ptx.cp_async.bulk.prefetch: instructions."""

    def __call__(self, src: GlobalPointer, bytes: Integer) -> None:
        """Bring `bytes` bytes, a multiple of 16 like `src`, into the L2 cache, without effect on the simulator's clock.

        PTX:
            cp.async.bulk.prefetch.L2.global [src], bytes;

        src:           a pointer to global memory, as in A.ptr_to([0, 0])
        bytes:         an integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          tma, 30 cycles to issue in the simulator's clock
        PTX ISA:       cp.async.bulk.prefetch
        """

    def tensor(self, tensor_map: MapPointer, *coords: Integer, dim: int, cache_hint: Literal['', 'evict_first', 'evict_normal', 'evict_last'] | str = '', load_mode: Literal['tile', 'tile::gather4'] | str = 'tile', cache_policy: int = 0) -> None:
        """Bring the box at `coords` into the L2 cache. No access is ordered; in the simulator's clock it has no effect.

        load_mode: as of a load.

        PTX:
            cp.async.bulk.prefetch.tensor.2d.L2.global.tile [tensor_map, {coords}];

        tensor_map:                a tensor map
        coords:                    an integer
        dim:                       a whole number, known at compile time
        cache_hint:                one of "", "evict_first", "evict_normal", "evict_last"
        load_mode:                 one of "tile", "tile::gather4"
        cache_policy:              a whole number, known at compile time
        issued by:                 each active thread
        architectures:             sm_90a and later
        cost:                      tma, 30 cycles to issue in the simulator's clock
        load_mode="tile::gather4": only on sm_100a and sm_103a and sm_110a
        PTX ISA:                   cp.async.bulk.prefetch.tensor
        """


class _PtxCp_asyncBulkTensorLoad:
    """Tx.ptx.cp_async.bulk.tensor.load: instructions."""

    def __call__(self, dst: SharedPointer, tensor_map: MapPointer, bar: BarrierPointer, *coords: Integer, dim: int, cta_group: int = 1, cta_mask: int = 0, cache_hint: Literal['', 'evict_first', 'evict_normal', 'evict_last'] | str = '', load_mode: Literal['tile', 'tile::gather4'] | str = 'tile', cache_policy: int = 0, dst_space: Literal['', 'shared::cta'] | str = '') -> None:
        """Copy the box at `coords` to shared memory, and complete its bytes on `bar`.

        Elements outside the tensor are zero (NaN, if the map specifies it), and their bytes count. With tile::gather4 the
        coordinates are a column and four rows of a matrix, whose map has boxes of one row; the rows are contiguous,
        as in a box of four rows. A `cache_policy` other than zero replaces the one of `cache_hint`. With several
        bits in `cta_mask` (bit r for cluster rank r) the box lands at the same offset, and completes on the barrier at the
        same offset, in each CTA of the mask. With cta_group = 2 the barrier may be the one of the pair's other CTA.

        PTX:
            cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [dst], [tensor_map, {coords}], [bar];

        dst:                       a pointer to shared memory, as in tile.ptr_to([0, 0])
        tensor_map:                a tensor map
        bar:                       an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        coords:                    an integer
        dim:                       a whole number, known at compile time
        cta_group:                 one of 1, 2
        cta_mask:                  a whole number, known at compile time
        cache_hint:                one of "", "evict_first", "evict_normal", "evict_last"
        load_mode:                 one of "tile", "tile::gather4"
        cache_policy:              a whole number, known at compile time
        dst_space:                 one of "", "shared::cta"
        issued by:                 each active thread
        architectures:             sm_90a and later
        cost:                      tma, 30 cycles to issue in the simulator's clock
        load_mode="tile::gather4": only on sm_100a and sm_103a and sm_110a
        completion:                asynchronous, observed through mbarrier
        PTX ISA:                   cp.async.bulk.tensor
        """

    def multicast(self, dst: SharedPointer, tensor_map: MapPointer, bar: BarrierPointer, cta_mask: Integer, *coords: Integer, dim: int, cta_group: int = 1, cache_hint: Literal['', 'evict_first', 'evict_normal', 'evict_last'] | str = '', load_mode: Literal['tile', 'tile::gather4'] | str = 'tile', cache_policy: int = 0) -> None:
        """Load as `cp.async.bulk.tensor.load` with several bits in `cta_mask`: copy the box to each CTA of the mask.

        PTX:
            {
                .reg .b16 mask;
                cvt.u16.u32 mask, cta_mask;
                cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [dst], [tensor_map, {coords}], [bar], mask;
            }

        dst:                       a pointer to shared memory, as in tile.ptr_to([0, 0])
        tensor_map:                a tensor map
        bar:                       an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        cta_mask:                  an integer
        coords:                    an integer
        dim:                       a whole number, known at compile time
        cta_group:                 one of 1, 2
        cache_hint:                one of "", "evict_first", "evict_normal", "evict_last"
        load_mode:                 one of "tile", "tile::gather4"
        cache_policy:              a whole number, known at compile time
        issued by:                 each active thread
        architectures:             sm_90a and later
        cost:                      tma, 30 cycles to issue in the simulator's clock
        load_mode="tile::gather4": only on sm_100a and sm_103a and sm_110a
        completion:                asynchronous, observed through mbarrier
        PTX ISA:                   cp.async.bulk.tensor
        """


class _PtxCp_asyncBulkTensor:
    """Tx.ptx.cp_async.bulk.tensor: instructions."""

    load: _PtxCp_asyncBulkTensorLoad
    def store(self, tensor_map: MapPointer, src: SharedPointer, *coords: Integer, dim: int, cache_hint: Literal['', 'evict_first', 'evict_normal', 'evict_last'] | str = '', store_mode: Literal['tile', 'tile::scatter4'] | str = 'tile', cache_policy: int = 0) -> None:
        """Copy shared memory to the box at `coords`, as part of the thread's open bulk group.

        The source may be written again after wait_group.read; the box holds the data after wait_group. With tile::scatter4
        the coordinates are a column and four rows of a matrix, whose map has boxes of one row.

        PTX:
            cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [tensor_map, {coords}], [src];

        tensor_map:                  a tensor map
        src:                         a pointer to shared memory, as in tile.ptr_to([0, 0])
        coords:                      an integer
        dim:                         a whole number, known at compile time
        cache_hint:                  one of "", "evict_first", "evict_normal", "evict_last"
        store_mode:                  one of "tile", "tile::scatter4"
        cache_policy:                a whole number, known at compile time
        issued by:                   each active thread
        architectures:               sm_90a and later
        cost:                        tma, 30 cycles to issue in the simulator's clock
        store_mode="tile::scatter4": only on sm_100a and sm_103a and sm_110a
        completion:                  asynchronous, observed through bulk group
        PTX ISA:                     cp.async.bulk.tensor
        """


class _PtxCp_asyncBulk:
    """Tx.ptx.cp_async.bulk: instructions."""

    prefetch: _PtxCp_asyncBulkPrefetch
    tensor: _PtxCp_asyncBulkTensor
    def commit_group(self, ) -> None:
        """Close the bulk group of the stores that this thread issued since the previous commit.

        PTX:
            cp.async.bulk.commit_group;

        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       cp.async.bulk.commit_group
        """

    def wait_group(self, n: int = 0, read: _bool = False) -> None:
        """Wait until at most `n` of this thread's bulk groups are incomplete, or with `read`, are still reading sources.

        PTX:
            cp.async.bulk.wait_group 0;

        n:             a whole number, known at compile time
        read:          known at compile time
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       cp.async.bulk.wait_group
        """

    def load(self, dst: SharedPointer, src: GlobalPointer, bytes: Integer, bar: BarrierPointer, dst_space: Literal['shared::cluster', 'shared::cta'] | str = 'shared::cluster', cta_mask: int = 0, cache_hint: Literal['', 'evict_first', 'evict_normal', 'evict_last'] | str = '') -> None:
        """Copy `bytes` bytes of global memory, a multiple of 16, to shared memory, and complete them on `bar`.

        Both addresses are multiples of 16. With several bits in `cta_mask` they land in each CTA of the mask.

        PTX:
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [dst], [src], bytes, [bar];

        dst:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also dst_ptr)
        src:           a pointer to global memory, as in A.ptr_to([0, 0]) (also src_ptr)
        bytes:         an integer (also num_bytes)
        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar, mbarrier_ptr)
        dst_space:     one of "shared::cluster", "shared::cta"
        cta_mask:      a whole number, known at compile time
        cache_hint:    one of "", "evict_first", "evict_normal", "evict_last"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          tma, 30 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through mbarrier
        PTX ISA:       cp.async.bulk
        """

    def copy(self, dst: SharedPointer, src: SharedPointer, bytes: Integer, bar: BarrierPointer) -> None:
        """Copy `bytes` bytes of the CTA's shared memory, a multiple of 16, to another CTA's, and complete them on `bar`.

        `dst` and `bar` are addresses in the same CTA of the cluster, as `map_shared_rank` returns them. All addresses are
        multiples of 16. The source CTA must not end before the copy has read it.

        PTX:
            cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [dst], [src], bytes, [bar];

        dst:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also dst_ptr)
        src:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also src_ptr)
        bytes:         an integer (also num_bytes, size)
        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar, mbarrier)
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          tma, 30 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through mbarrier
        PTX ISA:       cp.async.bulk
        """

    def s2c(self, dst: SharedPointer, src: SharedPointer, bytes: Integer, bar: BarrierPointer) -> None:
        """Copy `bytes` bytes of the CTA's shared memory, a multiple of 16, to another CTA's, and complete them on `bar`.

        `dst` and `bar` are addresses in the same CTA of the cluster, as `map_shared_rank` returns them. All addresses are
        multiples of 16. The source CTA must not end before the copy has read it.

        PTX:
            cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [dst], [src], bytes, [bar];

        dst:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also dst_ptr)
        src:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also src_ptr)
        bytes:         an integer (also num_bytes, size)
        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar, mbarrier)
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          tma, 30 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through mbarrier
        PTX ISA:       cp.async.bulk
        """

    def store(self, dst: GlobalPointer, src: SharedPointer, bytes: Integer, cache_hint: Literal['', 'evict_first', 'evict_normal', 'evict_last'] | str = '') -> None:
        """Copy `bytes` bytes of shared memory, a multiple of 16, to global memory, in the thread's open bulk group.

        PTX:
            cp.async.bulk.global.shared::cta.bulk_group [dst], [src], bytes;

        dst:           a pointer to global memory, as in A.ptr_to([0, 0]) (also dst_ptr)
        src:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also src_ptr)
        bytes:         an integer (also num_bytes)
        cache_hint:    one of "", "evict_first", "evict_normal", "evict_last"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          tma, 30 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through bulk group
        PTX ISA:       cp.async.bulk
        """


class _PtxCp_asyncMbarrierArrive:
    """Tx.ptx.cp_async.mbarrier.arrive: instructions."""

    @overload
    def __call__(self, bar: BarrierPointer) -> None:
        """Arrive at `bar` for each thread when all its earlier cp.async are complete, as an additional pending arrival.

        The arrival is not part of the expected count of `bar`; the phase needs all expected arrivals in addition.

        PTX:
            cp.async.mbarrier.arrive.shared::cta.b64 [bar];

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       cp.async.mbarrier.arrive
        """
    @overload
    def __call__(self, bar: BarrierPointer, noinc: Any = ..., space: str = 'shared') -> None:
        """Arrive at `bar` for each thread when all its earlier cp.async are complete, as an additional pending arrival.

        The arrival is not part of the expected count of `bar`; the phase needs all expected arrivals in addition.

        PTX:
            cp.async.mbarrier.arrive.shared::cta.b64 [bar];

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       cp.async.mbarrier.arrive
        """

    def noinc(self, bar: BarrierPointer) -> None:
        """Arrive at `bar` for each thread when its earlier cp.async are complete, within the expected count of `bar`.

        PTX:
            cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       cp.async.mbarrier.arrive
        """


class _PtxCp_asyncMbarrier:
    """Tx.ptx.cp_async.mbarrier: instructions."""

    arrive: _PtxCp_asyncMbarrierArrive

class _PtxCp_async:
    """Tx.ptx.cp_async: instructions."""

    @overload
    def __call__(self, dst: SharedPointer, src: GlobalPointer, bytes: int = 16, prefetch: int = -1, cache_hint: Literal['', 'evict_first', 'evict_normal', 'evict_last'] | str = '', cop: Literal['', 'ca', 'cg'] | str = '') -> None:
        """Copy `bytes` bytes per thread, visible to it after wait_group; to proxies the copy is an ordinary write.

        prefetch: the number of bytes that the L2 prefetches. cop: the cache operator, "ca" or, for 16 bytes, "cg"; by
        default "cg" if allowed.

        PTX:
            cp.async.cg.shared::cta.global [dst], [src], 16;

        dst:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also dst_ptr)
        src:           a pointer to global memory, as in A.ptr_to([0, 0]) (also src_ptr)
        bytes:         one of 4, 8, 16
        prefetch:      one of -1, 64, 128, 256
        cache_hint:    one of "", "evict_first", "evict_normal", "evict_last"
        cop:           one of "", "ca", "cg"
        issued by:     a warp, all its threads together
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through cp.async group
        PTX ISA:       cp.async
        """
    @overload
    def __call__(self, dst_ptr: SharedPointer, src_ptr: GlobalPointer, cp_size: int = 16, cache_hint: Literal['', 'evict_first', 'evict_normal', 'evict_last'] | str = '', cache_policy: Any = None, prefetch_size: int = -1, predicate: Any = ..., fill_mode: Any = ...) -> None:
        """Copy `bytes` bytes per thread, visible to it after wait_group; to proxies the copy is an ordinary write.

        prefetch: the number of bytes that the L2 prefetches. cop: the cache operator, "ca" or, for 16 bytes, "cg"; by
        default "cg" if allowed.

        PTX:
            cp.async.cg.shared::cta.global [dst], [src], 16;

        dst_ptr:       a pointer to shared memory, as in tile.ptr_to([0, 0]) (also dst_ptr)
        src_ptr:       a pointer to global memory, as in A.ptr_to([0, 0]) (also src_ptr)
        cp_size:       one of 4, 8, 16
        prefetch_size: one of -1, 64, 128, 256
        cache_hint:    one of "", "evict_first", "evict_normal", "evict_last"
        cop:           one of "", "ca", "cg"
        issued by:     a warp, all its threads together
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through cp.async group
        PTX ISA:       cp.async
        """

    bulk: _PtxCp_asyncBulk
    def zfill(self, dst: SharedPointer, src: GlobalPointer, size: Integer, bytes: int = 16, prefetch: int = -1, cache_hint: Literal['', 'evict_first', 'evict_normal', 'evict_last'] | str = '', cop: Literal['', 'ca', 'cg'] | str = '') -> None:
        """Copy `size` bytes per thread, at most `bytes`, and fill the rest with zeros; with size 0 nothing is read.

        PTX:
            cp.async.cg.shared::cta.global [dst], [src], 16, size;

        dst:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also dst_ptr)
        src:           a pointer to global memory, as in A.ptr_to([0, 0]) (also src_ptr)
        size:          an integer
        bytes:         one of 4, 8, 16
        prefetch:      one of -1, 64, 128, 256
        cache_hint:    one of "", "evict_first", "evict_normal", "evict_last"
        cop:           one of "", "ca", "cg"
        issued by:     a warp, all its threads together
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through cp.async group
        PTX ISA:       cp.async
        """

    def commit_group(self, ) -> None:
        """Close each thread's group of the cp.async issued since the previous commit.

        PTX:
            cp.async.commit_group;

        issued by:     a warp, all its threads together
        architectures: sm_80 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       cp.async.commit_group
        """

    def wait_group(self, n: int = 0) -> None:
        """Wait until at most `n` groups of each thread are incomplete.

        PTX:
            cp.async.wait_group 0;

        n:             a whole number, known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_80 and later
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       cp.async.wait_group
        """

    def wait_all(self, ) -> None:
        """Wait for all cp.async of each thread, in closed groups and in the open group.

        PTX:
            cp.async.wait_all;

        issued by:     a warp, all its threads together
        architectures: sm_80 and later
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       cp.async.wait_group, cp.async.wait_all
        """

    mbarrier: _PtxCp_asyncMbarrier

class _PtxMbarrierArriveCount:
    """Tx.ptx.mbarrier.arrive.count: instructions."""

    def __call__(self, bar: BarrierPointer, count: Integer) -> None:
        """Arrive `count` times at `bar` with each thread, and release its earlier accesses.

        PTX:
            mbarrier.arrive.release.cta.shared::cta.b64 _, [bar], count;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        count:         an integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive
        """

    def state(self, bar: BarrierPointer, count: Integer) -> Expr:
        """Arrive as `mbarrier.arrive.state`, `count` times with each thread.

        PTX:
            mbarrier.arrive.release.cta.shared::cta.b64 result, [bar], count;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        count:         an integer
        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive
        """

    def cluster(self, bar: BarrierPointer, count: Integer, scope: Literal['', 'cta', 'cluster'] | str = 'cluster') -> None:
        """Arrive as `mbarrier.arrive.cluster`, `count` times.

        PTX:
            mbarrier.arrive.release.cluster.shared::cluster.b64 _, [bar], count;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        count:         an integer
        scope:         one of "", "cta", "cluster"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive
        """


class _PtxMbarrierArriveExpect_tx:
    """Tx.ptx.mbarrier.arrive.expect_tx: instructions."""

    @overload
    def __call__(self, bar: BarrierPointer, bytes: Integer) -> None:
        """Expect `bytes` more bytes in the current phase of `bar`, then arrive once; `bar` may belong to another CTA.

        PTX:
            mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], bytes;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        bytes:         an integer (also byte_count, tx_count)
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive, .expect_tx
        """
    @overload
    def __call__(self, bar: BarrierPointer, byte_count: Integer, sem: Any = ..., scope: Any = ..., space: Any = ..., remote: Any = ..., pred: Any = ...) -> None:
        """Expect `bytes` more bytes in the current phase of `bar`, then arrive once; `bar` may belong to another CTA.

        PTX:
            mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], bytes;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        byte_count:    an integer (also byte_count, tx_count)
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive, .expect_tx
        """

    def state(self, bar: BarrierPointer, bytes: Integer) -> Expr:
        """Arrive as `mbarrier.arrive.expect_tx`, and return the previous state of `bar`.

        PTX:
            mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 result, [bar], bytes;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        bytes:         an integer
        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive
        """

    def remote(self, bar: BarrierPointer, bytes: Integer, cta_id: Integer, pred: Condition, scope: Literal['', 'cta', 'cluster'] | str = '') -> None:
        """Act as `mbarrier.arrive.expect_tx` on the barrier at the offset of `bar` in CTA `cta_id`, if `pred` is true.

        scope: as of `mbarrier.arrive.remote`.

        PTX:
            {
                .reg .b32 remote;
                @pred mapa.shared::cluster.u32 remote, bar, cta_id;
                @pred mbarrier.arrive.expect_tx.shared::cluster.b64 _, [remote], bytes;
            }

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        bytes:         an integer
        cta_id:        the rank of a CTA in the cluster, an integer
        pred:          a condition
        scope:         one of "", "cta", "cluster"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive; mapa
        """


class _PtxMbarrierArrive:
    """Tx.ptx.mbarrier.arrive: instructions."""

    @overload
    def __call__(self, bar: BarrierPointer) -> None:
        """Arrive once at `bar` with each thread, and release its earlier accesses.

        PTX:
            mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive
        """
    @overload
    def __call__(self, bar: BarrierPointer, cta_id: Integer, pred: Condition, scope: Literal['', 'cta', 'cluster'] | str = '') -> None:
        """Arrive once, with each thread whose `pred` is true, at the barrier at the offset of `bar` in CTA `cta_id`.

        scope: "cluster" releases the thread's writes to the other CTA, and waits until they reach the L2.

        PTX:
            {
                .reg .b32 remote;
                @pred mapa.shared::cluster.u32 remote, bar, cta_id;
                @pred mbarrier.arrive.shared::cluster.b64 _, [remote];
            }

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        cta_id:        the rank of a CTA in the cluster, an integer (also remote)
        pred:          a condition
        scope:         one of "", "cta", "cluster"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive; mapa
        """
    @overload
    def __call__(self, bar: BarrierPointer, count: Any = ..., sem: Any = ..., scope: Any = ..., space: Any = ..., remote: Any = ..., pred: Any = ...) -> None:
        """Arrive once at `bar` with each thread, and release its earlier accesses.

        PTX:
            mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive
        """

    count: _PtxMbarrierArriveCount
    def state(self, bar: BarrierPointer) -> Expr:
        """Arrive as `mbarrier.arrive`, and return the previous state of `bar` for `mbarrier.test_wait.state`.

        The bits of a state are chip-specific. In the simulator the state is the parity of the phase.

        PTX:
            mbarrier.arrive.release.cta.shared::cta.b64 result, [bar];

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive
        """

    expect_tx: _PtxMbarrierArriveExpect_tx
    def cluster(self, bar: BarrierPointer, scope: Literal['', 'cta', 'cluster'] | str = 'cluster') -> None:
        """Arrive as `mbarrier.arrive` at a barrier of any CTA of the cluster, given its cluster address (`mapa`).

        scope: "cluster" releases the thread's writes to the other CTA, and waits until they reach the L2.

        PTX:
            mbarrier.arrive.release.cluster.shared::cluster.b64 _, [bar];

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        scope:         one of "", "cta", "cluster"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive
        """

    @overload
    def no_complete(self, bar: BarrierPointer, count: Integer) -> None:
        """Arrive as `mbarrier.arrive.count` without completing the phase; completing it is undefined behaviour.

        The simulator completes the phase in that case.

        PTX:
            mbarrier.arrive.noComplete.release.cta.shared::cta.b64 _, [bar], count;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        count:         an integer
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive
        """
    @overload
    def no_complete(self, bar: BarrierPointer, count: Integer, space: str = 'shared', pred: Any = None) -> None:
        """Arrive as `mbarrier.arrive.count` without completing the phase; completing it is undefined behaviour.

        The simulator completes the phase in that case.

        PTX:
            mbarrier.arrive.noComplete.release.cta.shared::cta.b64 _, [bar], count;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        count:         an integer
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive
        """

    def remote(self, bar: BarrierPointer, cta_id: Integer, pred: Condition, scope: Literal['', 'cta', 'cluster'] | str = '') -> None:
        """Arrive once, with each thread whose `pred` is true, at the barrier at the offset of `bar` in CTA `cta_id`.

        scope: "cluster" releases the thread's writes to the other CTA, and waits until they reach the L2.

        PTX:
            {
                .reg .b32 remote;
                @pred mapa.shared::cluster.u32 remote, bar, cta_id;
                @pred mbarrier.arrive.shared::cluster.b64 _, [remote];
            }

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        cta_id:        the rank of a CTA in the cluster, an integer (also remote)
        pred:          a condition
        scope:         one of "", "cta", "cluster"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive; mapa
        """


class _PtxMbarrierArrive_drop:
    """Tx.ptx.mbarrier.arrive_drop: instructions."""

    def __call__(self, bar: BarrierPointer) -> None:
        """Arrive as `mbarrier.arrive`, and expect one arrival less of each thread from the next phase on.

        PTX:
            mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [bar];

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive_drop
        """

    def count(self, bar: BarrierPointer, count: Integer) -> None:
        """Arrive `count` times with each thread, and expect as many arrivals less from the next phase on.

        PTX:
            mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [bar], count;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        count:         an integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive_drop
        """

    def state(self, bar: BarrierPointer) -> Expr:
        """Arrive as `mbarrier.arrive_drop`, and return the previous state of `bar`, as `mbarrier.arrive.state` does.

        PTX:
            mbarrier.arrive_drop.release.cta.shared::cta.b64 result, [bar];

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.arrive_drop
        """


class _PtxMbarrierTry_wait:
    """Tx.ptx.mbarrier.try_wait: instructions."""

    def __call__(self, bar: BarrierPointer, phase: Integer) -> None:
        """Wait until the phase of parity `phase` of `bar` is complete, and acquire the accesses released in it.

        On a newly initialised barrier, phase 1 counts as complete and phase 0 is current.

        PTX:
            {
                .reg .pred complete;
                WAIT:
                mbarrier.try_wait.parity.shared::cta.b64 complete, [bar], phase;
                @complete bra DONE;
                bra WAIT;
                DONE:
            }

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        phase:         an integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.try_wait
        """

    def cluster(self, bar: BarrierPointer, phase: Integer) -> None:
        """Wait as `mbarrier.try_wait`, and acquire accesses released by threads of the other CTAs of the cluster.

        PTX:
            {
                .reg .pred complete;
                WAIT:
                mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [bar], phase;
                @complete bra DONE;
                bra WAIT;
                DONE:
            }

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        phase:         an integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.try_wait
        """

    def once(self, bar: BarrierPointer, phase: Integer, ticks: Integer) -> Expr:
        """Test as `mbarrier.test_wait`, optionally suspending the thread for up to `ticks` ns until completion.

        The simulator does not suspend it.

        PTX:
            mbarrier.try_wait.parity.shared::cta.b64 result, [bar], phase, ticks;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        phase:         an integer
        ticks:         an integer
        returns:       a condition
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.test_wait, mbarrier.try_wait
        """

    def parity(self, bar: BarrierPointer, phase: Integer, scope: Literal['cta', 'cluster'] | str = 'cta') -> Expr:
        """Test as `mbarrier.try_wait.once`, with a time limit chosen by the chip.

        PTX:
            mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 result, [bar], phase;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        phase:         an integer
        scope:         one of "cta", "cluster"
        returns:       a condition
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.test_wait, mbarrier.try_wait
        """

    def state(self, bar: BarrierPointer, state: Integer, scope: Literal['cta', 'cluster'] | str = 'cta') -> Expr:
        """Test as `mbarrier.test_wait.state`, optionally suspending the thread until the phase is complete.

        The simulator does not suspend it.

        PTX:
            mbarrier.try_wait.acquire.cta.shared::cta.b64 result, [bar], state;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        state:         a 64-bit integer
        scope:         one of "cta", "cluster"
        returns:       a condition
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.test_wait, mbarrier.try_wait
        """


class _PtxMbarrierTest_wait:
    """Tx.ptx.mbarrier.test_wait: instructions."""

    def __call__(self, bar: BarrierPointer, phase: Integer) -> Expr:
        """Return whether the phase of parity `phase` of `bar` is complete; if so, acquire the accesses released in it.

        PTX:
            mbarrier.test_wait.parity.shared::cta.b64 result, [bar], phase;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        phase:         an integer
        returns:       a condition
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.test_wait
        """

    def state(self, bar: BarrierPointer, state: Integer, scope: Literal['cta', 'cluster'] | str = 'cta') -> Expr:
        """Return whether the phase of an arrival's `state` is complete; if so, acquire the accesses released in it.

        PTX:
            mbarrier.test_wait.acquire.cta.shared::cta.b64 result, [bar], state;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        state:         a 64-bit integer
        scope:         one of "cta", "cluster"
        returns:       a condition
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.test_wait, mbarrier.try_wait
        """


class _PtxMbarrier:
    """Tx.ptx.mbarrier: instructions."""

    def init(self, bar: BarrierPointer, count: Integer) -> None:
        """Initialise `bar` as a barrier in phase 0 that expects `count` arrivals in each phase.

        PTX:
            mbarrier.init.shared::cta.b64 [bar], count;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        count:         an integer (also thread_count)
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.init
        """

    def inval(self, bar: BarrierPointer) -> None:
        """Invalidate the barrier `bar`; its memory may then hold other data.

        PTX:
            mbarrier.inval.shared::cta.b64 [bar];

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.inval
        """

    arrive: _PtxMbarrierArrive
    arrive_drop: _PtxMbarrierArrive_drop
    @overload
    def complete_tx(self, bar: BarrierPointer, bytes: Integer) -> None:
        """Subtract `bytes` from the bytes expected in the current phase of `bar`, as a completed copy does.

        `bar` may belong to another CTA, at an address from `map_shared_rank`. The operation releases nothing.

        PTX:
            mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [bar], bytes;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        bytes:         an integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.complete_tx
        """
    @overload
    def complete_tx(self, bar: BarrierPointer, tx_count: Integer, sem: str = 'relaxed', scope: str = 'cluster', space: str = 'shared::cluster', remote: Any = None, pred: Any = None) -> None:
        """Subtract `bytes` from the bytes expected in the current phase of `bar`, as a completed copy does.

        `bar` may belong to another CTA, at an address from `map_shared_rank`. The operation releases nothing.

        PTX:
            mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [bar], bytes;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        tx_count:      an integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.complete_tx
        """

    def expect_tx(self, bar: BarrierPointer, bytes: Integer) -> None:
        """Expect `bytes` more bytes in the current phase of `bar` before it can complete.

        PTX:
            mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], bytes;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        bytes:         an integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.expect_tx
        """

    try_wait: _PtxMbarrierTry_wait
    def wait(self, bar: BarrierPointer, phase: Integer) -> None:
        """Wait until the phase of parity `phase` of `bar` is complete, and acquire the accesses released in it.

        On a newly initialised barrier, phase 1 counts as complete and phase 0 is current.

        PTX:
            {
                .reg .pred complete;
                WAIT:
                mbarrier.try_wait.parity.shared::cta.b64 complete, [bar], phase;
                @complete bra DONE;
                bra WAIT;
                DONE:
            }

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        phase:         an integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.try_wait
        """

    def try_wait_acquire_cluster(self, bar: BarrierPointer, phase: Integer) -> None:
        """Wait as `mbarrier.try_wait`, and acquire accesses released by threads of the other CTAs of the cluster.

        PTX:
            {
                .reg .pred complete;
                WAIT:
                mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [bar], phase;
                @complete bra DONE;
                bra WAIT;
                DONE:
            }

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        phase:         an integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.try_wait
        """

    test_wait: _PtxMbarrierTest_wait
    def try_wait_once(self, bar: BarrierPointer, phase: Integer, ticks: Integer) -> Expr:
        """Test as `mbarrier.test_wait`, optionally suspending the thread for up to `ticks` ns until completion.

        The simulator does not suspend it.

        PTX:
            mbarrier.try_wait.parity.shared::cta.b64 result, [bar], phase, ticks;

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        phase:         an integer
        ticks:         an integer
        returns:       a condition
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.test_wait, mbarrier.try_wait
        """


class _PtxFenceProxyTensormap:
    """Tx.ptx.fence.proxy.tensormap: instructions."""

    def release(self, scope: Literal['cta', 'cluster', 'gpu', 'sys'] | str = 'gpu') -> None:
        """Release the thread's writes to tensor maps, for an acquire of the tensormap proxy.

        PTX:
            fence.proxy.tensormap::generic.release.gpu;

        scope:         one of "cta", "cluster", "gpu", "sys"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       membar/fence, .proxy.tensormap
        """

    def acquire(self, tensor_map: GlobalPointer, scope: Literal['cta', 'cluster', 'gpu', 'sys'] | str = 'gpu') -> None:
        """Acquire released writes to the 128 bytes of a tensor map, for the copies that use it.

        PTX:
            fence.proxy.tensormap::generic.acquire.gpu [tensor_map], 128;

        tensor_map:    a pointer to global memory, as in A.ptr_to([0, 0])
        scope:         one of "cta", "cluster", "gpu", "sys"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       membar/fence, .proxy.tensormap
        """


class _PtxFenceProxy:
    """Tx.ptx.fence.proxy: instructions."""

    tensormap: _PtxFenceProxyTensormap

class _PtxFence:
    """Tx.ptx.fence: instructions."""

    def __call__(self, sem: Literal['acq_rel', 'sc', 'acquire', 'release'] | str = 'acq_rel', scope: Literal['cta', 'cluster', 'gpu', 'sys'] | str = 'gpu') -> None:
        """Order the thread's accesses before and after the fence for `scope`; the fence synchronises no threads by itself.

        A strong write after the fence releases what happens before the fence. A release observed by a strong read before
        the fence is acquired by the fence. All threads observe fence.sc in one order.

        PTX:
            fence.acq_rel.gpu;

        sem:           one of "acq_rel", "sc", "acquire", "release"
        scope:         one of "cta", "cluster", "gpu", "sys"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       membar/fence
        """

    def proxy_async(self, space: Literal['', 'shared::cta', 'shared::cluster', 'global'] | str = 'shared::cta') -> None:
        """Order ordinary accesses before the fence and async-proxy accesses (TMA, MMA operands) after it, and vice versa.

        It applies to the memory that `space` names, or to all memory for "".

        PTX:
            fence.proxy.async.shared::cta;

        space:         one of "", "shared::cta", "shared::cluster", "global"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       membar/fence, .proxy.async
        """

    def mbarrier_init(self, ) -> None:
        """Release the thread's mbarrier initialisations to the cluster; a synchronisation of both must follow.

        PTX:
            fence.mbarrier_init.release.cluster;

        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       membar/fence, .mbarrier_init
        """

    def acq_rel(self, scope: Literal['cta', 'cluster', 'gpu', 'sys'] | str = 'gpu') -> None:
        """Order the thread's accesses before and after the fence for `scope`; the fence synchronises no threads by itself.

        A strong write after the fence releases what happens before the fence. A release observed by a strong read before
        the fence is acquired by the fence. All threads observe fence.sc in one order.

        With sem = "acq_rel".

        PTX:
            fence.acq_rel.gpu;

        scope:         one of "cta", "cluster", "gpu", "sys"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       membar/fence
        """

    def sc(self, scope: Literal['cta', 'cluster', 'gpu', 'sys'] | str = 'gpu') -> None:
        """Order the thread's accesses before and after the fence for `scope`; the fence synchronises no threads by itself.

        A strong write after the fence releases what happens before the fence. A release observed by a strong read before
        the fence is acquired by the fence. All threads observe fence.sc in one order.

        With sem = "sc".

        PTX:
            fence.acq_rel.gpu;

        scope:         one of "cta", "cluster", "gpu", "sys"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       membar/fence
        """

    def acquire(self, scope: Literal['cta', 'cluster', 'gpu', 'sys'] | str = 'gpu') -> None:
        """Order the thread's accesses before and after the fence for `scope`; the fence synchronises no threads by itself.

        A strong write after the fence releases what happens before the fence. A release observed by a strong read before
        the fence is acquired by the fence. All threads observe fence.sc in one order.

        With sem = "acquire".

        PTX:
            fence.acq_rel.gpu;

        scope:         one of "cta", "cluster", "gpu", "sys"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       membar/fence
        """

    def release(self, scope: Literal['cta', 'cluster', 'gpu', 'sys'] | str = 'gpu') -> None:
        """Order the thread's accesses before and after the fence for `scope`; the fence synchronises no threads by itself.

        A strong write after the fence releases what happens before the fence. A release observed by a strong read before
        the fence is acquired by the fence. All threads observe fence.sc in one order.

        With sem = "release".

        PTX:
            fence.acq_rel.gpu;

        scope:         one of "cta", "cluster", "gpu", "sys"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       membar/fence
        """

    proxy: _PtxFenceProxy

class _PtxBarSync:
    """Tx.ptx.bar.sync: instructions."""

    def __call__(self, barrier_id: Integer, threads: Integer) -> None:
        """Arrive at barrier `barrier_id` (0 to 15) and wait until `threads` threads, in whole warps, arrive.

        PTX:
            bar.sync barrier_id, threads;

        barrier_id:    an integer (also name_bar_id)
        threads:       an integer (also thread_count)
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       bar, barrier
        """

    def all(self, barrier_id: Integer) -> None:
        """Wait until every thread of the CTA has arrived at the barrier (`__syncthreads`).

        PTX:
            bar.sync barrier_id;

        barrier_id:    an integer
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       bar, barrier
        """


class _PtxBarRed:
    """Tx.ptx.bar.red: instructions."""

    def popc(self, barrier_id: Integer, condition: Condition) -> Expr:
        """Wait until every thread of the CTA arrives; return the number of threads in which the condition holds.

        PTX:
            bar.red.popc.u32 result, barrier_id, condition;

        barrier_id:    an integer
        condition:     a condition
        returns:       an integer
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       bar, barrier
        """


class _PtxBarWarpSync:
    """Tx.ptx.bar.warp.sync: instructions."""

    @overload
    def __call__(self, ) -> None:
        """Synchronise all lanes of the warp, and order their accesses (`__syncwarp`).

        PTX:
            bar.warp.sync 0xffffffff;

        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       bar.warp.sync
        """
    @overload
    def __call__(self, mask: Integer) -> None:
        """Synchronise the lanes of `mask`, which execute it, and order their accesses (`__syncwarp(mask)`).

        PTX:
            bar.warp.sync mask;

        mask:          an integer
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       bar.warp.sync
        """

    def mask(self, mask: Integer) -> None:
        """Synchronise the lanes of `mask`, which execute it, and order their accesses (`__syncwarp(mask)`).

        PTX:
            bar.warp.sync mask;

        mask:          an integer
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       bar.warp.sync
        """


class _PtxBarWarp:
    """Tx.ptx.bar.warp: instructions."""

    sync: _PtxBarWarpSync

class _PtxBar:
    """Tx.ptx.bar: instructions."""

    sync: _PtxBarSync
    def red_and(self, barrier_id: Integer, condition: Condition) -> Expr:
        """Wait until every thread of the CTA arrives; return whether the condition holds in all threads.

        PTX:
            bar.red.and.pred result, barrier_id, condition;

        barrier_id:    an integer
        condition:     a condition
        returns:       a condition
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       bar, barrier
        """

    def red_or(self, barrier_id: Integer, condition: Condition) -> Expr:
        """Wait until every thread of the CTA arrives; return whether the condition holds in any thread.

        PTX:
            bar.red.or.pred result, barrier_id, condition;

        barrier_id:    an integer
        condition:     a condition
        returns:       a condition
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       bar, barrier
        """

    red: _PtxBarRed
    def arrive(self, barrier_id: Integer, threads: Integer) -> None:
        """Arrive at barrier `barrier_id` without waiting.

        PTX:
            bar.arrive barrier_id, threads;

        barrier_id:    an integer (also name_bar_id)
        threads:       an integer (also thread_count)
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       bar, barrier
        """

    warp: _PtxBarWarp
    @overload
    def warp_sync(self, ) -> None:
        """Synchronise all lanes of the warp, and order their accesses (`__syncwarp`).

        PTX:
            bar.warp.sync 0xffffffff;

        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       bar.warp.sync
        """
    @overload
    def warp_sync(self, mask: Integer) -> None:
        """Synchronise the lanes of `mask`, which execute it, and order their accesses (`__syncwarp(mask)`).

        PTX:
            bar.warp.sync mask;

        mask:          an integer
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       bar.warp.sync
        """


class _PtxBarrierClusterArrive:
    """Tx.ptx.barrier.cluster.arrive: instructions."""

    @overload
    def __call__(self, aligned: _bool = True) -> None:
        """Arrive at the cluster's barrier and release earlier accesses; a wait must follow.

        aligned: all lanes of the warp execute this instruction together.

        PTX:
            barrier.cluster.arrive.release.aligned;

        aligned:       known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       barrier.cluster
        """
    @overload
    def __call__(self, sem: Any = ..., aligned: _bool = True) -> None:
        """Arrive at the cluster's barrier and release earlier accesses; a wait must follow.

        aligned: all lanes of the warp execute this instruction together.

        PTX:
            barrier.cluster.arrive.release.aligned;

        aligned:       known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       barrier.cluster
        """

    def relaxed(self, aligned: _bool = True) -> None:
        """Arrive as `barrier.cluster.arrive` without releasing accesses, for threads that only signal their arrival.

        PTX:
            barrier.cluster.arrive.relaxed.aligned;

        aligned:       known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       barrier.cluster
        """


class _PtxBarrierCluster:
    """Tx.ptx.barrier.cluster: instructions."""

    arrive: _PtxBarrierClusterArrive
    @overload
    def wait(self, aligned: _bool = True) -> None:
        """Wait until every thread of the cluster has arrived, and acquire the accesses that they released.

        aligned: all lanes of the warp execute this instruction together.

        PTX:
            barrier.cluster.wait.acquire.aligned;

        aligned:       known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       barrier.cluster
        """
    @overload
    def wait(self, acquire: _bool = False, aligned: _bool = True) -> None:
        """Wait until every thread of the cluster has arrived, and acquire the accesses that they released.

        aligned: all lanes of the warp execute this instruction together.

        PTX:
            barrier.cluster.wait.acquire.aligned;

        aligned:       known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       barrier.cluster
        """

    def sync(self, ) -> None:
        """Arrive at the cluster's barrier and wait until every thread of the cluster has arrived.

        PTX:
            barrier.cluster.arrive.release.aligned;
            barrier.cluster.wait.acquire.aligned;

        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       barrier.cluster
        """


class _PtxBarrier:
    """Tx.ptx.barrier: instructions."""

    def sync(self, barrier_id: Integer, threads: Integer) -> None:
        """Act as `bar.sync` for lanes of a warp that may have diverged; each active lane arrives.

        PTX:
            barrier.sync barrier_id, threads;

        barrier_id:    an integer (also name_bar_id)
        threads:       an integer (also thread_count)
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       bar, barrier
        """

    def arrive(self, barrier_id: Integer, threads: Integer) -> None:
        """Act as `bar.arrive` for lanes of a warp that may have diverged; each active lane arrives.

        PTX:
            barrier.arrive barrier_id, threads;

        barrier_id:    an integer (also name_bar_id)
        threads:       an integer (also thread_count)
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       bar, barrier
        """

    cluster: _PtxBarrierCluster

class _PtxGrid:
    """Tx.ptx.grid: instructions."""

    def sync(self, ) -> None:
        """Wait until every thread of the grid arrives, and observe the earlier accesses of all.

        The kernel is launched cooperatively: all of its CTAs must be resident at the same time.

        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        """


class _PtxGriddepcontrol:
    """Tx.ptx.griddepcontrol: instructions."""

    def wait(self, ) -> None:
        """Wait until the grids that this grid depends on are complete and their writes are visible to the thread.

        A kernel that contains it is launched while the kernel before it in the stream may still run: no thread may access
        global memory before it has waited, or has synchronised with a thread that has.

        PTX:
            griddepcontrol.wait;

        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       griddepcontrol
        """

    def launch_dependents(self, ) -> None:
        """Allow the next kernel of the stream to start once every CTA has executed this instruction or ended.

        It orders nothing. Later writes of this grid are safe, because the next kernel's griddepcontrol.wait lasts until
        this grid is complete. Only a kernel that contains griddepcontrol.wait begins early.

        PTX:
            griddepcontrol.launch_dependents;

        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       griddepcontrol
        """


class _PtxElectSync:
    """Tx.ptx.elect.sync: instructions."""

    def __call__(self, ) -> Expr:
        """Return true in one lane of the warp, the lowest in the simulator.

        PTX:
            elect.sync _|result, 0xffffffff;

        returns:       a condition
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       elect.sync
        """

    def members(self, members: Integer) -> Expr:
        """Return true in one of the lanes `members`, which are those that execute it; the lowest in the simulator.

        PTX:
            elect.sync _|result, members;

        members:       an integer
        returns:       a condition
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       elect.sync
        """


class _PtxElect:
    """Tx.ptx.elect: instructions."""

    sync: _PtxElectSync

class _PtxCvta:
    """Tx.ptx.cvta: instructions."""

    def shared(self, ptr: SharedPointer) -> Expr:
        """Return the address of a shared-memory location as a 32-bit integer.

        PTX:
            mov.u32 result, ptr;

        ptr:           a pointer to shared memory, as in tile.ptr_to([0, 0])
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       cvta
        """


class _PtxShflXor:
    """Tx.ptx.shfl.xor: instructions."""

    def __call__(self, value: Number, lane_mask: Integer) -> Expr:
        """Return the value of lane ``lane ^ lane_mask``.

        PTX:
            shfl.sync.bfly.b32 result, value, lane_mask, 31, 0xffffffff;

        value:         a value
        lane_mask:     an integer
        returns:       a value
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          shuffle, 5 cycles to issue in the simulator's clock
        PTX ISA:       shfl.sync
        """

    def segment(self, value: Number, lane_mask: Integer, mask: Integer, width: int = 32) -> Expr:
        """Return the value of lane ``lane ^ lane_mask``, or the lane's own value if that lies beyond its segment.

        mask: the lanes that execute it together. width: the lanes of a segment.

        PTX:
            shfl.sync.bfly.b32 result, value, lane_mask, 31, mask;

        value:         a value
        lane_mask:     an integer
        mask:          an integer
        width:         one of 1, 2, 4, 8, 16, 32
        returns:       a value
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          shuffle, 5 cycles to issue in the simulator's clock
        PTX ISA:       shfl.sync
        """


class _PtxShflIdx:
    """Tx.ptx.shfl.idx: instructions."""

    def __call__(self, value: Number, lane: Integer) -> Expr:
        """Return the value of lane `lane`.

        PTX:
            shfl.sync.idx.b32 result, value, lane, 31, 0xffffffff;

        value:         a value
        lane:          an integer
        returns:       a value
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          shuffle, 5 cycles to issue in the simulator's clock
        PTX ISA:       shfl.sync
        """

    def segment(self, value: Number, lane: Integer, mask: Integer, width: int = 32) -> Expr:
        """Return the value of lane `lane` modulo `width` in the lane's segment. mask: the lanes that execute it.

        PTX:
            shfl.sync.idx.b32 result, value, lane, 31, mask;

        value:         a value
        lane:          an integer
        mask:          an integer
        width:         one of 1, 2, 4, 8, 16, 32
        returns:       a value
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          shuffle, 5 cycles to issue in the simulator's clock
        PTX ISA:       shfl.sync
        """


class _PtxShflDown:
    """Tx.ptx.shfl.down: instructions."""

    def __call__(self, value: Number, delta: Integer) -> Expr:
        """Return the value of lane ``lane + delta``, or the lane's own value if the warp has no such lane.

        PTX:
            shfl.sync.down.b32 result, value, delta, 31, 0xffffffff;

        value:         a value
        delta:         an integer
        returns:       a value
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          shuffle, 5 cycles to issue in the simulator's clock
        PTX ISA:       shfl.sync
        """

    def segment(self, value: Number, delta: Integer, mask: Integer, width: int = 32) -> Expr:
        """Return the value of lane ``lane + delta``, or the lane's own value if its segment has no such lane.

        mask: the lanes that execute it together. width: the lanes of a segment.

        PTX:
            shfl.sync.down.b32 result, value, delta, 31, mask;

        value:         a value
        delta:         an integer
        mask:          an integer
        width:         one of 1, 2, 4, 8, 16, 32
        returns:       a value
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          shuffle, 5 cycles to issue in the simulator's clock
        PTX ISA:       shfl.sync
        """


class _PtxShflUp:
    """Tx.ptx.shfl.up: instructions."""

    def __call__(self, value: Number, delta: Integer) -> Expr:
        """Return the value of lane ``lane - delta``, or the lane's own value if the warp has no such lane.

        PTX:
            shfl.sync.up.b32 result, value, delta, 0, 0xffffffff;

        value:         a value
        delta:         an integer
        returns:       a value
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          shuffle, 5 cycles to issue in the simulator's clock
        PTX ISA:       shfl.sync
        """

    def segment(self, value: Number, delta: Integer, mask: Integer, width: int = 32) -> Expr:
        """Return the value of lane ``lane - delta``, or the lane's own value if its segment has no such lane.

        mask: the lanes that execute it together. width: the lanes of a segment.

        PTX:
            shfl.sync.up.b32 result, value, delta, 0, mask;

        value:         a value
        delta:         an integer
        mask:          an integer
        width:         one of 1, 2, 4, 8, 16, 32
        returns:       a value
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          shuffle, 5 cycles to issue in the simulator's clock
        PTX ISA:       shfl.sync
        """


class _PtxShfl:
    """Tx.ptx.shfl: instructions."""

    xor: _PtxShflXor
    idx: _PtxShflIdx
    down: _PtxShflDown
    up: _PtxShflUp

class _PtxSetmaxnreg:
    """Tx.ptx.setmaxnreg: instructions."""

    def __call__(self, increase: _bool, count: int) -> None:
        """Raise or lower the registers of each thread of the warpgroup to `count`, a multiple of 8 from 24 to 256."""

    def inc(self, count: int) -> None:
        """Raise the registers of each thread of the warpgroup to `count`, a multiple of 8 from 24 to 256.

        Waits until other warps of the CTA have released enough registers.

        PTX:
            setmaxnreg.inc.sync.aligned.u32 count;

        count:         a whole number, known at compile time
        issued by:     a warpgroup, all its threads together
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       setmaxnreg
        """

    def dec(self, count: int) -> None:
        """Lower the registers of each thread of the warpgroup to `count`, a multiple of 8 from 24 to 256.

        PTX:
            setmaxnreg.dec.sync.aligned.u32 count;

        count:         a whole number, known at compile time
        issued by:     a warpgroup, all its threads together
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       setmaxnreg
        """


class _PtxVote:
    """Tx.ptx.vote: instructions."""

    def any(self, mask: Integer, condition: Condition) -> Expr:
        """Return whether the condition holds in any lane of `mask`, whose lanes execute it together.

        PTX:
            vote.sync.any.pred result, condition, mask;

        mask:          an integer
        condition:     a condition
        returns:       a condition
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       vote.sync
        """

    def all(self, mask: Integer, condition: Condition) -> Expr:
        """Return whether the condition holds in all lanes of `mask`, which execute it together.

        PTX:
            vote.sync.all.pred result, condition, mask;

        mask:          an integer
        condition:     a condition
        returns:       a condition
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       vote.sync
        """

    def ballot(self, mask: Integer, condition: Condition) -> Expr:
        """Return the lanes of `mask` in which the condition holds, lane 0 in bit 0; the lanes execute it together.

        PTX:
            vote.sync.ballot.b32 result, condition, mask;

        mask:          an integer
        condition:     a condition
        returns:       an integer
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       vote.sync
        """


class _PtxActivemask:
    """Tx.ptx.activemask: instructions."""

    def b32(self, ) -> Expr:
        """Return the active lanes, lane 0 in bit 0; a chip may diverge lanes that the simulator keeps converged.

        PTX:
            activemask.b32 result;

        returns:       an integer
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       activemask
        """


class _PtxMatchAnySync:
    """Tx.ptx.match.any.sync: instructions."""

    def b32(self, value: Integer, mask: Integer) -> Expr:
        """Return the lanes of `mask` with the same value as this lane (`__match_any_sync`); they execute it together.

        PTX:
            match.any.sync.b32 result, value, mask;

        value:         an integer
        mask:          an integer
        returns:       an integer
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       match.sync
        """


class _PtxMatchAny:
    """Tx.ptx.match.any: instructions."""

    sync: _PtxMatchAnySync

class _PtxMatchAllSync:
    """Tx.ptx.match.all.sync: instructions."""

    def b32(self, value: Integer, mask: Integer) -> Expr:
        """Return `mask` if all its lanes have the same value, else 0 (`__match_all_sync`); they execute it together.

        PTX:
            match.all.sync.b32 result, value, mask;

        value:         an integer
        mask:          an integer
        returns:       an integer
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       match.sync
        """


class _PtxMatchAll:
    """Tx.ptx.match.all: instructions."""

    sync: _PtxMatchAllSync

class _PtxMatch:
    """Tx.ptx.match: instructions."""

    any: _PtxMatchAny
    all: _PtxMatchAll

class _PtxRedux:
    """Tx.ptx.redux: instructions."""

    def u32(self, mask: Integer, value: Integer, op: Literal['add', 'min', 'max'] | str = 'add') -> Expr:
        """Return the sum modulo 2³², minimum or maximum over the lanes of `mask`, which execute it together.

        PTX:
            redux.sync.add.u32 result, value, mask;

        mask:          an integer
        value:         an integer
        op:            one of "add", "min", "max"
        returns:       an integer
        issued by:     a warp, all its threads together
        architectures: sm_80 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       redux.sync
        """

    def s32(self, mask: Integer, value: Integer, op: Literal['add', 'min', 'max'] | str = 'add') -> Expr:
        """Return the reduction `redux.u32` of signed integers.

        PTX:
            redux.sync.add.s32 result, value, mask;

        mask:          an integer
        value:         an integer
        op:            one of "add", "min", "max"
        returns:       an integer
        issued by:     a warp, all its threads together
        architectures: sm_80 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       redux.sync
        """

    def f32(self, mask: Integer, value: Number, op: Literal['min', 'max'] | str = 'max', abs: Literal['', 'abs'] | str = '', nan: Literal['', 'NaN'] | str = '') -> Expr:
        """Return the minimum or maximum over the lanes of `mask`, or with `abs` of the absolute values.

        -0 is less than 0. A NaN is ignored unless all values are; with `nan`, one NaN makes the result NaN.

        PTX:
            redux.sync.max.f32 result, value, mask;

        mask:          an integer
        value:         a number
        op:            one of "min", "max"
        abs:           one of "", "abs"
        nan:           one of "", "NaN"
        returns:       a number
        issued by:     a warp, all its threads together
        architectures: sm_100a to sm_103a
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       redux.sync
        """


class _PtxEx2:
    """Tx.ptx.ex2: instructions."""

    def approx(self, x: Number, ftz: _bool = True) -> Expr:
        """Return 2 to the power of `x`, within 2^-22 of the result; with `ftz`, subnormal numbers are zero.

        PTX:
            ex2.approx.ftz.f32 result, x;

        x:             a number
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        PTX ISA:       Floating Point Instructions: ex2
        """


class _PtxExp2:
    """Tx.ptx.exp2: instructions."""

    def __call__(self, x: Number, ftz: _bool = True) -> Expr:
        """Return 2 to the power of `x`, within 2^-22 of the result; with `ftz`, subnormal numbers are zero.

        PTX:
            ex2.approx.ftz.f32 result, x;

        x:             a number
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        PTX ISA:       Floating Point Instructions: ex2
        """

    def f64(self, x: Number) -> Expr:
        """2 to the power of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxLg2:
    """Tx.ptx.lg2: instructions."""

    def approx(self, x: Number, ftz: _bool = True) -> Expr:
        """Return the base-2 logarithm of `x`; with `ftz`, subnormal numbers are zero.

        PTX:
            lg2.approx.ftz.f32 result, x;

        x:             a number
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        PTX ISA:       Floating Point Instructions: lg2
        """


class _PtxSin:
    """Tx.ptx.sin: instructions."""

    def approx(self, x: Number, ftz: _bool = False) -> Expr:
        """Return the sine of `x`, within 2^-20.5 if |x| is at most π (`__sinf`).

        PTX:
            sin.approx.f32 result, x;

        x:             a number
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        PTX ISA:       Floating Point Instructions: sin
        """

    def f64(self, x: Number) -> Expr:
        """The sine of `x`, in radians, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxCos:
    """Tx.ptx.cos: instructions."""

    def approx(self, x: Number, ftz: _bool = False) -> Expr:
        """Return the cosine of `x`, within 2^-20.5 if |x| is at most π (`__cosf`).

        PTX:
            cos.approx.f32 result, x;

        x:             a number
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        PTX ISA:       Floating Point Instructions: cos
        """

    def f64(self, x: Number) -> Expr:
        """The cosine of `x`, in radians, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxTanh:
    """Tx.ptx.tanh: instructions."""

    def approx(self, x: Number) -> Expr:
        """Return the hyperbolic tangent of `x`, with a relative error of at most 2^-11.

        PTX:
            tanh.approx.f32 result, x;

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        PTX ISA:       Floating Point Instructions: tanh
        """

    def f64(self, x: Number) -> Expr:
        """The hyperbolic tangent of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxSqrtRounded:
    """Tx.ptx.sqrt.rounded: instructions."""

    def f32(self, a: Number, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str, ftz: _bool = False) -> Expr:
        """Return the square root, rounded once; with `ftz`, subnormal numbers are zero.

        PTX:
            sqrt.rounding.f32 result, a;

        a:             a number
        rounding:      one of "rn", "rz", "rm", "rp"
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       sqrt
        """

    def f64(self, a: Number, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str) -> Expr:
        """Return the square root, rounded once.

        PTX:
            sqrt.rounding.f64 result, a;

        a:             a number
        rounding:      one of "rn", "rz", "rm", "rp"
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       sqrt
        """


class _PtxSqrt:
    """Tx.ptx.sqrt: instructions."""

    def approx(self, x: Number, ftz: _bool = False) -> Expr:
        """Return the square root of `x`, with a relative error of at most 2^-23; with `ftz`, subnormal numbers are zero.

        PTX:
            sqrt.approx.f32 result, x;

        x:             a number
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        PTX ISA:       Floating Point Instructions: sqrt
        """

    def rn(self, x: Number) -> Expr:
        """Return the square root of `x`, rounded to the nearest float32.

        PTX:
            sqrt.rn.f32 result, x;

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        PTX ISA:       Floating Point Instructions: sqrt
        """

    def f64(self, x: Number) -> Expr:
        """The square root of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    rounded: _PtxSqrtRounded

class _PtxRcpRounded:
    """Tx.ptx.rcp.rounded: instructions."""

    def f32(self, a: Number, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str, ftz: _bool = False) -> Expr:
        """Return 1 / a, rounded once; with `ftz`, subnormal numbers are zero.

        PTX:
            rcp.rounding.f32 result, a;

        a:             a number
        rounding:      one of "rn", "rz", "rm", "rp"
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       rcp
        """

    def f64(self, a: Number, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str) -> Expr:
        """Return 1 / a, rounded once.

        PTX:
            rcp.rounding.f64 result, a;

        a:             a number
        rounding:      one of "rn", "rz", "rm", "rp"
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       rcp
        """


class _PtxRcp:
    """Tx.ptx.rcp: instructions."""

    def __call__(self, x: Number, ftz: _bool = True) -> Expr:
        """Return 1 / `x`, within 1 ulp; with `ftz`, subnormal numbers are zero.

        PTX:
            rcp.approx.ftz.f32 result, x;

        x:             a number
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        PTX ISA:       Floating Point Instructions: rcp
        """

    def approx(self, x: Number, ftz: _bool = True) -> Expr:
        """Return 1 / `x`, within 1 ulp; with `ftz`, subnormal numbers are zero.

        PTX:
            rcp.approx.ftz.f32 result, x;

        x:             a number
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        PTX ISA:       Floating Point Instructions: rcp
        """

    rounded: _PtxRcpRounded

class _PtxRsqrt:
    """Tx.ptx.rsqrt: instructions."""

    def approx(self, x: Number, ftz: _bool = True) -> Expr:
        """Return the reciprocal square root of `x`; with `ftz`, subnormal numbers are zero.

        PTX:
            rsqrt.approx.ftz.f32 result, x;

        x:             a number
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        PTX ISA:       Floating Point Instructions: rsqrt
        """

    def f64(self, x: Number) -> Expr:
        """1 / the square root of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxFma:
    """Tx.ptx.fma: instructions."""

    def rn(self, a: Number, b: Number, c: Number) -> Expr:
        """Return a * b + c, rounded once.

        PTX:
            fma.rn.f32 result, a, b, c;

        a:             a number
        b:             a number
        c:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       Floating Point Instructions: fma
        """

    def f32x2(self, a: Integer, b: Integer, c: Integer, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str = 'rn', ftz: _bool = False) -> Expr:
        """Return the products of two pairs plus a third pair, each rounded once; with `ftz`, subnormal numbers are zero.

        PTX:
            fma.rn.f32x2 result, a, b, c;

        a:             a 64-bit integer
        b:             a 64-bit integer
        c:             a 64-bit integer
        rounding:      one of "rn", "rz", "rm", "rp"
        ftz:           known at compile time
        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_100a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       fma
        """

    def f32(self, a: Number, b: Number, c: Number, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str = 'rn', ftz: _bool = False) -> Expr:
        """Return a b + c, rounded once in a rounding mode; with `ftz`, subnormal numbers are zero.

        PTX:
            fma.rn.f32 result, a, b, c;

        a:             a number
        b:             a number
        c:             a number
        rounding:      one of "rn", "rz", "rm", "rp"
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       fma
        """

    def f16x2(self, a: Integer, b: Integer, c: Integer) -> Expr:
        """Return the products of two float16 pairs plus a third pair, each rounded once.

        PTX:
            fma.rn.f16x2 result, a, b, c;

        a:             an integer
        b:             an integer
        c:             an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       fma
        """

    def bf16x2(self, a: Integer, b: Integer, c: Integer) -> Expr:
        """Return the products of two bfloat16 pairs plus a third pair, each rounded once.

        PTX:
            fma.rn.bf16x2 result, a, b, c;

        a:             an integer
        b:             an integer
        c:             an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       fma
        """

    def f64(self, a: Number, b: Number, c: Number, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str = 'rn') -> Expr:
        """Return a * b + c, rounded once.

        PTX:
            fma.rn.f64 result, a, b, c;

        a:             a number
        b:             a number
        c:             a number
        rounding:      one of "rn", "rz", "rm", "rp"
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       fma
        """


class _PtxDivRounded:
    """Tx.ptx.div.rounded: instructions."""

    def f32(self, a: Number, b: Number, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str, ftz: _bool = False) -> Expr:
        """Return a / b, rounded once; with `ftz`, subnormal numbers are zero.

        PTX:
            div.rounding.f32 result, a, b;

        a:             a number
        b:             a number
        rounding:      one of "rn", "rz", "rm", "rp"
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       div
        """

    def f64(self, a: Number, b: Number, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str) -> Expr:
        """Return a / b, rounded once.

        PTX:
            div.rounding.f64 result, a, b;

        a:             a number
        b:             a number
        rounding:      one of "rn", "rz", "rm", "rp"
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       div
        """


class _PtxDiv:
    """Tx.ptx.div: instructions."""

    def approx(self, a: Number, b: Number, ftz: _bool = False) -> Expr:
        """Return a / b, within 2 ulp if |b| is from 2^-126 to 2^126 (`__fdividef`).

        For a greater |b| the reciprocal is 0, with its sign: the result is 0 with the sign of the quotient, or NaN if `a`
        is infinite (PTX ISA: div).

        PTX:
            div.approx.f32 result, a, b;

        a:             a number
        b:             a number
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        PTX ISA:       Floating Point Instructions: div
        """

    rounded: _PtxDivRounded

class _PtxFns:
    """Tx.ptx.fns: instructions."""

    def b32(self, mask: Integer, base: Integer, offset: Integer) -> Expr:
        """Return the nth set bit of `mask`, n = |offset|, from bit `base`, upwards or downwards by the sign of `offset`.

        An offset of 0 selects bit `base` itself. The result is 2³² − 1 if no such bit exists.

        PTX:
            fns.b32 result, mask, base, offset;

        mask:          an integer
        base:          an integer
        offset:        an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       fns
        """


class _PtxPopc:
    """Tx.ptx.popc: instructions."""

    def b32(self, value: Integer) -> Expr:
        """Return the number of set bits of `value`.

        PTX:
            popc.b32 result, value;

        value:         an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       popc
        """

    def b64(self, value: Integer) -> Expr:
        """Return the number of set bits of the 64-bit `value`.

        PTX:
            popc.b64 result, value;

        value:         a 64-bit integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       popc
        """


class _PtxClz:
    """Tx.ptx.clz: instructions."""

    def b32(self, value: Integer) -> Expr:
        """Return the number of leading zero bits of `value`, or 32 if `value` is 0.

        PTX:
            clz.b32 result, value;

        value:         an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       clz
        """

    def b64(self, value: Integer) -> Expr:
        """Return the number of leading zero bits of the 64-bit `value`, or 64 if `value` is 0.

        PTX:
            clz.b64 result, value;

        value:         a 64-bit integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       clz
        """


class _PtxPrmt:
    """Tx.ptx.prmt: instructions."""

    def b32(self, a: Integer, b: Integer, selector: Integer) -> Expr:
        """Return four of the eight bytes of `a` (0 to 3) and `b` (4 to 7), each selected by a four-bit number.

        If the highest bit of a number is set, the sign of the selected byte fills the result byte.

        PTX:
            prmt.b32 result, a, b, selector;

        a:             an integer
        b:             an integer
        selector:      an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       prmt
        """


class _PtxLop3:
    """Tx.ptx.lop3: instructions."""

    def b32(self, a: Integer, b: Integer, c: Integer, lut: int) -> Expr:
        """Return a bitwise function of `a`, `b` and `c`; each result bit is bit 4a + 2b + c of the table `lut`.

        The table of an expression is its value for a = 0xF0, b = 0xCC and c = 0xAA.

        PTX:
            lop3.b32 result, a, b, c, lut;

        a:             an integer
        b:             an integer
        c:             an integer
        lut:           a whole number, known at compile time
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       lop3
        """


class _PtxBrev:
    """Tx.ptx.brev: instructions."""

    def b32(self, value: Integer) -> Expr:
        """Reverse the bits of `value`.

        PTX:
            brev.b32 result, value;

        value:         an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       brev
        """

    def b64(self, value: Integer) -> Expr:
        """Reverse the 64 bits of `value`.

        PTX:
            brev.b64 result, value;

        value:         a 64-bit integer
        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       brev
        """


class _PtxBfind:
    """Tx.ptx.bfind: instructions."""

    def u32(self, value: Integer) -> Expr:
        """Return the position of the highest set bit of `value`, or 2³² - 1 if none is set.

        PTX:
            bfind.u32 result, value;

        value:         an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       bfind
        """

    def s32(self, value: Integer) -> Expr:
        """Return the position of the highest bit of `value` that differs from its sign, or 2³² - 1 if none does.

        PTX:
            bfind.s32 result, value;

        value:         an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       bfind
        """


class _PtxBfe:
    """Tx.ptx.bfe: instructions."""

    def u32(self, value: Integer, start: Integer, length: Integer) -> Expr:
        """Extract `length` bits of `value`, starting at bit `start`; only the lowest eight bits of both operands count.

        PTX:
            bfe.u32 result, value, start, length;

        value:         an integer
        start:         an integer
        length:        an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       bfe
        """

    def s32(self, value: Integer, start: Integer, length: Integer) -> Expr:
        """Extract a bit field as a signed number, whose sign is the highest bit of the field.

        PTX:
            bfe.s32 result, value, start, length;

        value:         an integer
        start:         an integer
        length:        an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       bfe
        """


class _PtxBfi:
    """Tx.ptx.bfi: instructions."""

    def b32(self, field: Integer, into: Integer, start: Integer, length: Integer) -> Expr:
        """Insert the lowest `length` bits of `field` into `into`, starting at bit `start`.

        PTX:
            bfi.b32 result, field, into, start, length;

        field:         an integer
        into:          an integer
        start:         an integer
        length:        an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       bfi
        """


class _PtxMulHi:
    """Tx.ptx.mul.hi: instructions."""

    def u32(self, a: Integer, b: Integer) -> Expr:
        """Return the upper 32 bits of the product (`__umulhi`).

        PTX:
            mul.hi.u32 result, a, b;

        a:             an integer
        b:             an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       mul
        """

    def s32(self, a: Integer, b: Integer) -> Expr:
        """Return the upper 32 bits of the signed product (`__mulhi`).

        PTX:
            mul.hi.s32 result, a, b;

        a:             an integer
        b:             an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       mul
        """


class _PtxMulWide:
    """Tx.ptx.mul.wide: instructions."""

    def u32(self, a: Integer, b: Integer) -> Expr:
        """Return the 64-bit product.

        PTX:
            mul.wide.u32 result, a, b;

        a:             an integer
        b:             an integer
        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       mul
        """


class _PtxMul:
    """Tx.ptx.mul: instructions."""

    hi: _PtxMulHi
    wide: _PtxMulWide
    def f32x2(self, a: Integer, b: Integer, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str = 'rn', ftz: _bool = False) -> Expr:
        """Return the products of two pairs; with `ftz`, subnormal numbers are zero.

        PTX:
            mul.rn.f32x2 result, a, b;

        a:             a 64-bit integer
        b:             a 64-bit integer
        rounding:      one of "rn", "rz", "rm", "rp"
        ftz:           known at compile time
        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_100a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       mul
        """

    def f32(self, a: Number, b: Number, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str = 'rn', ftz: _bool = False) -> Expr:
        """Return the product of two numbers; with `ftz`, subnormal numbers are zero.

        PTX:
            mul.rn.f32 result, a, b;

        a:             a number
        b:             a number
        rounding:      one of "rn", "rz", "rm", "rp"
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       mul
        """

    def f64(self, a: Number, b: Number, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str = 'rn') -> Expr:
        """Return the product of two numbers.

        PTX:
            mul.rn.f64 result, a, b;

        a:             a number
        b:             a number
        rounding:      one of "rn", "rz", "rm", "rp"
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       mul
        """


class _PtxMadLo:
    """Tx.ptx.mad.lo: instructions."""

    def u32(self, a: Integer, b: Integer, c: Integer) -> Expr:
        """Return the lower 32 bits of a · b + c.

        PTX:
            mad.lo.u32 result, a, b, c;

        a:             an integer
        b:             an integer
        c:             an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       mad
        """

    def s32(self, a: Integer, b: Integer, c: Integer) -> Expr:
        """Return the lower 32 bits of a · b + c, as a signed number.

        PTX:
            mad.lo.s32 result, a, b, c;

        a:             an integer
        b:             an integer
        c:             an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       mad
        """


class _PtxMadHi:
    """Tx.ptx.mad.hi: instructions."""

    def u32(self, a: Integer, b: Integer, c: Integer) -> Expr:
        """Return the upper 32 bits of a · b, plus c.

        PTX:
            mad.hi.u32 result, a, b, c;

        a:             an integer
        b:             an integer
        c:             an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       mad
        """


class _PtxMadWide:
    """Tx.ptx.mad.wide: instructions."""

    def u32(self, a: Integer, b: Integer, c: Integer) -> Expr:
        """Return the 64-bit a · b + c.

        PTX:
            mad.wide.u32 result, a, b, c;

        a:             an integer
        b:             an integer
        c:             a 64-bit integer
        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       mad
        """


class _PtxMad:
    """Tx.ptx.mad: instructions."""

    lo: _PtxMadLo
    hi: _PtxMadHi
    wide: _PtxMadWide

class _PtxTan:
    """Tx.ptx.tan: instructions."""

    def f64(self, x: Number) -> Expr:
        """The tangent of `x`, in radians, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxAsin:
    """Tx.ptx.asin: instructions."""

    def f64(self, x: Number) -> Expr:
        """The angle whose sine is `x`, in radians, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxAcos:
    """Tx.ptx.acos: instructions."""

    def f64(self, x: Number) -> Expr:
        """The angle whose cosine is `x`, in radians, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxAtan:
    """Tx.ptx.atan: instructions."""

    def f64(self, x: Number) -> Expr:
        """The angle whose tangent is `x`, in radians, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxSinh:
    """Tx.ptx.sinh: instructions."""

    def f64(self, x: Number) -> Expr:
        """The hyperbolic sine of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxCosh:
    """Tx.ptx.cosh: instructions."""

    def f64(self, x: Number) -> Expr:
        """The hyperbolic cosine of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxAsinh:
    """Tx.ptx.asinh: instructions."""

    def f64(self, x: Number) -> Expr:
        """The number whose hyperbolic sine is `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxAcosh:
    """Tx.ptx.acosh: instructions."""

    def f64(self, x: Number) -> Expr:
        """The number whose hyperbolic cosine is `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxAtanh:
    """Tx.ptx.atanh: instructions."""

    def f64(self, x: Number) -> Expr:
        """The number whose hyperbolic tangent is `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxErf:
    """Tx.ptx.erf: instructions."""

    def f64(self, x: Number) -> Expr:
        """The error function of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxExp10:
    """Tx.ptx.exp10: instructions."""

    def f64(self, x: Number) -> Expr:
        """10 to the power of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxLog10:
    """Tx.ptx.log10: instructions."""

    def f64(self, x: Number) -> Expr:
        """The logarithm of `x` to the base 10, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxLog1p:
    """Tx.ptx.log1p: instructions."""

    def f64(self, x: Number) -> Expr:
        """The natural logarithm of 1 + `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxFloor:
    """Tx.ptx.floor: instructions."""

    def f64(self, x: Number) -> Expr:
        """The greatest whole number up to `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """


class _PtxCeil:
    """Tx.ptx.ceil: instructions."""

    def f64(self, x: Number) -> Expr:
        """The least whole number from `x` on, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """


class _PtxTrunc:
    """Tx.ptx.trunc: instructions."""

    def f64(self, x: Number) -> Expr:
        """`x` without its fraction, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """


class _PtxNearbyint:
    """Tx.ptx.nearbyint: instructions."""

    def f64(self, x: Number) -> Expr:
        """The nearest whole number, the even one of two, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """


class _PtxExp:
    """Tx.ptx.exp: instructions."""

    def f64(self, x: Number) -> Expr:
        """e to the power of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxLog:
    """Tx.ptx.log: instructions."""

    def f64(self, x: Number) -> Expr:
        """The natural logarithm of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxLog2:
    """Tx.ptx.log2: instructions."""

    def f64(self, x: Number) -> Expr:
        """The logarithm of `x` to the base 2, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxPow:
    """Tx.ptx.pow: instructions."""

    def f64(self, x: Number, y: Number) -> Expr:
        """`x` to the power of `y`, in float64.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxFmod:
    """Tx.ptx.fmod: instructions."""

    def f64(self, x: Number, y: Number) -> Expr:
        """The remainder of `x` / `y`, with the sign of `x`, in float64.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxHypot:
    """Tx.ptx.hypot: instructions."""

    def f64(self, x: Number, y: Number) -> Expr:
        """The square root of x² + y², in float64.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxCopysign:
    """Tx.ptx.copysign: instructions."""

    def f64(self, x: Number, y: Number) -> Expr:
        """The size of `x` with the sign of `y`, in float64.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """


class _PtxAtan2:
    """Tx.ptx.atan2: instructions."""

    def f64(self, y: Number, x: Number) -> Expr:
        """Return the angle of the point (`x`, `y`), in radians, in float64.

        y:             a number
        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _PtxNextafter:
    """Tx.ptx.nextafter: instructions."""

    def f64(self, x: Number, y: Number) -> Expr:
        """Return the neighbour of `x` in float64 towards `y`.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """


class _PtxLdexp:
    """Tx.ptx.ldexp: instructions."""

    def f64(self, x: Number, exponent: Integer) -> Expr:
        """Return `x` times 2 to the power of `exponent`, in float64.

        x:             a number
        exponent:      an integer
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """


class _PtxAdd:
    """Tx.ptx.add: instructions."""

    def f32x2(self, a: Integer, b: Integer, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str = 'rn', ftz: _bool = False) -> Expr:
        """Return the sums of two pairs; with `ftz`, subnormal numbers are zero.

        PTX:
            add.rn.f32x2 result, a, b;

        a:             a 64-bit integer
        b:             a 64-bit integer
        rounding:      one of "rn", "rz", "rm", "rp"
        ftz:           known at compile time
        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_100a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       add
        """

    def f32(self, a: Number, b: Number, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str = 'rn', ftz: _bool = False) -> Expr:
        """Return the sum of two numbers; with `ftz`, subnormal numbers are zero.

        PTX:
            add.rn.f32 result, a, b;

        a:             a number
        b:             a number
        rounding:      one of "rn", "rz", "rm", "rp"
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       add
        """

    def f64(self, a: Number, b: Number, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str = 'rn') -> Expr:
        """Return the sum of two numbers.

        PTX:
            add.rn.f64 result, a, b;

        a:             a number
        b:             a number
        rounding:      one of "rn", "rz", "rm", "rp"
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       add
        """


class _PtxSub:
    """Tx.ptx.sub: instructions."""

    def f32x2(self, a: Integer, b: Integer, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str = 'rn', ftz: _bool = False) -> Expr:
        """Return the differences of two pairs; with `ftz`, subnormal numbers are zero.

        PTX:
            sub.rn.f32x2 result, a, b;

        a:             a 64-bit integer
        b:             a 64-bit integer
        rounding:      one of "rn", "rz", "rm", "rp"
        ftz:           known at compile time
        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_100a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       sub
        """

    def f32(self, a: Number, b: Number, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str = 'rn', ftz: _bool = False) -> Expr:
        """Return the difference of two numbers; with `ftz`, subnormal numbers are zero.

        PTX:
            sub.rn.f32 result, a, b;

        a:             a number
        b:             a number
        rounding:      one of "rn", "rz", "rm", "rp"
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       sub
        """

    def f64(self, a: Number, b: Number, rounding: Literal['rn', 'rz', 'rm', 'rp'] | str = 'rn') -> Expr:
        """Return the difference of two numbers.

        PTX:
            sub.rn.f64 result, a, b;

        a:             a number
        b:             a number
        rounding:      one of "rn", "rz", "rm", "rp"
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       sub
        """


class _PtxMax:
    """Tx.ptx.max: instructions."""

    def f32(self, a: Number, b: Number, ftz: _bool = False, nan: _bool = False) -> Expr:
        """Return the greater number, ignoring a NaN operand; with `nan`, return NaN if any operand is NaN.

        PTX:
            max.f32 result, a, b;

        a:             a number
        b:             a number
        ftz:           known at compile time
        nan:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       max
        """

    def bf16x2(self, a: Integer, b: Integer, nan: Literal['', 'NaN'] | str = '') -> Expr:
        """Return the greater numbers of two bfloat16 pairs, ignoring NaN; with nan="NaN", NaN propagates.

        PTX:
            max.bf16x2 result, a, b;

        a:             an integer
        b:             an integer
        nan:           one of "", "NaN"
        returns:       an integer
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       max
        """


class _PtxMin:
    """Tx.ptx.min: instructions."""

    def f32(self, a: Number, b: Number, ftz: _bool = False, nan: _bool = False) -> Expr:
        """Return the smaller number, ignoring a NaN operand; with `nan`, return NaN if any operand is NaN.

        PTX:
            min.f32 result, a, b;

        a:             a number
        b:             a number
        ftz:           known at compile time
        nan:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       min
        """

    def bf16x2(self, a: Integer, b: Integer, nan: Literal['', 'NaN'] | str = '') -> Expr:
        """Return the smaller numbers of two bfloat16 pairs, ignoring NaN; with nan="NaN", NaN propagates.

        PTX:
            min.bf16x2 result, a, b;

        a:             an integer
        b:             an integer
        nan:           one of "", "NaN"
        returns:       an integer
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       min
        """


class _PtxMax3:
    """Tx.ptx.max3: instructions."""

    def f32(self, a: Number, b: Number, c: Number, ftz: _bool = False, nan: _bool = False) -> Expr:
        """Return the greatest of three numbers, ignoring NaN; with `nan`, return NaN if any operand is NaN.

        PTX:
            max.f32 result, a, b, c;

        a:             a number
        b:             a number
        c:             a number
        ftz:           known at compile time
        nan:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_100a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       max
        """


class _PtxMin3:
    """Tx.ptx.min3: instructions."""

    def f32(self, a: Number, b: Number, c: Number, ftz: _bool = False, nan: _bool = False) -> Expr:
        """Return the smallest of three numbers, ignoring NaN; with `nan`, return NaN if any operand is NaN.

        PTX:
            min.f32 result, a, b, c;

        a:             a number
        b:             a number
        c:             a number
        ftz:           known at compile time
        nan:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_100a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       min
        """


class _PtxCvt:
    """Tx.ptx.cvt: instructions."""

    @overload
    def __call__(self, *values: Integer, dtype: Literal['u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f16', 'bf16', 'f32', 'f64'] | str, atype: Literal['u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f16', 'bf16', 'f32', 'f64'] | str, rounding: Literal['', 'rn', 'rz', 'rm', 'rp', 'rni', 'rzi', 'rmi', 'rpi'] | str = '', ftz: _bool = False, sat: _bool = False) -> Expr:
        """Convert a value of type `atype` to type `dtype`.

        Conversions from floating point to integer saturate and map NaN to 0. sat: integers saturate to the range
        of `dtype` instead of wrapping; floats are clamped to [0, 1]. ftz: subnormal f32 numbers become zero.

        PTX:
            cvt.dtype.atype result, values;

        values:        a value of the instruction's type
        dtype:         one of "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "bf16", "f32", "f64"
        atype:         one of "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "bf16", "f32", "f64"
        rounding:      one of "", "rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"
        ftz:           known at compile time
        sat:           known at compile time
        returns:       a value of the instruction's type
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       cvt
        """
    @overload
    def __call__(self, *values: Integer, dtype: Literal['f16', 'bf16', 'tf32', 'f16x2', 'bf16x2', 'e4m3x2', 'e5m2x2', 'e2m1x2', 'e2m3x2', 'e3m2x2', 'ue8m0x2'] | str, atype: Literal['f32', 'f16x2', 'bf16x2', 'e4m3x2', 'e5m2x2', 'e2m1x2', 'e2m3x2', 'e3m2x2', 'ue8m0x2'] | str, rounding: Literal['rn', 'rna', 'rz', 'rp'] | str, relu: _bool = False, satfinite: _bool = False) -> Expr:
        """Convert to a small format: a value or a pair from f32, or a pair from another pair; or convert a pair to f16.

        satfinite: too large numbers and infinity become the largest number. relu: negative numbers become 0. NaN stays
        NaN; in formats without NaN it becomes the largest number.

        PTX:
            cvt.rounding.dtype.atype result, values;

        values:          a value of the instruction's type
        dtype:           one of "f16", "bf16", "tf32", "f16x2", "bf16x2", "e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2"
        atype:           one of "f32", "f16x2", "bf16x2", "e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2"
        rounding:        one of "rn", "rna", "rz", "rp"
        relu:            known at compile time
        satfinite:       known at compile time
        returns:         a value of the instruction's type
        issued by:       each active thread
        architectures:   sm_90a and later
        cost:            alu, 2 cycles to issue in the simulator's clock
        dtype="e2m1x2":  only on sm_100a and sm_103a and sm_110a
        dtype="e2m3x2":  only on sm_100a and sm_103a and sm_110a
        dtype="e3m2x2":  only on sm_100a and sm_103a and sm_110a
        dtype="ue8m0x2": only on sm_100a and sm_103a and sm_110a
        atype="e2m1x2":  only on sm_100a and sm_103a and sm_110a
        atype="e2m3x2":  only on sm_100a and sm_103a and sm_110a
        atype="e3m2x2":  only on sm_100a and sm_103a and sm_110a
        atype="ue8m0x2": only on sm_100a and sm_103a and sm_110a
        PTX ISA:         cvt
        """
    @overload
    def __call__(self, dtype: Any, *values: Integer, atype: Any, rounding: Any = ..., ftz: _bool = False, sat: _bool = False, relu: _bool = False, satfinite: _bool = False, scaled: str = '', rbits: Any = None, scale_factor: Any = None) -> Expr:
        """Convert a value of type `atype` to type `dtype`.

        Conversions from floating point to integer saturate and map NaN to 0. sat: integers saturate to the range
        of `dtype` instead of wrapping; floats are clamped to [0, 1]. ftz: subnormal f32 numbers become zero.

        PTX:
            cvt.dtype.atype result, values;

        values:        a value of the instruction's type
        dtype:         one of "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "bf16", "f32", "f64"
        atype:         one of "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "bf16", "f32", "f64"
        rounding:      one of "", "rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"
        ftz:           known at compile time
        sat:           known at compile time
        returns:       a value of the instruction's type
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       cvt
        """

    def packed(self, *values: Integer, dtype: Literal['f16', 'bf16', 'tf32', 'f16x2', 'bf16x2', 'e4m3x2', 'e5m2x2', 'e2m1x2', 'e2m3x2', 'e3m2x2', 'ue8m0x2'] | str, atype: Literal['f32', 'f16x2', 'bf16x2', 'e4m3x2', 'e5m2x2', 'e2m1x2', 'e2m3x2', 'e3m2x2', 'ue8m0x2'] | str, rounding: Literal['rn', 'rna', 'rz', 'rp'] | str, relu: _bool = False, satfinite: _bool = False) -> Expr:
        """Convert to a small format: a value or a pair from f32, or a pair from another pair; or convert a pair to f16.

        satfinite: too large numbers and infinity become the largest number. relu: negative numbers become 0. NaN stays
        NaN; in formats without NaN it becomes the largest number.

        PTX:
            cvt.rounding.dtype.atype result, values;

        values:          a value of the instruction's type
        dtype:           one of "f16", "bf16", "tf32", "f16x2", "bf16x2", "e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2"
        atype:           one of "f32", "f16x2", "bf16x2", "e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2"
        rounding:        one of "rn", "rna", "rz", "rp"
        relu:            known at compile time
        satfinite:       known at compile time
        returns:         a value of the instruction's type
        issued by:       each active thread
        architectures:   sm_90a and later
        cost:            alu, 2 cycles to issue in the simulator's clock
        dtype="e2m1x2":  only on sm_100a and sm_103a and sm_110a
        dtype="e2m3x2":  only on sm_100a and sm_103a and sm_110a
        dtype="e3m2x2":  only on sm_100a and sm_103a and sm_110a
        dtype="ue8m0x2": only on sm_100a and sm_103a and sm_110a
        atype="e2m1x2":  only on sm_100a and sm_103a and sm_110a
        atype="e2m3x2":  only on sm_100a and sm_103a and sm_110a
        atype="e3m2x2":  only on sm_100a and sm_103a and sm_110a
        atype="ue8m0x2": only on sm_100a and sm_103a and sm_110a
        PTX ISA:         cvt
        """

    def rs(self, bits: Integer, *values: Number, dtype: Literal['f16x2', 'bf16x2', 'e4m3x4', 'e5m2x4', 'e2m3x4', 'e3m2x4', 'e2m1x4'] | str = 'f16x2', atype: Literal['f32'] | str = 'f32', relu: _bool = False, satfinite: _bool = False) -> Expr:
        """Convert two or four numbers, rounded by random bits; the first becomes the upper part of the result.

        PTX:
            cvt.rs.f16x2.f32 result, values, bits;

        bits:          an integer
        values:        a number
        dtype:         one of "f16x2", "bf16x2", "e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4"
        atype:         one of "f32"
        relu:          known at compile time
        satfinite:     known at compile time
        returns:       an integer
        issued by:     each active thread
        architectures: sm_100a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       cvt
        """


class _PtxCpReduce_asyncBulk:
    """Tx.ptx.cp.reduce_async.bulk: instructions."""

    def __call__(self, dst: GlobalPointer, src: SharedPointer, bytes: Integer, op: Literal['add', 'min', 'max', 'inc', 'dec', 'and', 'or', 'xor'] | str = 'add', type: Literal['f16', 'bf16', 'f32', 'f64', 'b32', 'b64', 'u32', 's32', 'u64', 's64'] | str = 'f32') -> None:
        """Apply `op` to elements of global memory and `bytes` bytes of shared memory, in the open bulk group.

        Each element is updated atomically, relaxed, at the scope of the GPU.

        PTX:
            cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [dst], [src], bytes;

        dst:           a pointer to global memory, as in A.ptr_to([0, 0]) (also dst_ptr)
        src:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also src_ptr)
        bytes:         an integer (also num_bytes)
        op:            one of "add", "min", "max", "inc", "dec", "and", "or", "xor"
        type:          one of "f16", "bf16", "f32", "f64", "b32", "b64", "u32", "s32", "u64", "s64"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          tma, 30 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through bulk group
        PTX ISA:       cp.reduce.async.bulk
        """

    def tensor(self, tensor_map: MapPointer, src: SharedPointer, *coords: Integer, dim: int, op: Literal['add', 'min', 'max', 'inc', 'dec', 'and', 'or', 'xor'] | str = 'add', cache_hint: Literal['', 'evict_first', 'evict_normal', 'evict_last'] | str = '', cache_policy: int = 0) -> None:
        """Add shared memory to the box at `coords`, element by element, as part of the thread's open bulk group.

        op: another operation instead of the sum.

        PTX:
            cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [tensor_map, {coords}], [src];

        tensor_map:    a tensor map
        src:           a pointer to shared memory, as in tile.ptr_to([0, 0])
        coords:        an integer
        dim:           a whole number, known at compile time
        op:            one of "add", "min", "max", "inc", "dec", "and", "or", "xor"
        cache_hint:    one of "", "evict_first", "evict_normal", "evict_last"
        cache_policy:  a whole number, known at compile time
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          tma, 30 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through bulk group
        PTX ISA:       cp.reduce.async.bulk.tensor
        """


class _PtxCpReduce_async:
    """Tx.ptx.cp.reduce_async: instructions."""

    bulk: _PtxCpReduce_asyncBulk

class _PtxCp:
    """Tx.ptx.cp: instructions."""

    reduce_async: _PtxCpReduce_async

class _PtxCp_reduce_asyncBulk:
    """Tx.ptx.cp_reduce_async.bulk: instructions."""

    def __call__(self, dst: GlobalPointer, src: SharedPointer, bytes: Integer, op: Literal['add', 'min', 'max', 'inc', 'dec', 'and', 'or', 'xor'] | str = 'add', type: Literal['f16', 'bf16', 'f32', 'f64', 'b32', 'b64', 'u32', 's32', 'u64', 's64'] | str = 'f32') -> None:
        """Apply `op` to elements of global memory and `bytes` bytes of shared memory, in the open bulk group.

        Each element is updated atomically, relaxed, at the scope of the GPU.

        PTX:
            cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [dst], [src], bytes;

        dst:           a pointer to global memory, as in A.ptr_to([0, 0]) (also dst_ptr)
        src:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also src_ptr)
        bytes:         an integer (also num_bytes)
        op:            one of "add", "min", "max", "inc", "dec", "and", "or", "xor"
        type:          one of "f16", "bf16", "f32", "f64", "b32", "b64", "u32", "s32", "u64", "s64"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          tma, 30 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through bulk group
        PTX ISA:       cp.reduce.async.bulk
        """

    def tensor(self, tensor_map: MapPointer, src: SharedPointer, *coords: Integer, dim: int, op: Literal['add', 'min', 'max', 'inc', 'dec', 'and', 'or', 'xor'] | str = 'add', cache_hint: Literal['', 'evict_first', 'evict_normal', 'evict_last'] | str = '', cache_policy: int = 0) -> None:
        """Add shared memory to the box at `coords`, element by element, as part of the thread's open bulk group.

        op: another operation instead of the sum.

        PTX:
            cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [tensor_map, {coords}], [src];

        tensor_map:    a tensor map
        src:           a pointer to shared memory, as in tile.ptr_to([0, 0])
        coords:        an integer
        dim:           a whole number, known at compile time
        op:            one of "add", "min", "max", "inc", "dec", "and", "or", "xor"
        cache_hint:    one of "", "evict_first", "evict_normal", "evict_last"
        cache_policy:  a whole number, known at compile time
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          tma, 30 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through bulk group
        PTX ISA:       cp.reduce.async.bulk.tensor
        """


class _PtxCp_reduce_async:
    """Tx.ptx.cp_reduce_async: instructions."""

    bulk: _PtxCp_reduce_asyncBulk

class _PtxTensormapReplace:
    """Tx.ptx.tensormap.replace: instructions."""

    def __call__(self, address: Integer, value: Integer, field: Literal['global_address', 'rank', 'elemtype', 'interleave_layout', 'swizzle_mode', 'swizzle_atomicity', 'fill_mode'] | str, space: Literal['global', 'shared::cta'] | str = 'global', type: Literal['b32', 'b64'] | str = 'b32') -> None:
        """Replace a field of the tensor map at `address`; `rank` is the number of dimensions minus 1.

        It is a weak write of the generic proxy. A copy that uses the map needs `fence.proxy.tensormap` before it.

        PTX:
            tensormap.replace.tile.field.global.b1024.b32 [address], value;

        address:       a pointer to global or shared memory (also addr, ptr)
        value:         a 64-bit integer
        field:         one of "global_address", "rank", "elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity", "fill_mode"
        space:         one of "global", "shared::cta"
        type:          one of "b32", "b64"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       tensormap.replace
        """

    def dimension(self, address: Integer, ordinal: Integer, value: Integer, field: Literal['box_dim', 'global_dim', 'global_stride', 'element_stride'] | str, space: Literal['global', 'shared::cta'] | str = 'global', type: Literal['b32', 'b64'] | str = 'b32') -> None:
        """Replace a field of one dimension of the tensor map at `address`; dimension 0 is the innermost one.

        `global_stride` 0 is the distance between neighbours in dimension 1, in bytes.

        PTX:
            tensormap.replace.tile.field.global.b1024.b32 [address], ordinal, value;

        address:       a pointer to global or shared memory (also addr, ptr)
        ordinal:       an integer
        value:         a 64-bit integer
        field:         one of "box_dim", "global_dim", "global_stride", "element_stride"
        space:         one of "global", "shared::cta"
        type:          one of "b32", "b64"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       tensormap.replace
        """


class _PtxTensormap:
    """Tx.ptx.tensormap: instructions."""

    replace: _PtxTensormapReplace
    def cp_fenceproxy(self, dst: GlobalPointer, src: SharedPointer, scope: Literal['cta', 'cluster', 'gpu', 'sys'] | str = 'gpu') -> None:
        """Copy a tensor map from shared to global memory, and release it, for an acquire of the tensormap proxy.

        The copy reads what all lanes of the warp have written before.

        PTX:
            tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [dst], [src], 128;

        dst:           a pointer to global memory, as in A.ptr_to([0, 0])
        src:           a pointer to shared memory, as in tile.ptr_to([0, 0])
        scope:         one of "cta", "cluster", "gpu", "sys"
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       tensormap.cp_fenceproxy
        """


class _PtxLdmatrix:
    """Tx.ptx.ldmatrix: instructions."""

    @overload
    def __call__(self, dst: RegisterPointer, addr: SharedPointer, num: int = 4, transpose: _bool = False) -> None:
        """Load `num` blocks of 8 × 8 16-bit elements from shared memory as a warp; each lane gives a row address.

        PTX:
            ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {dst}, [addr];

        dst:           a pointer to a register buffer
        addr:          a pointer to shared memory, as in tile.ptr_to([0, 0])
        num:           one of 1, 2, 4
        transpose:     known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          matrix, 4 cycles to issue in the simulator's clock
        PTX ISA:       ldmatrix
        """
    @overload
    def __call__(self, trans: _bool, num: int, dtype: str, smem_ptr: SharedPointer, *dst_handles: RegisterPointer) -> None:
        """Load `num` blocks of 8 × 8 16-bit elements from shared memory as a warp; each lane gives a row address.

        PTX:
            ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {dst}, [addr];

        dst_handles:   a pointer to a register buffer
        smem_ptr:      a pointer to shared memory, as in tile.ptr_to([0, 0])
        num:           one of 1, 2, 4
        trans:         known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          matrix, 4 cycles to issue in the simulator's clock
        PTX ISA:       ldmatrix
        """

    def m16n16(self, dst: RegisterPointer, addr: SharedPointer, num: int = 1) -> None:
        """Load `num` blocks of 16 × 16 bytes from shared memory as a warp, transposed.

        Lanes 16i … 16i + 15 give the addresses of the rows of block i. Lane 4g + t receives, in the two registers of a
        block, the bytes of rows 4t … 4t + 3 in column g, and those in column g + 8.

        PTX:
            ldmatrix.sync.aligned.m16n16.x1.trans.shared::cta.b8 {dst}, [addr];

        dst:           a pointer to a register buffer
        addr:          a pointer to shared memory, as in tile.ptr_to([0, 0])
        num:           one of 1, 2
        issued by:     a warp, all its threads together
        architectures: sm_100a and later
        cost:          matrix, 4 cycles to issue in the simulator's clock
        PTX ISA:       ldmatrix
        """


class _PtxStmatrix:
    """Tx.ptx.stmatrix: instructions."""

    @overload
    def __call__(self, addr: SharedPointer, src: RegisterPointer, num: int = 4, transpose: _bool = False) -> None:
        """Store `num` blocks of 8 × 8 16-bit elements to shared memory as a warp; each lane gives a row address.

        PTX:
            stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [addr], {src};

        addr:          a pointer to shared memory, as in tile.ptr_to([0, 0])
        src:           a pointer to a register buffer
        num:           one of 1, 2, 4
        transpose:     known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          matrix, 4 cycles to issue in the simulator's clock
        PTX ISA:       stmatrix
        """
    @overload
    def __call__(self, trans: _bool, num: int, dtype: str, smem_ptr: SharedPointer, *src_handles: RegisterPointer, shape: Any = ..., space: str = 'shared') -> None:
        """Store `num` blocks of 8 × 8 16-bit elements to shared memory as a warp; each lane gives a row address.

        PTX:
            stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [addr], {src};

        smem_ptr:      a pointer to shared memory, as in tile.ptr_to([0, 0])
        src_handles:   a pointer to a register buffer
        num:           one of 1, 2, 4
        trans:         known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          matrix, 4 cycles to issue in the simulator's clock
        PTX ISA:       stmatrix
        """

    def m16n8(self, addr: SharedPointer, src: RegisterPointer, num: int = 1) -> None:
        """Store `num` blocks of 16 × 8 bytes to shared memory as a warp, transposed, with 16 bytes in each column.

        Lanes 8i … 8i + 7 give the addresses of the columns of block i. Lane 4g + t holds, in the register of a block, the
        bytes of rows g and g + 8, each in columns 2t and 2t + 1: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).

        PTX:
            stmatrix.sync.aligned.m16n8.x1.trans.shared::cta.b8 [addr], {src};

        addr:          a pointer to shared memory, as in tile.ptr_to([0, 0])
        src:           a pointer to a register buffer
        num:           one of 1, 2, 4
        issued by:     a warp, all its threads together
        architectures: sm_100a and later
        cost:          matrix, 4 cycles to issue in the simulator's clock
        PTX ISA:       stmatrix
        """


class _PtxMmaSync:
    """Tx.ptx.mma.sync: instructions."""

    def __call__(self, d: RegisterPointer, a: RegisterPointer, b: RegisterPointer, c: RegisterPointer, shape: Literal['m16n8k4', 'm16n8k8', 'm16n8k16', 'm16n8k32'] | str = 'm16n8k16', a_layout: Literal['row'] | str = 'row', b_layout: Literal['col'] | str = 'col', d_type: Literal['f32', 'f16', 's32'] | str = 'f32', a_type: Literal['f16', 'bf16', 'tf32', 's8', 'u8', 'e4m3', 'e5m2'] | str = 'f16', b_type: Literal['f16', 'bf16', 'tf32', 's8', 'u8', 'e4m3', 'e5m2'] | str = 'f16', c_type: Literal['f32', 'f16', 's32'] | str = 'f32', satfinite: _bool = False) -> None:
        """Compute D = A B + C with a warp's register fragments; D and C may share registers.

        Operands are pointers to fragments, or lists with a pointer to each 32-bit register. The instruction is synchronous.

        PTX:
            mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};

        d:             a pointer to a register buffer
        a:             a pointer to a register buffer
        b:             a pointer to a register buffer
        c:             a pointer to a register buffer
        shape:         one of "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"
        a_layout:      one of "row"
        b_layout:      one of "col"
        d_type:        one of "f32", "f16", "s32"
        a_type:        one of "f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"
        b_type:        one of "f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"
        c_type:        one of "f32", "f16", "s32"
        satfinite:     known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          matrix, 4 cycles to issue in the simulator's clock
        PTX ISA:       mma
        """

    def zero(self, d: RegisterPointer, a: RegisterPointer, b: RegisterPointer, shape: Literal['m16n8k4', 'm16n8k8', 'm16n8k16', 'm16n8k32'] | str = 'm16n8k16', a_layout: Literal['row'] | str = 'row', b_layout: Literal['col'] | str = 'col', d_type: Literal['f32', 'f16', 's32'] | str = 'f32', a_type: Literal['f16', 'bf16', 'tf32', 's8', 'u8', 'e4m3', 'e5m2'] | str = 'f16', b_type: Literal['f16', 'bf16', 'tf32', 's8', 'u8', 'e4m3', 'e5m2'] | str = 'f16', c_type: Literal['f32', 'f16', 's32'] | str = 'f32', satfinite: _bool = False) -> None:
        """Compute D = A B, as `mma.sync` with zeros for C.

        PTX:
            {
                .reg .b32 zero;
                mov.b32 zero, 0;
                mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {zero, zero, zero, zero};
            }

        d:             a pointer to a register buffer
        a:             a pointer to a register buffer
        b:             a pointer to a register buffer
        shape:         one of "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"
        a_layout:      one of "row"
        b_layout:      one of "col"
        d_type:        one of "f32", "f16", "s32"
        a_type:        one of "f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"
        b_type:        one of "f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"
        c_type:        one of "f32", "f16", "s32"
        satfinite:     known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          matrix, 4 cycles to issue in the simulator's clock
        PTX ISA:       mma
        """

    def m8n8k4(self, d: RegisterPointer, a: RegisterPointer, b: RegisterPointer, c: RegisterPointer, a_layout: Literal['row', 'col'] | str = 'row', b_layout: Literal['row', 'col'] | str = 'col', d_type: Literal['f16', 'f32'] | str = 'f32') -> None:
        """Compute D = A B + C in each of a warp's four quad pairs (Volta), with float16 A [8, 4] and B [4, 8].

        Quad pair q is lanes 4q to 4q + 3 and 4q + 16 to 4q + 19 (PTX ISA: "Matrix Fragments for mma.m8n8k4 with .f16
        floating point type"). A register holds two elements of A or B. D and C may be the same registers. Synchronous.
        Later architectures support it, possibly at a lower rate.

        PTX:
            mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};

        d:             a pointer to a register buffer
        a:             a pointer to a register buffer
        b:             a pointer to a register buffer
        c:             a pointer to a register buffer
        a_layout:      one of "row", "col"
        b_layout:      one of "row", "col"
        d_type:        one of "f16", "f32"
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          matrix, 4 cycles to issue in the simulator's clock
        PTX ISA:       mma
        """


class _PtxMma:
    """Tx.ptx.mma: instructions."""

    @overload
    def __call__(self, d: RegisterPointer, a: RegisterPointer, b: RegisterPointer, c: RegisterPointer, shape: Literal['m16n8k4', 'm16n8k8', 'm16n8k16', 'm16n8k32'] | str = 'm16n8k16', a_layout: Literal['row'] | str = 'row', b_layout: Literal['col'] | str = 'col', d_type: Literal['f32', 'f16', 's32'] | str = 'f32', a_type: Literal['f16', 'bf16', 'tf32', 's8', 'u8', 'e4m3', 'e5m2'] | str = 'f16', b_type: Literal['f16', 'bf16', 'tf32', 's8', 'u8', 'e4m3', 'e5m2'] | str = 'f16', c_type: Literal['f32', 'f16', 's32'] | str = 'f32', satfinite: _bool = False) -> None:
        """Compute D = A B + C with a warp's register fragments; D and C may share registers.

        Operands are pointers to fragments, or lists with a pointer to each 32-bit register. The instruction is synchronous.

        PTX:
            mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};

        d:             a pointer to a register buffer
        a:             a pointer to a register buffer
        b:             a pointer to a register buffer
        c:             a pointer to a register buffer
        shape:         one of "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"
        a_layout:      one of "row"
        b_layout:      one of "col"
        d_type:        one of "f32", "f16", "s32"
        a_type:        one of "f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"
        b_type:        one of "f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"
        c_type:        one of "f32", "f16", "s32"
        satfinite:     known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          matrix, 4 cycles to issue in the simulator's clock
        PTX ISA:       mma
        """
    @overload
    def __call__(self, d: RegisterPointer, a: RegisterPointer, b: RegisterPointer, shape: Literal['m16n8k4', 'm16n8k8', 'm16n8k16', 'm16n8k32'] | str = 'm16n8k16', a_layout: Literal['row'] | str = 'row', b_layout: Literal['col'] | str = 'col', d_type: Literal['f32', 'f16', 's32'] | str = 'f32', a_type: Literal['f16', 'bf16', 'tf32', 's8', 'u8', 'e4m3', 'e5m2'] | str = 'f16', b_type: Literal['f16', 'bf16', 'tf32', 's8', 'u8', 'e4m3', 'e5m2'] | str = 'f16', c_type: Literal['f32', 'f16', 's32'] | str = 'f32', satfinite: _bool = False) -> None:
        """Compute D = A B, as `mma.sync` with zeros for C.

        PTX:
            {
                .reg .b32 zero;
                mov.b32 zero, 0;
                mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {zero, zero, zero, zero};
            }

        d:             a pointer to a register buffer
        a:             a pointer to a register buffer
        b:             a pointer to a register buffer
        shape:         one of "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"
        a_layout:      one of "row"
        b_layout:      one of "col"
        d_type:        one of "f32", "f16", "s32"
        a_type:        one of "f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"
        b_type:        one of "f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"
        c_type:        one of "f32", "f16", "s32"
        satfinite:     known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          matrix, 4 cycles to issue in the simulator's clock
        PTX ISA:       mma
        """
    @overload
    def __call__(self, shape: Literal['m16n8k4', 'm16n8k8', 'm16n8k16', 'm16n8k32'] | str, a_layout: Literal['row'] | str, b_layout: Literal['col'] | str, d_type: Literal['f32', 'f16', 's32'] | str, a_type: Literal['f16', 'bf16', 'tf32', 's8', 'u8', 'e4m3', 'e5m2'] | str, b_type: Literal['f16', 'bf16', 'tf32', 's8', 'u8', 'e4m3', 'e5m2'] | str, c_type: Literal['f32', 'f16', 's32'] | str, d_ptrs: list[Any] | RegisterPointer, a_ptrs: list[Any] | RegisterPointer, b_ptrs: list[Any] | RegisterPointer, c_ptrs: Any = ..., saturate: _bool = False, bit_op: Any = None) -> None:
        """Compute D = A B + C with a warp's register fragments; D and C may share registers.

        Operands are pointers to fragments, or lists with a pointer to each 32-bit register. The instruction is synchronous.

        PTX:
            mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};

        d_ptrs:        a pointer to a register buffer
        a_ptrs:        a pointer to a register buffer
        b_ptrs:        a pointer to a register buffer
        c_ptrs:        a pointer to a register buffer
        shape:         one of "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"
        a_layout:      one of "row"
        b_layout:      one of "col"
        d_type:        one of "f32", "f16", "s32"
        a_type:        one of "f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"
        b_type:        one of "f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"
        c_type:        one of "f32", "f16", "s32"
        saturate:      known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          matrix, 4 cycles to issue in the simulator's clock
        PTX ISA:       mma
        """

    sync: _PtxMmaSync
    def sp(self, d: RegisterPointer, a: RegisterPointer, b: RegisterPointer, c: RegisterPointer, e: Integer, selector: int, storage: Literal['sp::ordered_metadata', 'sp'] | str = 'sp::ordered_metadata', shape: Literal['m16n8k8', 'm16n8k16', 'm16n8k32', 'm16n8k64'] | str = 'm16n8k32', a_layout: Literal['row'] | str = 'row', b_layout: Literal['col'] | str = 'col', d_type: Literal['f32', 'f16', 's32'] | str = 'f32', a_type: Literal['f16', 'bf16', 'tf32', 's8', 'u8', 'e4m3', 'e5m2'] | str = 'f16', b_type: Literal['f16', 'bf16', 'tf32', 's8', 'u8', 'e4m3', 'e5m2'] | str = 'f16', c_type: Literal['f32', 'f16', 's32'] | str = 'f32', satfinite: _bool = False) -> None:
        """Compute D = A B + C with a sparse A; `e` is the metadata. D and C may share registers. Synchronous.

        PTX:
            mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, selector;

        d:             a pointer to a register buffer
        a:             a pointer to a register buffer
        b:             a pointer to a register buffer
        c:             a pointer to a register buffer
        e:             an integer
        selector:      a whole number, known at compile time
        storage:       one of "sp::ordered_metadata", "sp"
        shape:         one of "m16n8k8", "m16n8k16", "m16n8k32", "m16n8k64"
        a_layout:      one of "row"
        b_layout:      one of "col"
        d_type:        one of "f32", "f16", "s32"
        a_type:        one of "f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"
        b_type:        one of "f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"
        c_type:        one of "f32", "f16", "s32"
        satfinite:     known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_80 and later
        cost:          matrix, 4 cycles to issue in the simulator's clock
        PTX ISA:       mma.sp
        """


class _PtxWgmmaMma_asyncRs:
    """Tx.ptx.wgmma.mma_async.rs: instructions."""

    @overload
    def __call__(self, d: RegisterPointer, a: RegisterPointer, b_desc: Integer, accumulate: Condition, n: int, dtype: Literal['f16', 'bf16', 'tf32', 'e4m3', 'e5m2', 's8', 'u8'] | str = 'f16', b_dtype: Literal['', 'e4m3', 'e5m2', 's8', 'u8'] | str = '', transpose_b: _bool = False) -> None:
        """Issue D = A Bᵀ (+ D if `accumulate`) from a warpgroup: A [64, K] in registers, B [n, K] in shared memory.

        a: the 4 registers of each thread that hold A (PTX ISA: "Register Fragments for wgmma.mma_async.m64nNk16", or of
        m64nNk8 and m64nNk32, matrix A). Nothing may write them before a wait_group that covers the MMA. The rest is as for
        `wgmma.mma_async`.

        PTX:
            wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {d}, {a}, b_desc, accumulate, 1, 1, 0;

        d:             a pointer to a register buffer
        a:             a pointer to a register buffer
        b_desc:        a matrix descriptor
        accumulate:    a condition
        n:             a whole number, known at compile time
        dtype:         one of "f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"
        b_dtype:       one of "", "e4m3", "e5m2", "s8", "u8"
        transpose_b:   known at compile time
        issued by:     a warpgroup, all its threads together
        architectures: sm_90a only
        cost:          wgmma, 10 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through wgmma group
        PTX ISA:       wgmma.mma_async
        """
    @overload
    def __call__(self, descB: Integer, *reg_list: RegisterPointer, M: int, N: int, K: int, in_dtype: Literal['f16', 'bf16', 'tf32', 'e4m3', 'e5m2', 's8', 'u8'] | str, out_dtype: str, scaleA: int, scaleB: int, scaleD: Condition, transA: _bool = False, transB: _bool = False) -> None:
        """Issue D = A Bᵀ (+ D if `accumulate`) from a warpgroup: A [64, K] in registers, B [n, K] in shared memory.

        a: the 4 registers of each thread that hold A (PTX ISA: "Register Fragments for wgmma.mma_async.m64nNk16", or of
        m64nNk8 and m64nNk32, matrix A). Nothing may write them before a wait_group that covers the MMA. The rest is as for
        `wgmma.mma_async`.

        PTX:
            wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {d}, {a}, b_desc, accumulate, 1, 1, 0;

        reg_list:      a pointer to a register buffer
        a:             a pointer to a register buffer
        descB:         a matrix descriptor
        scaleD:        a condition
        N:             a whole number, known at compile time
        in_dtype:      one of "f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"
        b_dtype:       one of "", "e4m3", "e5m2", "s8", "u8"
        transB:        known at compile time
        issued by:     a warpgroup, all its threads together
        architectures: sm_90a only
        cost:          wgmma, 10 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through wgmma group
        PTX ISA:       wgmma.mma_async
        """

    def f16(self, d: RegisterPointer, a: RegisterPointer, b_desc: Integer, accumulate: Condition, n: int, dtype: Literal['f16', 'e4m3', 'e5m2'] | str = 'f16', b_dtype: Literal['', 'e4m3', 'e5m2', 's8', 'u8'] | str = '', transpose_b: _bool = False) -> None:
        """Issue the register-A MMA with float16 sums: D has n / 4 registers per thread, with two neighbours in each.

        PTX:
            wgmma.mma_async.sync.aligned.m64n128k16.f16.f16.f16 {d}, {a}, b_desc, accumulate, 1, 1, 0;

        d:             a pointer to a register buffer
        a:             a pointer to a register buffer
        b_desc:        a matrix descriptor
        accumulate:    a condition
        n:             a whole number, known at compile time
        dtype:         one of "f16", "e4m3", "e5m2"
        b_dtype:       one of "", "e4m3", "e5m2", "s8", "u8"
        transpose_b:   known at compile time
        issued by:     a warpgroup, all its threads together
        architectures: sm_90a only
        cost:          wgmma, 10 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through wgmma group
        PTX ISA:       wgmma.mma_async
        """


class _PtxWgmmaMma_asyncSpRs:
    """Tx.ptx.wgmma.mma_async.sp.rs: instructions."""

    def __call__(self, d: RegisterPointer, a: RegisterPointer, b_desc: Integer, e: RegisterPointer, accumulate: Condition, n: int, selector: int, dtype: Literal['f16', 'bf16', 'tf32', 'e4m3', 'e5m2', 's8', 'u8'] | str = 'f16', b_dtype: Literal['', 'e4m3', 'e5m2', 's8', 'u8'] | str = '', transpose_b: _bool = False) -> None:
        """Issue the sparse MMA with the elements of A in four registers of each thread.

        PTX:
            wgmma.mma_async.sp.sync.aligned.m64n128k32.f32.f16.f16 {d}, {a}, b_desc, e, selector, accumulate, 1, 1, 0;

        d:             a pointer to a register buffer
        a:             a pointer to a register buffer
        b_desc:        a matrix descriptor
        e:             a pointer to a register buffer
        accumulate:    a condition
        n:             a whole number, known at compile time
        selector:      a whole number, known at compile time
        dtype:         one of "f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"
        b_dtype:       one of "", "e4m3", "e5m2", "s8", "u8"
        transpose_b:   known at compile time
        issued by:     a warpgroup, all its threads together
        architectures: sm_90a only
        cost:          wgmma, 10 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through wgmma group
        PTX ISA:       wgmma.mma_async.sp
        """

    def f16(self, d: RegisterPointer, a: RegisterPointer, b_desc: Integer, e: RegisterPointer, accumulate: Condition, n: int, selector: int, dtype: Literal['f16', 'e4m3', 'e5m2'] | str = 'f16', b_dtype: Literal['', 'e4m3', 'e5m2', 's8', 'u8'] | str = '', transpose_b: _bool = False) -> None:
        """Issue the sparse MMA with A in registers and float16 sums.

        PTX:
            wgmma.mma_async.sp.sync.aligned.m64n128k32.f16.f16.f16 {d}, {a}, b_desc, e, selector, accumulate, 1, 1, 0;

        d:             a pointer to a register buffer
        a:             a pointer to a register buffer
        b_desc:        a matrix descriptor
        e:             a pointer to a register buffer
        accumulate:    a condition
        n:             a whole number, known at compile time
        selector:      a whole number, known at compile time
        dtype:         one of "f16", "e4m3", "e5m2"
        b_dtype:       one of "", "e4m3", "e5m2", "s8", "u8"
        transpose_b:   known at compile time
        issued by:     a warpgroup, all its threads together
        architectures: sm_90a only
        cost:          wgmma, 10 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through wgmma group
        PTX ISA:       wgmma.mma_async.sp
        """


class _PtxWgmmaMma_asyncSp:
    """Tx.ptx.wgmma.mma_async.sp: instructions."""

    def __call__(self, d: RegisterPointer, a_desc: Integer, b_desc: Integer, e: RegisterPointer, accumulate: Condition, n: int, selector: int, dtype: Literal['f16', 'bf16', 'tf32', 'e4m3', 'e5m2', 's8', 'u8'] | str = 'f16', b_dtype: Literal['', 'e4m3', 'e5m2', 's8', 'u8'] | str = '', transpose_a: _bool = False, transpose_b: _bool = False) -> None:
        """Issue D = A Bᵀ (+ D if `accumulate`) with a sparse A: A [64, K / 2], B [n, K] in shared memory, D in registers.

        e: the register with the metadata. selector: the lanes of each quad that hold it. The rest is as for
        `wgmma.mma_async`.

        PTX:
            wgmma.mma_async.sp.sync.aligned.m64n128k32.f32.f16.f16 {d}, a_desc, b_desc, e, selector, accumulate, 1, 1, 0, 0;

        d:             a pointer to a register buffer
        a_desc:        a matrix descriptor
        b_desc:        a matrix descriptor
        e:             a pointer to a register buffer
        accumulate:    a condition
        n:             a whole number, known at compile time
        selector:      a whole number, known at compile time
        dtype:         one of "f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"
        b_dtype:       one of "", "e4m3", "e5m2", "s8", "u8"
        transpose_a:   known at compile time
        transpose_b:   known at compile time
        issued by:     a warpgroup, all its threads together
        architectures: sm_90a only
        cost:          wgmma, 10 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through wgmma group
        PTX ISA:       wgmma.mma_async.sp
        """

    def f16(self, d: RegisterPointer, a_desc: Integer, b_desc: Integer, e: RegisterPointer, accumulate: Condition, n: int, selector: int, dtype: Literal['f16', 'e4m3', 'e5m2'] | str = 'f16', b_dtype: Literal['', 'e4m3', 'e5m2', 's8', 'u8'] | str = '', transpose_a: _bool = False, transpose_b: _bool = False) -> None:
        """Issue the sparse MMA with float16 sums: D has n / 4 registers per thread, with two neighbours in each.

        PTX:
            wgmma.mma_async.sp.sync.aligned.m64n128k32.f16.f16.f16 {d}, a_desc, b_desc, e, selector, accumulate, 1, 1, 0, 0;

        d:             a pointer to a register buffer
        a_desc:        a matrix descriptor
        b_desc:        a matrix descriptor
        e:             a pointer to a register buffer
        accumulate:    a condition
        n:             a whole number, known at compile time
        selector:      a whole number, known at compile time
        dtype:         one of "f16", "e4m3", "e5m2"
        b_dtype:       one of "", "e4m3", "e5m2", "s8", "u8"
        transpose_a:   known at compile time
        transpose_b:   known at compile time
        issued by:     a warpgroup, all its threads together
        architectures: sm_90a only
        cost:          wgmma, 10 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through wgmma group
        PTX ISA:       wgmma.mma_async.sp
        """

    rs: _PtxWgmmaMma_asyncSpRs

class _PtxWgmmaMma_async:
    """Tx.ptx.wgmma.mma_async: instructions."""

    def __call__(self, d: RegisterPointer, a_desc: Integer, b_desc: Integer, accumulate: Condition, n: int, dtype: Literal['f16', 'bf16', 'tf32', 'e4m3', 'e5m2', 's8', 'u8'] | str = 'f16', b_dtype: Literal['', 'e4m3', 'e5m2', 's8', 'u8'] | str = '', transpose_a: _bool = False, transpose_b: _bool = False) -> None:
        """Issue D = A Bᵀ (+ D if `accumulate`) from a warpgroup: A [64, K], B [n, K] in shared memory, D in registers.

        n: a multiple of 8 up to 256; D is n / 2 registers of each thread: float32, or int32 for s8 and u8. dtype: of A and
        B, of which K has 32 bytes. b_dtype: of B, where e4m3 and e5m2, or s8 and u8, are mixed. transpose_a, transpose_b:
        the operand, of 16 bits, is contiguous along M or N. The MMA is asynchronous; a wait_group waits for its end.

        PTX:
            wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {d}, a_desc, b_desc, accumulate, 1, 1, 0, 0;

        d:             a pointer to a register buffer
        a_desc:        a matrix descriptor
        b_desc:        a matrix descriptor
        accumulate:    a condition
        n:             a whole number, known at compile time
        dtype:         one of "f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"
        b_dtype:       one of "", "e4m3", "e5m2", "s8", "u8"
        transpose_a:   known at compile time
        transpose_b:   known at compile time
        issued by:     a warpgroup, all its threads together
        architectures: sm_90a only
        cost:          wgmma, 10 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through wgmma group
        PTX ISA:       wgmma.mma_async
        """

    def ss(self, descA: Integer, descB: Integer, *accums: RegisterPointer, M: int, N: int, K: int, in_dtype: Literal['f16', 'bf16', 'tf32', 'e4m3', 'e5m2', 's8', 'u8'] | str, out_dtype: str, scaleA: int, scaleB: int, scaleD: Condition, transA: _bool = False, transB: _bool = False) -> None:
        """Issue D = A Bᵀ (+ D if `accumulate`) from a warpgroup: A [64, K], B [n, K] in shared memory, D in registers.

        n: a multiple of 8 up to 256; D is n / 2 registers of each thread: float32, or int32 for s8 and u8. dtype: of A and
        B, of which K has 32 bytes. b_dtype: of B, where e4m3 and e5m2, or s8 and u8, are mixed. transpose_a, transpose_b:
        the operand, of 16 bits, is contiguous along M or N. The MMA is asynchronous; a wait_group waits for its end.

        PTX:
            wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {d}, a_desc, b_desc, accumulate, 1, 1, 0, 0;

        accums:        a pointer to a register buffer
        descA:         a matrix descriptor
        descB:         a matrix descriptor
        scaleD:        a condition
        N:             a whole number, known at compile time
        in_dtype:      one of "f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"
        b_dtype:       one of "", "e4m3", "e5m2", "s8", "u8"
        transA:        known at compile time
        transB:        known at compile time
        issued by:     a warpgroup, all its threads together
        architectures: sm_90a only
        cost:          wgmma, 10 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through wgmma group
        PTX ISA:       wgmma.mma_async
        """

    def f16(self, d: RegisterPointer, a_desc: Integer, b_desc: Integer, accumulate: Condition, n: int, dtype: Literal['f16', 'e4m3', 'e5m2'] | str = 'f16', b_dtype: Literal['', 'e4m3', 'e5m2', 's8', 'u8'] | str = '', transpose_a: _bool = False, transpose_b: _bool = False) -> None:
        """Issue `wgmma.mma_async` with float16 sums: D has n / 4 registers per thread, with two neighbours in each.

        PTX:
            wgmma.mma_async.sync.aligned.m64n128k16.f16.f16.f16 {d}, a_desc, b_desc, accumulate, 1, 1, 0, 0;

        d:             a pointer to a register buffer
        a_desc:        a matrix descriptor
        b_desc:        a matrix descriptor
        accumulate:    a condition
        n:             a whole number, known at compile time
        dtype:         one of "f16", "e4m3", "e5m2"
        b_dtype:       one of "", "e4m3", "e5m2", "s8", "u8"
        transpose_a:   known at compile time
        transpose_b:   known at compile time
        issued by:     a warpgroup, all its threads together
        architectures: sm_90a only
        cost:          wgmma, 10 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through wgmma group
        PTX ISA:       wgmma.mma_async
        """

    rs: _PtxWgmmaMma_asyncRs
    sp: _PtxWgmmaMma_asyncSp

class _PtxWgmma:
    """Tx.ptx.wgmma: instructions."""

    def fence(self, ) -> None:
        """Order earlier register accesses before later wgmma operations; required before the first MMA on the registers.

        PTX:
            wgmma.fence.sync.aligned;

        issued by:     a warpgroup, all its threads together
        architectures: sm_90a only
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       wgmma.fence
        """

    mma_async: _PtxWgmmaMma_async
    def commit_group(self, ) -> None:
        """Close the group of MMAs that the warpgroup issued since the previous commit.

        PTX:
            wgmma.commit_group.sync.aligned;

        issued by:     a warpgroup, all its threads together
        architectures: sm_90a only
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       wgmma.commit_group
        """

    def wait_group(self, n: int = 0) -> None:
        """Wait until at most `n` of the warpgroup's latest groups are incomplete; other groups' registers are usable.

        PTX:
            wgmma.wait_group.sync.aligned 0;

        n:             a whole number, known at compile time
        issued by:     a warpgroup, all its threads together
        architectures: sm_90a only
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       wgmma.wait_group
        """

    def fence_operand(self, registers: RegisterPointer, count: int = 1) -> None:
        """Prevent the compiler from moving uses of `count` accumulator registers across this point; emits no instruction.

        The hardware's fence is `wgmma.fence`.

        PTX:
            { // registers
            }

        registers:     a pointer to a register buffer
        count:         a whole number, known at compile time
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          none, 0 cycles to issue in the simulator's clock
        PTX ISA:       wgmma.fence
        """


class _PtxTcgen05MmaA_in_tmem:
    """Tx.ptx.tcgen05.mma.a_in_tmem: instructions."""

    def __call__(self, d: TmemAddress, a: TmemAddress, b_desc: Integer, idesc: Integer, accumulate: Condition, cta_group: int = 1, kind: Literal['f16', 'tf32', 'f8f6f4', 'i8'] | str = 'f16') -> None:
        """Issue the MMA with A in tensor memory: row r in the lane of row r of D, packed along K into columns.

        If D has its columns in two parts (M = 128 of a pair), each part has its own rows of A beside it.

        PTX:
            tcgen05.mma.cta_group::1.kind::f16 [d], [a], b_desc, idesc, accumulate;

        d:             an address of tensor memory, as tcgen05.alloc wrote it
        a:             an address of tensor memory, as tcgen05.alloc wrote it
        b_desc:        a shared-memory descriptor
        idesc:         an instruction descriptor
        accumulate:    a condition
        cta_group:     one of 1, 2
        kind:          one of "f16", "tf32", "f8f6f4", "i8"
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          mma, 20 cycles to issue in the simulator's clock
        kind="i8":     only on sm_100a and sm_110a
        completion:    asynchronous, observed through tcgen05.commit
        PTX ISA:       tcgen05.mma
        """

    def masked(self, d: TmemAddress, a: TmemAddress, b_desc: Integer, idesc: Integer, accumulate: Condition, *lanes: Integer, cta_group: int = 1, kind: Literal['f16', 'tf32', 'f8f6f4', 'i8'] | str = 'f16', scale_input_d: int = 0) -> None:
        """Issue the masked MMA with A in tensor memory.

        PTX:
            tcgen05.mma.cta_group::1.kind::f16 [d], [a], b_desc, idesc, {lanes}, accumulate;

        d:             an address of tensor memory, as tcgen05.alloc wrote it
        a:             an address of tensor memory, as tcgen05.alloc wrote it
        b_desc:        a shared-memory descriptor
        idesc:         an instruction descriptor
        accumulate:    a condition
        lanes:         an integer
        cta_group:     one of 1, 2
        kind:          one of "f16", "tf32", "f8f6f4", "i8"
        scale_input_d: a whole number, known at compile time
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          mma, 20 cycles to issue in the simulator's clock
        kind="i8":     only on sm_100a and sm_110a
        completion:    asynchronous, observed through tcgen05.commit
        PTX ISA:       tcgen05.mma
        """


class _PtxTcgen05MmaWs:
    """Tx.ptx.tcgen05.mma.ws: instructions."""

    def __call__(self, d: TmemAddress, a_desc: Integer, b_desc: Integer, idesc: Integer, accumulate: Condition, kind: Literal['f16', 'tf32', 'f8f6f4', 'i8'] | str = 'f16') -> None:
        """Issue the weight-stationary product of one CTA, with M = 32, 64 or 128 and N = 64, 128 or 256.

        With M = 64 and 32 the columns of D are in two and four parts, one below the other: row r of part p is in lane
        r + p · M (PTX ISA: "Data Path Layout Organization", layouts E and G).

        PTX:
            tcgen05.mma.ws.cta_group::1.kind::f16 [d], a_desc, b_desc, idesc, accumulate, 0;

        d:             an address of tensor memory, as tcgen05.alloc wrote it
        a_desc:        a shared-memory descriptor
        b_desc:        a shared-memory descriptor
        idesc:         an instruction descriptor
        accumulate:    a condition
        kind:          one of "f16", "tf32", "f8f6f4", "i8"
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          mma, 20 cycles to issue in the simulator's clock
        kind="i8":     only on sm_100a and sm_110a
        completion:    asynchronous, observed through tcgen05.commit
        PTX ISA:       tcgen05.mma.ws
        """

    def a_in_tmem(self, d: TmemAddress, a: TmemAddress, b_desc: Integer, idesc: Integer, accumulate: Condition, kind: Literal['f16', 'tf32', 'f8f6f4', 'i8'] | str = 'f16') -> None:
        """Issue the weight-stationary MMA with A in tensor memory; each column part has M lanes with its own rows of A.

        PTX:
            tcgen05.mma.ws.cta_group::1.kind::f16 [d], [a], b_desc, idesc, accumulate, 0;

        d:             an address of tensor memory, as tcgen05.alloc wrote it
        a:             an address of tensor memory, as tcgen05.alloc wrote it
        b_desc:        a shared-memory descriptor
        idesc:         an instruction descriptor
        accumulate:    a condition
        kind:          one of "f16", "tf32", "f8f6f4", "i8"
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          mma, 20 cycles to issue in the simulator's clock
        kind="i8":     only on sm_100a and sm_110a
        completion:    asynchronous, observed through tcgen05.commit
        PTX ISA:       tcgen05.mma.ws
        """


class _PtxTcgen05MmaSparseA_in_tmem:
    """Tx.ptx.tcgen05.mma.sparse.a_in_tmem: instructions."""

    def __call__(self, d: TmemAddress, a: TmemAddress, b_desc: Integer, e: TmemAddress, idesc: Integer, accumulate: Condition, cta_group: int = 1, kind: Literal['f16', 'tf32', 'f8f6f4', 'i8'] | str = 'f16') -> None:
        """Issue the sparse MMA with A in tensor memory.

        PTX:
            tcgen05.mma.sp.cta_group::1.kind::f16 [d], [a], b_desc, [e], idesc, accumulate;

        d:             an address of tensor memory, as tcgen05.alloc wrote it
        a:             an address of tensor memory, as tcgen05.alloc wrote it
        b_desc:        a shared-memory descriptor
        e:             an address of tensor memory, as tcgen05.alloc wrote it
        idesc:         an instruction descriptor
        accumulate:    a condition
        cta_group:     one of 1, 2
        kind:          one of "f16", "tf32", "f8f6f4", "i8"
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          mma, 20 cycles to issue in the simulator's clock
        kind="i8":     only on sm_100a and sm_110a
        completion:    asynchronous, observed through tcgen05.commit
        PTX ISA:       tcgen05.mma.sp
        """

    def masked(self, d: TmemAddress, a: TmemAddress, b_desc: Integer, e: TmemAddress, idesc: Integer, accumulate: Condition, *lanes: Integer, cta_group: int = 1, kind: Literal['f16', 'tf32', 'f8f6f4', 'i8'] | str = 'f16', scale_input_d: int = 0) -> None:
        """Issue the sparse MMA for some lanes, with A in tensor memory.

        PTX:
            tcgen05.mma.sp.cta_group::1.kind::f16 [d], [a], b_desc, [e], idesc, {lanes}, accumulate;

        d:             an address of tensor memory, as tcgen05.alloc wrote it
        a:             an address of tensor memory, as tcgen05.alloc wrote it
        b_desc:        a shared-memory descriptor
        e:             an address of tensor memory, as tcgen05.alloc wrote it
        idesc:         an instruction descriptor
        accumulate:    a condition
        lanes:         an integer
        cta_group:     one of 1, 2
        kind:          one of "f16", "tf32", "f8f6f4", "i8"
        scale_input_d: a whole number, known at compile time
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          mma, 20 cycles to issue in the simulator's clock
        kind="i8":     only on sm_100a and sm_110a
        completion:    asynchronous, observed through tcgen05.commit
        PTX ISA:       tcgen05.mma.sp
        """


class _PtxTcgen05MmaSparse:
    """Tx.ptx.tcgen05.mma.sparse: instructions."""

    def __call__(self, d: TmemAddress, a_desc: Integer, b_desc: Integer, e: TmemAddress, idesc: Integer, accumulate: Condition, cta_group: int = 1, kind: Literal['f16', 'tf32', 'f8f6f4', 'i8'] | str = 'f16') -> None:
        """Issue D = A Bᵀ (+ D if `accumulate`) with a sparse A: A [M, K / 2], B [N, K] in shared memory.

        e: the address of the metadata. The rest is as for `tcgen05.mma`.

        PTX:
            tcgen05.mma.sp.cta_group::1.kind::f16 [d], a_desc, b_desc, [e], idesc, accumulate;

        d:             an address of tensor memory, as tcgen05.alloc wrote it
        a_desc:        a shared-memory descriptor
        b_desc:        a shared-memory descriptor
        e:             an address of tensor memory, as tcgen05.alloc wrote it
        idesc:         an instruction descriptor
        accumulate:    a condition
        cta_group:     one of 1, 2
        kind:          one of "f16", "tf32", "f8f6f4", "i8"
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          mma, 20 cycles to issue in the simulator's clock
        kind="i8":     only on sm_100a and sm_110a
        completion:    asynchronous, observed through tcgen05.commit
        PTX ISA:       tcgen05.mma.sp
        """

    a_in_tmem: _PtxTcgen05MmaSparseA_in_tmem
    def masked(self, d: TmemAddress, a_desc: Integer, b_desc: Integer, e: TmemAddress, idesc: Integer, accumulate: Condition, *lanes: Integer, cta_group: int = 1, kind: Literal['f16', 'tf32', 'f8f6f4', 'i8'] | str = 'f16', scale_input_d: int = 0) -> None:
        """Issue the sparse MMA for some lanes, as `tcgen05.mma.masked`.

        PTX:
            tcgen05.mma.sp.cta_group::1.kind::f16 [d], a_desc, b_desc, [e], idesc, {lanes}, accumulate;

        d:             an address of tensor memory, as tcgen05.alloc wrote it
        a_desc:        a shared-memory descriptor
        b_desc:        a shared-memory descriptor
        e:             an address of tensor memory, as tcgen05.alloc wrote it
        idesc:         an instruction descriptor
        accumulate:    a condition
        lanes:         an integer
        cta_group:     one of 1, 2
        kind:          one of "f16", "tf32", "f8f6f4", "i8"
        scale_input_d: a whole number, known at compile time
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          mma, 20 cycles to issue in the simulator's clock
        kind="i8":     only on sm_100a and sm_110a
        completion:    asynchronous, observed through tcgen05.commit
        PTX ISA:       tcgen05.mma.sp
        """

    def block_scale(self, d: TmemAddress, a_desc: Integer, b_desc: Integer, e: TmemAddress, idesc: Integer, sfa: TmemAddress, sfb: TmemAddress, accumulate: Condition, cta_group: int = 1, kind: Literal['mxf8f6f4', 'mxf4', 'mxf4nvf4'] | str = 'mxf8f6f4', scale_vec: int = 1) -> None:
        """Issue a sparse MMA with scale factors. Their values are not modelled, and a run with it is incomplete.

        PTX:
            tcgen05.mma.sp.cta_group::1.kind::mxf8f6f4.block_scale [d], a_desc, b_desc, [e], idesc, [sfa], [sfb], accumulate;

        d:             an address of tensor memory, as tcgen05.alloc wrote it
        a_desc:        a shared-memory descriptor
        b_desc:        a shared-memory descriptor
        e:             an address of tensor memory, as tcgen05.alloc wrote it
        idesc:         an instruction descriptor
        sfa:           an address of tensor memory, as tcgen05.alloc wrote it
        sfb:           an address of tensor memory, as tcgen05.alloc wrote it
        accumulate:    a condition
        cta_group:     one of 1, 2
        kind:          one of "mxf8f6f4", "mxf4", "mxf4nvf4"
        scale_vec:     one of 1, 2, 4
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          mma, 20 cycles to issue in the simulator's clock
        kind="i8":     only on sm_100a and sm_110a
        completion:    asynchronous, observed through tcgen05.commit
        PTX ISA:       tcgen05.mma.sp
        """


class _PtxTcgen05Mma:
    """Tx.ptx.tcgen05.mma: instructions."""

    @overload
    def __call__(self, d: TmemAddress, a_desc: Integer, b_desc: Integer, idesc: Integer, accumulate: Condition, cta_group: int = 1, kind: Literal['f16', 'tf32', 'f8f6f4', 'i8'] | str = 'f16') -> None:
        """Issue D = A Bᵀ (+ D if `accumulate`) from one thread: A [M, K], B [N, K] in shared memory, D in tensor memory.

        The MMA is asynchronous; a commit signals its end. With cta_group = 2, each CTA of the pair holds half of the rows
        of A, B and D.

        PTX:
            tcgen05.mma.cta_group::1.kind::f16 [d], a_desc, b_desc, idesc, accumulate;

        d:             an address of tensor memory, as tcgen05.alloc wrote it
        a_desc:        a shared-memory descriptor
        b_desc:        a shared-memory descriptor
        idesc:         an instruction descriptor
        accumulate:    a condition
        cta_group:     one of 1, 2
        kind:          one of "f16", "tf32", "f8f6f4", "i8"
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          mma, 20 cycles to issue in the simulator's clock
        kind="i8":     only on sm_100a and sm_110a
        completion:    asynchronous, observed through tcgen05.commit
        PTX ISA:       tcgen05.mma
        """
    @overload
    def __call__(self, d_tmem_addr: TmemAddress, a_operand: Any, b_desc: Integer, i_desc: Integer, *disable_output_lane: Any, d_dtype: Any = None, a_dtype: Literal['f16', 'tf32', 'f8f6f4', 'i8'] | str = 'f16', b_dtype: Any = None, use_a_tmem: Any = ..., cta_group: int = 1, enable_input_d: Condition = True, scale_input_d: int = 0, weight_stationary: Any = ..., pred: Any = None) -> None:
        """Issue D = A Bᵀ (+ D if `accumulate`) from one thread: A [M, K], B [N, K] in shared memory, D in tensor memory.

        The MMA is asynchronous; a commit signals its end. With cta_group = 2, each CTA of the pair holds half of the rows
        of A, B and D.

        PTX:
            tcgen05.mma.cta_group::1.kind::f16 [d], a_desc, b_desc, idesc, accumulate;

        d_tmem_addr:    an address of tensor memory, as tcgen05.alloc wrote it
        a_operand:      a shared-memory descriptor
        b_desc:         a shared-memory descriptor
        i_desc:         an instruction descriptor
        enable_input_d: a condition
        cta_group:      one of 1, 2
        a_dtype:        one of "f16", "tf32", "f8f6f4", "i8"
        issued by:      each active thread
        architectures:  sm_100a to sm_110a
        cost:           mma, 20 cycles to issue in the simulator's clock
        kind="i8":      only on sm_100a and sm_110a
        completion:     asynchronous, observed through tcgen05.commit
        PTX ISA:        tcgen05.mma
        """

    a_in_tmem: _PtxTcgen05MmaA_in_tmem
    def masked(self, d: TmemAddress, a_desc: Integer, b_desc: Integer, idesc: Integer, accumulate: Condition, *lanes: Integer, cta_group: int = 1, kind: Literal['f16', 'tf32', 'f8f6f4', 'i8'] | str = 'f16', scale_input_d: int = 0) -> None:
        """Issue tcgen05.mma for some lanes; lanes whose bits are set in `lanes`, four words per CTA, keep D.

        With `scale_input_d` the product is added to D / 2^scale_input_d.

        PTX:
            tcgen05.mma.cta_group::1.kind::f16 [d], a_desc, b_desc, idesc, {lanes}, accumulate;

        d:             an address of tensor memory, as tcgen05.alloc wrote it
        a_desc:        a shared-memory descriptor
        b_desc:        a shared-memory descriptor
        idesc:         an instruction descriptor
        accumulate:    a condition
        lanes:         an integer
        cta_group:     one of 1, 2
        kind:          one of "f16", "tf32", "f8f6f4", "i8"
        scale_input_d: a whole number, known at compile time
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          mma, 20 cycles to issue in the simulator's clock
        kind="i8":     only on sm_100a and sm_110a
        completion:    asynchronous, observed through tcgen05.commit
        PTX ISA:       tcgen05.mma
        """

    ws: _PtxTcgen05MmaWs
    @overload
    def block_scale(self, d: TmemAddress, a_desc: Integer, b_desc: Integer, idesc: Integer, sfa: TmemAddress, sfb: TmemAddress, accumulate: Condition, cta_group: int = 1, kind: Literal['mxf8f6f4', 'mxf4', 'mxf4nvf4'] | str = 'mxf8f6f4', scale_vec: int = 1) -> None:
        """Issue D = (A · SFA) (B · SFB)ᵀ (+ D if `accumulate`) from one thread, with `scale_vec` factors per row along K.

        A factor scales 32 elements of A or B along K, with scale_vec = 4 sixteen. The MMA is asynchronous;
        a commit signals its end.

        PTX:
            tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [d], a_desc, b_desc, idesc, [sfa], [sfb], accumulate;

        d:             an address of tensor memory, as tcgen05.alloc wrote it
        a_desc:        a shared-memory descriptor
        b_desc:        a shared-memory descriptor
        idesc:         an instruction descriptor
        sfa:           an address of tensor memory, as tcgen05.alloc wrote it
        sfb:           an address of tensor memory, as tcgen05.alloc wrote it
        accumulate:    a condition
        cta_group:     one of 1, 2
        kind:          one of "mxf8f6f4", "mxf4", "mxf4nvf4"
        scale_vec:     one of 1, 2, 4
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          mma, 20 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through tcgen05.commit
        PTX ISA:       tcgen05.mma
        """
    @overload
    def block_scale(self, d_tmem_addr: TmemAddress, a_operand: Integer, b_desc: Integer, sfa_tmem_addr: TmemAddress, sfb_tmem_addr: TmemAddress, i_desc: Integer, d_dtype: Any, a_dtype: Any, b_dtype: Any, sfa_dtype: Any, sfb_dtype: Any = None, use_a_tmem: _bool = False, cta_group: int = 1, enable_input_d: Condition = True) -> None:
        """Issue D = (A · SFA) (B · SFB)ᵀ (+ D if `accumulate`) from one thread, with `scale_vec` factors per row along K.

        A factor scales 32 elements of A or B along K, with scale_vec = 4 sixteen. The MMA is asynchronous;
        a commit signals its end.

        PTX:
            tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [d], a_desc, b_desc, idesc, [sfa], [sfb], accumulate;

        d_tmem_addr:    an address of tensor memory, as tcgen05.alloc wrote it
        a_operand:      a shared-memory descriptor
        b_desc:         a shared-memory descriptor
        i_desc:         an instruction descriptor
        sfa_tmem_addr:  an address of tensor memory, as tcgen05.alloc wrote it
        sfb_tmem_addr:  an address of tensor memory, as tcgen05.alloc wrote it
        enable_input_d: a condition
        cta_group:      one of 1, 2
        kind:           one of "mxf8f6f4", "mxf4", "mxf4nvf4"
        scale_vec:      one of 1, 2, 4
        issued by:      each active thread
        architectures:  sm_100a to sm_110a
        cost:           mma, 20 cycles to issue in the simulator's clock
        completion:     asynchronous, observed through tcgen05.commit
        PTX ISA:        tcgen05.mma
        """

    sparse: _PtxTcgen05MmaSparse

class _PtxTcgen05Commit:
    """Tx.ptx.tcgen05.commit: instructions."""

    @overload
    def __call__(self, bar: BarrierPointer, cta_group: int = 1, cta_mask: int | None = None) -> None:
        """Arrive once at `bar` when all MMAs issued by this thread are complete; implies fence::before_thread_sync.

        With several bits in `cta_mask` (bit r for cluster rank r), arrive at the barrier at the same offset in each CTA
        of the mask.

        PTX:
            tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        cta_group:     one of 1, 2
        cta_mask:      a whole number, known at compile time
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       tcgen05.commit
        """
    @overload
    def __call__(self, bar: BarrierPointer, cta_group: Any = ..., cta_mask: Any = ..., pred: Any = None) -> None:
        """Arrive once at `bar` when all MMAs issued by this thread are complete; implies fence::before_thread_sync.

        With several bits in `cta_mask` (bit r for cluster rank r), arrive at the barrier at the same offset in each CTA
        of the mask.

        PTX:
            tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        cta_group:     one of 1, 2
        cta_mask:      a whole number, known at compile time
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       tcgen05.commit
        """

    def multicast(self, bar: BarrierPointer, cta_mask: Integer, cta_group: int = 1) -> None:
        """Commit as `tcgen05.commit` with several bits in `cta_mask`: arrive once in each CTA of the mask.

        PTX:
            {
                .reg .b16 mask;
                cvt.u16.u32 mask, cta_mask;
                tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], mask;
            }

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        cta_mask:      an integer
        cta_group:     one of 1, 2
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       tcgen05.commit
        """


class _PtxTcgen05Wait:
    """Tx.ptx.tcgen05.wait: instructions."""

    def ld(self, ) -> None:
        """Wait for the warp's earlier tcgen05.ld to complete, with the values in registers.

        PTX:
            tcgen05.wait::ld.sync.aligned;

        issued by:     a warp, all its threads together
        architectures: sm_100a to sm_110a
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       tcgen05.wait
        """

    def st(self, ) -> None:
        """Wait for the warp's earlier tcgen05.st to complete, with the values in tensor memory.

        PTX:
            tcgen05.wait::st.sync.aligned;

        issued by:     a warp, all its threads together
        architectures: sm_100a to sm_110a
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       tcgen05.wait
        """


class _PtxTcgen05Fence:
    """Tx.ptx.tcgen05.fence: instructions."""

    def before_thread_sync(self, ) -> None:
        """Order the thread's tcgen05 operations before its later synchronisation with others.

        PTX:
            tcgen05.fence::before_thread_sync;

        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       tcgen05.fence
        """

    def after_thread_sync(self, ) -> None:
        """Order the thread's later tcgen05 operations after its earlier synchronisation with others.

        PTX:
            tcgen05.fence::after_thread_sync;

        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       tcgen05.fence
        """


class _PtxTcgen05:
    """Tx.ptx.tcgen05: instructions."""

    def alloc(self, dst: SharedPointer, n_cols: Integer, cta_group: int = 1) -> None:
        """Allocate `n_cols` columns (32, 64, … 512) as one warp, after waiting for free ones; write their address to `dst`.

        With cta_group = 2, a warp in each CTA of the pair must execute it.

        PTX:
            tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [dst], n_cols;

        dst:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also addr, dst_ptr)
        n_cols:        an integer
        cta_group:     one of 1, 2
        issued by:     a warp, all its threads together
        architectures: sm_100a to sm_110a
        cost:          alloc, 100 cycles to issue in the simulator's clock
        PTX ISA:       tcgen05.alloc
        """

    def dealloc(self, addr: TmemAddress, n_cols: Integer, cta_group: int = 1) -> None:
        """Free an allocation as one warp, given its address and number of columns, before the CTA ends.

        PTX:
            tcgen05.dealloc.cta_group::1.sync.aligned.b32 addr, n_cols;

        addr:          an address of tensor memory, as tcgen05.alloc wrote it (also taddr)
        n_cols:        an integer
        cta_group:     one of 1, 2
        issued by:     a warp, all its threads together
        architectures: sm_100a to sm_110a
        cost:          alloc, 100 cycles to issue in the simulator's clock
        PTX ISA:       tcgen05.dealloc
        """

    def relinquish_alloc_permit(self, cta_group: int = 1) -> None:
        """Give up the CTA's permit to allocate, so that other CTAs on the SM may allocate.

        PTX:
            tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;

        cta_group:     one of 1, 2
        issued by:     a warp, all its threads together
        architectures: sm_100a to sm_110a
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       tcgen05.relinquish_alloc_permit
        """

    mma: _PtxTcgen05Mma
    commit: _PtxTcgen05Commit
    @overload
    def ld(self, dst: RegisterPointer, addr: TmemAddress, shape: Literal['32x32b', '16x32bx2', '16x64b', '16x128b', '16x256b'] | str = '32x32b', num: int = 1, half: int = 0) -> None:
        """Load a warp's lanes of tensor memory into registers, which are valid after tcgen05.wait::ld.

        32x32b: register i of thread t is column i of lane t. 16x32bx2: threads 16 to 31 access the lanes of threads 0 to
        15 again, `half` columns further.

        PTX:
            tcgen05.ld.sync.aligned.32x32b.x1.b32 {dst}, [addr];

        dst:           a pointer to a register buffer
        addr:          an address of tensor memory, as tcgen05.alloc wrote it
        shape:         one of "32x32b", "16x32bx2", "16x64b", "16x128b", "16x256b"
        num:           a whole number, known at compile time
        half:          a whole number, known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_100a to sm_110a
        cost:          tmem, 10 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through tcgen05.wait
        PTX ISA:       tcgen05.ld
        """
    @overload
    def ld(self, src_addr: TmemAddress, *regs: RegisterPointer, shape: Literal['32x32b', '16x32bx2', '16x64b', '16x128b', '16x256b'] | str = '32x32b', num: int = 1, row: Any = 0, col: Any = 0, pack: _bool = False) -> None:
        """Load a warp's lanes of tensor memory into registers, which are valid after tcgen05.wait::ld.

        32x32b: register i of thread t is column i of lane t. 16x32bx2: threads 16 to 31 access the lanes of threads 0 to
        15 again, `half` columns further.

        PTX:
            tcgen05.ld.sync.aligned.32x32b.x1.b32 {dst}, [addr];

        regs:          a pointer to a register buffer
        src_addr:      an address of tensor memory, as tcgen05.alloc wrote it
        shape:         one of "32x32b", "16x32bx2", "16x64b", "16x128b", "16x256b"
        num:           a whole number, known at compile time
        half:          a whole number, known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_100a to sm_110a
        cost:          tmem, 10 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through tcgen05.wait
        PTX ISA:       tcgen05.ld
        """

    @overload
    def st(self, addr: TmemAddress, src: RegisterPointer, shape: Literal['32x32b', '16x32bx2', '16x64b', '16x128b', '16x256b'] | str = '32x32b', num: int = 1, half: int = 0) -> None:
        """Store registers to a warp's lanes of tensor memory, which are valid after tcgen05.wait::st.

        PTX:
            tcgen05.st.sync.aligned.32x32b.x1.b32 [addr], {src};

        addr:          an address of tensor memory, as tcgen05.alloc wrote it
        src:           a pointer to a register buffer
        shape:         one of "32x32b", "16x32bx2", "16x64b", "16x128b", "16x256b"
        num:           a whole number, known at compile time
        half:          a whole number, known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_100a to sm_110a
        cost:          tmem, 10 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through tcgen05.wait
        PTX ISA:       tcgen05.st
        """
    @overload
    def st(self, dst_addr: TmemAddress, *regs: RegisterPointer, shape: Literal['32x32b', '16x32bx2', '16x64b', '16x128b', '16x256b'] | str = '32x32b', num: int = 1, row: Any = 0, col: Any = 0, unpack: _bool = False) -> None:
        """Store registers to a warp's lanes of tensor memory, which are valid after tcgen05.wait::st.

        PTX:
            tcgen05.st.sync.aligned.32x32b.x1.b32 [addr], {src};

        dst_addr:      an address of tensor memory, as tcgen05.alloc wrote it
        regs:          a pointer to a register buffer
        shape:         one of "32x32b", "16x32bx2", "16x64b", "16x128b", "16x256b"
        num:           a whole number, known at compile time
        half:          a whole number, known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_100a to sm_110a
        cost:          tmem, 10 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through tcgen05.wait
        PTX ISA:       tcgen05.st
        """

    wait: _PtxTcgen05Wait
    fence: _PtxTcgen05Fence
    def shift(self, taddr: TmemAddress, cta_group: int = 1) -> None:
        """Shift the rows of a tensor-memory matrix by one from one thread, in elements of 32 bytes.

        The lane of `taddr` is a multiple of 32. The shift is asynchronous; a commit signals its end. The compiler emits it;
        the simulator does not execute it, and a run with it is incomplete.

        PTX:
            tcgen05.shift.cta_group::1.down [taddr];

        taddr:         an address of tensor memory, as tcgen05.alloc wrote it
        cta_group:     one of 1, 2
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          mma, 20 cycles to issue in the simulator's clock
        PTX ISA:       tcgen05.shift
        """

    @overload
    def cp(self, taddr: TmemAddress, src_desc: Integer, shape: Literal['128x256b', '4x256b', '128x128b', '64x128b', '32x128b'] | str, cta_group: int = 1, multicast: Literal['', 'warpx2::02_13', 'warpx2::01_23', 'warpx4'] | str = '', decompress: Literal['', 'b8x16.b6x16_p32', 'b8x16.b4x16_p64'] | str = '') -> None:
        """Copy rows of shared memory from one thread to lanes of tensor memory, starting at the address `taddr`.

        The copy is asynchronous. Later MMAs of the thread read it; for others a commit signals its end. 64x128b and
        32x128b write their rows to two, or to all four groups of 32 lanes. With `decompress`, each 16 bytes of a row are
        16 elements of 6 or 4 bits and padding, which become elements of 8 bits. Where their bits go then is not modelled:
        the simulator copies the bytes, and the run is incomplete.

        PTX:
            tcgen05.cp.cta_group::1.shape [taddr], src_desc;

        taddr:         an address of tensor memory, as tcgen05.alloc wrote it
        src_desc:      a shared-memory descriptor
        shape:         one of "128x256b", "4x256b", "128x128b", "64x128b", "32x128b"
        cta_group:     one of 1, 2
        multicast:     one of "", "warpx2::02_13", "warpx2::01_23", "warpx4"
        decompress:    one of "", "b8x16.b6x16_p32", "b8x16.b4x16_p64"
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          mma, 20 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through tcgen05.commit
        PTX ISA:       tcgen05.cp
        """
    @overload
    def cp(self, taddr: TmemAddress, src_desc: Integer, shape: Literal['128x256b', '4x256b', '128x128b', '64x128b', '32x128b'] | str, cta_group: int = 1, multicast: Literal['', 'warpx2::02_13', 'warpx2::01_23', 'warpx4'] | str = '', decompress: Literal['', 'b8x16.b6x16_p32', 'b8x16.b4x16_p64'] | str = '', row: Any = 0, col: Any = 0) -> None:
        """Copy rows of shared memory from one thread to lanes of tensor memory, starting at the address `taddr`.

        The copy is asynchronous. Later MMAs of the thread read it; for others a commit signals its end. 64x128b and
        32x128b write their rows to two, or to all four groups of 32 lanes. With `decompress`, each 16 bytes of a row are
        16 elements of 6 or 4 bits and padding, which become elements of 8 bits. Where their bits go then is not modelled:
        the simulator copies the bytes, and the run is incomplete.

        PTX:
            tcgen05.cp.cta_group::1.shape [taddr], src_desc;

        taddr:         an address of tensor memory, as tcgen05.alloc wrote it
        src_desc:      a shared-memory descriptor
        shape:         one of "128x256b", "4x256b", "128x128b", "64x128b", "32x128b"
        cta_group:     one of 1, 2
        multicast:     one of "", "warpx2::02_13", "warpx2::01_23", "warpx4"
        decompress:    one of "", "b8x16.b6x16_p32", "b8x16.b4x16_p64"
        issued by:     each active thread
        architectures: sm_100a to sm_110a
        cost:          mma, 20 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through tcgen05.commit
        PTX ISA:       tcgen05.cp
        """


class _PtxClusterlaunchcontrol:
    """Tx.ptx.clusterlaunchcontrol: instructions."""

    def try_cancel(self, handle: SharedPointer, bar: BarrierPointer, multicast: _bool = False) -> None:
        """Request the cancellation of an unstarted cluster; the 16-byte response at `handle` completes on `bar`.

        With `multicast`, each CTA of the cluster receives the response, and 16 bytes on its barrier, at the same offsets.

        PTX:
            clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [handle], [bar];

        handle:        a pointer to shared memory, as in tile.ptr_to([0, 0]) (also addr)
        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        multicast:     known at compile time
        issued by:     each active thread
        architectures: sm_100a and later
        cost:          tma, 30 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through mbarrier
        PTX ISA:       clusterlaunchcontrol.try_cancel
        """

    def query_cancel(self, handle: SharedPointer, use_ld_acquire: _bool = True) -> Expr:
        """Return the blockIdx.x of the first CTA of the cancelled cluster, or 0xFFFFFFFF if none was cancelled.

        `handle` holds the response of a try_cancel, once its bytes have completed on the barrier.

        PTX:
            {
                .reg .b128 answer;
                .reg .pred cancelled;
                ld.acquire.cta.shared::cta.b128 answer, [handle];
                mov.u32 result, 0xffffffff;
                clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 cancelled, answer;
                @cancelled clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 result, answer;
            }

        handle:         a pointer to shared memory, as in tile.ptr_to([0, 0])
        use_ld_acquire: known at compile time
        returns:        an integer
        issued by:      each active thread
        architectures:  sm_100a and later
        cost:           alu, 2 cycles to issue in the simulator's clock
        PTX ISA:        clusterlaunchcontrol.query_cancel
        """


class _PtxNanosleep:
    """Tx.ptx.nanosleep: instructions."""

    def __call__(self, time: Integer) -> None:
        """Suspend the thread for about `time` ns, at most 1 ms; on a chip the duration is from 0 to twice as long.

        PTX:
            nanosleep.u32 time;

        time:          an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       nanosleep
        """

    def u32(self, time: Integer) -> None:
        """Suspend the thread for about `time` ns, at most 1 ms; on a chip the duration is from 0 to twice as long.

        PTX:
            nanosleep.u32 time;

        time:          an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       nanosleep
        """


class _PtxTrap:
    """Tx.ptx.trap: instructions."""

    def __call__(self, ) -> None:
        """End the launch with an error.

        PTX:
            trap;

        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       trap
        """

    def unless(self, condition: Condition) -> None:
        """End the launch with an error if `condition` is false.

        PTX:
            @!condition trap;

        condition:     a condition
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       trap
        """


class _Ptx:
    """Tx.ptx: instructions."""

    ld: _PtxLd
    @overload
    def ld_acquire(self, address: Integer, returned: str = '', type: Literal['', 'b8', 'b16', 'b32', 'b64', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f32', 'f64'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global', cop: Literal['', 'ca', 'cg', 'cs', 'lu', 'cv'] | str = '', nc: _bool = False, evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '', prefetch: Literal['', 'L2::64B', 'L2::128B', 'L2::256B'] | str = '') -> Expr:
        """Load the value at `address`, by default in the buffer's type.

        With sem = "acquire", everything before the release that wrote the value happens before later accesses.

        With sem = "acquire".

        PTX:
            ld.global result, [address];

        address:       a pointer to global or shared memory (also addr, ptr)
        returned:      known at compile time
        type:          one of "", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "ca", "cg", "cs", "lu", "cv"
        nc:            known at compile time
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        prefetch:      one of "", "L2::64B", "L2::128B", "L2::256B"
        returns:       a value of the instruction's type
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       ld
        """
    @overload
    def ld_acquire(self, address: Integer, dst: RegisterPointer, returned: str = '', type: Literal['', 'b32', 'u32', 's32', 'f32'] | str = 'b32', vec: Literal['', 'v2', 'v4', 'v8'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global', cop: Literal['', 'ca', 'cg', 'cs', 'lu', 'cv'] | str = '', nc: _bool = False, evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '', prefetch: Literal['', 'L2::64B', 'L2::128B', 'L2::256B'] | str = '') -> None:
        """Load 1, 2, 4 or 8 words of 32 bits from `address` into registers; a vector acts as as many scalar accesses.

        Before Blackwell a load of 8 words is two of 4.

        With sem = "acquire".

        PTX:
            ld.global.b32 dst, [address];

        address:       a pointer to global or shared memory (also addr, ptr)
        dst:           a pointer to a register buffer
        returned:      known at compile time
        type:          one of "", "b32", "u32", "s32", "f32"
        vec:           one of "", "v2", "v4", "v8"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "ca", "cg", "cs", "lu", "cv"
        nc:            known at compile time
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        prefetch:      one of "", "L2::64B", "L2::128B", "L2::256B"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        vec="v8":      only on sm_100a and sm_101a and sm_103a and sm_110a and sm_120a and sm_121a
        PTX ISA:       ld
        """

    @overload
    def ld_relaxed(self, address: Integer, returned: str = '', type: Literal['', 'b8', 'b16', 'b32', 'b64', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f32', 'f64'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global', cop: Literal['', 'ca', 'cg', 'cs', 'lu', 'cv'] | str = '', nc: _bool = False, evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '', prefetch: Literal['', 'L2::64B', 'L2::128B', 'L2::256B'] | str = '') -> Expr:
        """Load the value at `address`, by default in the buffer's type.

        With sem = "acquire", everything before the release that wrote the value happens before later accesses.

        With sem = "relaxed".

        PTX:
            ld.global result, [address];

        address:       a pointer to global or shared memory (also addr, ptr)
        returned:      known at compile time
        type:          one of "", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "ca", "cg", "cs", "lu", "cv"
        nc:            known at compile time
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        prefetch:      one of "", "L2::64B", "L2::128B", "L2::256B"
        returns:       a value of the instruction's type
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       ld
        """
    @overload
    def ld_relaxed(self, address: Integer, dst: RegisterPointer, returned: str = '', type: Literal['', 'b32', 'u32', 's32', 'f32'] | str = 'b32', vec: Literal['', 'v2', 'v4', 'v8'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global', cop: Literal['', 'ca', 'cg', 'cs', 'lu', 'cv'] | str = '', nc: _bool = False, evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '', prefetch: Literal['', 'L2::64B', 'L2::128B', 'L2::256B'] | str = '') -> None:
        """Load 1, 2, 4 or 8 words of 32 bits from `address` into registers; a vector acts as as many scalar accesses.

        Before Blackwell a load of 8 words is two of 4.

        With sem = "relaxed".

        PTX:
            ld.global.b32 dst, [address];

        address:       a pointer to global or shared memory (also addr, ptr)
        dst:           a pointer to a register buffer
        returned:      known at compile time
        type:          one of "", "b32", "u32", "s32", "f32"
        vec:           one of "", "v2", "v4", "v8"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "ca", "cg", "cs", "lu", "cv"
        nc:            known at compile time
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        prefetch:      one of "", "L2::64B", "L2::128B", "L2::256B"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        vec="v8":      only on sm_100a and sm_101a and sm_103a and sm_110a and sm_120a and sm_121a
        PTX ISA:       ld
        """

    @overload
    def ld_volatile(self, address: Integer, returned: str = '', type: Literal['', 'b8', 'b16', 'b32', 'b64', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f32', 'f64'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global', cop: Literal['', 'ca', 'cg', 'cs', 'lu', 'cv'] | str = '', nc: _bool = False, evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '', prefetch: Literal['', 'L2::64B', 'L2::128B', 'L2::256B'] | str = '') -> Expr:
        """Load the value at `address`, by default in the buffer's type.

        With sem = "acquire", everything before the release that wrote the value happens before later accesses.

        With sem = "volatile".

        PTX:
            ld.global result, [address];

        address:       a pointer to global or shared memory (also addr, ptr)
        returned:      known at compile time
        type:          one of "", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "ca", "cg", "cs", "lu", "cv"
        nc:            known at compile time
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        prefetch:      one of "", "L2::64B", "L2::128B", "L2::256B"
        returns:       a value of the instruction's type
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       ld
        """
    @overload
    def ld_volatile(self, address: Integer, dst: RegisterPointer, returned: str = '', type: Literal['', 'b32', 'u32', 's32', 'f32'] | str = 'b32', vec: Literal['', 'v2', 'v4', 'v8'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global', cop: Literal['', 'ca', 'cg', 'cs', 'lu', 'cv'] | str = '', nc: _bool = False, evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '', prefetch: Literal['', 'L2::64B', 'L2::128B', 'L2::256B'] | str = '') -> None:
        """Load 1, 2, 4 or 8 words of 32 bits from `address` into registers; a vector acts as as many scalar accesses.

        Before Blackwell a load of 8 words is two of 4.

        With sem = "volatile".

        PTX:
            ld.global.b32 dst, [address];

        address:       a pointer to global or shared memory (also addr, ptr)
        dst:           a pointer to a register buffer
        returned:      known at compile time
        type:          one of "", "b32", "u32", "s32", "f32"
        vec:           one of "", "v2", "v4", "v8"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "ca", "cg", "cs", "lu", "cv"
        nc:            known at compile time
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        prefetch:      one of "", "L2::64B", "L2::128B", "L2::256B"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        vec="v8":      only on sm_100a and sm_101a and sm_103a and sm_110a and sm_120a and sm_121a
        PTX ISA:       ld
        """

    @overload
    def ld_global_nc(self, address: Integer, returned: str = '', type: Literal['', 'b8', 'b16', 'b32', 'b64', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f32', 'f64'] | str = '', sem: Literal['', 'weak', 'volatile', 'relaxed', 'acquire'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', cop: Literal['', 'ca', 'cg', 'cs', 'lu', 'cv'] | str = '', evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '', prefetch: Literal['', 'L2::64B', 'L2::128B', 'L2::256B'] | str = '') -> Expr:
        """Load the value at `address`, by default in the buffer's type.

        With sem = "acquire", everything before the release that wrote the value happens before later accesses.

        With nc = True.

        With space = "global".

        PTX:
            ld.global result, [address];

        address:       a pointer to global or shared memory (also addr, ptr)
        returned:      known at compile time
        type:          one of "", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"
        sem:           one of "", "weak", "volatile", "relaxed", "acquire"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        cop:           one of "", "ca", "cg", "cs", "lu", "cv"
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        prefetch:      one of "", "L2::64B", "L2::128B", "L2::256B"
        returns:       a value of the instruction's type
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       ld
        """
    @overload
    def ld_global_nc(self, address: Integer, dst: RegisterPointer, returned: str = '', type: Literal['', 'b32', 'u32', 's32', 'f32'] | str = 'b32', vec: Literal['', 'v2', 'v4', 'v8'] | str = '', sem: Literal['', 'weak', 'volatile', 'relaxed', 'acquire'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', cop: Literal['', 'ca', 'cg', 'cs', 'lu', 'cv'] | str = '', evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '', prefetch: Literal['', 'L2::64B', 'L2::128B', 'L2::256B'] | str = '') -> None:
        """Load 1, 2, 4 or 8 words of 32 bits from `address` into registers; a vector acts as as many scalar accesses.

        Before Blackwell a load of 8 words is two of 4.

        With nc = True.

        With space = "global".

        PTX:
            ld.global.b32 dst, [address];

        address:       a pointer to global or shared memory (also addr, ptr)
        dst:           a pointer to a register buffer
        returned:      known at compile time
        type:          one of "", "b32", "u32", "s32", "f32"
        vec:           one of "", "v2", "v4", "v8"
        sem:           one of "", "weak", "volatile", "relaxed", "acquire"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        cop:           one of "", "ca", "cg", "cs", "lu", "cv"
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        prefetch:      one of "", "L2::64B", "L2::128B", "L2::256B"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        vec="v8":      only on sm_100a and sm_101a and sm_103a and sm_110a and sm_120a and sm_121a
        PTX ISA:       ld
        """

    st: _PtxSt
    @overload
    def st_release(self, address: Integer, *values: Integer, type: Literal['', 'b8', 'b16', 'b32', 'b64', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f32', 'f64'] | str = '', vec: Literal['', 'v2', 'v4'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'shared', cop: Literal['', 'wb', 'cg', 'cs', 'wt'] | str = '', evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '') -> None:
        """Store a value at `address`, or with `vec` 2 or 4 contiguous values.

        With sem = "release", a thread that acquires the value observes everything before the store.

        With sem = "release".

        PTX:
            st.shared [address], values;

        address:       a pointer to global or shared memory (also addr, ptr)
        values:        a value of the instruction's type
        type:          one of "", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"
        vec:           one of "", "v2", "v4"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "wb", "cg", "cs", "wt"
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       st
        """
    @overload
    def st_release(self, address: Integer, src: RegisterPointer, type: Literal['', 'b32', 'u32', 's32', 'f32'] | str = 'b32', vec: Literal['', 'v2', 'v4', 'v8'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'shared', cop: Literal['', 'wb', 'cg', 'cs', 'wt'] | str = '', evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '') -> None:
        """Store 1, 2, 4 or 8 words of 32 bits from registers at `address`.

        Before Blackwell a store of 8 words is two of 4.

        With sem = "release".

        PTX:
            st.shared.b32 [address], src;

        address:       a pointer to global or shared memory (also addr, ptr)
        src:           a pointer to a register buffer
        type:          one of "", "b32", "u32", "s32", "f32"
        vec:           one of "", "v2", "v4", "v8"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "wb", "cg", "cs", "wt"
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        vec="v8":      only on sm_100a and sm_101a and sm_103a and sm_110a and sm_120a and sm_121a
        PTX ISA:       st
        """

    @overload
    def st_relaxed(self, address: Integer, *values: Integer, type: Literal['', 'b8', 'b16', 'b32', 'b64', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f32', 'f64'] | str = '', vec: Literal['', 'v2', 'v4'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'shared', cop: Literal['', 'wb', 'cg', 'cs', 'wt'] | str = '', evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '') -> None:
        """Store a value at `address`, or with `vec` 2 or 4 contiguous values.

        With sem = "release", a thread that acquires the value observes everything before the store.

        With sem = "relaxed".

        PTX:
            st.shared [address], values;

        address:       a pointer to global or shared memory (also addr, ptr)
        values:        a value of the instruction's type
        type:          one of "", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"
        vec:           one of "", "v2", "v4"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "wb", "cg", "cs", "wt"
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       st
        """
    @overload
    def st_relaxed(self, address: Integer, src: RegisterPointer, type: Literal['', 'b32', 'u32', 's32', 'f32'] | str = 'b32', vec: Literal['', 'v2', 'v4', 'v8'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'shared', cop: Literal['', 'wb', 'cg', 'cs', 'wt'] | str = '', evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '') -> None:
        """Store 1, 2, 4 or 8 words of 32 bits from registers at `address`.

        Before Blackwell a store of 8 words is two of 4.

        With sem = "relaxed".

        PTX:
            st.shared.b32 [address], src;

        address:       a pointer to global or shared memory (also addr, ptr)
        src:           a pointer to a register buffer
        type:          one of "", "b32", "u32", "s32", "f32"
        vec:           one of "", "v2", "v4", "v8"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "wb", "cg", "cs", "wt"
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        vec="v8":      only on sm_100a and sm_101a and sm_103a and sm_110a and sm_120a and sm_121a
        PTX ISA:       st
        """

    @overload
    def st_volatile(self, address: Integer, *values: Integer, type: Literal['', 'b8', 'b16', 'b32', 'b64', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f32', 'f64'] | str = '', vec: Literal['', 'v2', 'v4'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'shared', cop: Literal['', 'wb', 'cg', 'cs', 'wt'] | str = '', evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '') -> None:
        """Store a value at `address`, or with `vec` 2 or 4 contiguous values.

        With sem = "release", a thread that acquires the value observes everything before the store.

        With sem = "volatile".

        PTX:
            st.shared [address], values;

        address:       a pointer to global or shared memory (also addr, ptr)
        values:        a value of the instruction's type
        type:          one of "", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"
        vec:           one of "", "v2", "v4"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "wb", "cg", "cs", "wt"
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       st
        """
    @overload
    def st_volatile(self, address: Integer, src: RegisterPointer, type: Literal['', 'b32', 'u32', 's32', 'f32'] | str = 'b32', vec: Literal['', 'v2', 'v4', 'v8'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'shared', cop: Literal['', 'wb', 'cg', 'cs', 'wt'] | str = '', evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '') -> None:
        """Store 1, 2, 4 or 8 words of 32 bits from registers at `address`.

        Before Blackwell a store of 8 words is two of 4.

        With sem = "volatile".

        PTX:
            st.shared.b32 [address], src;

        address:       a pointer to global or shared memory (also addr, ptr)
        src:           a pointer to a register buffer
        type:          one of "", "b32", "u32", "s32", "f32"
        vec:           one of "", "v2", "v4", "v8"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        cop:           one of "", "wb", "cg", "cs", "wt"
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        vec="v8":      only on sm_100a and sm_101a and sm_103a and sm_110a and sm_120a and sm_121a
        PTX ISA:       st
        """

    atom: _PtxAtom
    def atom_scalar(self, address: Integer, value: Integer, op: Literal['add', 'inc', 'dec', 'min', 'max', 'and', 'or', 'xor', 'exch'] | str, returned: str = '', type: Literal['', 'b32', 'b64', 'u32', 'u64', 's32', 's64', 'f16', 'bf16', 'f32', 'f64'] | str = '', sem: Literal['', 'relaxed', 'acquire', 'release', 'acq_rel'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global') -> Expr:
        """Replace the value at `address` atomically by `op` applied to it and `value`; return the old value.

        Without `sem` the operation is relaxed and orders nothing by itself. The lanes of a warp update in some order.

        PTX:
            atom.global.op. result, [address], value;

        address:       a pointer to global or shared memory (also addr, ptr, res_addr)
        value:         a value of the instruction's type
        op:            one of "add", "inc", "dec", "min", "max", "and", "or", "xor", "exch"
        returned:      known at compile time
        type:          one of "", "b32", "b64", "u32", "u64", "s32", "s64", "f16", "bf16", "f32", "f64"
        sem:           one of "", "relaxed", "acquire", "release", "acq_rel"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        returns:       a value of the instruction's type
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       atom
        """

    red: _PtxRed
    def red_scalar(self, address: Integer, value: Integer, op: Literal['add', 'inc', 'dec', 'min', 'max', 'and', 'or', 'xor'] | str, type: Literal['', 'b32', 'b64', 'u32', 'u64', 's32', 's64', 'f16', 'bf16', 'f32', 'f64'] | str = '', sem: Literal['', 'relaxed', 'release'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', space: Literal['global', 'shared', 'shared::cta', 'shared::cluster', ''] | str = 'global') -> None:
        """Update memory as `atom` does, without a result.

        PTX:
            red.global.op. [address], value;

        address:       a pointer to global or shared memory (also addr, ptr)
        value:         a value of the instruction's type
        op:            one of "add", "inc", "dec", "min", "max", "and", "or", "xor"
        type:          one of "", "b32", "b64", "u32", "u64", "s32", "s64", "f16", "bf16", "f32", "f64"
        sem:           one of "", "relaxed", "release"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        space:         one of "global", "shared", "shared::cta", "shared::cluster", ""
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       red
        """

    def ld_mmio(self, addr: Integer, return_type: str = '', ptx_type: Literal['', 'b8', 'b16', 'b32', 'b64', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f32', 'f64'] | str = '', sem: str = 'relaxed', dst: Any = None) -> Expr:
        """Load the value at `address` once, as a strong system-scope access (memory-mapped input and output).

        PTX:
            ld.mmio.relaxed.sys.global result, [address];

        addr:          a pointer to global or shared memory (also addr, ptr)
        return_type:   known at compile time
        ptx_type:      one of "", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"
        returns:       a value of the instruction's type
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       ld
        """

    def st_mmio(self, address: Integer, value: Integer, sem: str = 'relaxed', ptx_type: Literal['', 'b8', 'b16', 'b32', 'b64', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f32', 'f64'] | str = '') -> None:
        """Store a value at `address` once, as a strong system-scope access.

        PTX:
            st.mmio.relaxed.sys.global [address], value;

        address:       a pointer to global or shared memory (also addr, ptr)
        value:         a value of the instruction's type
        ptx_type:      one of "", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       st
        """

    def st_bulk(self, ptr: SharedPointer, num_bytes: Integer, weak: _bool = False, space: str = 'shared::cta') -> None:
        """Set `bytes` bytes of shared memory to zero; both are multiples of 8.

        PTX:
            st.bulk.shared::cta [address], bytes, 0;

        ptr:           a pointer to shared memory, as in tile.ptr_to([0, 0])
        num_bytes:     a 64-bit integer
        weak:          known at compile time
        issued by:     each active thread
        architectures: sm_100a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       st.bulk
        """

    def st_async(self, address: SharedPointer, src: RegisterPointer, bar: BarrierPointer, type: Literal['', 'b32', 'u32', 's32', 'f32'] | str = 'b32', vec: Literal['', 'v2', 'v4'] | str = '') -> None:
        """Begin storing 1, 2 or 4 words from registers at `address`; their bytes complete on `bar`.

        Both addresses lie in one CTA of the cluster, as `map_shared_rank` returns them. The store is a weak one of the
        thread, without a proxy of its own. A thread that waits for the phase of `bar` that its bytes complete observes the
        stored words.

        PTX:
            st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [address], src, [bar];

        address:       a pointer to shared memory, as in tile.ptr_to([0, 0])
        src:           a pointer to a register buffer
        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        type:          one of "", "b32", "u32", "s32", "f32"
        vec:           one of "", "v2", "v4"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through mbarrier
        PTX ISA:       st.async
        """

    prefetch: _PtxPrefetch
    def applypriority(self, address: GlobalPointer) -> None:
        """Reset the 128 bytes at `address`, a multiple of 128, to normal eviction priority in the L2 cache.

        PTX:
            applypriority.global.L2::evict_normal [address], 128;

        address:       a pointer to global memory, as in A.ptr_to([0, 0])
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       applypriority
        """

    def discard(self, address: GlobalPointer) -> None:
        """Discard the 128 bytes at `address` in the L2 without writing them back, leaving their contents undefined.

        The simulator keeps them.

        PTX:
            discard.global.L2 [address], 128;

        address:       a pointer to global memory, as in A.ptr_to([0, 0])
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       discard
        """

    createpolicy: _PtxCreatepolicy
    cp_async: _PtxCp_async
    mbarrier: _PtxMbarrier
    def mbarrier_test_wait_parity(self, barrier: BarrierPointer, phase: Integer, sem: str = '', scope: str = '', space: str = 'shared::cta') -> Expr:
        """Return whether the phase of parity `phase` of `bar` is complete; if so, acquire the accesses released in it.

        PTX:
            mbarrier.test_wait.parity.shared::cta.b64 result, [bar], phase;

        barrier:       an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        phase:         an integer
        returns:       a condition
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.test_wait
        """

    fence: _PtxFence
    def membar(self, level: Literal['cta', 'gl', 'sys'] | str = 'gl') -> None:
        """Act as fence.sc at the scope that `level` names; gl is the GPU.

        PTX:
            membar.gl;

        level:         one of "cta", "gl", "sys"
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       membar/fence
        """

    bar: _PtxBar
    barrier: _PtxBarrier
    grid: _PtxGrid
    griddepcontrol: _PtxGriddepcontrol
    elect: _PtxElect
    def elect_sync(self, ) -> Expr:
        """Return true in one lane of the warp, the lowest in the simulator.

        PTX:
            elect.sync _|result, 0xffffffff;

        returns:       a condition
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       elect.sync
        """

    def mapa(self, bar: SharedPointer, cta_id: Integer) -> Expr:
        """Return the shared::cluster address of the offset of `bar` in CTA `cta_id` of the cluster.

        PTX:
            mapa.shared::cluster.u32 result, bar, cta_id;

        bar:           a pointer to shared memory, as in tile.ptr_to([0, 0])
        cta_id:        the rank of a CTA in the cluster, an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       mapa
        """

    def map_shared_rank(self, bar: SharedPointer, cta_id: Integer) -> Expr:
        """Return the shared::cluster address of the offset of `bar` in CTA `cta_id` of the cluster.

        PTX:
            mapa.shared::cluster.u32 result, bar, cta_id;

        bar:           a pointer to shared memory, as in tile.ptr_to([0, 0])
        cta_id:        the rank of a CTA in the cluster, an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       mapa
        """

    cvta: _PtxCvta
    shfl: _PtxShfl
    setmaxnreg: _PtxSetmaxnreg
    vote: _PtxVote
    def any_sync(self, mask: Integer, condition: Condition) -> Expr:
        """Return whether the condition holds in any lane of `mask`, whose lanes execute it together.

        PTX:
            vote.sync.any.pred result, condition, mask;

        mask:          an integer
        condition:     a condition
        returns:       a condition
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       vote.sync
        """

    activemask: _PtxActivemask
    match: _PtxMatch
    redux: _PtxRedux
    ex2: _PtxEx2
    exp2: _PtxExp2
    lg2: _PtxLg2
    sin: _PtxSin
    cos: _PtxCos
    tanh: _PtxTanh
    sqrt: _PtxSqrt
    rcp: _PtxRcp
    rsqrt: _PtxRsqrt
    fma: _PtxFma
    div: _PtxDiv
    def ffs(self, value: Integer) -> Expr:
        """Return the position of the lowest set bit, 1 for bit 0, or 0 if no bit is set (`__ffs`).

        PTX:
            {
                .reg .b32 low;
                neg.s32 low, value;
                and.b32 low, low, value;
                bfind.u32 low, low;
                add.s32 result, low, 1;
            }

        value:         an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       bfind
        """

    fns: _PtxFns
    def fns_b32(self, mask: Integer, base: Integer, offset: Integer) -> Expr:
        """Return the nth set bit of `mask`, n = |offset|, from bit `base`, upwards or downwards by the sign of `offset`.

        An offset of 0 selects bit `base` itself. The result is 2³² − 1 if no such bit exists.

        PTX:
            fns.b32 result, mask, base, offset;

        mask:          an integer
        base:          an integer
        offset:        an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       fns
        """

    popc: _PtxPopc
    clz: _PtxClz
    def dp4a(self, a: Integer, b: Integer, c: Integer, atype: Literal['s32', 'u32'] | str = 's32', btype: Literal['s32', 'u32'] | str = 's32') -> Expr:
        """Return `c` plus the products of the four bytes of `a` and `b`, signed (s32) or unsigned (u32).

        PTX:
            dp4a.s32.s32 result, a, b, c;

        a:             an integer
        b:             an integer
        c:             an integer
        atype:         one of "s32", "u32"
        btype:         one of "s32", "u32"
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       dp4a
        """

    prmt: _PtxPrmt
    lop3: _PtxLop3
    brev: _PtxBrev
    bfind: _PtxBfind
    def shf(self, low: Integer, high: Integer, count: Integer, direction: Literal['l', 'r'] | str, mode: Literal['wrap', 'clamp'] | str) -> Expr:
        """Shift the 64 bits of `high` and `low`: left, returning the upper half, or right, returning the lower half.

        mode: "wrap" uses the lowest five bits of `count`; "clamp" limits `count` to 32.

        PTX:
            shf.direction.mode.b32 result, low, high, count;

        low:           an integer
        high:          an integer
        count:         an integer
        direction:     one of "l", "r"
        mode:          one of "wrap", "clamp"
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       shf
        """

    bfe: _PtxBfe
    bfi: _PtxBfi
    mul: _PtxMul
    mad: _PtxMad
    def sinf(self, x: Number) -> Expr:
        """The sine of `x`, in radians.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    def cosf(self, x: Number) -> Expr:
        """The cosine of `x`, in radians.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    def tanf(self, x: Number) -> Expr:
        """The tangent of `x`, in radians.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    tan: _PtxTan
    def asinf(self, x: Number) -> Expr:
        """The angle whose sine is `x`, in radians.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    asin: _PtxAsin
    def acosf(self, x: Number) -> Expr:
        """The angle whose cosine is `x`, in radians.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    acos: _PtxAcos
    def atanf(self, x: Number) -> Expr:
        """The angle whose tangent is `x`, in radians.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    atan: _PtxAtan
    def sinhf(self, x: Number) -> Expr:
        """The hyperbolic sine of `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    sinh: _PtxSinh
    def coshf(self, x: Number) -> Expr:
        """The hyperbolic cosine of `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    cosh: _PtxCosh
    def tanhf(self, x: Number) -> Expr:
        """The hyperbolic tangent of `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    def asinhf(self, x: Number) -> Expr:
        """The number whose hyperbolic sine is `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    asinh: _PtxAsinh
    def acoshf(self, x: Number) -> Expr:
        """The number whose hyperbolic cosine is `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    acosh: _PtxAcosh
    def atanhf(self, x: Number) -> Expr:
        """The number whose hyperbolic tangent is `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    atanh: _PtxAtanh
    def erff(self, x: Number) -> Expr:
        """The error function of `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    erf: _PtxErf
    def exp10f(self, x: Number) -> Expr:
        """10 to the power of `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    exp10: _PtxExp10
    def log10f(self, x: Number) -> Expr:
        """The logarithm of `x` to the base 10.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    log10: _PtxLog10
    def log1pf(self, x: Number) -> Expr:
        """The natural logarithm of 1 + `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    log1p: _PtxLog1p
    def floorf(self, x: Number) -> Expr:
        """The greatest whole number up to `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """

    floor: _PtxFloor
    def ceilf(self, x: Number) -> Expr:
        """The least whole number from `x` on.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """

    ceil: _PtxCeil
    def truncf(self, x: Number) -> Expr:
        """`x` without its fraction.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """

    trunc: _PtxTrunc
    def nearbyintf(self, x: Number) -> Expr:
        """The nearest whole number, the even one of two.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """

    nearbyint: _PtxNearbyint
    exp: _PtxExp
    log: _PtxLog
    log2: _PtxLog2
    def powf(self, x: Number, y: Number) -> Expr:
        """`x` to the power of `y`.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    pow: _PtxPow
    def fmodf(self, x: Number, y: Number) -> Expr:
        """The remainder of `x` / `y`, with the sign of `x`.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    fmod: _PtxFmod
    def hypotf(self, x: Number, y: Number) -> Expr:
        """The square root of x² + y².

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    hypot: _PtxHypot
    def copysignf(self, x: Number, y: Number) -> Expr:
        """The size of `x` with the sign of `y`.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """

    copysign: _PtxCopysign
    def atan2f(self, y: Number, x: Number) -> Expr:
        """Return the angle of the point (`x`, `y`), in radians.

        y:             a number
        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    atan2: _PtxAtan2
    def nextafterf(self, x: Number, y: Number) -> Expr:
        """Return the neighbour of `x` in float32 towards `y`.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """

    nextafter: _PtxNextafter
    def ldexpf(self, x: Number, exponent: Integer) -> Expr:
        """Return `x` times 2 to the power of `exponent`.

        x:             a number
        exponent:      an integer
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """

    ldexp: _PtxLdexp
    add: _PtxAdd
    sub: _PtxSub
    max: _PtxMax
    def max_f32(self, a: Number, b: Number, ftz: _bool = False, nan: _bool = False) -> Expr:
        """Return the greater number, ignoring a NaN operand; with `nan`, return NaN if any operand is NaN.

        PTX:
            max.f32 result, a, b;

        a:             a number
        b:             a number
        ftz:           known at compile time
        nan:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       max
        """

    min: _PtxMin
    def min_f32(self, a: Number, b: Number, ftz: _bool = False, nan: _bool = False) -> Expr:
        """Return the smaller number, ignoring a NaN operand; with `nan`, return NaN if any operand is NaN.

        PTX:
            min.f32 result, a, b;

        a:             a number
        b:             a number
        ftz:           known at compile time
        nan:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       min
        """

    max3: _PtxMax3
    def reduce3_max_f32(self, a: Number, b: Number, c: Number, ftz: _bool = False, nan: _bool = False) -> Expr:
        """Return the greatest of three numbers, ignoring NaN; with `nan`, return NaN if any operand is NaN.

        PTX:
            max.f32 result, a, b, c;

        a:             a number
        b:             a number
        c:             a number
        ftz:           known at compile time
        nan:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_100a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       max
        """

    min3: _PtxMin3
    def reduce3_min_f32(self, a: Number, b: Number, c: Number, ftz: _bool = False, nan: _bool = False) -> Expr:
        """Return the smallest of three numbers, ignoring NaN; with `nan`, return NaN if any operand is NaN.

        PTX:
            min.f32 result, a, b, c;

        a:             a number
        b:             a number
        c:             a number
        ftz:           known at compile time
        nan:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_100a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       min
        """

    cvt: _PtxCvt
    cp: _PtxCp
    cp_reduce_async: _PtxCp_reduce_async
    def cp_async_bulk_g2s_cluster(self, dst: SharedPointer, src: GlobalPointer, bytes: Integer, bar: BarrierPointer, cta_mask: int = 0, cache_hint: Literal['', 'evict_first', 'evict_normal', 'evict_last'] | str = '') -> None:
        """Copy `bytes` bytes of global memory, a multiple of 16, to shared memory, and complete them on `bar`.

        Both addresses are multiples of 16. With several bits in `cta_mask` they land in each CTA of the mask.

        With dst_space = "shared::cluster".

        PTX:
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [dst], [src], bytes, [bar];

        dst:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also dst_ptr)
        src:           a pointer to global memory, as in A.ptr_to([0, 0]) (also src_ptr)
        bytes:         an integer (also num_bytes)
        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar, mbarrier_ptr)
        cta_mask:      a whole number, known at compile time
        cache_hint:    one of "", "evict_first", "evict_normal", "evict_last"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          tma, 30 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through mbarrier
        PTX ISA:       cp.async.bulk
        """

    def cp_async_bulk_g2s_cta(self, dst: SharedPointer, src: GlobalPointer, bytes: Integer, bar: BarrierPointer, cta_mask: int = 0, cache_hint: Literal['', 'evict_first', 'evict_normal', 'evict_last'] | str = '') -> None:
        """Copy `bytes` bytes of global memory, a multiple of 16, to shared memory, and complete them on `bar`.

        Both addresses are multiples of 16. With several bits in `cta_mask` they land in each CTA of the mask.

        With dst_space = "shared::cta".

        PTX:
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [dst], [src], bytes, [bar];

        dst:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also dst_ptr)
        src:           a pointer to global memory, as in A.ptr_to([0, 0]) (also src_ptr)
        bytes:         an integer (also num_bytes)
        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar, mbarrier_ptr)
        cta_mask:      a whole number, known at compile time
        cache_hint:    one of "", "evict_first", "evict_normal", "evict_last"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          tma, 30 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through mbarrier
        PTX ISA:       cp.async.bulk
        """

    def cp_async_bulk_s2s_cluster(self, dst: SharedPointer, src: SharedPointer, bytes: Integer, bar: BarrierPointer) -> None:
        """Copy `bytes` bytes of the CTA's shared memory, a multiple of 16, to another CTA's, and complete them on `bar`.

        `dst` and `bar` are addresses in the same CTA of the cluster, as `map_shared_rank` returns them. All addresses are
        multiples of 16. The source CTA must not end before the copy has read it.

        PTX:
            cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [dst], [src], bytes, [bar];

        dst:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also dst_ptr)
        src:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also src_ptr)
        bytes:         an integer (also num_bytes, size)
        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar, mbarrier)
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          tma, 30 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through mbarrier
        PTX ISA:       cp.async.bulk
        """

    def cp_async_bulk_s2g(self, dst: GlobalPointer, src: SharedPointer, bytes: Integer, cache_hint: Literal['', 'evict_first', 'evict_normal', 'evict_last'] | str = '') -> None:
        """Copy `bytes` bytes of shared memory, a multiple of 16, to global memory, in the thread's open bulk group.

        PTX:
            cp.async.bulk.global.shared::cta.bulk_group [dst], [src], bytes;

        dst:           a pointer to global memory, as in A.ptr_to([0, 0]) (also dst_ptr)
        src:           a pointer to shared memory, as in tile.ptr_to([0, 0]) (also src_ptr)
        bytes:         an integer (also num_bytes)
        cache_hint:    one of "", "evict_first", "evict_normal", "evict_last"
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          tma, 30 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through bulk group
        PTX ISA:       cp.async.bulk
        """

    tensormap: _PtxTensormap
    ldmatrix: _PtxLdmatrix
    stmatrix: _PtxStmatrix
    def movmatrix(self, value: Integer) -> Expr:
        """Transpose a block of 8 × 8 16-bit elements held by a warp in one register.

        PTX:
            movmatrix.sync.aligned.m8n8.trans.b16 result, value;

        value:         an integer
        returns:       an integer
        issued by:     a warp, all its threads together
        architectures: sm_80 and later
        cost:          matrix, 4 cycles to issue in the simulator's clock
        PTX ISA:       movmatrix
        """

    mma: _PtxMma
    wgmma: _PtxWgmma
    tcgen05: _PtxTcgen05
    clusterlaunchcontrol: _PtxClusterlaunchcontrol
    def clc_try_cancel(self, handle: SharedPointer, bar: BarrierPointer, multicast: _bool = False) -> None:
        """Request the cancellation of an unstarted cluster; the 16-byte response at `handle` completes on `bar`.

        With `multicast`, each CTA of the cluster receives the response, and 16 bytes on its barrier, at the same offsets.

        PTX:
            clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [handle], [bar];

        handle:        a pointer to shared memory, as in tile.ptr_to([0, 0]) (also addr)
        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        multicast:     known at compile time
        issued by:     each active thread
        architectures: sm_100a and later
        cost:          tma, 30 cycles to issue in the simulator's clock
        completion:    asynchronous, observed through mbarrier
        PTX ISA:       clusterlaunchcontrol.try_cancel
        """

    def clc_query_cancel(self, handle: SharedPointer, use_ld_acquire: _bool = True) -> Expr:
        """Return the blockIdx.x of the first CTA of the cancelled cluster, or 0xFFFFFFFF if none was cancelled.

        `handle` holds the response of a try_cancel, once its bytes have completed on the barrier.

        PTX:
            {
                .reg .b128 answer;
                .reg .pred cancelled;
                ld.acquire.cta.shared::cta.b128 answer, [handle];
                mov.u32 result, 0xffffffff;
                clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 cancelled, answer;
                @cancelled clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 result, answer;
            }

        handle:         a pointer to shared memory, as in tile.ptr_to([0, 0])
        use_ld_acquire: known at compile time
        returns:        an integer
        issued by:      each active thread
        architectures:  sm_100a and later
        cost:           alu, 2 cycles to issue in the simulator's clock
        PTX ISA:        clusterlaunchcontrol.query_cancel
        """

    def globaltimer(self, ) -> Expr:
        """Return the time in ns by one clock of the whole GPU for all kernels; its resolution depends on the GPU.

        In the simulator it starts at 0 at the launch, and is exact to the cycle.

        PTX:
            mov.u64 result, %globaltimer;

        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       Special Registers: %globaltimer
        """

    def clock64(self, ) -> Expr:
        """Return the cycle count of the SM; in the simulator all SMs start at 0 at the launch.

        PTX:
            mov.u64 result, %clock64;

        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       Special Registers: %clock64
        """

    nanosleep: _PtxNanosleep
    trap: _PtxTrap
    def pmevent(self, event: int = 0) -> None:
        """Signal an event, 0 to 15, to a profiler. In the simulator it has no effect.

        PTX:
            pmevent 0;

        event:         a whole number, known at compile time
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       pmevent
        """

    def printf(self, *values: Number, format: str) -> None:
        """Each thread writes its values to standard output in `format`, as C does; one call is written in one piece.

        values:        a value
        format:        known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          wait, 20 cycles to issue in the simulator's clock
        """

    def func_call(self, *args: ExprLike | _Buffer | str, function: str | None = None, source_code: str = "", return_type: Any = "void") -> Any:
        """Call a function of CUDA C++ that the kernel brings with it. The simulator does not know what it does."""


ptx: _Ptx

class _CudaSin:
    """Tx.cuda.sin: instructions."""

    def f64(self, x: Number) -> Expr:
        """The sine of `x`, in radians, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaCos:
    """Tx.cuda.cos: instructions."""

    def f64(self, x: Number) -> Expr:
        """The cosine of `x`, in radians, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaTan:
    """Tx.cuda.tan: instructions."""

    def f64(self, x: Number) -> Expr:
        """The tangent of `x`, in radians, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaAsin:
    """Tx.cuda.asin: instructions."""

    def f64(self, x: Number) -> Expr:
        """The angle whose sine is `x`, in radians, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaAcos:
    """Tx.cuda.acos: instructions."""

    def f64(self, x: Number) -> Expr:
        """The angle whose cosine is `x`, in radians, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaAtan:
    """Tx.cuda.atan: instructions."""

    def f64(self, x: Number) -> Expr:
        """The angle whose tangent is `x`, in radians, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaSinh:
    """Tx.cuda.sinh: instructions."""

    def f64(self, x: Number) -> Expr:
        """The hyperbolic sine of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaCosh:
    """Tx.cuda.cosh: instructions."""

    def f64(self, x: Number) -> Expr:
        """The hyperbolic cosine of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaTanh:
    """Tx.cuda.tanh: instructions."""

    def f64(self, x: Number) -> Expr:
        """The hyperbolic tangent of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaAsinh:
    """Tx.cuda.asinh: instructions."""

    def f64(self, x: Number) -> Expr:
        """The number whose hyperbolic sine is `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaAcosh:
    """Tx.cuda.acosh: instructions."""

    def f64(self, x: Number) -> Expr:
        """The number whose hyperbolic cosine is `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaAtanh:
    """Tx.cuda.atanh: instructions."""

    def f64(self, x: Number) -> Expr:
        """The number whose hyperbolic tangent is `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaErf:
    """Tx.cuda.erf: instructions."""

    def f64(self, x: Number) -> Expr:
        """The error function of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaExp10:
    """Tx.cuda.exp10: instructions."""

    def f64(self, x: Number) -> Expr:
        """10 to the power of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaLog10:
    """Tx.cuda.log10: instructions."""

    def f64(self, x: Number) -> Expr:
        """The logarithm of `x` to the base 10, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaLog1p:
    """Tx.cuda.log1p: instructions."""

    def f64(self, x: Number) -> Expr:
        """The natural logarithm of 1 + `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaFloor:
    """Tx.cuda.floor: instructions."""

    def f64(self, x: Number) -> Expr:
        """The greatest whole number up to `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """


class _CudaCeil:
    """Tx.cuda.ceil: instructions."""

    def f64(self, x: Number) -> Expr:
        """The least whole number from `x` on, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """


class _CudaTrunc:
    """Tx.cuda.trunc: instructions."""

    def f64(self, x: Number) -> Expr:
        """`x` without its fraction, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """


class _CudaNearbyint:
    """Tx.cuda.nearbyint: instructions."""

    def f64(self, x: Number) -> Expr:
        """The nearest whole number, the even one of two, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """


class _CudaExp:
    """Tx.cuda.exp: instructions."""

    def f64(self, x: Number) -> Expr:
        """e to the power of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaExp2:
    """Tx.cuda.exp2: instructions."""

    def f64(self, x: Number) -> Expr:
        """2 to the power of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaLog:
    """Tx.cuda.log: instructions."""

    def f64(self, x: Number) -> Expr:
        """The natural logarithm of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaLog2:
    """Tx.cuda.log2: instructions."""

    def f64(self, x: Number) -> Expr:
        """The logarithm of `x` to the base 2, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaSqrt:
    """Tx.cuda.sqrt: instructions."""

    def f64(self, x: Number) -> Expr:
        """The square root of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaRsqrt:
    """Tx.cuda.rsqrt: instructions."""

    def f64(self, x: Number) -> Expr:
        """1 / the square root of `x`, in float64.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaPow:
    """Tx.cuda.pow: instructions."""

    def f64(self, x: Number, y: Number) -> Expr:
        """`x` to the power of `y`, in float64.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaFmod:
    """Tx.cuda.fmod: instructions."""

    def f64(self, x: Number, y: Number) -> Expr:
        """The remainder of `x` / `y`, with the sign of `x`, in float64.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaHypot:
    """Tx.cuda.hypot: instructions."""

    def f64(self, x: Number, y: Number) -> Expr:
        """The square root of x² + y², in float64.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaCopysign:
    """Tx.cuda.copysign: instructions."""

    def f64(self, x: Number, y: Number) -> Expr:
        """The size of `x` with the sign of `y`, in float64.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """


class _CudaAtan2:
    """Tx.cuda.atan2: instructions."""

    def f64(self, y: Number, x: Number) -> Expr:
        """Return the angle of the point (`x`, `y`), in radians, in float64.

        y:             a number
        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """


class _CudaNextafter:
    """Tx.cuda.nextafter: instructions."""

    def f64(self, x: Number, y: Number) -> Expr:
        """Return the neighbour of `x` in float64 towards `y`.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """


class _CudaLdexp:
    """Tx.cuda.ldexp: instructions."""

    def f64(self, x: Number, exponent: Integer) -> Expr:
        """Return `x` times 2 to the power of `exponent`, in float64.

        x:             a number
        exponent:      an integer
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """


class _Cuda:
    """Tx.cuda: instructions."""

    def ldg(self, address: Integer, returned: str = '', type: Literal['', 'b8', 'b16', 'b32', 'b64', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f32', 'f64'] | str = '', sem: Literal['', 'weak', 'volatile', 'relaxed', 'acquire'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '', cop: Literal['', 'ca', 'cg', 'cs', 'lu', 'cv'] | str = '', evict: Literal['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate'] | str = '', prefetch: Literal['', 'L2::64B', 'L2::128B', 'L2::256B'] | str = '') -> Expr:
        """Load the value at `address`, by default in the buffer's type.

        With sem = "acquire", everything before the release that wrote the value happens before later accesses.

        With nc = True.

        With space = "global".

        PTX:
            ld.global result, [address];

        address:       a pointer to global or shared memory (also addr, ptr)
        returned:      known at compile time
        type:          one of "", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"
        sem:           one of "", "weak", "volatile", "relaxed", "acquire"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        cop:           one of "", "ca", "cg", "cs", "lu", "cv"
        evict:         one of "", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"
        prefetch:      one of "", "L2::64B", "L2::128B", "L2::256B"
        returns:       a value of the instruction's type
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       ld
        """

    def atomic_add(self, address: Integer, value: Integer, returned: str = '', type: Literal['', 'b32', 'b64', 'u32', 'u64', 's32', 's64', 'f16', 'bf16', 'f32', 'f64'] | str = '', sem: Literal['', 'relaxed', 'acquire', 'release', 'acq_rel'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '') -> Expr:
        """Replace the value at `address` atomically by `op` applied to it and `value`; return the old value.

        Without `sem` the operation is relaxed and orders nothing by itself. The lanes of a warp update in some order.

        With op = "add".

        With space = "".

        PTX:
            atom.global.op. result, [address], value;

        address:       a pointer to global or shared memory (also addr, ptr, res_addr)
        value:         a value of the instruction's type
        returned:      known at compile time
        type:          one of "", "b32", "b64", "u32", "u64", "s32", "s64", "f16", "bf16", "f32", "f64"
        sem:           one of "", "relaxed", "acquire", "release", "acq_rel"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        returns:       a value of the instruction's type
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       atom
        """

    def atomic_cas(self, address: Integer, compare: Integer, value: Integer, returned: str = '', type: Literal['', 'b16', 'b32', 'b64', 'u16', 'u32', 'u64', 's16', 's32', 's64'] | str = '', sem: Literal['', 'relaxed', 'acquire', 'release', 'acq_rel'] | str = '', scope: Literal['', 'cta', 'cluster', 'gpu', 'sys'] | str = '') -> Expr:
        """Replace the value at `address` atomically by `value` if it equals `compare`; return the old value.

        With space = "".

        PTX:
            atom.global.cas.b result, [address], compare, value;

        address:       a pointer to global or shared memory (also addr, ptr)
        compare:       a value of the instruction's type (also old_val)
        value:         a value of the instruction's type (also new_val)
        returned:      known at compile time
        type:          one of "", "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"
        sem:           one of "", "relaxed", "acquire", "release", "acq_rel"
        scope:         one of "", "cta", "cluster", "gpu", "sys"
        returns:       a value of the instruction's type
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          smem_atomic, 24 cycles to issue in the simulator's clock
        PTX ISA:       atom
        """

    def mbarrier_wait(self, bar: BarrierPointer, phase: Integer) -> None:
        """Wait until the phase of parity `phase` of `bar` is complete, and acquire the accesses released in it.

        On a newly initialised barrier, phase 1 counts as complete and phase 0 is current.

        PTX:
            {
                .reg .pred complete;
                WAIT:
                mbarrier.try_wait.parity.shared::cta.b64 complete, [bar], phase;
                @complete bra DONE;
                bra WAIT;
                DONE:
            }

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        phase:         an integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.try_wait
        """

    def mbarrier_wait_acquire_cluster(self, bar: BarrierPointer, phase: Integer) -> None:
        """Wait as `mbarrier.try_wait`, and acquire accesses released by threads of the other CTAs of the cluster.

        PTX:
            {
                .reg .pred complete;
                WAIT:
                mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [bar], phase;
                @complete bra DONE;
                bra WAIT;
                DONE:
            }

        bar:           an mbarrier, as in bar.ptr_to([stage]) (also ptr, mbar)
        phase:         an integer
        issued by:     each active thread
        architectures: sm_90a and later
        cost:          wait, 20 cycles to issue in the simulator's clock
        PTX ISA:       mbarrier.try_wait
        """

    def thread_fence(self, ) -> None:
        """Order the thread's accesses before and after the fence for `scope`; the fence synchronises no threads by itself.

        A strong write after the fence releases what happens before the fence. A release observed by a strong read before
        the fence is acquired by the fence. All threads observe fence.sc in one order.

        With sem = "sc".

        With scope = "gpu".

        PTX:
            fence.acq_rel.gpu;

        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       membar/fence
        """

    def thread_fence_block(self, ) -> None:
        """Order the thread's accesses before and after the fence for `scope`; the fence synchronises no threads by itself.

        A strong write after the fence releases what happens before the fence. A release observed by a strong read before
        the fence is acquired by the fence. All threads observe fence.sc in one order.

        With sem = "sc".

        With scope = "cta".

        PTX:
            fence.acq_rel.gpu;

        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       membar/fence
        """

    def thread_fence_system(self, ) -> None:
        """Order the thread's accesses before and after the fence for `scope`; the fence synchronises no threads by itself.

        A strong write after the fence releases what happens before the fence. A release observed by a strong read before
        the fence is acquired by the fence. All threads observe fence.sc in one order.

        With sem = "sc".

        With scope = "sys".

        PTX:
            fence.acq_rel.gpu;

        issued by:     each active thread
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       membar/fence
        """

    def cta_sync(self, ) -> None:
        """Wait until every thread of the CTA has arrived at the barrier (`__syncthreads`).

        With barrier_id = 0.

        PTX:
            bar.sync barrier_id;

        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       bar, barrier
        """

    def syncthreads(self, ) -> None:
        """Wait until every thread of the CTA has arrived at the barrier (`__syncthreads`).

        With barrier_id = 0.

        PTX:
            bar.sync barrier_id;

        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       bar, barrier
        """

    def syncthreads_and(self, cond: Condition) -> Expr:
        """Wait until every thread of the CTA arrives; return whether the condition holds in all threads.

        With barrier_id = 0.

        PTX:
            bar.red.and.pred result, barrier_id, condition;

        cond:          a condition
        returns:       a condition
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       bar, barrier
        """

    def syncthreads_or(self, cond: Condition) -> Expr:
        """Wait until every thread of the CTA arrives; return whether the condition holds in any thread.

        With barrier_id = 0.

        PTX:
            bar.red.or.pred result, barrier_id, condition;

        cond:          a condition
        returns:       a condition
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       bar, barrier
        """

    def syncthreads_count(self, cond: Condition) -> Expr:
        """Wait until every thread of the CTA arrives; return the number of threads in which the condition holds.

        With barrier_id = 0.

        PTX:
            bar.red.popc.u32 result, barrier_id, condition;

        cond:          a condition
        returns:       an integer
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       bar, barrier
        """

    def warpgroup_sync(self, barrier_id: Integer) -> None:
        """Arrive at barrier `barrier_id` (0 to 15) and wait until `threads` threads, in whole warps, arrive.

        With threads = 128.

        PTX:
            bar.sync barrier_id, threads;

        barrier_id:    an integer (also name_bar_id)
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       bar, barrier
        """

    @overload
    def warp_sync(self, ) -> None:
        """Synchronise all lanes of the warp, and order their accesses (`__syncwarp`).

        PTX:
            bar.warp.sync 0xffffffff;

        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       bar.warp.sync
        """
    @overload
    def warp_sync(self, mask: Integer) -> None:
        """Synchronise the lanes of `mask`, which execute it, and order their accesses (`__syncwarp(mask)`).

        PTX:
            bar.warp.sync mask;

        mask:          an integer
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       bar.warp.sync
        """

    def grid_sync(self, ) -> None:
        """Wait until every thread of the grid arrives, and observe the earlier accesses of all.

        The kernel is launched cooperatively: all of its CTAs must be resident at the same time.

        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        """

    def cluster_arrive(self, aligned: _bool = True) -> None:
        """Arrive at the cluster's barrier and release earlier accesses; a wait must follow.

        aligned: all lanes of the warp execute this instruction together.

        PTX:
            barrier.cluster.arrive.release.aligned;

        aligned:       known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       barrier.cluster
        """

    def cluster_wait(self, aligned: _bool = True) -> None:
        """Wait until every thread of the cluster has arrived, and acquire the accesses that they released.

        aligned: all lanes of the warp execute this instruction together.

        PTX:
            barrier.cluster.wait.acquire.aligned;

        aligned:       known at compile time
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       barrier.cluster
        """

    def cluster_sync(self, ) -> None:
        """Arrive at the cluster's barrier and wait until every thread of the cluster has arrived.

        PTX:
            barrier.cluster.arrive.release.aligned;
            barrier.cluster.wait.acquire.aligned;

        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          barrier, 8 cycles to issue in the simulator's clock
        PTX ISA:       barrier.cluster
        """

    def elect_sync(self, ) -> Expr:
        """Return true in one lane of the warp, the lowest in the simulator.

        PTX:
            elect.sync _|result, 0xffffffff;

        returns:       a condition
        issued by:     a warp, all its threads together
        architectures: sm_90a and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       elect.sync
        """

    def cvta_generic_to_shared(self, ptr: SharedPointer) -> Expr:
        """Return the address of a shared-memory location as a 32-bit integer.

        PTX:
            mov.u32 result, ptr;

        ptr:           a pointer to shared memory, as in tile.ptr_to([0, 0])
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       cvta
        """

    def shfl_xor(self, value: Number, lane_mask: Integer) -> Expr:
        """Return the value of lane ``lane ^ lane_mask``.

        PTX:
            shfl.sync.bfly.b32 result, value, lane_mask, 31, 0xffffffff;

        value:         a value
        lane_mask:     an integer
        returns:       a value
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          shuffle, 5 cycles to issue in the simulator's clock
        PTX ISA:       shfl.sync
        """

    def shfl(self, value: Number, lane: Integer) -> Expr:
        """Return the value of lane `lane`.

        PTX:
            shfl.sync.idx.b32 result, value, lane, 31, 0xffffffff;

        value:         a value
        lane:          an integer
        returns:       a value
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          shuffle, 5 cycles to issue in the simulator's clock
        PTX ISA:       shfl.sync
        """

    def shfl_down(self, value: Number, delta: Integer) -> Expr:
        """Return the value of lane ``lane + delta``, or the lane's own value if the warp has no such lane.

        PTX:
            shfl.sync.down.b32 result, value, delta, 31, 0xffffffff;

        value:         a value
        delta:         an integer
        returns:       a value
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          shuffle, 5 cycles to issue in the simulator's clock
        PTX ISA:       shfl.sync
        """

    def shfl_up(self, value: Number, delta: Integer) -> Expr:
        """Return the value of lane ``lane - delta``, or the lane's own value if the warp has no such lane.

        PTX:
            shfl.sync.up.b32 result, value, delta, 0, 0xffffffff;

        value:         a value
        delta:         an integer
        returns:       a value
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          shuffle, 5 cycles to issue in the simulator's clock
        PTX ISA:       shfl.sync
        """

    def any_sync(self, mask: Integer, condition: Condition) -> Expr:
        """Return whether the condition holds in any lane of `mask`, whose lanes execute it together.

        PTX:
            vote.sync.any.pred result, condition, mask;

        mask:          an integer
        condition:     a condition
        returns:       a condition
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       vote.sync
        """

    def all_sync(self, mask: Integer, condition: Condition) -> Expr:
        """Return whether the condition holds in all lanes of `mask`, which execute it together.

        PTX:
            vote.sync.all.pred result, condition, mask;

        mask:          an integer
        condition:     a condition
        returns:       a condition
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       vote.sync
        """

    def ballot_sync(self, mask: Integer, condition: Condition) -> Expr:
        """Return the lanes of `mask` in which the condition holds, lane 0 in bit 0; the lanes execute it together.

        PTX:
            vote.sync.ballot.b32 result, condition, mask;

        mask:          an integer
        condition:     a condition
        returns:       an integer
        issued by:     a warp, all its threads together
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       vote.sync
        """

    def reduce_add_sync_u32(self, mask: Integer, value: Integer) -> Expr:
        """Return the sum modulo 2³², minimum or maximum over the lanes of `mask`, which execute it together.

        With op = "add".

        PTX:
            redux.sync.add.u32 result, value, mask;

        mask:          an integer
        value:         an integer
        returns:       an integer
        issued by:     a warp, all its threads together
        architectures: sm_80 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       redux.sync
        """

    def reduce_min_sync_u32(self, mask: Integer, value: Integer) -> Expr:
        """Return the sum modulo 2³², minimum or maximum over the lanes of `mask`, which execute it together.

        With op = "min".

        PTX:
            redux.sync.add.u32 result, value, mask;

        mask:          an integer
        value:         an integer
        returns:       an integer
        issued by:     a warp, all its threads together
        architectures: sm_80 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       redux.sync
        """

    def fdividef(self, x: Number, y: Number) -> Expr:
        """Return a / b, within 2 ulp if |b| is from 2^-126 to 2^126 (`__fdividef`).

        For a greater |b| the reciprocal is 0, with its sign: the result is 0 with the sign of the quotient, or NaN if `a`
        is infinite (PTX ISA: div).

        PTX:
            div.approx.f32 result, a, b;

        x:             a number
        y:             a number
        ftz:           known at compile time
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        PTX ISA:       Floating Point Instructions: div
        """

    def ffs_u32(self, value: Integer) -> Expr:
        """Return the position of the lowest set bit, 1 for bit 0, or 0 if no bit is set (`__ffs`).

        PTX:
            {
                .reg .b32 low;
                neg.s32 low, value;
                and.b32 low, low, value;
                bfind.u32 low, low;
                add.s32 result, low, 1;
            }

        value:         an integer
        returns:       an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       bfind
        """

    def sinf(self, x: Number) -> Expr:
        """The sine of `x`, in radians.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    sin: _CudaSin
    def cosf(self, x: Number) -> Expr:
        """The cosine of `x`, in radians.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    cos: _CudaCos
    def tanf(self, x: Number) -> Expr:
        """The tangent of `x`, in radians.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    tan: _CudaTan
    def asinf(self, x: Number) -> Expr:
        """The angle whose sine is `x`, in radians.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    asin: _CudaAsin
    def acosf(self, x: Number) -> Expr:
        """The angle whose cosine is `x`, in radians.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    acos: _CudaAcos
    def atanf(self, x: Number) -> Expr:
        """The angle whose tangent is `x`, in radians.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    atan: _CudaAtan
    def sinhf(self, x: Number) -> Expr:
        """The hyperbolic sine of `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    sinh: _CudaSinh
    def coshf(self, x: Number) -> Expr:
        """The hyperbolic cosine of `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    cosh: _CudaCosh
    def tanhf(self, x: Number) -> Expr:
        """The hyperbolic tangent of `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    tanh: _CudaTanh
    def asinhf(self, x: Number) -> Expr:
        """The number whose hyperbolic sine is `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    asinh: _CudaAsinh
    def acoshf(self, x: Number) -> Expr:
        """The number whose hyperbolic cosine is `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    acosh: _CudaAcosh
    def atanhf(self, x: Number) -> Expr:
        """The number whose hyperbolic tangent is `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    atanh: _CudaAtanh
    def erff(self, x: Number) -> Expr:
        """The error function of `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    erf: _CudaErf
    def exp10f(self, x: Number) -> Expr:
        """10 to the power of `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    exp10: _CudaExp10
    def log10f(self, x: Number) -> Expr:
        """The logarithm of `x` to the base 10.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    log10: _CudaLog10
    def log1pf(self, x: Number) -> Expr:
        """The natural logarithm of 1 + `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    log1p: _CudaLog1p
    def floorf(self, x: Number) -> Expr:
        """The greatest whole number up to `x`.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """

    floor: _CudaFloor
    def ceilf(self, x: Number) -> Expr:
        """The least whole number from `x` on.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """

    ceil: _CudaCeil
    def truncf(self, x: Number) -> Expr:
        """`x` without its fraction.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """

    trunc: _CudaTrunc
    def nearbyintf(self, x: Number) -> Expr:
        """The nearest whole number, the even one of two.

        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """

    nearbyint: _CudaNearbyint
    exp: _CudaExp
    exp2: _CudaExp2
    log: _CudaLog
    log2: _CudaLog2
    sqrt: _CudaSqrt
    rsqrt: _CudaRsqrt
    def powf(self, x: Number, y: Number) -> Expr:
        """`x` to the power of `y`.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    pow: _CudaPow
    def fmodf(self, x: Number, y: Number) -> Expr:
        """The remainder of `x` / `y`, with the sign of `x`.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    fmod: _CudaFmod
    def hypotf(self, x: Number, y: Number) -> Expr:
        """The square root of x² + y².

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    hypot: _CudaHypot
    def copysignf(self, x: Number, y: Number) -> Expr:
        """The size of `x` with the sign of `y`.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """

    copysign: _CudaCopysign
    def atan2f(self, y: Number, x: Number) -> Expr:
        """Return the angle of the point (`x`, `y`), in radians.

        y:             a number
        x:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          special, 8 cycles to issue in the simulator's clock
        """

    atan2: _CudaAtan2
    def nextafterf(self, x: Number, y: Number) -> Expr:
        """Return the neighbour of `x` in float32 towards `y`.

        x:             a number
        y:             a number
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """

    nextafter: _CudaNextafter
    def ldexpf(self, x: Number, exponent: Integer) -> Expr:
        """Return `x` times 2 to the power of `exponent`.

        x:             a number
        exponent:      an integer
        returns:       a number
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        """

    ldexp: _CudaLdexp
    def fadd2_rn(self, a: Integer, b: Integer) -> Expr:
        """Return the sums of two pairs; with `ftz`, subnormal numbers are zero.

        With rounding = "rn".

        With ftz = False.

        PTX:
            add.rn.f32x2 result, a, b;

        a:             a 64-bit integer
        b:             a 64-bit integer
        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_100a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       add
        """

    def fmul2_rn(self, a: Integer, b: Integer) -> Expr:
        """Return the products of two pairs; with `ftz`, subnormal numbers are zero.

        With rounding = "rn".

        With ftz = False.

        PTX:
            mul.rn.f32x2 result, a, b;

        a:             a 64-bit integer
        b:             a 64-bit integer
        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_100a and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       mul
        """

    def hmax2(self, a: Integer, b: Integer, nan: Literal['', 'NaN'] | str = '') -> Expr:
        """Return the greater numbers of two bfloat16 pairs, ignoring NaN; with nan="NaN", NaN propagates.

        PTX:
            max.bf16x2 result, a, b;

        a:             an integer
        b:             an integer
        nan:           one of "", "NaN"
        returns:       an integer
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       max
        """

    def hmin2(self, a: Integer, b: Integer, nan: Literal['', 'NaN'] | str = '') -> Expr:
        """Return the smaller numbers of two bfloat16 pairs, ignoring NaN; with nan="NaN", NaN propagates.

        PTX:
            min.bf16x2 result, a, b;

        a:             an integer
        b:             an integer
        nan:           one of "", "NaN"
        returns:       an integer
        issued by:     each active thread
        architectures: sm_80 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       min
        """

    def clock64(self, ) -> Expr:
        """Return the cycle count of the SM; in the simulator all SMs start at 0 at the launch.

        PTX:
            mov.u64 result, %clock64;

        returns:       a 64-bit integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       Special Registers: %clock64
        """

    def nano_sleep(self, time: Integer) -> None:
        """Suspend the thread for about `time` ns, at most 1 ms; on a chip the duration is from 0 to twice as long.

        PTX:
            nanosleep.u32 time;

        time:          an integer
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          sync, 6 cycles to issue in the simulator's clock
        PTX ISA:       nanosleep
        """

    def trap_when_assert_failed(self, cond: Condition) -> None:
        """End the launch with an error if `condition` is false.

        PTX:
            @!condition trap;

        cond:          a condition
        issued by:     each active thread
        architectures: sm_70 and later
        cost:          alu, 2 cycles to issue in the simulator's clock
        PTX ISA:       trap
        """

    def printf(self, format: str, *values: ExprLike) -> None:
        """Every thread that executes it writes its values to standard output."""

    def func_call(self, *args: ExprLike | _Buffer | str, function: str | None = None, source_code: str = "", return_type: Any = "void") -> Any:
        """Call a function of CUDA C++ that the kernel brings with it. The simulator does not know what it does."""

    def warp_reduce(self, value: ExprLike, op: Literal["sum", "max", "min"] | str, *args: Any, **options: Any) -> Expr:
        """The sum, max or min of one value per thread over its warp; every thread receives it."""

    def cta_reduce(self, value: ExprLike, op: Literal["sum", "max", "min"] | str, *args: Any, **options: Any) -> Expr:
        """The sum, max or min of one value per thread over its cta; every thread receives it."""

    def thread_rank(self, ) -> Expr:
        """The index of the executing thread in its CTA."""

    def warp_sum(self, value: ExprLike, width: int = 32) -> Expr:
        """The sum of one value per thread, returned to every thread of the warp."""

    def warp_max(self, value: ExprLike, width: int = 32) -> Expr:
        """The max of one value per thread, returned to every thread of the warp."""

    def warp_min(self, value: ExprLike, width: int = 32) -> Expr:
        """The min of one value per thread, returned to every thread of the warp."""

    def cta_sum(self, value: ExprLike, num_warps: int | None = None, scratch: SharedPointer | None = None) -> Expr:
        """The sum of one value per thread, returned to every thread of the cta."""

    def cta_max(self, value: ExprLike, num_warps: int | None = None, scratch: SharedPointer | None = None) -> Expr:
        """The max of one value per thread, returned to every thread of the cta."""

    def cta_min(self, value: ExprLike, num_warps: int | None = None, scratch: SharedPointer | None = None) -> Expr:
        """The min of one value per thread, returned to every thread of the cta."""


cuda: _Cuda

def call_extern(dtype: str | LanguageDType, function: str, *args: ExprLike | _Buffer | str) -> Any:
    """Call a function that CUDA C++ has. The simulator does not know what it does."""

def call_pure_extern(dtype: str | LanguageDType, function: str, *args: ExprLike | _Buffer | str) -> Any:
    """Call a function that CUDA C++ has. The simulator does not know what it does."""

def call_intrin(dtype: str | LanguageDType, func_name: str, *args: Any) -> Any:
    """A function of the language by TVM's name."""

def tvm_warp_activemask() -> Expr:
    """The mask of active lanes: all 32."""

def tvm_warp_shuffle(mask: ExprLike, value: ExprLike, lane: ExprLike, width: int = 32, warp_size: int = 32) -> Expr:
    """The value that lane `lane` holds."""

def tvm_warp_shuffle_xor(mask: ExprLike, value: ExprLike, lane: ExprLike, width: int = 32, warp_size: int = 32) -> Expr:
    """The value that lane ``lane ^ own`` holds."""

def tvm_warp_shuffle_down(mask: ExprLike, value: ExprLike, lane: ExprLike, width: int = 32, warp_size: int = 32) -> Expr:
    """The value that the lane `lane` above the own one holds."""

def tvm_warp_shuffle_up(mask: ExprLike, value: ExprLike, lane: ExprLike, width: int = 32, warp_size: int = 32) -> Expr:
    """The value that the lane `lane` below the own one holds."""

"""The plan of a matrix product: its instruction, the partition among warps and the operand layouts.

Layouts of fragments map the coordinates of a tile to a thread (axis `tx`, from the first thread of the role on) and to
one of its registers (axis `m`).
"""

from __future__ import annotations

from collections.abc import Iterator

from tirx_mini.fragments import MMA_SYNC, STEP_BYTES, TCGEN05, WGMMA, TensorProduct, choices, tensor_product
from tirx_mini.hardware import TMEM_LANES, WARP_SIZE, WARPGROUP_SIZE
from tirx_mini.ir import DataType, Span, TirxError
from tirx_mini.layout import R, S, SwizzleMode, TileLayout, tx
from tirx_mini.records import dataclass

from ..policy import GemmWarpPolicy

WGMMA_ROWS = 64
"""Rows of one wgmma.mma_async (PTX ISA: "wgmma.mma_async", .shape)."""
MMA_ROWS, MMA_COLUMNS = 16, 8
"""Of one mma.sync (PTX ISA: "mma", .shape)."""


@dataclass(frozen=True)
class Product:
    """A product of tiles, C[m, n] (+)= A[m, k] B[k, n].

    a_scope, c_scope: "shared", "fragment" or "tmem"; B is in shared memory.
    transpose_a: whether A is k × m. transpose_b: whether B is n × k.
    threads: of the role that computes it, from its first thread on.
    """

    m: int
    n: int
    k: int
    dtype: DataType
    b_dtype: DataType
    sum_dtype: DataType
    a_scope: str
    c_scope: str
    transpose_a: bool = False
    transpose_b: bool = False
    policy: GemmWarpPolicy = GemmWarpPolicy.Square
    threads: int = WARPGROUP_SIZE
    span: Span | None = None


@dataclass(frozen=True)
class GemmPlan:
    """The instruction and layouts chosen for a product.

    instruction: `WGMMA`, `TCGEN05` or `MMA_SYNC`.
    along_m, along_n: the parts that the rows and columns are cut into: of a warpgroup each, for mma.sync of a warp.
    c: where C lies in registers; None in tensor memory.
    a: where A lies in registers; None in shared or tensor memory.
    """

    product: Product
    instruction: str
    along_m: int
    along_n: int
    c: TileLayout | None
    a: TileLayout | None

    @property
    def products(self) -> tuple[TensorProduct, TensorProduct]:
        """The instruction-table entries for the dtypes of A and B."""
        product = self.product
        a, b = (tensor_product(self.instruction, each, product.sum_dtype) for each in (product.dtype, product.b_dtype))
        assert a is not None and b is not None
        return a, b

    @property
    def own_rows(self) -> int:
        return self.product.m // self.along_m

    @property
    def own_columns(self) -> int:
        return self.product.n // self.along_n


def gemm_plan(product: Product, arch: int, wanted: str | None = None) -> GemmPlan:
    """Choose the plan of a product.

    arch: the compute capability, such as 90 or 100.
    wanted: an instruction that the program asks for by name, instead of the best one.

    Raises TirxError where the tensor core has no such product.
    """
    if product.c_scope == "tmem":
        return GemmPlan(product, TCGEN05, 1, 1, None, None)
    refused = _not_wgmma(product, arch)
    if wanted == WGMMA and refused:
        raise TirxError(f"T.wgmma_gemm: {refused}", product.span, "use T.gemm, which chooses another instruction")
    if not refused:
        return _wgmma(product)
    return _mma_sync(product)


def _not_wgmma(product: Product, arch: int) -> str | None:
    """Return the reason why wgmma cannot compute a product, or None if it can."""
    if arch // 10 != 9:
        return f"only Hopper has wgmma, and the target is sm_{arch}"
    if product.threads % WARPGROUP_SIZE:
        return f"wgmma needs whole warpgroups, and {product.threads} threads compute the product"
    if product.m % WGMMA_ROWS:
        return f"C has {product.m} rows, and wgmma computes multiples of {WGMMA_ROWS}"
    if tensor_product(WGMMA, product.dtype, product.sum_dtype) is None or product.b_dtype != product.dtype:
        return f"{product.dtype} × {product.b_dtype} into {product.sum_dtype} is computed by mma.sync"
    if product.a_scope == "fragment" and product.transpose_a:
        return "A is in registers, where wgmma takes no transposed matrix"
    if product.dtype.bits != 16 and (product.transpose_a or not product.transpose_b or product.a_scope != "shared"):
        return f"wgmma reads {product.dtype} from shared memory that is contiguous along K: A as M × K, B as N × K"
    if product.k * product.dtype.itemsize % STEP_BYTES:
        return f"K is {product.k}, and wgmma multiplies {STEP_BYTES} bytes along K at once"
    if not _wgmma_parts(product):
        return f"{product.threads // WARPGROUP_SIZE} warpgroups cannot share {product.m} × {product.n} elements"
    return None


def _partitions(product: Product, units: int, rows: int, columns: int, most: int) -> Iterator[tuple[int, int]]:
    """Return the partitions of C for `units` warps or warpgroups, those with most parts along M first.

    rows, columns: of a part, a multiple of them; and at most `most` columns.
    """
    for along_m in range(units, 0, -1):
        along_n = units // along_m
        if units % along_m or product.m % (along_m * rows) or product.n % (along_n * columns):
            continue
        if product.n // along_n <= most:
            yield along_m, along_n


def _wgmma_parts(product: Product) -> list[tuple[int, int]]:
    """Return the partitions of C for warpgroups (PTX ISA: "wgmma.mma_async", shapes: integers lack 40 and 56 columns).
    """
    columns = 16 if product.dtype.is_integer else 8
    return list(_partitions(product, product.threads // WARPGROUP_SIZE, WGMMA_ROWS, columns, 256))


def _chosen(product: Product, ways: list[tuple[int, int]], square: bool) -> tuple[int, int]:
    """Choose one of the partitions by the policy.

    square: whether the parts of a square policy shall be square; otherwise they have as many columns as possible.
    """
    if product.policy is GemmWarpPolicy.FullCol:
        return ways[-1]
    if product.policy is GemmWarpPolicy.FullRow or not square:
        return ways[0]
    return min(ways, key=lambda way: abs(product.m / way[0] - product.n / way[1]))


def _wgmma(product: Product) -> GemmPlan:
    along_m, along_n = _chosen(product, _wgmma_parts(product), square=False)
    c = wgmma_fragment(product.m, product.n, along_m, along_n)
    a = None
    if product.a_scope == "fragment":
        a = wgmma_fragment(product.m, product.k, along_m, 1, copies=along_n)
    return GemmPlan(product, WGMMA, along_m, along_n, c, a)


def wgmma_fragment(rows: int, columns: int, along_m: int, along_n: int, copies: int = 1) -> TileLayout:
    """Return the wgmma fragment layout of C, or of a 16-bit A, over `along_m` × `along_n` warpgroups (PTX ISA:
    "wgmma.mma_async", register fragments).

    copies: how many warpgroups hold the same elements.
    """
    blocks, octets = rows // along_m // WGMMA_ROWS, columns // along_n // 8
    row_digits = (along_m, blocks, 4, 2, 8)
    row_steps = (WARPGROUP_SIZE @ tx, octets * 4, WARP_SIZE @ tx, 2, 4 @ tx)
    column_digits, column_steps = (along_n, octets, 4, 2), (WARPGROUP_SIZE * along_m @ tx, 4, 1 @ tx, 1)
    spec = S[(row_digits, column_digits) : (row_steps, column_steps)]
    return TileLayout(spec + R[copies : WARPGROUP_SIZE * along_m @ tx] if copies > 1 else spec)


def _mma_sync(product: Product) -> GemmPlan:
    if any(tensor_product(MMA_SYNC, each, product.sum_dtype) is None for each in (product.dtype, product.b_dtype)):
        raise TirxError(
            f"T.gemm has no tensor core for {product.dtype} × {product.b_dtype} into {product.sum_dtype}",
            product.span,
            f"it multiplies {choices(MMA_SYNC)}",
        )
    depth = STEP_BYTES // product.dtype.itemsize
    if product.k % depth:
        raise TirxError(f"T.gemm: K is {product.k}, and must be a multiple of {depth}", product.span)
    ways = list(_partitions(product, product.threads // WARP_SIZE, MMA_ROWS, MMA_COLUMNS, product.n))
    if not ways:
        raise TirxError(
            f"T.gemm: {product.threads // WARP_SIZE} warps cannot share {product.m} × {product.n} elements",
            product.span,
            f"each warp computes a multiple of {MMA_ROWS} × {MMA_COLUMNS}: use fewer threads or a larger tile",
        )
    along_m, along_n = _chosen(product, ways, square=True)
    c = mma_fragment(product.m, product.n, along_m, along_n)
    a = None
    if product.a_scope == "fragment":
        if product.dtype.bits != 16 or product.transpose_a:
            raise TirxError("T.gemm: A in a fragment has 16-bit elements, in the order M × K", product.span)
        a = mma_fragment(product.m, product.k, along_m, 1, copies=along_n)
    return GemmPlan(product, MMA_SYNC, along_m, along_n, c, a)


def mma_fragment(rows: int, columns: int, along_m: int, along_n: int, copies: int = 1) -> TileLayout:
    """Return the mma.sync m16n8 fragment layout of C, or of a 16-bit A, over `along_m` × `along_n` warps (PTX ISA:
    "Matrix Fragments for mma.m16n8k16").

    copies: how many warps hold the same elements.
    """
    blocks, octets = rows // along_m // MMA_ROWS, columns // along_n // MMA_COLUMNS
    row_digits, row_steps = (along_m, blocks, 2, 8), (WARP_SIZE @ tx, octets * 4, 2, 4 @ tx)
    column_digits, column_steps = (along_n, octets, 4, 2), (WARP_SIZE * along_m @ tx, 4, 1 @ tx, 1)
    spec = S[(row_digits, column_digits) : (row_steps, column_steps)]
    return TileLayout(spec + R[copies : WARP_SIZE * along_m @ tx] if copies > 1 else spec)


def tmem_fragment(rows: int, columns: int, threads: int) -> TileLayout:
    """Return the register layout of a tensor-memory tile: thread r of a warpgroup holds row r of each 128 rows, and the
    warpgroups divide the columns (PTX ISA: "tcgen05.ld", access restrictions).
    """
    groups = threads // WARPGROUP_SIZE
    blocks, own = rows // TMEM_LANES, columns // groups
    return TileLayout(S[((blocks, TMEM_LANES), (groups, own)) : ((own, 1 @ tx), (WARPGROUP_SIZE @ tx, 1))])


def operand_swizzle(columns: int, dtype: DataType) -> SwizzleMode:
    """Return the widest swizzle mode whose span divides a row of `columns` elements."""
    width = columns * dtype.bits // 8
    for mode in (SwizzleMode.SWIZZLE_128B_ATOM, SwizzleMode.SWIZZLE_64B_ATOM, SwizzleMode.SWIZZLE_32B_ATOM):
        if width % mode.span_bytes == 0:
            return mode
    return SwizzleMode.SWIZZLE_NONE

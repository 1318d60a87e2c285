"""The PlanSharedMemory pass: place all shared buffers in one dynamic allocation."""

from __future__ import annotations

from tirx_mini.hardware import SWIZZLE_PERIOD, TMA_SMEM_ALIGN
from tirx_mini.ir import AllocBuffer, Buffer, DataType, DeclBuffer, Mutator, PrimFunc, Stmt, TileWrite, seq
from tirx_mini.layout import swizzle_mode
from tirx_mini.records import replace

from .ranges import launch_of

POOL_ALIGN = SWIZZLE_PERIOD
"""The alignment of the allocation in bytes, at which every swizzle pattern starts."""
VECTOR_ALIGN = 16


def plan_shared_memory(func: PrimFunc) -> PrimFunc:
    """Make every shared buffer a view of one buffer "smem", whose size is set in the launch.

    Pools come first; the buffers of `alloc_shared` follow in program order.
    """
    launch = launch_of(func)
    roots = [node.buffer for node in func.of(AllocBuffer) if node.buffer.scope == "shared"]
    if not roots:
        return func
    pools = [root for root in roots if _is_pool(root)]
    if len(roots) == 1 and pools:
        return replace(func, launch=replace(launch, smem_bytes=roots[0].nbytes))
    offsets: dict[Buffer, int] = {}
    total = 0
    for root in (*pools, *(root for root in roots if root not in pools)):
        align = POOL_ALIGN if root in pools else _alignment(root)
        offsets[root] = -(-total // align) * align
        total = offsets[root] + _extent(root)
    smem = Buffer("smem", (total,), DataType("uint8"), "shared", align=POOL_ALIGN)
    place = _Place(smem, offsets, set(pools))
    body = place.stmt(func.body)
    return replace(
        func, body=seq(AllocBuffer(smem), body), launch=replace(launch, smem_bytes=total),
        tile_writes=tuple(map(place.write, func.tile_writes)),
    )  # fmt: skip


def _is_pool(root: Buffer) -> bool:
    return root.dtype == "uint8" and root.ndim == 1 and root.align >= POOL_ALIGN


def _alignment(root: Buffer) -> int:
    """Return the alignment of a buffer in bytes, as required by vector accesses, TMA and its swizzle."""
    swizzle = swizzle_mode(root.layout).atom_bytes if root.layout is not None else 0
    return max(root.align, swizzle, TMA_SMEM_ALIGN if _extent(root) >= TMA_SMEM_ALIGN else VECTOR_ALIGN)


def _extent(root: Buffer) -> int:
    """Return the size of a root buffer in bytes, including the padding of its layout."""
    elements = root.layout.cosize() if root.layout is not None else root.size
    return elements * root.dtype.itemsize


class _Place(Mutator):
    def __init__(self, smem: Buffer, offsets: dict[Buffer, int], pools: set[Buffer]) -> None:
        self.smem, self.offsets, self.pools = smem, offsets, pools
        self.placed: dict[Buffer, Buffer] = {}

    def buffer(self, buffer: Buffer) -> Buffer:
        if buffer.scope != "shared":
            return buffer
        if buffer not in self.placed:
            start, root = 0, buffer
            while root.source is not None:
                start, root = start + root.byte_offset, root.source
            offset = self.offsets[root] + start
            self.placed[buffer] = replace(buffer, source=self.smem, byte_offset=offset)
        return self.placed[buffer]

    def write(self, write: TileWrite) -> TileWrite:
        """Rebase a tile write onto `smem`."""
        known = write.buffer if write.buffer is not None and write.buffer.root in self.offsets else None
        return replace(write, buffer=None if known is None else self.buffer(known))

    def visit_AllocBuffer(self, node: AllocBuffer) -> Stmt:
        if node.buffer.scope != "shared":
            return node
        return seq() if node.buffer in self.pools else DeclBuffer(self.buffer(node.buffer), span=node.span)

"""The three exercises of the lesson on tensor expressions and TIR (lessons/tir.md).

Fill in each `raise NotImplementedError`, and run `pytest tests/lessons`. The computations are given; you write their
schedules. A schedule never changes the result: where one would, the compiler refuses it and says why.
"""

from __future__ import annotations

from typing import NamedTuple

from tirx_mini import te


class Computation(NamedTuple):
    """A computation: its tensors, inputs first and the output last."""

    tensors: tuple[te.Tensor, ...]

    @property
    def args(self) -> list[te.Tensor]:
        """The parameters of the compiled function: what is read, and the output."""
        return [tensor for tensor in self.tensors if isinstance(tensor.op, te.PlaceholderOp)] + [self.tensors[-1]]


# ---------------------------------------------------------------------------------------------------------------------
# Exercise 1: a convolution with three schedules
# ---------------------------------------------------------------------------------------------------------------------


def convolution(places: tuple[int, int] = (48, 64), taps: tuple[int, int] = (3, 5)) -> Computation:
    """The convolution of an image with weights, at each place where all taps lie within the image."""
    rows, columns = taps
    image = te.placeholder((places[0] + rows - 1, places[1] + columns - 1), name="image")
    weights = te.placeholder(taps, name="weights")
    up, left = te.reduce_axis((0, rows), name="up"), te.reduce_axis((0, columns), name="left")
    filtered = te.compute(
        places,
        lambda y, x: te.sum(weights[up, left] * image[y + rows - 1 - up, x + columns - 1 - left], axis=[up, left]),
        name="filtered",
    )
    return Computation((image, weights, filtered))


def convolution_tiled(c: Computation) -> te.Schedule:
    """Schedule B: tiles of 4 × 16 elements, whose rows are vectors of 16.

    The first one, the schedule without transformations, is `te.create_schedule(filtered.op)`.
    """
    # TODO: tile the axes of `filtered` by 4 × 16, put the two reduction axes around the innermost loop (`reorder`), and
    # vectorize that loop. A loop that reduces cannot be a vector: te.check(s, args) says so.
    raise NotImplementedError("TODO: exercise 1, schedule B")


def convolution_unrolled(c: Computation) -> te.Schedule:
    """Schedule C: as B, and the loops over the taps are unrolled."""
    # TODO: schedule B, and `unroll` both reduction axes. How many loops are left in the text of te.lower?
    raise NotImplementedError("TODO: exercise 1, schedule C")


# ---------------------------------------------------------------------------------------------------------------------
# Exercise 2: ReLU, batch normalisation and scale in one pass
# ---------------------------------------------------------------------------------------------------------------------


def pipeline(M: int = 64, N: int = 64) -> Computation:
    """``scale * ((relu(A) - mean) * inverse)``, row by row of `A`: three stages, each of which the next one reads."""
    A = te.placeholder((M, N), name="A")
    mean = te.placeholder((N,), name="mean")
    inverse = te.placeholder((N,), name="inverse")  # 1 / the standard deviation
    scale = te.placeholder((N,), name="scale")
    relu = te.compute((M, N), lambda i, j: te.if_then_else(A[i, j] > 0, A[i, j], 0.0), name="relu")
    norm = te.compute((M, N), lambda i, j: (relu[i, j] - mean[j]) * inverse[j], name="norm")
    scaled = te.compute((M, N), lambda i, j: norm[i, j] * scale[j], name="scaled")
    return Computation((A, mean, inverse, scale, relu, norm, scaled))


def pipeline_fused(c: Computation) -> te.Schedule:
    """One pass over the elements, in which no stage but the last is stored for more than one element."""
    # TODO: compute `relu` and `norm` at the innermost loop of `scaled`, each by compute_at.
    raise NotImplementedError("TODO: exercise 2")


# ---------------------------------------------------------------------------------------------------------------------
# Exercise 3: a matmul on a GPU, staged through shared memory
# ---------------------------------------------------------------------------------------------------------------------


def matmul(rows: int = 128, columns: int = 128, depth: int = 128) -> Computation:
    """The product of two matrices. The reduction axis is `product.op.reduce_axis[0]`."""
    left, right = te.placeholder((rows, depth), name="left"), te.placeholder((depth, columns), name="right")
    d = te.reduce_axis((0, depth), name="d")
    product = te.compute((rows, columns), lambda r, c: te.sum(left[r, d] * right[d, c], axis=d), name="product")
    return Computation((left, right, product))


def matmul_staged(c: Computation, align: bool) -> te.Schedule:
    """Thread blocks of 32 × 32 threads, each thread one element of the product; tiles of `left` in shared memory.

    align: whether the rows of the tiles are padded. Without, all threads of a warp read one bank.
    """
    # TODO: in this order
    #   1. own = s.cache_write(product, "local"): each thread adds up its element in a register
    #   2. tiles = s.cache_read(left, "shared", [own])
    #   3. tile the product by 32 × 32, and bind the outer loops to blockIdx.y and blockIdx.x. Bind the inner loop over
    #      rows to threadIdx.x and the one over columns to threadIdx.y: the 32 lanes of a warp read 32 rows of a tile.
    #   4. compute `own` at the innermost loop of the product; split its reduction axis by 32, and compute `tiles` at
    #      the outer part
    #   5. bind the loops of `tiles` to threadIdx.y (rows) and threadIdx.x (columns): all threads copy one element each
    #   6. if `align`: pad the rows of `tiles` with storage_align, so that no two of 32 rows begin in one bank
    raise NotImplementedError("TODO: exercise 3")


def matmul_half(rows: int = 64, columns: int = 64, depth: int = 64) -> Computation:
    """The product of two matrices of float16, added up in float32, as tensor cores do."""
    left = te.placeholder((rows, depth), "float16", "left")
    right = te.placeholder((depth, columns), "float16", "right")
    d = te.reduce_axis((0, depth), name="d")
    product = te.compute(
        (rows, columns),
        lambda r, c: te.sum(left[r, d].astype("float32") * right[d, c].astype("float32"), axis=d),
        name="product",
    )
    return Computation((left, right, product))


def matmul_tensor_cores(c: Computation) -> te.Schedule:
    """Thread blocks of four warps on a tile of 32 × 32; the tensor core computes, by `tensorize`."""
    # TODO: in this order
    #   1. sums = s.cache_write(product, "wmma.accumulator"), and cache_read of both operands into "shared" for `sums`
    #   2. tile the product by 32 × 32 (blockIdx.y, blockIdx.x), the inner loops by 16 × 16 (threadIdx.z and threadIdx.y
    #      count the warps), and what is left by 16 × 8, the tile of one instruction: tensorize from its first loop on,
    #      with te.mma_store()
    #   3. compute `sums` at the loop of threadIdx.y; split d by 32, and its inner part by 16; tile the axes of `sums`
    #      by 16 × 8 and reorder: the outer loops over d, those over tiles, and the 16 × 8 × 16 that te.mma() computes
    #   4. compute both copies at the outer loop over d: split the columns by 8 and vectorize them, fuse the rest, and
    #      bind its parts to threadIdx.x (32 lanes), threadIdx.y and threadIdx.z (2 each)
    #   5. pad the rows of both copies by 8 elements, so that they still begin at multiples of 16 bytes: ldmatrix reads
    #      whole rows
    raise NotImplementedError("TODO: exercise 3, on tensor cores")

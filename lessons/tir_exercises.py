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


def convolution(H: int = 64, W: int = 64, KH: int = 3, KW: int = 3) -> Computation:
    """The convolution of an H × W image with a KH × KW kernel, where the kernel lies within the image."""
    data = te.placeholder((H, W), name="data")
    kernel = te.placeholder((KH, KW), name="kernel")
    rh = te.reduce_axis((0, KH), name="rh")
    rw = te.reduce_axis((0, KW), name="rw")
    conv = te.compute(
        (H - KH + 1, W - KW + 1),
        lambda i, j: te.sum(data[i + rh, j + rw] * kernel[rh, rw], axis=[rh, rw]),
        name="conv",
    )
    return Computation((data, kernel, conv))


def convolution_tiled(c: Computation) -> te.Schedule:
    """Schedule B: tiles of 8 × 8 elements, whose rows are vectors of 8.

    The first one, the schedule without transformations, is `te.create_schedule(conv.op)`.
    """
    # TODO: split both axes of conv by 8 (`tile` does it), put the two reduction axes around the innermost loop
    # (`reorder`), and vectorize that loop. A loop that reduces cannot be a vector: te.check(s, args) says so.
    raise NotImplementedError("TODO: exercise 1, schedule B")


def convolution_unrolled(c: Computation) -> te.Schedule:
    """Schedule C: as B, and the loops over the kernel are unrolled."""
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


def matmul(M: int = 128, N: int = 128, K: int = 128) -> Computation:
    """The product of an M × K and a K × N matrix. The reduction axis is `C.op.reduce_axis[0]`."""
    A = te.placeholder((M, K), name="A")
    B = te.placeholder((K, N), name="B")
    k = te.reduce_axis((0, K), name="k")
    C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return Computation((A, B, C))


def matmul_staged(c: Computation, align: bool) -> te.Schedule:
    """Thread blocks of 32 × 32 threads, each thread one element of C; tiles of A in shared memory.

    align: whether the rows of the tiles are padded. Without, all threads of a warp read one bank.
    """
    # TODO: in this order
    #   1. CL = s.cache_write(C, "local"): each thread adds up its element in a register
    #   2. AA = s.cache_read(A, "shared", [CL]): the tiles of A
    #   3. tile C by 32 × 32, and bind the outer loops to blockIdx.y and blockIdx.x. Bind the inner loop over rows to
    #      threadIdx.x and the one over columns to threadIdx.y: the 32 lanes of a warp read 32 rows of the tile of A.
    #   4. compute CL at the innermost loop of C; split its reduction axis by 32, and compute AA at the outer part
    #   5. bind the loops of AA to threadIdx.y (rows) and threadIdx.x (columns): all threads copy one element each
    #   6. if `align`: s[AA].storage_align(AA.op.axis[0], factor=32, offset=1)
    raise NotImplementedError("TODO: exercise 3")


def matmul_half(M: int = 64, N: int = 64, K: int = 64) -> Computation:
    """The product of two matrices of float16, added up in float32, as tensor cores do."""
    A = te.placeholder((M, K), "float16", "A")
    B = te.placeholder((K, N), "float16", "B")
    k = te.reduce_axis((0, K), name="k")
    C = te.compute(
        (M, N), lambda i, j: te.sum(A[i, k].astype("float32") * B[k, j].astype("float32"), axis=k), name="C"
    )
    return Computation((A, B, C))


def matmul_tensor_cores(c: Computation) -> te.Schedule:
    """Thread blocks of four warps on a tile of 32 × 32; the tensor core computes, by `tensorize`."""
    # TODO: in this order
    #   1. CF = s.cache_write(C, "wmma.accumulator"), and cache_read of A and of B into "shared" for CF
    #   2. tile C by 32 × 32 (blockIdx.y, blockIdx.x), the inner loops by 16 × 16 (threadIdx.z and threadIdx.y count the
    #      warps), and what is left by 16 × 8, the tile of one instruction: tensorize from its first loop on, with
    #      te.mma_store()
    #   3. compute CF at the loop of threadIdx.y; split k by 32, and its inner part by 16; tile the axes of CF by 16 × 8
    #      and reorder: the outer loops over k, the loops over tiles, and then the 16 × 8 × 16 that te.mma() computes
    #   4. compute both copies at the outer loop over k: split the columns by 8 and vectorize them, fuse the rest, and
    #      bind its parts to threadIdx.x (32 lanes), threadIdx.y and threadIdx.z (2 each)
    #   5. pad the rows of both copies by 8 elements, so that they still begin at multiples of 16 bytes: ldmatrix reads
    #      whole rows
    raise NotImplementedError("TODO: exercise 3, on tensor cores")

"""Views of buffers under TVM's names: what they read and write, how they print, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini
from tests.tirx_mini.script.reading import error_in, goes_round, printed
from tirx_mini import lang
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.passes import lower
from tirx_mini.script import from_source

pytestmark = pytest.mark.compiler

TILE = np.arange(2 * 8 * 16).reshape(2, 8, 16)
SPLIT = TILE.reshape(2, 4, 2, 16)


def of(body: str, out: str = "int32", size: int = 256) -> PrimFunc:
    """A kernel of 32 threads; `S` holds 2 × 8 × 16 numbers in shared memory, `W` swizzled 64 × 64 of float16."""
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    return from_source(f"""
@T.prim_func
def kernel(A: T.Buffer(({size},), "{out}")):
    T.device_entry()
    T.cta_id([1])
    tx = T.thread_id([32])
    s: T.let = tx // 16
    S = T.alloc_shared((2, 8, 16), "int32")
    W = T.alloc_shared((16, 64), "float16", layout=T.ComposeLayout(3, 3, 3, T.TileLayout(T.S[(16, 64) : (64, 1)])))
    if tx == 0:
        for i, j, k in T.grid(2, 8, 16):
            S[i, j, k] = (i * 8 + j) * 16 + k
        for i, j in T.grid(16, 64):
            W[i, j] = T.float16(i * 64 + j)
    T.cuda.cta_sync()
{lines}
""")


def run(kernel: PrimFunc, dtype: str = "int32") -> np.ndarray:
    goes_round(kernel)
    a = np.zeros(kernel.params[0].shape, dtype)
    report = tirx_mini.simulate(kernel, a)
    assert report.verdict == "ok", report
    return a


def copied(view: str, shape: tuple[int, ...]) -> np.ndarray:
    """The elements of a view of `S`, read by thread 0."""
    names = [f"i{axis}" for axis in range(len(shape))]
    loop = f"for {', '.join(names)} in T.grid({', '.join(map(str, shape))}):"
    place = " + ".join(f"{name} * {int(np.prod(shape[axis + 1 :]))}" for axis, name in enumerate(names))
    body = f"P = {view}\nif tx == 0:\n    {loop}\n        A[{place}] = P[{', '.join(names)}]"
    return run(of(body))[: int(np.prod(shape))].reshape(shape)


@pytest.mark.parametrize(
    ("view", "want"),
    [
        ("S.sub[1]", TILE[1]),
        ("S.sub[1, 3]", TILE[1, 3]),
        ("S.sub[:, 2:6, 5]", TILE[:, 2:6, 5]),
        ("S.sub[0, 1::2, :]", TILE[0, 1::2, :]),
        ("S.sub[:, :, 3::4]", TILE[:, :, 3::4]),
        ("S.permute(2, 0, 1)", TILE.transpose(2, 0, 1)),
        (
            "S.rearrange('a (b c) d -> b (a c) d', c=2)",
            TILE.reshape(2, 4, 2, 16).transpose(1, 0, 2, 3).reshape(4, 4, 16),
        ),
        ("S.tile(1, (4, -1))[2, :]", TILE[:, 4:6]),
        ("S.tile(1, (4, -1))[:, 1]", TILE[:, 1::2]),
        ("S.tile((0, (2, -1)), (2, (-1, 4)))[1, :, :, 3]", TILE[1:, :, 3::4]),
        ("S.view(-1, 32)", TILE.reshape(-1, 32)),
        ("S.sub[1].permute(1, 0)", TILE[1].T),
        ("T.decl_buffer((8, 4), 'int32', data=S.data, elem_offset=128, strides=(16, 1))", TILE[1, :, :4]),
        ("T.decl_buffer((4,), 'int32', data=S.ptr_to([1, 2, 3]), scope='shared')", TILE[1, 2, 3:7]),
        ("T.decl_buffer((4,), 'int32', data=T.ptr_byte_offset(S.data, 16, 'int32'))", np.arange(4) + 4),
    ],
)
def test_a_view_has_the_elements_that_numpy_gives(view: str, want: np.ndarray) -> None:
    assert (copied(view, want.shape) == want).all()


@pytest.mark.parametrize("view", ["S.sub[s]", "T.decl_buffer((8, 16), 'int32', data=S.data, elem_offset=s * 128)"])
def test_a_view_may_begin_where_only_the_thread_knows(view: str) -> None:
    a = run(of(f"P = {view}\nA[tx] = P[3, tx % 16]"))
    assert (a[:32] == TILE[:, 3].reshape(-1)).all()


def test_a_view_follows_the_variable_of_its_offset() -> None:
    """As in TVM, the offset is computed at each access."""
    a = run(of("n: T.int32 = 0\nP = S.sub[n]\nn = 1\nA[tx] = P[0, tx % 16]"))
    assert (a[:16] == TILE[1, 0]).all()


@pytest.mark.parametrize("view", ["W.view(32, 32)", "W.sub[8:16].view(16, 32)", "W.permute(1, 0)"])
def test_a_view_of_a_swizzled_tile_is_swizzled(view: str) -> None:
    whole = np.arange(1024).reshape(16, 64)
    want = {"W.view(32, 32)": whole.reshape(32, 32), "W.permute(1, 0)": whole.T}.get(view, whole[8:].reshape(16, 32))
    rows = want[:, :16]
    body = f"P = {view}\nfor i in range({len(want)}):\n    A[i * 16 + tx % 16] = T.int32(P[i, tx % 16])"
    assert (run(of(body, size=rows.size)).reshape(rows.shape) == rows).all()


def test_the_bytes_of_a_tile_as_another_dtype() -> None:
    body = 'P = W.view("uint32")\nA[tx] = T.int32(P[3, tx])'
    want = (np.arange(64) + 192).astype(np.float16).view(np.uint32)
    assert (run(of(body))[:32].view(np.uint32) == want).all()


@pytest.mark.parametrize(
    ("own", "view", "body", "want"),
    [
        ("float32", "uint32", "P[1] = T.uint32(0x40000000)\nA[tx] = T.int32(R[1])", 2),
        ("float16", "uint32", "P[1] = T.uint32(0x44004200)\nA[tx] = T.int32(R[2]) * 10 + T.int32(R[3])", 34),
        ("uint32", "uint8", "P[5] = T.uint8(7)\nP[6] = T.uint8(2)\nA[tx] = T.int32(R[1]) + T.int32(P[6])", 0x20702),
        ("uint32", "float16", "R[0] = T.uint32(0x44004200)\nA[tx] = T.int32(P[0] + P[1])", 7),
    ],
)
def test_registers_as_another_dtype(own: str, view: str, body: str, want: int) -> None:
    head = f'R = T.alloc_local((4,), "{own}")\nfor i in range(4):\n    R[i] = 0\nP = R.view("{view}")\n'
    assert (run(of(head + body))[:32] == want).all()


def test_the_registers_of_a_tile_of_a_warpgroup() -> None:
    kernel = from_source("""
@T.prim_func
def kernel(A: T.Buffer((128, 8), "float32")):
    T.device_entry()
    T.cta_id([1])
    T.warpgroup_id([1])
    tx = T.thread_id([128])
    tile = T.wg_reg_tile(8)
    own = tile.local()
    grid = tile.local(2, 4)
    for i in range(8):
        own[i] = T.float32(tx * 8 + i)
    for i, j in T.grid(2, 4):
        A[tx, i * 4 + j] = grid[i, j]
""")
    goes_round(kernel)
    a = np.zeros((128, 8), np.float32)
    assert tirx_mini.simulate(kernel, a).verdict == "ok" and (a == np.arange(1024).reshape(128, 8)).all()


def test_vectors_are_loaded_and_stored() -> None:
    body = "if tx == 0:\n    v = S.vload([1, 2, 4], 'int32x4')\n    A.vstore([8], v)\n    A[16:20] = A[8:12]"
    a = run(of(body))
    assert (a[8:12] == TILE[1, 2, 4:8]).all() and (a[16:20] == a[8:12]).all()


def test_a_vector_that_lies_apart_in_memory() -> None:
    with pytest.raises(TirxError, match="4 neighbouring elements of P are not one vector"):
        lower(of("P = S.permute(0, 2, 1)\nA.vstore([0], P.vload([0, 0, 0], 'int32x4'))"))


def test_a_variable_in_shared_memory() -> None:
    body = "x = T.shared_scalar('int32')\nif tx == 3:\n    x = 5\nT.cuda.cta_sync()\nA[tx] = x"
    assert (run(of(body))[:32] == 5).all()
    assert printed("x = Tx.alloc_scalar('int32', 'shared')\nx = 1") == 'x = Tx.shared_scalar("int32")\nx = 1'


def test_an_array_by_its_annotation() -> None:
    assert (run(of("x: T.int32[4]\nx[2] = tx\nA[tx] = x[2]"))[:32] == np.arange(32)).all()


def test_places_as_numbers() -> None:
    body = "A[tx] = S.elem_offset_of([1, 2, 3]) * 10000 + S.byte_offset_of([0, 1, 0]) * 100 + S.offset_of([0, 1, 2])[0]"
    assert run(of(body))[0] == 163 * 10000 + 64 * 100 + 18
    assert (run(of("A[tx] = W.elem_offset_of([1, tx])"))[:32] == 64 + (np.arange(32) ^ 8)).all()


def test_a_chunk_is_a_slice() -> None:
    chunk = printed("Tx.fill(Asmem.chunk((4, None))[2, :], 0)")
    assert chunk == printed("Tx.fill(Asmem[64:96, :], 0)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p = reg.sub[0, 1]", "reg has 1 dimensions, but 2 are indexed"),
        ("p = reg.sub[0:lane_id]", "is not a positive constant"),
        ("p = reg.sub[6:10]", "leaves reg, whose extent is 8"),
        ("p = reg.sub[1::3]", "the step of a slice of reg divides its extent 8"),
        ("p = Asmem.permute(0, 0)", "is not an order of the 2 dimensions"),
        ("p = Asmem.rearrange('a -> a')", "does not name the 2 dimensions of Asmem"),
        ("p = Asmem.rearrange('a b -> b c')", "do not have the same names"),
        ("p = Asmem.rearrange('(a b) c -> a b c')", "is not the product of a b"),
        ("p = Asmem.tile(0, (3, -1))[0, :]", "is not split into (3, -1)"),
        ("p = Asmem.chunk((3, None))[0, :]", "is not cut into 3 equal chunks"),
        ("p = Asmem.chunk((4, None))[:, :]", "is cut into chunks, so it takes an index"),
        ("p = Asmem.view(-1, 100)", "are no multiple of 100"),
        ("p = reg.vload([0], 'int32x4')", "which is float32, not int32x4"),
        ("p = reg.vload([0], 'float32x4', predicate=1)", "have no predicate here"),
        ("reg[0:3] = reg[3:6]", "a vector is 2, 4, 8, 16 or 32 neighbouring elements"),
        ("p = Tx.decl_buffer((4,), data=phase)", "data= must be a pointer"),
        ("p = Tx.decl_buffer((4,), data=Asmem.data, scope='local')", "but Asmem is in shared memory"),
        ("p = Tx.alloc_buffer((4,), scope='shared', allocated_addr=0)", "so they have no address of their own"),
        ("p = Tx.alloc_buffer((4, 4), scope='shared', strides=(4,))", "do not fit the shape"),
        ("p = Tx.ptr_byte_offset(reg.data, 2)", "is not known to be a multiple of 4 bytes"),
        ("x = Tx.alloc_scalar('int32', scope='tmem')", 'is in "local" or "shared" memory'),
    ],
)
def test_what_is_no_view(text: str, message: str) -> None:
    assert message in error_in(text).diagnostic.message


def test_a_store_of_a_part_of_an_element_that_threads_share() -> None:
    with pytest.raises(TirxError, match="a part of an element of A"):
        lower(of('P = A.view("uint8")\nP[tx] = T.uint8(1)'))


GEMM = """
@T.prim_func
def kernel(A: T.Buffer((128, 128), "float16"), B: T.Buffer((128, 128), "float16"), D: T.Buffer((128, 128), "float32")):
    T.device_entry()
    T.cta_id([1])
    wg = T.warpgroup_id([1])
    w = T.warp_id_in_wg([4])
    lane = T.lane_id([32])
    pool = T.SMEMPool()
    As = pool.alloc_mma((2, 128, 64), "float16")
    Bs = pool.alloc_mma((2, 128, 64), "float16")
    full = TMABar(pool, 2)
    done = TCGen05Bar(pool, 1)
    tmem = TMEMPool(pool, 128)
    pool.commit()
    full.init(1)
    done.init(1)
    tmem.commit()
    T.ptx.fence.mbarrier_init()
    T.cuda.cta_sync()
    T.ptx.tcgen05.fence.after_thread_sync()
    acc = tmem.alloc((128, 128), datapath="D")
    if w == 0:
        if T.ptx.elect_sync():
            for k in range(2):
                a = As.sub[k]
                b = Bs.sub[k]
                T.copy_async(a[:, :], A[:, k * 64 : k * 64 + 64], dispatch="tma", mbar=full.ptr_to([k]))
                T.copy_async(b[:, :], B[:, k * 64 : k * 64 + 64], dispatch="tma", mbar=full.ptr_to([k]))
                full.arrive(k, 2 * 128 * 64 * 2)
            for k in range(2):
                full.wait(k, 0)
                T.ptx.tcgen05.fence.after_thread_sync()
                T.gemm_async(acc[:, :], As.sub[k], Bs.sub[k], accum=k > 0, dispatch="tcgen05")
            done.arrive(0)
    T.cuda.warp_sync()
    done.wait(0, 0)
    T.ptx.tcgen05.fence.after_thread_sync()
    half = acc.sub[:, 64:128]
    reg = T.wg_reg_tile(64)
    row = w * 32 + lane
    for h in range(2):
        if h == 0:
            T.wg.copy(reg, acc[:, 0:64])
        else:
            T.wg.copy(reg, half[:, :])
        own = reg.local()
        for i in range(64):
            D[row, h * 64 + i] = own[i]
    T.ptx.tcgen05.fence.before_thread_sync()
    T.cuda.cta_sync()
    tmem.dealloc()
"""


def test_stages_are_views_for_tma_and_the_tensor_core() -> None:
    kernel = from_source(GEMM, {name: getattr(lang, name) for name in lang.__all__})
    goes_round(kernel)
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((128, 128)).astype(np.float16) for _ in range(2))
    d = np.zeros((128, 128), np.float32)
    report = tirx_mini.simulate(kernel, a, b, d)
    assert report.verdict == "ok" and not report.findings
    assert np.allclose(d, a.astype(np.float32) @ b.astype(np.float32).T, atol=1e-3)

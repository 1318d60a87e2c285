"""Loads, stores and atomic operations with a memory order: what one thread leaves, another finds."""

from __future__ import annotations

from tirx_mini.script import tirx as T

from .case import Built, Case, blank, random_bytes


def loads_and_stores(dtype: str, sem: str) -> Built:
    """Each thread copies an element by way of shared memory."""
    scope, write = ("", sem) if sem == "volatile" else ("gpu", "release" if sem == "acquire" else sem)

    @T.prim_func
    def kernel(A: T.Buffer((64,), dtype), out: T.Buffer((64,), dtype)):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        box = T.alloc_shared((64,), dtype)
        moved = T.let(T.ptx.ld(A.ptr_to([tx]), sem=sem, scope=scope))
        T.ptx.st(box.ptr_to([tx]), moved, sem=write, scope=scope)
        T.cuda.cta_sync()
        T.ptx.st(
            out.ptr_to([tx]), T.ptx.ld(box.ptr_to([63 - tx]), sem=sem, scope=scope, space="shared"),
            sem=write, scope=scope, space="global",
        )  # fmt: skip

    return kernel, (random_bytes((64,), dtype), blank(64, dtype))


def of_devices() -> Built:
    """ld.mmio and st.mmio, of memory."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "uint32"), out: T.Buffer((64,), "uint32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        T.ptx.st_mmio(out.ptr_to([tx]), T.ptx.ld_mmio(A.ptr_to([63 - tx]), "uint32", "u32") + 1, ptx_type="u32")

    return kernel, (random_bytes((64,), "uint32"), blank(64, "uint32"))


def vectors(vec: str) -> Built:
    """Vectors of words to registers and from there, to other places."""
    n = int(vec[1:])

    @T.prim_func
    def kernel(A: T.Buffer((64 * n,), "uint32"), out: T.Buffer((64 * n,), "uint32"), last: T.Buffer((128,), "uint32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        words = T.alloc_local((n,), "uint32")
        T.ptx.ld(A.ptr_to([n * tx]), dst=words.ptr_to([0]), vec=vec)
        T.ptx.st(out.ptr_to([n * (63 - tx)]), src=words.ptr_to([0]), vec=vec, space="global")
        T.ptx.st(last.ptr_to([2 * tx]), words[1], words[0], vec="v2", space="global")

    return kernel, (random_bytes((64 * n,), "uint32"), blank(64 * n, "uint32"), blank(128, "uint32"))


def atomics(op: str, dtype: str, result: bool) -> Built:
    """Threads of two CTAs change some elements; with a result, each an element of its own."""
    each = 64 if result else 5

    @T.prim_func
    def kernel(A: T.Buffer((128,), dtype), place: T.Buffer((128,), dtype), out: T.Buffer((128,), dtype)):
        T.device_entry()
        bx = T.cta_id([2])
        tx = T.thread_id([64])
        i = T.let(bx * 64 + tx)
        if result:
            out[i] = T.ptx.atom(place.ptr_to([i]), A[i], op=op)
        else:
            out[i] = A[i]
            T.ptx.red(place.ptr_to([i % each]), A[i], op=op)

    return kernel, (random_bytes((128,), dtype), random_bytes((128,), dtype, 1), blank(128, dtype))


def compare_and_swap() -> Built:
    """One thread after the other takes a lock, adds to a sum, and releases the lock."""

    @T.prim_func
    def kernel(lock: T.Buffer((1,), "uint32"), out: T.Buffer((1,), "int32")):
        T.device_entry()
        bx = T.cta_id([4])
        tx = T.thread_id([32])
        if tx == 0:
            while T.ptx.atom.cas(lock.ptr_to([0]), T.uint32(0), T.uint32(1), sem="acquire") != T.uint32(0):
                pass
            out[0] = out[0] + bx + 1
            T.ptx.st_release(lock.ptr_to([0]), T.uint32(0))

    zeros = blank(1, "uint32")
    zeros[...] = 0
    return kernel, (zeros, blank(1))


MEMORY = (
    Case("ld, st", "of devices", of_devices),
    *(
        Case("ld, st", f"{sem} {dtype}", lambda d=dtype, s=sem: loads_and_stores(d, s))
        for sem in ("relaxed", "acquire", "volatile")
        for dtype in ("uint8", "uint16", "int32", "float32", "uint64")
    ),
    *(Case("ld, st", vec, lambda v=vec: vectors(v)) for vec in ("v2", "v4")),
    *(
        Case("atom, red", f"{'atom' if result else 'red'} {op} {dtype}", lambda a=(op, dtype, result): atomics(*a))
        for op, dtype in (
            ("add", "uint32"), ("add", "int32"), ("add", "uint64"), ("min", "int32"), ("max", "uint32"),
            ("max", "int64"), ("and", "uint32"), ("or", "uint64"), ("xor", "int32"),
        )
        for result in (True, False)
    ),
    *(
        Case("atom, red", f"atom {op} uint32", lambda op=op: atomics(op, "uint32", True))
        for op in ("inc", "dec", "exch")
    ),
    Case("atom, red", "a lock of atom.cas", compare_and_swap),
)  # fmt: skip

"""Small complete kernels, each right or wrong by one detail, with the verdict that the PTX ISA gives.

Each case is an edit of a right program, or such a program itself. What the ISA says was written down before the
simulator was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np

import tirx_mini as tvm
from tirx_mini.course import load_module
from tirx_mini.hardware import B200

HEAD = """
from tirx_mini.lang import MBarrier, PipelineState, TCGen05Bar, TMABar
from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tid_in_wg, tma_shared_layout
from tirx_mini.script import tirx as Tx

IN = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (2, 128, 64))
OUT = tma_shared_layout("float32", SwizzleMode.SWIZZLE_128B_ATOM, (2, 128, 32))
HALF = 128 * 64 * 2
BYTES = 2 * HALF


@Tx.prim_func(tirx=True)
def kernel(
    A: Tx.Buffer((256, 256), "float16"), B: Tx.Buffer((128, 256), "float16"), D: Tx.Buffer((256, 128), "float32")
):
    with Tx.kernel():
        bx = Tx.cta_id([GRID], parent="kernel")
        CLUSTER
        wg_id = Tx.warpgroup_id([2], parent="cta")
        warp_id = Tx.warp_id([4], parent="warpgroup")
        lane_id = Tx.thread_id([32], parent="warp")
        row = Tx.meta_var(warp_id * 32 + lane_id)
        pool = Tx.PoolAllocator()
        slot = pool.alloc((2,), "uint32")
        full = TMABar(pool, 2, "full")
        free = TCGen05Bar(pool, 2, "free")
        done = TCGen05Bar(pool, 2, "done")
        given = MBarrier(pool, 2, "given")
        words = pool.alloc((256,), "float32")
        As = pool.alloc((2, 128, 64), "float16", layout=IN)
        Bs = pool.alloc((2, 128, 64), "float16", layout=IN)
        Ds = pool.alloc((2, 128, 32), "float32", layout=OUT)
        pool.commit()
        reg = Tx.alloc_local((64,), "float32")
        reg_wg = reg.view(128, 64, layout=TileLayout(S[(128, 64) : (1 @ tid_in_wg, 1)]))
        full.init(1)
        free.init(1)
        done.init(1)
        given.init(128)
        Tx.ptx.fence.mbarrier_init()
"""

TENSOR = """
if wg_id == 0 and warp_id == 0:
    Tx.ptx.tcgen05.alloc(Tx.address_of(slot), n_cols=256, cta_group=1)
Tx.cuda.cta_sync()
columns = TileLayout(S[(128, 256) : (1 @ TLane, 1 @ TCol)])
tmem = Tx.decl_buffer((128, 256), "float32", scope="tmem", allocated_addr=slot[0], layout=columns)
"""

FREE = """
Tx.cuda.cta_sync()
if wg_id == 0 and warp_id == 0:
    Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
    Tx.ptx.tcgen05.dealloc(slot[0], n_cols=256, cta_group=1)
"""

READ = """
Tx.ptx.tcgen05.fence.after_thread_sync()
with Tx.warpgroup():
    Tx.copy(reg_wg[:, :], tmem[:, 0:64])
with Tx.thread():
    Tx.copy(D[row, 0:64], reg[:])
Tx.ptx.tcgen05.fence.before_thread_sync()
"""


def indented(text: str, depth: int) -> str:
    return "\n".join(" " * depth + line for line in text.splitlines() if line.strip())


def program(body: str, *, grid: int = 1, cluster: int = 1) -> str:
    """The source of a kernel of `grid` CTAs of eight warps. body: its text after the barriers' initialisation."""
    ranks = f'cbx, cby = Tx.cta_id([{cluster}, 1], parent="cluster")' if cluster > 1 else "pass"
    return HEAD.replace("GRID", str(grid)).replace("CLUSTER", ranks) + indented(body, 8) + "\n"


@dataclass(frozen=True)
class Case:
    """A kernel, and what the PTX ISA says of it.

    base: the program of which it is an edit. edits: of its text, as differences: lines that begin with "-", "+" or " ".
    verdicts, codes: of the run and of its first finding, one of which is expected; no codes for no finding.
    isa: the section that decides. line: a text in the line of the first finding.
    happened: whether that finding happened, where that matters.
    products: if not 0, D[0:128, 0:64] is the sum of so many products of tiles of A and B.
    """

    what: str
    base: str
    verdicts: tuple[str, ...]
    codes: tuple[str, ...]
    isa: str
    edits: tuple[str, ...]
    line: str = ""
    happened: bool | None = None
    products: int = 0
    sms: int = 2


def cases(table: str) -> tuple[Case, ...]:
    """The cases of a table.

        # what the kernel does
        base | verdicts | codes, or - | section of the ISA | at TEXT | happened | possible | result N | sms N
        -line
        +line

    All after the section is optional. Edits are separated by "@", and made from the last to the first.
    """
    return tuple(_case(text) for text in table.strip().removeprefix("# ").split("\n# "))


def _case(text: str) -> Case:
    what, head, *edits = text.split("\n")
    base, verdicts, codes, isa, *more = head.split(" | ")
    extra = dict(word.partition(" ")[::2] for word in more)
    return Case(
        what, base, tuple(verdicts.split()), tuple(codes.replace("-", "").split()), isa,
        tuple(edit for edit in "\n".join(edits).split("\n@\n") if edit),
        line=extra.get("at", ""), products=int(extra.get("result", 0)), sms=int(extra.get("sms", 2)),
        happened=True if "happened" in extra else False if "possible" in extra else None,
    )  # fmt: skip


def edited(source: str, edit: str) -> str:
    """The source after an edit, of lines that stand there once; the indentation is that of the place."""
    lines = source.split("\n")
    old = [line[1:] for line in edit.split("\n") if line[0] in " -"]
    new = [line[1:] for line in edit.split("\n") if line[0] in " +"]
    words = [line.strip() for line in old]
    found = [i for i in range(len(lines)) if [line.strip() for line in lines[i : i + len(old)]] == words]
    assert len(found) == 1, f"{edit!r} stands {len(found)} times in the program"
    depth = _depth(lines[found[0]]) - _depth(old[0])
    lines[found[0] : found[0] + len(old)] = [" " * depth + line for line in new]
    return "\n".join(lines)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def disagreement(case: Case, programs: Mapping[str, str], folder: Path) -> str:
    """What is otherwise than the ISA says; empty if nothing is."""
    text = reduce(edited, case.edits[::-1], programs[case.base])
    path = folder / "kernel.py"
    path.write_text(text, encoding="utf-8")
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((256, 256), (128, 256)))
    d = np.zeros((256, 128), np.float32)
    report = tvm.simulate(load_module(path).kernel, a, b, d, gpu=B200.with_sms(case.sms))
    if report.verdict not in case.verdicts:
        return f"the verdict is not {' or '.join(case.verdicts)}\n{report}"
    if not case.codes:
        depth = 64 * case.products
        want = a[:128, :depth].astype(np.float32) @ b[:64, :depth].astype(np.float32).T
        wrong = case.products and not np.array_equal(d[:128, :64], want)
        return f"there is a finding\n{report}" if report.findings else "the result is wrong" if wrong else ""
    if not report.findings or report.findings[0].code not in case.codes:
        return f"the first finding is not {' or '.join(case.codes)}\n{report}"
    first = report.findings[0]
    if case.happened not in (None, first.happened):
        return f"whether it happened is wrong\n{report}"
    where = "" if first.span is None else text.split("\n")[first.span.user.line - 1]
    return "" if case.line in where else f"the first finding is in the line {where.strip()!r}\n{report}"

"""docs/concepts/proxies.md: each row of its decision table is a kernel that is right as the row says.

A line of a kernel that ends in `# TX202` is required: without it, that is the first finding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.diagnose.adversarial import FREE, READ, TENSOR, indented, program
from tirx_mini.course import load_module
from tirx_mini.diagnose import Report

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "proxies.md"
REQUIRED = re.compile(r"  # (TX\d+)$", re.MULTILINE)
ROW = re.compile(r"^\| (\d+) \| (.*) \|$", re.MULTILINE)

ELECT = 'if warp_id == 0 and wg_id == 0:\n    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:\n'
WRITE = """
if wg_id == 0:
    with Tx.thread():
        for i in range(32):
            reg[i] = 1.0
        Tx.copy(Ds[0, row, :], reg[0:32])
"""
STORE = f"""
{ELECT}        Tx.copy_async(D[0:128, 0:32], Ds[0, :, :], dispatch="tma")
        Tx.ptx.cp_async.bulk.commit_group()
"""
OPERANDS = """
if wg_id == 0:
    with Tx.thread():
        Tx.copy(half[:], A[row, 0:64])
        Tx.copy(As[0, row, :], half[:])
        Tx.copy(half[:], B[row, 0:64])
        Tx.copy(Bs[0, row, :], half[:])
"""
COOPERATIVE = """
if wg_id == 0:
    with Tx.warpgroup():
        Tx.copy(As[0, :, :], A[0:128, 0:64])
        Tx.copy(Bs[0, :, :], B[0:128, 0:64])
"""
MULTIPLY = f"""
{ELECT}        Tx.gemm_async(tmem[:, 0:64], As[0, :, :], Bs[0, 0:64, :], accum=False, dispatch="tcgen05")
        done.arrive(0)
"""
RESULT = f"""
if wg_id == 0:
    done.wait(0, 0)
{indented(READ, 4)}
{FREE}"""
LOAD = f"""
{ELECT}        full.arrive(0, BYTES)
        Tx.copy_async(As[0, :, :], A[0:128, 0:64], dispatch="tma", mbar=full.ptr_to([0]))
        Tx.copy_async(Bs[0, :, :], B[0:128, 0:64], dispatch="tma", mbar=full.ptr_to([0]))
"""
AGAIN = LOAD.replace("0:64]", "64:128]") + "full.wait(0, 1)\n"
SUM = """
if wg_id == 0:
    with Tx.thread():
        Tx.copy(half[:], As[0, row, :])
        Tx.cast(reg[:], half[:])
        Tx.copy(D[row, 0:64], reg[:])
"""

AFTER = "Tx.ptx.tcgen05.fence.after_thread_sync()  # TX203\n"
# fmt: off
KERNELS: Mapping[int, str] = {
    1: WRITE + """
Tx.ptx.fence.proxy_async("shared::cta")  # TX202
Tx.cuda.cta_sync()  # TX201
""" + STORE + "        Tx.ptx.cp_async.bulk.wait_group(0)\n",
    2: TENSOR + OPERANDS + """
Tx.ptx.fence.proxy_async("shared::cta")  # TX202
Tx.cuda.cta_sync()  # TX201
""" + AFTER + MULTIPLY + RESULT,
    3: TENSOR + COOPERATIVE + """
Tx.cuda.cta_sync()  # TX201
""" + AFTER + MULTIPLY + RESULT,
    4: "Tx.cuda.cta_sync()\n" + LOAD + """
full.wait(0, 0)  # TX207
""" + SUM + "full.wait(0, 0)\n",
    5: TENSOR + LOAD + """
full.wait(0, 0)  # TX207
""" + AFTER + MULTIPLY + RESULT,
    6: TENSOR + LOAD + """
        full.wait(0, 0)
        Tx.ptx.tcgen05.fence.after_thread_sync()
        Tx.gemm_async(tmem[:, 0:64], As[0, :, :], Bs[0, 0:64, :], accum=False, dispatch="tcgen05")
        done.arrive(0)
        done.wait(0, 0)  # TX201
        full.arrive(0, HALF)
        Tx.copy_async(As[0, :, :], A[0:128, 64:128], dispatch="tma", mbar=full.ptr_to([0]))
        full.wait(0, 1)
""" + RESULT,
    7: "Tx.cuda.cta_sync()\n" + LOAD + "full.wait(0, 0)\n" + SUM + """
Tx.ptx.fence.proxy_async("shared::cta")  # TX202
Tx.cuda.cta_sync()  # TX201
""" + AGAIN,
    8: TENSOR + LOAD + "full.wait(0, 0)\nTx.ptx.tcgen05.fence.after_thread_sync()\n" + MULTIPLY + """
if wg_id == 0:
    done.wait(0, 0)  # TX207
    Tx.ptx.tcgen05.fence.after_thread_sync()  # TX203
    with Tx.warpgroup():
        Tx.copy(reg_wg[:, :], tmem[:, 0:64])
    with Tx.thread():
        Tx.copy(D[row, 0:64], reg[:])
    Tx.ptx.tcgen05.fence.before_thread_sync()
done.wait(0, 0)
""" + FREE,
    9: TENSOR + LOAD + "full.wait(0, 0)\nTx.ptx.tcgen05.fence.after_thread_sync()\n" + MULTIPLY + """
if wg_id == 0:
    done.wait(0, 0)
    Tx.ptx.tcgen05.fence.after_thread_sync()
    with Tx.warpgroup():
        Tx.copy_async(reg_wg[:, :], tmem[:, 0:64])
    Tx.ptx.tcgen05.wait.ld()  # TX204
    Tx.ptx.tcgen05.fence.before_thread_sync()  # TX203
    given.arrive(0)
    with Tx.thread():
        Tx.copy(D[row, 0:64], reg[:])
if warp_id == 0 and wg_id == 1:
    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
        given.wait(0, 0)  # TX201
        Tx.ptx.tcgen05.fence.after_thread_sync()  # TX203
        Tx.gemm_async(tmem[:, 0:64], As[0, :, :], Bs[0, 0:64, :], accum=False, dispatch="tcgen05")
        free.arrive(0)
if wg_id == 0:
    free.wait(0, 0)
    Tx.ptx.tcgen05.fence.after_thread_sync()
    with Tx.warpgroup():
        Tx.copy(reg_wg[:, :], tmem[:, 0:64])
    with Tx.thread():
        Tx.copy(D[row, 64:128], reg[:])
    Tx.ptx.tcgen05.fence.before_thread_sync()
""" + FREE,
    10: TENSOR + LOAD + "full.wait(0, 0)\nTx.ptx.tcgen05.fence.after_thread_sync()\n" + """
if wg_id == 0:
    for i in range(64):
        reg[i] = 1.0
    with Tx.warpgroup():
        Tx.copy_async(tmem[:, 0:64], reg_wg[:, :])
    Tx.ptx.tcgen05.wait.st()  # TX204
    Tx.ptx.tcgen05.fence.before_thread_sync()  # TX203
    given.arrive(0)
if warp_id == 0 and wg_id == 1:
    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
        given.wait(0, 0)  # TX201
        Tx.ptx.tcgen05.fence.after_thread_sync()  # TX203
        Tx.gemm_async(tmem[:, 0:64], As[0, :, :], Bs[0, 0:64, :], accum=True, dispatch="tcgen05")
        done.arrive(0)
""" + RESULT,
    11: """
Tx.cuda.cta_sync()  # TX201
""" + LOAD + "full.wait(0, 0)\n" + SUM,
    12: """
if wg_id == 0 and warp_id == 0:
    Tx.ptx.tcgen05.alloc(Tx.address_of(slot), n_cols=256, cta_group=1)
Tx.cuda.cta_sync()  # TX201
with Tx.thread():
    if wg_id == 1:
        D[row, 0] = Tx.float32(slot[0])
""" + FREE,
    13: WRITE + """
Tx.ptx.fence.proxy_async("shared::cta")
Tx.cuda.cta_sync()
""" + STORE + """
        Tx.ptx.cp_async.bulk.wait_group(0, read=True)  # TX201
Tx.cuda.cta_sync()  # TX201
""" + WRITE,
    14: """
Tx.cuda.cta_sync()
if wg_id == 0:
    with Tx.thread():
        for i in range(32):
            reg[i] = 1.0
        Tx.copy(D[row, 0:32], reg[0:32])
Tx.ptx.fence.proxy_async("global")  # TX202
Tx.cuda.cta_sync()  # TX201
if warp_id == 0 and wg_id == 0:
    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
        full.arrive(0, 128 * 32 * 4)
        Tx.copy_async(Ds[0, :, :], D[0:128, 0:32], dispatch="tma", mbar=full.ptr_to([0]))
full.wait(0, 0)
""",
    15: WRITE + """
Tx.ptx.fence.proxy_async("shared::cta")
Tx.cuda.cta_sync()
""" + STORE + """
        Tx.ptx.cp_async.bulk.wait_group(0)  # TX201
Tx.cuda.cta_sync()  # TX201
if wg_id == 0:
    with Tx.thread():
        Tx.copy(reg[0:32], D[row, 0:32])
        Tx.copy(D[row + 128, 0:32], reg[0:32])
""",
    16: TENSOR + LOAD + "full.wait(0, 0)\nTx.ptx.tcgen05.fence.after_thread_sync()\n" + MULTIPLY + """
if wg_id == 0:
    done.wait(0, 0)
    Tx.ptx.tcgen05.fence.after_thread_sync()
    with Tx.warpgroup():
        Tx.copy(reg_wg[:, :], tmem[:, 0:64])
    with Tx.thread():
        Tx.copy(D[row, 0:64], reg[:])
""" + FREE.replace("Tx.cuda.cta_sync()", "Tx.cuda.cta_sync()  # TX201"),
    17: OPERANDS + """
Tx.ptx.fence.proxy_async("shared::cta")  # TX202
Tx.cuda.cta_sync()  # TX201
if wg_id == 0:
    with Tx.warpgroup():
        Tx.ptx.wgmma.fence()  # TX211
        Tx.gemm_async(tiled[:, :], As[0, 0:64, :], Bs[0, 0:64, :], accum=False, dispatch="wgmma")
        Tx.ptx.wgmma.commit_group()
        Tx.ptx.wgmma.wait_group(0)
        Tx.copy(D[0:64, 0:64], tiled[:, :])
""",
}
"""A kernel for each row, by its number. Each begins after the barriers have been initialised."""
# fmt: on


ON_HOPPER = {17}


def source(row: int) -> str:
    """The kernel of a row."""
    more = """        half = Tx.alloc_local((64,), "float16")
        acc = Tx.alloc_local((32,), "float32")
        tiled = acc.view(64, 64, layout=FRAGMENT)
        full.init(1)
"""
    text = program(KERNELS[row]).replace("        full.init(1)\n", more)
    text = text.replace("from tirx_mini.layout import", "from tirx_mini.layout import wgmma_accumulator_layout,")
    text = text.replace("HALF =", "FRAGMENT = wgmma_accumulator_layout(64, 64)\nHALF =")
    fence = "Tx.ptx.fence.mbarrier_init()"
    return text.replace(fence, f"{fence}  # TX205") if row == 11 else text


def required(text: str) -> list[tuple[int, str]]:
    """The numbers of the required lines, from 0, and the codes of what their absence leads to."""
    return [(i, found[1]) for i, line in enumerate(text.split("\n")) if (found := REQUIRED.search(line))]


def run(row: int, text: str, folder: Path) -> Report:
    path = folder / "kernel.py"
    path.write_text(text, encoding="utf-8")
    kernel = load_module(path).kernel
    rng = np.random.default_rng(1)
    arrays = [rng.integers(-4, 5, buffer.shape).astype(str(buffer.dtype)) for buffer in kernel.params]
    return tvm.simulate(kernel, *arrays, gpu="h100" if row in ON_HOPPER else "b200")


def table() -> dict[int, str]:
    """The rows of the page's table, by number."""
    return {int(number): cells for number, cells in ROW.findall(PAGE.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("row", KERNELS)
def test_a_kernel_that_follows_its_row_has_no_finding(row: int, tmp_path: Path) -> None:
    report = run(row, source(row), tmp_path)
    assert report.verdict == "ok" and not report.findings, report


@pytest.mark.parametrize(("row", "line", "code"), [(r, *each) for r in KERNELS for each in required(source(r))])
def test_without_a_required_line_the_finding_is_that_of_the_row(row: int, line: int, code: str, tmp_path: Path) -> None:
    lines = source(row).split("\n")
    lines[line] = lines[line][: len(lines[line]) - len(lines[line].lstrip())] + "pass"
    report = run(row, "\n".join(lines), tmp_path)
    assert report.findings and report.findings[0].code == code, report


def test_the_table_has_a_row_for_each_kernel_and_names_what_it_requires() -> None:
    rows = table()
    assert rows.keys() == KERNELS.keys()
    for row, cells in rows.items():
        text = source(row)
        assert re.findall(r"TX\d+", cells) == [code for _, code in required(text)], row
        for call in re.findall(r"(\w+)\(.*\)  # TX", text):
            assert f"{call}(" in cells, f"row {row} does not name {call}"

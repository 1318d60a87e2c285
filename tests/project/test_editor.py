"""What an editor says of a kernel: nothing where it is right, and the mistake where it is wrong.

pyright runs once, in an empty folder with nothing on its path but the package as it is installed and what that needs.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyright")

ROOT = Path(__file__).parents[2]
COMMENT = "# pyright: {mode}, reportInvalidTypeForm=false\n"
STUDENTS = ("gemm_kernels.py", "gemm_kernels_sm90.py", *(f"examples/native/{n}" for n in (
    "01_saxpy.py", "02_row_shares.py", "03_reduce.py", "04_pipeline.py", "command_line.py")))  # fmt: skip
REFERENCES = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "kernels_ref").rglob("step*.py"))]
MODES = ("basic", "standard")

WRONG = """
from tirx_mini.lang import ClusterPersistentScheduler2D, PipelineState, TMABar
from tirx_mini.layout import TileLayout, tma_shared_layuot  # reportAttributeAccessIssue
from tirx_mini.script import tirx as Tx


@Tx.prim_func(tirx=True)
def kernel(A: Tx.Buffer((128, 64), "float16")):
    with Tx.kernel():
        bx, by = Tx.cta_id([1, 1], parent="kernel")
        pool = Tx.PoolAllocator()
        bar = TMABar(pool, 2, "bar")
        Asmem = pool.alloc((128, 64), "float16", layuot=None)  # reportCallIssue
        pool.comit()  # reportAttributeAccessIssue
        state = PipelineState("tma", 4, 1, 2)  # reportCallIssue
        PipelineState("tma", "4")  # reportCallIssue reportArgumentType
        PipelineState(4, "tma")  # reportCallIssue reportArgumentType
        TMABar("a", 2)  # reportArgumentType
        ClusterPersistentScheduler2D("tile", 4, 4)  # reportCallIssue
        Tx.ptx.tcgen05.comit(bar.ptr_to([0]))  # reportAttributeAccessIssue
        Tx.ptx.tcgen05.commit()  # reportCallIssue
        Tx.ptx.tcgen05.commit(bar.ptr_to([0]), cta_grp=1)  # reportCallIssue
        Tx.ptx.mbarrier.arrive(bar.ptr_to([0]), ctaid=1)  # reportCallIssue
        Tx.ptx.fence.proxy_async(1)  # reportArgumentType
        Tx.ptx.cta_sync()  # reportAttributeAccessIssue
        Tx.cuda.warpgroup_sync()  # reportCallIssue
        Tx.coppy(Asmem[:, :], A[:, :])  # reportAttributeAccessIssue
        Tx.copy(Asmem[:, :])  # reportCallIssue
        Tx.cta.copy(Asmem[:, :], A[:, :], dispach="tma")  # reportCallIssue
        Tx.copy_async(Asmem[:, :], A[:, :], dispatch="tmaa")  # reportArgumentType
        with Tx.thraed(parent="warp")[Tx.ptx.elect_sync()]:  # reportAttributeAccessIssue
            bx.stage = 1  # reportAttributeAccessIssue
        with Tx.thread(parent="wrap"):  # reportArgumentType
            bar.wait(0)  # reportCallIssue
            bar.arrive(0, byts=3)  # reportCallIssue
        Tx.float61  # reportAttributeAccessIssue

        @Tx.inline
        def after(stage):
            return stage + 1

        after(1, 2)  # reportCallIssue
        state.init(is_produser=True)  # reportCallIssue
        state.move_to_next()  # reportAttributeAccessIssue


kernel.scirpt()  # reportAttributeAccessIssue
"""
"""Mistakes; a comment has the rules of pyright that report a line."""

RIGHT = """
import tirx_mini as tvm
from tirx_mini.lang import MBarrier, Pipeline, PipelineState, TMEMPool, WarpgroupRole, WarpRole
from tirx_mini.layout import S, TCol, TileLayout, TLane
from tirx_mini.script import tirx as Tx


def factory(stages: int, dtype="float16", cta_group=1):
    @Tx.prim_func
    def kernel(A: Tx.Buffer((128, 64), dtype), n: Tx.int32, x: Tx.float32):
        with Tx.kernel():
            bx = Tx.cta_id([4], parent="kernel")
            wg_id = Tx.warpgroup_id([1])
            warp_id = Tx.warp_id([4], parent="warpgroup")
            pool = Tx.SMEMPool()
            word = pool.alloc(1, Tx.uint32)
            pipe = Pipeline(pool, stages, full="tma", empty="mbar")
            tmem = TMEMPool(pool, 512, cta_group=cta_group)
            done = MBarrier(pool, 1, "done")
            pool.commit()
            acc = tmem.alloc((128, 128), layout=TileLayout(S[(128, 128) : (1 @ TLane, 1 @ TCol)]))
            phase: Tx.int32
            phase = 0
            phase = phase ^ (n & 1)
            total: Tx.float32 = 0.0
            state = PipelineState(stages, phase=1)
            word[0] = phase
            reg = Tx.alloc_local((4,), "float32")
            for i in Tx.serial(n):
                reg[i % 4] += Tx.float32(i) * x
                phase ^= 1
            for k in range(bx + 1):
                total = Tx.max(total, reg[k % 4]) if k > 2 and bx != 3 else total
                done.wait(state.stage, state.phase ^ 1)
            for i, j in Tx.grid(4, 4):
                reg[i] = reg[j]
            if 0 <= wg_id < 1 and not warp_id == 3:
                with Tx.warp(parent="cta")[0:2]:
                    Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=cta_group)
            with WarpRole(warp_id, 3, regs=24), Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                Tx.ptx.mbarrier.arrive(done.ptr_to([0]), cta_id=0, pred=True)
                pipe.full.remote_view(0).arrive(state.stage, 64)
            with WarpgroupRole(wg_id, (0, 1)):
                Tx.wg.copy(reg.view(128, 4), acc[:, 0:4])
            Tx.cast(Tx.alloc_local((4,), "float16")[:], reg[:])
            state.advance()
            Tx.cuda.printf("%d\\n", Tx.cast(min(bx, 3), "int32"))

    return kernel


report = tvm.simulate(factory(2), gpu="b200")
print(report.verdict, factory(2).script())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files, and an environment with the package and what it needs."""
    folder = tmp_path_factory.mktemp("student")
    packages = folder / ".env" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    (folder / ".env" / "pyvenv.cfg").touch()
    shutil.copytree(ROOT / "tirx_mini", packages / "tirx_mini", ignore=shutil.ignore_patterns("__pycache__"))
    for needed in ("numpy", "torch", "ml_dtypes", "rich"):
        (packages / needed).symlink_to(Path(sysconfig.get_path("purelib")) / needed)
    config = {"venvPath": ".", "venv": ".env", "pythonVersion": "3.10"}
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    for mode in MODES:
        (folder / mode).mkdir()
        shutil.copy(ROOT / "utils.py", folder / mode)
        for name in (*STUDENTS, *REFERENCES):
            (folder / mode / name.replace("/", "_").removeprefix("examples_native_")).write_text(in_mode(name, mode))
        (folder / mode / "right.py").write_text(COMMENT.format(mode=mode) + RIGHT)
        (folder / mode / "wrong.py").write_text(COMMENT.format(mode=mode) + WRONG)
    return folder


def in_mode(name: str, mode: str) -> str:
    """A kernel's file with the comment that it needs outside the repository; students' files have it."""
    source = (ROOT / name).read_text(encoding="utf-8")
    if name in REFERENCES or name.endswith("command_line.py"):
        return COMMENT.format(mode=mode) + source
    assert COMMENT.format(mode="basic") in source, f"{name} needs the comment that editors read"
    return source.replace(COMMENT.format(mode="basic"), COMMENT.format(mode=mode))


@pytest.fixture(scope="module")
def found(folder: Path) -> list[dict]:
    """What pyright reports."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--project", str(folder)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(MODES) * (len(STUDENTS) + len(REFERENCES) + 3), done.stdout
    return report["generalDiagnostics"]


@pytest.mark.skipif(sys.platform == "win32", reason="the folder has symbolic links")
class TestEditor:
    def test_it_is_quiet_about_right_kernels(self, found: list[dict]) -> None:
        assert [described(one) for one in found if Path(one["file"]).name != "wrong.py"] == []

    @pytest.mark.parametrize("mode", MODES)
    def test_it_reports_mistakes_at_their_lines(self, found: list[dict], mode: str) -> None:
        expected = dict(mistakes())
        reported = {number: rules_at(found, mode, number) for number in lines_of(found, mode)}
        assert sorted(reported) == sorted(expected)
        for number, rules in expected.items():
            assert reported[number] <= rules, f"line {number}: {WRONG.splitlines()[number - 2]}"


def mistakes() -> Iterator[tuple[int, set[str]]]:
    for number, line in enumerate(WRONG.splitlines(), 2):  # after the comment
        rules = re.findall(r"report\w+", line.partition("#")[2])
        if rules:
            yield number, set(rules)


def lines_of(found: list[dict], mode: str) -> list[int]:
    path = f"{mode}/wrong.py"
    return [one["range"]["start"]["line"] + 1 for one in found if Path(one["file"]).as_posix().endswith(path)]


def rules_at(found: list[dict], mode: str, number: int) -> set[str]:
    path = f"{mode}/wrong.py"
    at = [one for one in found if Path(one["file"]).as_posix().endswith(path)]
    return {one["rule"] for one in at if one["range"]["start"]["line"] + 1 == number}


def described(one: dict) -> str:
    return f"{Path(one['file']).name}:{one['range']['start']['line'] + 1}: {one['message']}"

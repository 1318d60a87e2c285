"""What an editor says of a kernel: nothing where it is right, and the mistake where it is wrong.

pyright runs once, in an empty folder with nothing on its path but the package as it is installed and what that needs.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.copies import copied

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
    copied(ROOT / "tirx_mini", packages / "tirx_mini")
    for needed in ("numpy", "ml_dtypes", "rich"):
        found = find_spec(needed)
        assert found is not None and found.submodule_search_locations is not None
        (packages / needed).symlink_to(found.submodule_search_locations[0])
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


class Server:
    """pyright as the server of an editor: messages of JSON-RPC, each after a header with its length."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "pyright.langserver", "--stdio"]
        self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.folder, self.count = folder, 0
        root = folder.as_uri()
        folders = [{"uri": root, "name": "student"}]
        self.ask("initialize", {"processId": None, "rootUri": root, "capabilities": {}, "workspaceFolders": folders})
        self.send({"method": "initialized", "params": {}})

    def completions(self, text: str, line: int, column: int) -> list[str]:
        """The names that it offers at a place of a file."""
        uri = (self.folder / f"typed{self.count}.py").as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": column}}
        return [item["label"] for item in self.ask("textDocument/completion", place)["items"]]

    def ask(self, method: str, params: dict) -> dict:
        """The result of a request; what the server asks meanwhile has no answer of note."""
        self.count += 1
        self.send({"id": self.count, "method": method, "params": params})
        while True:
            message = self.receive()
            if "method" in message and "id" in message:
                self.send({"id": message["id"], "result": [{} for _ in message["params"].get("items", [])]})
            elif message.get("id") == self.count:
                return message["result"]

    def send(self, message: dict) -> None:
        assert self.process.stdin is not None
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def receive(self) -> dict:
        assert self.process.stdout is not None
        length = 0
        while header := self.process.stdout.readline().strip():
            name, _, value = header.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return json.loads(self.process.stdout.read(length))


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    yield server
    server.process.kill()
    server.process.wait()
    for pipe in (server.process.stdin, server.process.stdout):
        assert pipe is not None
        pipe.close()


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


    @pytest.mark.parametrize(
        ("line", "names"),
        [
            ("Tx.", {"ptx", "cuda", "copy", "gemm_async", "cta", "meta_var", "PoolAllocator", "float16", "prim_func"}),
            ("Tx.ptx.tcgen05.", {"alloc", "commit", "ld", "mma", "fence", "wait"}),
            ("Tx.ptx.mbarrier.arrive.", {"expect_tx", "remote"}),
            ("Tx.cta.", {"copy", "copy_async", "reduce_sum"}),
            ("TMABar(Tx.PoolAllocator(), 2).", {"init", "wait", "arrive", "ptr_to", "remote_view"}),
            ("Tx.copy_async(a, b, ", {"dispatch=", "mbar=", "cta_mask="}),
        ],
    )
    def test_it_completes_names(self, server: Server, line: str, names: set[str]) -> None:
        text = "from tirx_mini.lang import TMABar\nfrom tirx_mini.script import tirx as Tx\n" + line + "\n"
        assert names <= set(server.completions(text, 2, len(line)))


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

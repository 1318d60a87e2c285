"""A sandboxed process executes a file, answers, and is ended; what holds is found out and what does not is said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tirx_mini.sandbox import LOCKS, Failed, Limits, LockedProcess, Sandbox, SandboxError, find_sandbox

LIMITS = Limits(seconds=10)
FILE = """
from tirx_mini.script import tirx as Tx
from utils import check_shape
print("executed")
def hgemm_v1(M, N, K, dtype="float16"):
    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype)):
        with Tx.kernel():
            A[0, 0] = Tx.cast(0, dtype)
    return kernel
def hgemm_v3(M, N, K, dtype="float16"):
    while True:
        pass
"""


@pytest.fixture
def process(tmp_path: Path) -> Iterator[LockedProcess]:
    file = tmp_path / "gemm_kernels.py"
    file.write_text(FILE)
    process = find_sandbox(bubblewrap=False).start(LIMITS, file)
    yield process
    process.close()


def test_it_answers_each_request_and_keeps_what_is_printed(process: LockedProcess) -> None:
    assert process.ask({"load": True, "sms": None}, 10, "the file").kind == "loaded"
    request = {"step": 1, "shape": [64, 64, 64], "dtype": "float16", "sms": None}
    answer = process.ask(request, 10, "hgemm_v1")
    assert answer.kind == "built"
    assert '"kernel"' in answer.text
    assert process.ask({**request, "step": 2}, 10, "hgemm_v2").kind == "missing"
    process.close()
    assert process.log == "executed\n"


def test_it_is_ended_when_it_takes_too_long(process: LockedProcess) -> None:
    with pytest.raises(Failed, match=r"^hgemm_v3 took longer than 0.1 s$") as error:
        process.ask({"step": 3, "shape": [64, 64, 64], "dtype": "float16", "sms": None}, 0.1, "hgemm_v3")
    assert error.value.kind == "time"
    assert not process.running


def test_bubblewrap_is_used_where_it_works() -> None:
    sandbox = find_sandbox()
    if shutil.which("bwrap") is None:
        assert sandbox.bubblewrap is None
    elif sandbox.bubblewrap is not None:
        assert sandbox.name.startswith("bubblewrap")
        assert sandbox.missing == ()


def test_what_is_not_enforced_is_said() -> None:
    sandbox = find_sandbox(bubblewrap=False, locks=())
    assert sandbox.name == "none"
    assert len(sandbox.missing) == 5 and not sandbox.closed
    assert any("network" in sentence for sentence in sandbox.missing)
    limited = find_sandbox(bubblewrap=False, locks=("rlimits",))
    assert set(limited.missing) < set(sandbox.missing) and not limited.closed


@pytest.mark.parametrize(("lock", "closed"), [("landlock", False), ("seccomp", True)])
def test_seccomp_alone_closes_a_hand_in_off(lock: str, closed: bool) -> None:
    """Landlock does not, since it lets a process change the modes of files that it cannot open."""
    sandbox = find_sandbox(bubblewrap=False, locks=("rlimits", lock))
    if lock not in sandbox.locks:
        pytest.skip(f"this machine has no {lock}")
    assert sandbox.closed is closed and (sandbox.missing == ()) is closed


@pytest.mark.parametrize("locks", [(), ("rlimits",), ("seccomp",), ("landlock",)])
def test_kernels_are_built_with_whatever_a_machine_has(locks: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "gemm_kernels.py"
    file.write_text(FILE)
    process = find_sandbox(bubblewrap=False, locks=locks).start(LIMITS, file)
    try:
        assert set(process.held) <= set(locks)
        request = {"step": 1, "shape": [64, 64, 64], "dtype": "float16", "sms": None}
        assert process.ask(request, 10, "hgemm_v1").kind == "built"
    finally:
        process.close()


def test_a_sandbox_that_does_not_start_says_why(tmp_path: Path) -> None:
    broken = Sandbox("broken", shutil.which("false") or "false", LOCKS)
    with pytest.raises(SandboxError):
        broken.start(LIMITS, tmp_path / "gemm_kernels.py")


def test_a_request_may_bring_the_text_and_name_any_factory(process: LockedProcess) -> None:
    """A process that is started beforehand opens no file any more: the text comes with the request."""
    text = FILE.replace("hgemm_v1", "mine").replace('print("executed")', "WIDTH = 4")
    request = {"text": text, "name": "mine", "shape": [64, 64, 64], "constants": {"WIDTH": 8}, "sms": None}
    assert process.ask(request, 10, "mine").kind == "built"
    broken = text.replace("Tx.cast", "Tx.cask")
    answer = process.ask({**request, "text": broken}, 10, "mine")
    refusal = json.loads(answer.text)
    line = broken[: broken.index("Tx.cask")].count("\n") + 1
    assert (answer.kind, refusal["code"], refusal["line"]) == ("error", "TX403", line)
    assert refusal["column"] == broken.splitlines()[line - 1].index("Tx.cask") + 1
    answer = process.ask({**request, "text": "x = 1\n1 // 0\n", "name": "x"}, 10, "x")
    assert json.loads(answer.text)["line"] == 2
    answer = process.ask({**request, "text": "def f(:", "name": "f"}, 10, "f")
    assert json.loads(answer.text)["title"].startswith("the text is not Python")

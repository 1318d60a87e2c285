"""A hand-in's kernels arrive as data, or as a text for the student of one of few kinds."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import tirx_mini as tvm
from tests.kernels_ref.for_tvm import for_tvm
from tests.kernels_ref.skeletons import filled_in
from tirx_mini.course import STEPS, KernelRef, default_kernels, load_kernel, load_kernels
from tirx_mini.grading import Builder, Built, HandIn, Lost, Refused
from tirx_mini.ir import TirxError, structural_equal
from tirx_mini.sandbox import LOCKS, Limits, find_sandbox

OTHERS = """

def hgemm_v1(M, N, K, dtype="float16"):
    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype)):
        with Tx.kernel():
            A[0, 0] = nonsense
    return kernel

def hgemm_v2(M, N, K, dtype="float16"):
    raise NotImplementedError("TODO: step 2")

def hgemm_v3(M, N, K, dtype="float16"):
    return [][0]

def hgemm_v4(M, N, K, dtype="float16"):
    return "a kernel"

def hgemm_v5(M, N, K, dtype="float16"):
    while True:
        pass
"""


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    handin = HandIn("handin.tar", "gemm_kernels.py", reference().read_text() + OTHERS)
    folder = tmp_path_factory.mktemp("scratch")
    with Builder(handin, Limits(seconds=2), find_sandbox(), folder) as builder:
        yield builder
    assert not list(folder.iterdir())


def reference() -> Path:
    return next((default_kernels() / "sm100").glob("step06*.py"))


def refused(builder: Builder, step: int) -> Refused:
    found = builder.build(step, (256, 256, 256))
    assert isinstance(found, Refused)
    return found


def test_a_kernel_is_the_one_that_the_loader_makes_here(builder: Builder) -> None:
    shape = 384, 640, 256
    found = builder.build(6, shape, "bfloat16", sms=2)
    assert isinstance(found, Built)
    here = load_kernels(reference(), sms=2)[6](*shape, "bfloat16")
    assert tvm.load_json(found.text).script() == here.script()
    files = {str(builder.file): str(builder.file)}
    assert tvm.load_json(found.text, files=files).span == tvm.load_json(found.text).span


def test_a_mistake_has_the_page_of_check(builder: Builder) -> None:
    found = refused(builder, 1)
    with pytest.raises(TirxError) as error:
        load_kernel(KernelRef(builder.file, "hgemm_v1"), shape=(256, 256, 256))
    assert found.kind == "error"
    assert found.text == str(error.value).replace(f"{builder.file.parent}/", "")


@pytest.mark.parametrize(
    ("step", "kind", "text"),
    [
        (2, "todo", "is not filled in: step 2"),
        (3, "error", "IndexError: list index out of range"),
        (4, "not IR", "hgemm_v4 does not make a kernel: it returned str"),
        (5, "time", "hgemm_v5 took longer than 2 s"),
        (7, "missing", "gemm_kernels.py defines no hgemm_v7"),
    ],
)
def test_other_mistakes(builder: Builder, step: int, kind: str, text: str) -> None:
    found = refused(builder, step)
    assert found.kind == kind
    assert text in found.text


def test_a_shape_that_the_kernel_does_not_take(builder: Builder) -> None:
    found = builder.build(6, (100, 128, 64))
    assert isinstance(found, Refused)
    assert found.kind == "refused"
    assert "M" in found.text


def test_a_step_that_took_too_long_is_not_tried_again(builder: Builder) -> None:
    assert refused(builder, 5) is refused(builder, 5)


def killing(builder: Builder, times: int) -> threading.Thread:
    """A thread that kills so many processes of a builder with SIGKILL, as the system does where memory is short."""

    def kill() -> None:
        for number in range(times):
            while builder.log.count("executed") <= number:
                time.sleep(0.02)
            newest = max(psutil.Process().children(), key=psutil.Process.create_time)
            os.kill(newest.pid, signal.SIGKILL)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    return thread


SLEEPS = "import time\nprint('executed')\ntime.sleep(1)\n"


def test_a_process_that_the_system_kills_is_started_once_more(tmp_path: Path) -> None:
    handin = HandIn("x", "gemm_kernels.py", SLEEPS + reference().read_text())
    with Builder(handin, Limits(), find_sandbox(bubblewrap=False), tmp_path) as builder:
        killer = killing(builder, 1)
        assert isinstance(builder.build(6, (384, 640, 256)), Built)
        killer.join(10)
        assert not killer.is_alive()


def test_a_process_that_the_system_kills_twice_is_the_fault_of_the_machine(tmp_path: Path) -> None:
    handin = HandIn("x", "gemm_kernels.py", SLEEPS + reference().read_text())
    with Builder(handin, Limits(), find_sandbox(bubblewrap=False), tmp_path) as builder:
        killing(builder, 2)
        with pytest.raises(Lost, match=r"^the system killed the process of the hand-in in gemm_kernels.py$"):
            builder.build(6, (384, 640, 256))


def test_a_process_that_ignores_the_limit_of_cpu_time_is_out_of_time(tmp_path: Path) -> None:
    """The system kills that one too, a second later."""
    spins = "import sys\ns = sys.modules['signal']\ns.signal(s.SIGXCPU, s.SIG_IGN)\nwhile True: ...\n"
    handin = HandIn("x", "gemm_kernels.py", spins)
    with Builder(handin, Limits(seconds=60, cpu_s=1), find_sandbox(), tmp_path) as builder:
        assert refused(builder, 1) == Refused("time", "gemm_kernels.py used more than 1 s of CPU time")


def test_a_file_that_is_no_python_is_refused_once_for_all_steps(tmp_path: Path) -> None:
    with Builder(HandIn("x", "gemm_kernels.py", "def ("), Limits(), find_sandbox(), tmp_path) as builder:
        assert refused(builder, 1).kind == "python"
        assert refused(builder, 1).text.startswith("gemm_kernels.py:1: ")
        assert refused(builder, 1) is refused(builder, 2)


# -- hand-ins for tvm --------------------------------------------------------------------------------------------------

UNKNOWN = """

def hgemm_v1(M, N, K):
    from tvm.tir.layout import Nothing
    return Nothing()

def hgemm_v2(M, N, K):
    return tvm.relax.build
"""


@pytest.fixture(scope="module", params=["bubblewrap", "locks", "no file system of its own"])
def written_for_tvm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    """The solutions of the steps, with mistakes in the first two."""
    locks = ("rlimits", "seccomp") if request.param.startswith("no") else LOCKS
    sandbox = find_sandbox(bubblewrap=request.param == "bubblewrap", locks=locks)
    if (sandbox.bubblewrap is None) is (request.param == "bubblewrap"):
        pytest.skip("bubblewrap is not installed, or may not make namespaces here")
    handin = HandIn("handin.tar", "gemm_kernels.py", for_tvm(filled_in("sm100", STEPS)) + UNKNOWN)
    with Builder(handin, Limits(seconds=20), sandbox, tmp_path_factory.mktemp("scratch")) as builder:
        yield builder


def test_a_hand_in_for_tvm_makes_the_kernels_that_the_same_one_makes_for_tirx_mini(written_for_tvm: Builder) -> None:
    reference = load_kernels(default_kernels())
    for step in (4, 10):
        shape = STEPS[step].shape(512)
        found = written_for_tvm.build(step, shape)
        assert isinstance(found, Built), found
        assert structural_equal(tvm.load_json(found.text), reference[step](*shape))


@pytest.mark.parametrize(
    ("step", "said"),
    [(1, "does not provide `Nothing` of `tvm.tir.layout`"), (2, "does not provide `relax` of `tvm`")],
)
def test_a_mistake_in_a_hand_in_for_tvm_has_the_page_of_check(written_for_tvm: Builder, step: int, said: str) -> None:
    found = refused(written_for_tvm, step)
    with pytest.raises(TirxError) as error:
        load_kernel(KernelRef(written_for_tvm.file, f"hgemm_v{step}"), shape=(256, 256, 256))
    assert found.kind == "error" and said in found.text
    assert found.text == str(error.value).replace(f"{written_for_tvm.file.parent}/", "")

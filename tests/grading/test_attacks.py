"""Hostile hand-ins: each file of `attacks/` is one, and each ends as what it is, with a sentence that says why.

With bubblewrap, and with what a process can do to itself alone, as in a container that has no namespaces.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import tirx_mini as tvm
from tirx_mini.grading import Builder, Built, HandIn
from tirx_mini.sandbox import Limits, Sandbox, find_sandbox

ATTACKS = Path(__file__).parent / "attacks"
MARK = Path("/tmp/tirx-mini-was-here")
SECRET = "hunter2"
LIMITS = Limits(seconds=30, cpu_s=2, memory_mb=1024, output_kb=16)
"""Loops end by CPU time, so that a busy machine changes nothing."""
SLEEPERS = Limits(seconds=2)

KERNEL = "a kernel"
"""The kind of a hand-in whose kernel arrives, and is judged like any other."""
NOT_LOADED = "not loaded"
"""Of one whose kernel the grader refuses to read."""

DENIED = r"PermissionError|Read-only file system"
END = r"hgemm_v1 used more than 2 s of CPU time"


@dataclass(frozen=True)
class End:
    """kind: as in `Refused`, or `KERNEL`, `NOT_LOADED`; several where it depends on the sandbox. said: a pattern."""

    kind: str
    said: str = ""
    limits: Limits = LIMITS


ENDS = {
    "become_root": End("error", DENIED),
    "crash": End("ended", "ended by SIGSEGV in hgemm_v1"),
    "daemon": End("error", DENIED),
    "data_cuda_name": End(NOT_LOADED, r"nodes\[\d+\].name: expected an identifier"),
    "data_deep": End(NOT_LOADED, "expected at most 400 nodes within one another"),
    "data_files": End(KERNEL),
    "data_huge_number": End(NOT_LOADED, "expected at most 1099511627776 elements"),
    "data_loop_of_references": End(NOT_LOADED, "expected a reference to an earlier line"),
    "data_many_nodes": End(NOT_LOADED, "expected a list of at most 200000"),
    "data_other_operation": End(NOT_LOADED, "'System' is not a class of the IR"),
    "data_python_name": End(NOT_LOADED, r"nodes\[\d+\].name: expected an identifier"),
    "deep_answer": End("not IR", "answered what cannot be read"),
    "delete_files": End("error", DENIED),
    "escapes": End("error", r"^error\[TX401\]: RuntimeError: \[2J\[32mscore: 100\[0m"),
    "exit_at_import": End("ended", "ended with status 0 in gemm_kernels.py"),
    "exit_in_factory": End("python", "^gemm_kernels.py:7: SystemExit: 0$"),
    "fake_report": End("not IR", "hgemm_v1 does not make a kernel: it returned bool"),
    "fill_disk": End("error", DENIED),
    "fill_memory": End("memory", "^hgemm_v1 used more than 1024 MiB of memory"),
    "fill_shared_memory": End("error", "Cannot allocate memory"),
    "forged_answer": End("not IR", "answered what nobody had asked"),
    "fork_bomb": End("error", DENIED),
    "hang_at_decoration": End("time", END),
    "hang_at_import": End("time", "gemm_kernels.py used more than 2 s of CPU time"),
    "hang_in_message": End("time", END),
    "import_grader": End("error", r"Permission denied|has no attribute 'load_rules'"),
    "import_reference": End("error", r"Permission denied|No module named 'kernels_ref'"),
    "kernel_hangs": End(KERNEL),
    "kernel_huge_grid": End(KERNEL),
    "kernel_huge_output": End(KERNEL),
    "kernel_huge_registers": End("error", "its registers and local memory have at most 524,288"),
    "kernel_huge_shared": End(NOT_LOADED, "expected an integer from 1 to 2147483648"),
    "kernel_more_parameters": End(KERNEL),
    "kernel_reads_beyond": End(KERNEL),
    "kernel_reads_d": End(KERNEL),
    "kernel_sleeps": End("error", "`Tx.ptx.nanosleep` is an instruction of PTX that tirx_mini does not have"),
    "kernel_unrolls": End("error", "unrolled into 1,000,000,000 copies of its body, which are too many"),
    "kernel_waits_for_nobody": End(KERNEL),
    "kernel_watches_the_clock": End(KERNEL),
    "kill_parent": End("error", DENIED),
    "long_answer": End("output", "the kernel of hgemm_v1 is larger than 32 MiB as data"),
    "long_message": End("error", r"RuntimeError: x{7000}"),
    "lying_kernel": End("not IR", "hgemm_v1 does not make a kernel: it returned Right"),
    "markup": End("error", re.escape("RuntimeError: <script>alert(1)</script>[bold]")),
    "network": End("error", DENIED),
    "no_answer": End("time ended", "took longer than 2 s|ended its answers", SLEEPERS),
    "patch_comparison": End(KERNEL),
    "patch_simulator": End(KERNEL),
    "patch_writer": End(NOT_LOADED, "this is not a saved kernel"),
    "pickled_answer": End("not IR", "answered what cannot be read"),
    "print_flood": End("output", "more than 64 MiB were printed in hgemm_v1"),
    "ptrace": End("error", DENIED),
    "raise_limits": End("refused", "not allowed to raise maximum limit"),
    "read_environment": End("error", "nothing to read"),
    "read_reference": End("error", "nothing to take"),
    "read_secrets": End("error", "nothing to read"),
    "recursion": End("time memory error ended", ""),
    "sleep_at_import": End("time", "gemm_kernels.py took longer than 2 s", SLEEPERS),
    "subprocess_shell": End("error", DENIED),
    "thread_bomb": End("error", "can't start new thread"),
    "write_d": End(KERNEL),
}


@pytest.fixture(params=["bubblewrap", "locks"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    found = find_sandbox(bubblewrap=request.param == "bubblewrap")
    if found.bubblewrap is None and request.param == "bubblewrap":
        pytest.skip("bubblewrap is not installed, or may not make namespaces here")
    if found.missing:
        pytest.skip(f"here {found.missing[0]}")
    return found


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process of the hand-in, and nothing that it wrote."""
    monkeypatch.setenv("TIRX_MINI_SECRET", SECRET)
    other = tmp_path / "other" / "gemm_kernels.py"
    other.parent.mkdir()
    other.write_text(f"# {SECRET}")
    yield
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    assert not MARK.exists()
    for _ in range(100):  # Linux ends the processes of a namespace a little later
        if not list(processes_in(tmp_path)):
            break
        time.sleep(0.05)
    assert not list(processes_in(tmp_path))


def processes_in(folder: Path) -> Iterator[str]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place = (process / "cwd").readlink()
        except OSError:
            continue
        if place.is_relative_to(folder):
            yield process.name


def test_every_attack_has_its_end() -> None:
    assert {path.stem for path in ATTACKS.glob("*.py")} == set(ENDS)


@pytest.mark.parametrize("name", ENDS)
def test_an_attack_ends_as_what_it_is(name: str, sandbox: Sandbox, tmp_path: Path) -> None:
    end, source = ENDS[name], (ATTACKS / f"{name}.py").read_text()
    with Builder(HandIn("handin.tar", "gemm_kernels.py", source), end.limits, sandbox, tmp_path) as builder:
        found = builder.build(1, (128, 128, 64))
        file = str(builder.file)
    kind, text = ("built", "") if isinstance(found, Built) else (found.kind, found.text)
    if isinstance(found, Built):
        try:
            kernel = tvm.load_json(found.text, {file: file})
            kind = KERNEL
            assert kernel.span is None or "passwd" not in kernel.span.file
        except tvm.SavedKernelError as error:
            kind, text = NOT_LOADED, str(error)
    assert kind in (end.kind, *end.kind.split()), text
    assert re.search(end.said, text), text
    assert len(text) <= 9000
    assert all(c.isprintable() or c in "\n\t" for c in text)
    assert not re.search(rf"^(found|sent|written|open|attached 0|calls .*\b0)|{SECRET}", builder.log, re.MULTILINE)
    assert len(builder.log) < 17_000


def test_a_hand_in_is_fresh_for_the_next_student(sandbox: Sandbox, tmp_path: Path) -> None:
    """What one hand-in changed in its process is not there for another."""
    patch = "import tirx_mini\ntirx_mini.left = 5\n" + (ATTACKS / "write_d.py").read_text()
    look = "import tirx_mini\nprint('left', hasattr(tirx_mini, 'left'))\n" + (ATTACKS / "write_d.py").read_text()
    for source in (patch, look):
        with Builder(HandIn("x", "gemm_kernels.py", source), LIMITS, sandbox, tmp_path) as builder:
            assert isinstance(builder.build(1, (128, 128, 64)), Built)
    assert builder.log == "left False\n"


def test_time_is_bounded_for_all_steps_together(tmp_path: Path) -> None:
    source = "".join(f"def hgemm_v{step}(M, N, K, dtype='float16'):\n    while True: ...\n" for step in range(1, 11))
    limits = Limits(seconds=0.4, total_s=1.0)
    with Builder(HandIn("x", "gemm_kernels.py", source), limits, find_sandbox(), tmp_path) as builder:
        found = [builder.build(step, (128, 128, 64)) for step in range(1, 11)]
    assert {each.kind for each in found if not isinstance(each, Built)} == {"time"}
    assert found[-1].text == "all of gemm_kernels.py together took longer than 1 s"

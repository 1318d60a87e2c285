"""Hostile hand-ins: each file of `attacks/` is one, and each ends as what it is, with a sentence that says why.

With bubblewrap, with what a process can do to itself alone, as in a container that has no namespaces, and with seccomp
alone, as on gVisor.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tirx_mini.course import default_kernels
from tirx_mini.grading import (
    Builder,
    Built,
    Graded,
    HandIn,
    Judges,
    Rules,
    grade,
    grade_html,
    grade_page,
    load_rules,
)
from tirx_mini.report import plain
from tirx_mini.sandbox import LOCKS, Limits, Sandbox, find_sandbox

ATTACKS = Path(__file__).parent / "attacks"
MARK = Path("/tmp/tirx-mini-was-here")
SECRET = "hunter2"
LIMITS = MappingProxyType({"seconds": 60, "cpu_s": 1, "memory_mb": 1024, "output_kb": 16})
"""Loops end by CPU time, so that a busy machine changes nothing."""
FILLERS = MappingProxyType({**LIMITS, "cpu_s": 30})
"""To fill memory takes seconds where the machine is slow."""
SLEEPERS = MappingProxyType({"seconds": 1})

DENIED = r"PermissionError|Read-only file system|Too many open files"
END = r"hgemm_v1 used more than 1 s of CPU time"


@dataclass(frozen=True)
class End:
    """said: a pattern of what the report says of the step. built: whether a kernel arrives, and is judged as any other.

    contained: whether the sandbox has a part in it, so that it is tried in each. step: the one that the file defines.
    """

    said: str
    built: bool = False
    contained: bool = True
    limits: Mapping[str, int] = field(default_factory=lambda: LIMITS)
    step: int = 1


def judged(said: str, **more: Any) -> End:
    """Of a kernel that arrives."""
    return End(said, built=True, contained=False, **more)


def unread(said: str) -> End:
    """Of data that is not a kernel."""
    return End(f"what the hand-in built is not a kernel: .*{said}", contained=False)


WRONG = r"of D is wrong"
ENDS = {
    "become_root": End(DENIED),
    "cached_kernel": judged(r"the parameters must be A \(128, 4096\)", step=2),
    "crash": End("ended by SIGSEGV in hgemm_v1", contained=False),
    "daemon": End(DENIED),
    "data_cuda_name": unread(r"nodes\[\d+\].name: expected an identifier"),
    "data_deep": unread("expected at most 400 nodes within one another"),
    "data_files": judged(WRONG),
    "data_huge_number": unread("expected at most 1099511627776 elements"),
    "data_lowered": End("what the hand-in built is lowered already", contained=False),
    "data_of_another_language": End("what the hand-in built is a kernel of TileLang", contained=False),
    "data_one_buffer_twice": judged("the parameters must be A"),
    "data_view_as_parameter": judged("the parameters must be A"),
    "data_loop_of_references": unread("expected a reference to an earlier line"),
    "data_many_nodes": unread("expected a list of at most 200000"),
    "data_other_operation": unread("'System' is not a class of the IR"),
    "data_printf": judged(r"the values of a printf do not fit its format '%s%n'"),
    "data_python_name": unread(r"nodes\[\d+\].name: expected an identifier"),
    "deep_answer": End("answered what cannot be read", contained=False),
    "delete_files": End(DENIED),
    "escapes": End(r"(?m)^error\[TX401\]: RuntimeError: \\x1b\[2J\\x1b\[32mscore: 100\\x1b\[0m", contained=False),
    "exit_at_import": End("ended with status 0 in gemm_kernels.py", contained=False),
    "exit_in_factory": End("(?m)^gemm_kernels.py:7: SystemExit: 0$", contained=False),
    "fake_report": End("hgemm_v1 does not make a kernel: it returned bool", contained=False),
    "fill_disk": End(DENIED),
    "fill_memory": End("(?m)^hgemm_v1 used more than 1024 MiB of memory", limits=FILLERS),
    "fill_shared_memory": End("Cannot allocate memory"),
    "forged_answer": End("answered what nobody had asked", contained=False),
    "fork_bomb": End(DENIED),
    "hang_at_decoration": End(END, contained=False),
    "hang_at_import": End("gemm_kernels.py used more than 1 s of CPU time", contained=False),
    "hang_in_message": End(END, contained=False),
    "import_grader": End(r"tirx_mini.grading.load_rules is not there while a hand-in is graded"),
    "import_reference": End(r"kernels_ref.sm100.step01_single_tile cannot be imported"),
    "kernel_hangs": judged("TX114.*this loop never ends"),
    "kernel_huge_grid": judged("TX602|of D is wrong"),
    "kernel_huge_output": judged("the parameters must be A"),
    "kernel_huge_registers": End("its registers and local memory have at most 524,288", contained=False),
    "kernel_huge_shared": unread("expected an integer from 1 to 2147483648"),
    "kernel_more_parameters": judged("the parameters must be A"),
    "kernel_reads_beyond": judged("TX301.*element 8192 of A is accessed, but A has 8192"),
    "kernel_reads_d": judged("the kernel reads D, which is an output"),
    "kernel_sleeps": judged("TX602.*budget of 20,000,000 iterations"),
    "kernel_unrolls": End("unrolled into 1,000,000,000 copies of its body, which are too many", contained=False),
    "kernel_waits_for_nobody": judged("TX103.*nothing ever arrives at bar"),
    "kernel_watches_the_clock": judged("TX602.*budget of 20,000,000 iterations"),
    "kill_parent": End(DENIED),
    "long_answer": End("the kernel of hgemm_v1 is larger than 32 MiB as data", contained=False),
    "long_message": End(r"RuntimeError: x{400}", contained=False),
    "lying_kernel": End("hgemm_v1 does not make a kernel: it returned Right", contained=False),
    "markup": End(re.escape("RuntimeError: <script>alert(1)</script>[bold]"), contained=False),
    "network": End(DENIED),
    "no_answer": End("took longer than 1 s|ended its answers", limits=SLEEPERS, contained=False),
    "patch_comparison": judged(WRONG),
    "patch_simulator": judged(WRONG),
    "patch_writer": unread("this is not a saved kernel"),
    "pickled_answer": End("answered what cannot be read", contained=False),
    "print_flood": End("more than 64 MiB were printed in hgemm_v1", contained=False),
    "ptrace": End(DENIED),
    "raise_limits": End("not allowed to raise maximum limit"),
    "read_environment": End("nothing to read"),
    "read_reference": End("nothing to take"),
    "read_secrets": End("nothing to read"),
    "recursion": End("used more than 1 s|used more than 1024 MiB|RecursionError|ended by SIG", contained=False),
    "sleep_at_import": End("gemm_kernels.py took longer than 1 s", limits=SLEEPERS, contained=False),
    "subprocess_shell": End(DENIED),
    "thread_bomb": End("can't start new thread"),
    "write_d": judged(WRONG),
}


@pytest.fixture(scope="module")
def judges() -> Iterator[Judges]:
    with judges_with(60) as judges:
        yield judges


def judges_with(seconds: float) -> Judges:
    return Judges(1, replace(load_rules().judge, seconds=seconds, memory_mb=3072))


@pytest.fixture(params=["bubblewrap", "landlock", "seccomp"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    locks = ("rlimits", "seccomp") if request.param == "seccomp" else LOCKS
    found = find_sandbox(bubblewrap=request.param == "bubblewrap", locks=locks)
    if request.param not in found.name:
        pytest.skip(f"this machine has no {request.param}, or does not allow it here")
    if found.missing:
        pytest.skip(f"here {found.missing[0]}")
    return found


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process of the hand-in, and nothing that it wrote."""
    monkeypatch.setenv("TIRX_MINI_SECRET", SECRET)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
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


def rules_for(end: End) -> Rules:
    rules = load_rules()
    return replace(rules, steps=MappingProxyType({end.step: rules.steps[end.step]}), student=end.limits)


def graded(source: str, end: End, sandbox: Sandbox, judges: Judges) -> Graded:
    handin = HandIn("handin.tar", "gemm_kernels.py", source)
    return grade(handin, rules_for(end), jobs=1, steps=(end.step,), judges=judges, sandbox=sandbox)


def check_honest(found: Graded, end: End) -> None:
    """The score is 0, the report says why, and nothing in it does more than to be read."""
    assert found.score == 0
    (step,) = found.steps
    first = step.part("correctness")
    assert first.passed is False
    pages = [page for part in step.parts for page in part.pages]
    text = "\n".join([*(part.said for part in step.parts), *pages, found.problem])
    assert re.search(end.said, text), text
    if end.built and "parameters" not in end.said:
        assert step.part("implementation").said != "there is no kernel"
    for said in (*(part.said for part in step.parts), *pages, found.problem, found.log):
        assert len(said) < 17_000
        assert said == found.log or max(map(len, said.splitlines()), default=0) < 600
        assert all(c.isprintable() or c in "\n\t" for c in said)
    assert not re.search(rf"^(found|sent|written|open|attached 0|calls .*\b0)|{SECRET}", found.log, re.MULTILINE)
    shown = plain(grade_page(found))
    assert "0 of 5 points" in shown
    assert all(c.isprintable() or c == "\n" for c in shown)
    assert "<script>alert(1)" not in grade_html(found)
    assert json.loads(json.dumps(found.as_dict()))


def test_every_attack_has_its_end() -> None:
    assert {path.stem for path in ATTACKS.glob("*.py")} == set(ENDS)


@pytest.mark.parametrize("name", [name for name, end in ENDS.items() if end.contained])
def test_an_attack_on_the_machine_scores_nothing(name: str, sandbox: Sandbox, judges: Judges) -> None:
    end = ENDS[name]
    check_honest(graded((ATTACKS / f"{name}.py").read_text(), end, sandbox, judges), end)


@pytest.mark.parametrize("name", [name for name, end in ENDS.items() if not end.contained])
def test_an_attack_on_the_judge_scores_nothing(name: str, judges: Judges) -> None:
    end, source = ENDS[name], (ATTACKS / f"{name}.py").read_text()
    check_honest(graded(source, end, find_sandbox(), judges), end)


def test_an_honest_hand_in_scores_in_each_sandbox(sandbox: Sandbox, judges: Judges) -> None:
    source = next((default_kernels() / "sm100").glob("step01*.py")).read_text()
    found = graded(source, ENDS["write_d"], sandbox, judges)
    assert found.score == found.steps[0].points == 5


def test_a_hand_in_finds_nothing_of_the_one_before(sandbox: Sandbox, tmp_path: Path) -> None:
    source = (ATTACKS / "write_d.py").read_text()
    patch = "import tirx_mini\ntirx_mini.left = 5\n" + source
    look = "import tirx_mini\nprint('left', hasattr(tirx_mini, 'left'))\n" + source
    for each in (patch, look):
        with Builder(HandIn("x", "gemm_kernels.py", each), Limits(**LIMITS), sandbox, tmp_path) as builder:
            assert isinstance(builder.build(1, (128, 128, 64)), Built)
    assert builder.log == "left False\n"


def test_time_is_bounded_for_all_steps_together(tmp_path: Path) -> None:
    source = "".join(f"def hgemm_v{step}(M, N, K, dtype='float16'):\n    while True: ...\n" for step in range(1, 11))
    limits = Limits(seconds=0.4, total_s=1.0)
    with Builder(HandIn("x", "gemm_kernels.py", source), limits, find_sandbox(), tmp_path) as builder:
        found = [builder.build(step, (128, 128, 64)) for step in range(1, 11)]
    assert {each.kind for each in found if not isinstance(each, Built)} == {"time"}
    assert found[-1].text == "all of gemm_kernels.py together took longer than 1 s"

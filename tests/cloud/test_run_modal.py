"""``modal run run_modal.py`` and ``python run_modal.py``, as subprocesses with Modal's own client.

Without an account, the client is as it is installed. With one, `server.py` answers in the place of Modal's servers.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace

import modal
import pytest
from grpclib import Status
from modal_proto import api_pb2

from cloud import LARGE, Job, Plan
from tests.cloud.conftest import ROOT, Run
from tests.cloud.server import Cloud
from tirx_mini.commands.inspect import main as inspect

KIT = "/root/kit"

WRONG = """
from tirx_mini.script import tirx as T

@T.prim_func
def half(A: T.Buffer((64,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    A[tx + 64] = 0.0
"""


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("run_modal")


# -- without an account ------------------------------------------------------------------------------------------------


def test_without_modal_it_says_what_to_install(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "modal.py").write_text("raise ImportError('no module named modal')")
    done = subprocess.run(
        [sys.executable, str(ROOT / "run_modal.py"), "--step", "1"], env={**environment, "PYTHONPATH": str(tmp_path)},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("error: Modal's client is not installed: run `pip install modal`, and once `modal setup`\n")


def test_an_old_client_is_to_be_upgraded(tmp_path: Path, environment: dict[str, str]) -> None:
    old = tmp_path / "modal"
    old.mkdir()
    (old / "__init__.py").write_text("__version__ = '1.0.0'\nclass Function: pass\n")
    (old / "exception.py").touch()
    (old / "config.py").write_text("config = {}")
    done = subprocess.run(
        [sys.executable, str(ROOT / "run_modal.py")], env={**environment, "PYTHONPATH": str(tmp_path)},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        1, "error: Modal's client 1.0.0 is too old: run `pip install --upgrade modal`\n"
    )  # fmt: skip


@pytest.mark.parametrize("script", [False, True])
def test_without_a_login_it_says_how_to_log_in(script: bool, modal_run: Run) -> None:
    done = modal_run("--step", "1", script=script)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == (
        "error: you are not logged in to Modal: run `modal setup` once, or set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET\n"
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--step", "99"], "error: there is no step 99: write a number from 1 to 2\n"),
        (["--check", "my.py:kernel"], "error: my.py does not exist: name a file as it is seen from "),
        (["--wait", "nan"], "error: --wait nan is no time to wait: write minutes, more than 0 and at most 1440\n"),
        (["--step", "2"], "error: step 2 of gemm_kernels.py is not written yet, 1 TODO is left, the first in line "),
    ],
)
def test_bad_input_ends_modal_run_before_it_asks_the_cloud(arguments: list[str], error: str, modal_run: Run) -> None:
    done = modal_run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(error) and done.stderr.count("\n") == 1


def test_help_is_that_of_the_kit(modal_run: Run) -> None:
    done = modal_run("--help")
    assert done.returncode == 0 and "--grade FILE" in done.stdout and "docs/cloud.md" in done.stdout


# -- with an account ---------------------------------------------------------------------------------------------------


def test_the_output_alone_goes_to_a_file_and_only_kernels_travel(
    modal_run: Run, cloud: Cloud, kit: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--inspect", "1", "--stage", "tir"]
    done = modal_run(*command, cloud=cloud)
    assert inspect(["1", "--stage", "tir", "--kernels", str(kit / "gemm_kernels.py")]) == 0
    assert (done.returncode, done.stdout) == (0, capsys.readouterr().out), done.stderr
    assert "s of a machine without a GPU: " in done.stderr and "Created objects" in done.stderr
    (call,) = cloud.calls
    assert (call.name, call.gpu, list(call.args[1])) == ("on_cpu", "", ["gemm_kernels.py"])
    names = {name.removeprefix("/root/") for name in cloud.sent()}
    assert {"kit/utils.py", "kit/tirx_mini/__init__.py", "kit/tests/test_step01.py", "run_modal.py"} <= names
    assert not [name for name in names if any(word in name for word in ("gemm_kernels", "diary", ".git", ".pyc"))]

    kernels, built = kit / "gemm_kernels.py", list(cloud.builds)
    kernels.write_text(kernels.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    cloud.stopped.clear()
    again = modal_run(*command, cloud=cloud, script=True)
    assert (again.returncode, again.stdout) == (0, done.stdout), again.stderr
    assert cloud.builds == built and cloud.calls[1].args[1] != call.args[1]


def test_functions_have_one_attempt_a_limit_and_no_machine_that_stays(modal_run: Run, cloud: Cloud) -> None:
    cloud.free = False
    done = modal_run("--step", "1", "--wait", "0.01", cloud=cloud)
    assert (done.returncode, done.stdout) == (4, "")
    assert "error: no B200 was free within 0.01 min, and waiting costs nothing: try again later" in done.stderr
    assert cloud.stopped and [(call.name, call.gpu) for call in cloud.calls] == [("on_gpu", "B200")]
    assert set(cloud.created) == {"on_gpu", "on_cpu", "grade_one"}
    for function in cloud.created.values():
        assert function.retry_policy.retries == 0 and 0 < function.timeout_secs <= 1800
        assert function.task_idle_timeout_secs == 2 and function.warm_pool_size == 0
    gpu, judge = cloud.created["on_gpu"], cloud.created["grade_one"]
    assert (gpu.resources.milli_cpu, gpu.resources.memory_mb) == (LARGE[0] * 1000, LARGE[1] * 1024)
    assert gpu.concurrency_limit == 1
    assert judge.block_network and judge.untrusted and judge.single_use_containers
    assert all(image_is_of_the_constraints(cloud, function.image_id) for function in cloud.created.values())


def image_is_of_the_constraints(cloud: Cloud, image: str) -> bool:
    """Return whether an image installs all packages with the kit's constraints.txt, those of GPU runs included."""
    layers = [cloud.images[image]]
    while layers[-1].base_images:
        layers.append(cloud.images[layers[-1].base_images[0].image_id])
    lines = [line for layer in layers for line in layer.dockerfile_commands if "python -m pip install" in line]
    packages = {re.split("[<>=]", word)[0] for line in lines for word in shlex.split(line)}
    (given,) = (mount for mount in cloud.mounts.values() if list(mount) == [f"{KIT}/constraints.txt"])
    (digest,) = given.values()
    same = cloud.contents[digest] == (ROOT / "constraints.txt").read_bytes()
    pinned = len(lines) == 2 and all(f"--constraint {KIT}/constraints.txt" in line for line in lines)
    return same and pinned and packages >= {"numpy", "torch", "pytest", "setuptools"}


@pytest.fixture
def gpu_machine(cloud: Cloud, tmp_path: Path) -> Cloud:
    """A cloud whose machines say that they have a GPU."""
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\ncase $* in *memory*) echo 0, 0;; *) echo NVIDIA H200;; esac\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    cloud.path = f"{tool.parent}{os.pathsep}{cloud.path}"
    return cloud


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in of nvidia-smi is a shell script")
def test_a_step_is_tested_on_the_gpu_that_was_asked_for(modal_run: Run, gpu_machine: Cloud) -> None:
    done = modal_run("--step", "1", "--gpu", "B300", cloud=gpu_machine)
    assert "tests/test_step01.py::test_step01[128x128x64]" in done.stdout, done.stderr
    assert done.returncode == 1  # the machine of this test has no GPU
    assert "on NVIDIA H200" in done.stderr and "its price is on https://modal.com/pricing" in done.stderr
    assert [(call.name, call.gpu) for call in gpu_machine.calls] == [("on_gpu", "B300")]


def test_a_machine_without_the_gpu_is_not_used(modal_run: Run, cloud: Cloud, tmp_path: Path) -> None:
    cloud.path = str(tmp_path)
    done = modal_run("--step", "1", cloud=cloud)
    assert (done.returncode, done.stdout) == (4, "")
    assert "error: Modal's machine has no B200: run it again, or choose another kind with --gpu" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in of nvidia-smi is a shell script")
def test_a_kernel_that_the_simulator_accepts_goes_on_to_the_gpu(
    modal_run: Run, gpu_machine: Cloud, tmp_path: Path
) -> None:
    (tmp_path / "my.py").write_text(WRONG.replace("tx + 64", "tx"), encoding="utf-8")
    done = modal_run("--check", f"{tmp_path / 'my.py'}:half", "--gpu", "H100", cloud=gpu_machine)
    assert "half: ok" in done.stdout and "error: this machine has no GPU that PyTorch can use" in done.stdout
    assert done.returncode == 2 and [(call.name, call.gpu) for call in gpu_machine.calls] == [
        ("on_cpu", ""), ("on_gpu", "H100!")
    ]  # fmt: skip


def test_a_kernel_that_the_simulator_rejects_costs_no_gpu(modal_run: Run, cloud: Cloud, tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text(WRONG, encoding="utf-8")
    done = modal_run("--check", f"{tmp_path / 'my.py'}:half", cloud=cloud)
    assert done.returncode == 1 and "error[TX301]" in done.stdout, done.stderr
    assert [(call.name, call.gpu) for call in cloud.calls] == [("on_cpu", "")]


@pytest.mark.parametrize(
    ("behaviour", "sentence"),
    [
        ({"refusal": (Status.INVALID_ARGUMENT, "unknown GPU type B300")},
         "Modal refuses it (unknown GPU type B300): choose another kind of GPU with --gpu"),
        ({"rejection": (Status.UNAUTHENTICATED, "token is revoked")},
         "Modal does not accept your token (token is revoked): run `modal setup` again"),
        ({"ending": api_pb2.GenericResult(status=api_pb2.GenericResult.GENERIC_STATUS_TIMEOUT, exception="1800 s")},
         "Modal ended the run at its time limit (1800 s): ask for less, as with --step 7"),
    ],
)  # fmt: skip
def test_what_modal_refuses_is_one_sentence(
    behaviour: dict[str, object], sentence: str, modal_run: Run, cloud: Cloud
) -> None:
    for name, value in behaviour.items():
        setattr(cloud, name, value)
    done = modal_run(*(["--inspect", "1"] if "ending" in behaviour else ["--step", "1"]), cloud=cloud, script=True)
    assert done.returncode == 4 and f"error: {sentence}\n" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_every_error_of_modals_client_has_a_sentence(runner: ModuleType) -> None:
    kinds = [kind for kind in vars(modal.exception).values() if isinstance(kind, type)]
    for kind in kinds:
        if issubclass(kind, modal.exception.Error) and kind is not modal.exception.ImageBuildError:
            sentence = runner.explained(kind("it is so.\nand more"))
            assert "(it is so): " in sentence and "\n" not in sentence
    broken = modal.exception.ImageBuildError("pip failed", image_id="im-1")
    assert runner.explained(broken).startswith("the image could not be built (pip failed)")
    full = modal.exception.ResourceExhaustedError("workspace budget exceeded")
    assert runner.explained(full) == (
        "a budget or a limit of the workspace is reached (workspace budget exceeded): ask its owner"
    )


WAITS = """
import pathlib, time
print("first")
while not pathlib.Path({gate!r}).exists():
    time.sleep(0.02)
"""


def hears_ctrl_c() -> None:
    """Tests that run in the background of a shell ignore it, and so would their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is not sent to a single process there")
def test_output_is_live_and_ctrl_c_releases_the_machine(
    cloud: Cloud, kit: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "my.py").write_text(WAITS.format(gate=str(tmp_path / "gate")), encoding="utf-8")
    command = [sys.executable, "-m", "modal", "run", "run_modal.py", "--check", f"{tmp_path / 'my.py'}:kernel"]
    with subprocess.Popen(
        command, cwd=kit, env={**environment, **cloud.environment()}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        encoding="utf-8", preexec_fn=hears_ctrl_c,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "first\n"  # while the run waits
        assert process.poll() is None and not cloud.stopped
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    (tmp_path / "gate").touch()
    assert process.returncode == 130 and "stopped: the run is ended, and its machine is released" in errors, errors
    assert cloud.stopped == ["ap-1"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Ctrl-C raises KeyboardInterrupt at once there")
def test_ctrl_c_is_not_lost_where_a_piece_of_output_comes_at_the_same_time(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    waits = asyncio.Event()

    async def pieces(*_: object) -> AsyncIterator[tuple[str, object]]:
        yield "machine", "cpu"
        with suppress(asyncio.CancelledError):  # as asyncio.wait_for does in Python 3.11, if it has a result
            waits.set()
            await asyncio.sleep(60)
        yield "out", b"a piece"
        await asyncio.sleep(60)

    async def cancelled() -> None:
        job = Job(["--check"], {"my.py": b""})
        playing = asyncio.create_task(runner.play(job, Plan([job], "", False, tmp_path, 10.0)))
        await waits.wait()
        playing.cancel()
        await playing

    monkeypatch.setattr(runner, "on_cpu", SimpleNamespace(remote_gen=SimpleNamespace(aio=pieces)))
    with ThreadPoolExecutor(1) as pool, pytest.raises(asyncio.CancelledError):  # another test's loop may run here
        pool.submit(asyncio.run, asyncio.wait_for(cancelled(), 20)).result()


# -- a class -----------------------------------------------------------------------------------------------------------

CLASS = """
import json
from run_modal import grade_many
handins = {{"ann": b"x", "bob": b"broken", "cyd": b"y", {more}}}
for name, results in grade_many(handins, rules="late = 1", jobs=2):
    print(json.dumps([name, str(results)]), flush=True)
    {then}
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in of nvidia-smi is a shell script")
def test_a_hand_in_is_graded_on_a_gpu_and_its_results_come_back(
    modal_run: Run, gpu_machine: Cloud, tmp_path: Path
) -> None:
    (tmp_path / "handin.tar").write_bytes(b"anything")
    out = tmp_path / "out"
    done = modal_run("--grade", str(tmp_path / "handin.tar"), "--out", str(out), cloud=gpu_machine, script=True)
    assert (done.returncode, done.stdout) == (0, "95 of 100\n"), done.stderr
    assert (out / "results.json").read_text() == '["handin.tar", "cuda", null]'
    assert f"wrote {out / 'results.json'}" in done.stderr and "s of a B200: " in done.stderr
    assert [(call.gpu, list(call.args[1])) for call in gpu_machine.calls] == [("B200", ["handin.tar"])]


@pytest.fixture
def grade_class(cloud: Cloud, kit: Path, environment: dict[str, str]) -> Run:
    """A program that grades a class. more: further hand-ins; then: what follows each result."""

    def run(more: str = "", then: str = "") -> subprocess.CompletedProcess[str]:
        known = {**environment, **cloud.environment()}
        command = [sys.executable, "-c", CLASS.format(more=more, then=then)]
        return subprocess.run(command, cwd=kit, env=known, capture_output=True, encoding="utf-8", check=False)

    return run


def test_a_class_is_graded_on_many_machines_and_one_failure_is_one(cloud: Cloud, grade_class: Run) -> None:
    done = grade_class()
    lines = sorted(done.stdout.splitlines())
    assert [line.partition(",")[0] for line in lines] == ['["ann"', '["bob"', '["cyd"'], done.stderr
    assert json.loads(json.loads(lines[0])[1]) == ["gemm_kernels.py", "sim", "late = 1"]
    assert "the container ended without a result" in lines[1]
    assert sorted(call.args[0] for call in cloud.calls) == ["ann", "bob", "cyd"]


def test_a_class_that_is_interrupted_ends_its_machines(cloud: Cloud, grade_class: Run) -> None:
    done = grade_class(more='"dee": b"slow"', then='if name == "cyd": break')
    assert done.returncode == 0 and "cyd" in done.stdout and "dee" not in done.stdout, done.stderr
    assert cloud.stopped == ["ap-1"] and all(child.poll() is not None for child in cloud.containers)


def test_modal_is_the_version_that_is_pinned() -> None:
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert f"modal=={modal.__version__}" in pins

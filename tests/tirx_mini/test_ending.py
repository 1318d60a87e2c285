"""A signal at any moment ends a command, with its children and temporary folders; and a child ends with its parent."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.kernels_ref.skeletons import filled_in

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the system tells what a process leaves behind")

ROOT = Path(__file__).parents[2]
KERNEL = "kernels_ref/sm100/step07_warp_specialized.py:hgemm_v7"
SMALL = ("--shape", "128,128,128", "--sms", "1")
RULES = """
strict = true
[sizes]
1 = { data = [[128, 128, 64]], timed = [128, 128, 64] }
2 = { data = [64], timed = 64 }
"""

Played = Callable[..., dict[str, Any]]

LADDER = ("ladder", "--kernels", "kernels_ref", "--steps", "1-2", "--jobs", "2", "--trace", "OUT/timelines")
ONE = ("ladder", "--kernels", "kernels_ref", "--steps", "10", "--size", "4096", "--jobs", "2")
CHECK = ("check", KERNEL, *SMALL, "--schedules", "3", "--json", "OUT/report.json")
EXPLORE = ("check", KERNEL, *SMALL, "--exhaustive", "50")
TRACE = ("trace", KERNEL, *SMALL, "-o", "OUT/timeline.html")
GRADE = ("grade", "CLASS/ann.py", "--steps", "1", "--html", "OUT/grade.html")
ALL = ("grade", "--all", "CLASS", "--out", "OUT", "--rules", "RULES", "--jobs", "2")
SASS = ("inspect", "1", "--kernels", "kernels_ref", "--stage", "sass", "-o", "OUT/step1.sass")

START, FIRST_ROW = "multiprocessing.process:BaseProcess.start", "tirx_mini.pool:_received"
RUN, FORK, CHILD = "tirx_mini.sim.gpu:Gpu.run", "tirx_mini.worker:Twin.start", "tirx_mini.worker:Worker.call"
BUILDS, TOOL = "tirx_mini.sandbox.process:LockedProcess.ask", "subprocess:run"
REPLACES, WRITES = "tirx_mini.files:_replace", "os:fsync"

MOMENTS = {
    "ladder": (LADDER, (START, 2), (FIRST_ROW, 2), (FIRST_ROW, 3)),
    "a row in two processes": (ONE, (FORK, 1)),
    "check": (CHECK, (RUN, 1), (RUN, 3), (WRITES, 1)),
    "explore": (EXPLORE, (RUN, 1), (RUN, 2), (RUN, 9)),
    "trace": (TRACE, (RUN, 1), (REPLACES, 1), (WRITES, 1)),
    "grade": (GRADE, (BUILDS, 1), (CHILD, 2), (WRITES, 1)),
    "grade --all": (ALL, (BUILDS, 2), (CHILD, 2), (WRITES, 1)),
    "inspect": (SASS, (TOOL, 1)),
}
"""For each kind of command: its words, and the calls, with their number, at which it gets a signal."""
WAYS = [
    (signal.SIGINT, True, None), (signal.SIGINT, False, 0.02), (signal.SIGTERM, False, None), (signal.SIGHUP, True, 0.1)
]  # fmt: skip
"""(signal, whether all processes of the terminal get it, seconds to a second one), in turn."""


def cases() -> Iterator[Any]:
    ways = cycle(WAYS)
    for name, (words, *calls) in MOMENTS.items():
        for (call, count), way in zip(calls, ways):  # noqa: B905 - the ways never end
            marks = pytest.mark.compiler if call == TOOL else ()
            yield pytest.param(words, call, count, way, id=f"{name}, {call.rpartition(':')[2]} {count}", marks=marks)


@pytest.fixture(scope="module")
def played() -> Iterator[Played]:
    """Plays one case of `interrupted.py`."""
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("interrupted.py"))], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert server.stdin is not None and server.stdout is not None
    asks, answers = server.stdin, server.stdout

    def play(**case: Any) -> dict[str, Any]:
        asks.write(json.dumps(case) + "\n")
        asks.flush()
        return json.loads(answers.readline())

    with server:
        yield play
        asks.close()


@pytest.fixture(scope="module")
def hand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two hand-ins that have step 1, and the rules beside it."""
    folder = tmp_path_factory.mktemp("hand-ins") / "class"
    folder.mkdir()
    for name in ("ann", "bob"):
        (folder / f"{name}.py").write_text(filled_in("sm100", [1]) + f"# {name}\n", encoding="utf-8")
    (folder.parent / "grading.toml").write_text(RULES, encoding="utf-8")
    return folder


@pytest.mark.parametrize(("words", "call", "count", "way"), list(cases()))
def test_a_signal_ends_a_command_and_leaves_nothing(
    words: tuple[str, ...], call: str, count: int, way: tuple[int, bool, float | None],
    played: Played, hand_ins: Path, tmp_path: Path,
) -> None:  # fmt: skip
    places = {"OUT": str(tmp_path), "CLASS": str(hand_ins), "RULES": str(hand_ins.parent / "grading.toml")}
    argv = [re.sub("^(OUT|CLASS|RULES)", lambda found: places[found[0]], word) for word in words]
    number, group, again = way
    found = played(argv=argv, call=call, count=count, signal=number, group=group, again=again, folder=str(tmp_path))
    assert found["sent"], f"{call} was called less than {count} times: {found['printed']}"
    assert found["status"] == 128 + number, found["printed"]
    assert (found["processes"], found["temporary"], found["halves"]) == ([], [], [])
    assert "Traceback" not in found["printed"] and "Exception" not in found["printed"]
    said = "interrupted; the same command goes on from here\n" if "--all" in words else ""
    assert found["printed"].endswith(said)


IMPORTS = """
import os, runpy, signal, sys
sys.argv = ["tirx_mini", "explain"]
def hook(event, args):
    if event == "import" and args[0] == "tirx_mini.diagnose":
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(hook)
runpy.run_module("tirx_mini", run_name="__main__", alter_sys=True)
"""


def test_a_command_that_still_imports_ends_at_once() -> None:
    done = program(IMPORTS)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


ENDS = """
import os, signal, sys, tempfile
from tirx_mini.ending import command
signal.signal(signal.SIGHUP, signal.SIG_IGN)
def main():
    folder = tempfile.mkdtemp()
    print(folder)
    os.kill(os.getpid(), signal.SIGHUP)
    return 7
sys.exit(command(main))
"""


def test_a_signal_that_the_parent_ignores_stays_ignored_and_temporary_folders_end_with_the_command() -> None:
    """As under nohup."""
    done = program(ENDS)
    assert (done.returncode, done.stderr) == (7, "")
    assert not Path(done.stdout.strip()).parent.exists()


UNWINDS = """
import os, signal, sys
from tirx_mini.ending import command, unwinding
def main():
    try:
        with unwinding():
            os.kill(os.getpid(), SIGNAL)
    except KeyboardInterrupt:
        return 5
    except SystemExit as end:
        return end.code
sys.exit(command(main))
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 5), (signal.SIGTERM, 143)])
def test_work_that_has_to_be_called_off_gets_an_exception(number: signal.Signals, status: int) -> None:
    done = program(UNWINDS.replace("SIGNAL", f"signal.{number.name}"))
    assert (done.returncode, done.stderr) == (status, "")


PARENT = """
import os, signal, sys, threading, time
from tirx_mini.pool import run_bounded
from tirx_mini.worker import Twin, Worker
from tests.tirx_mini.test_ending import says_and_sleeps, task
folder = sys.argv[1]
for name, target in (("twin", lambda path: Twin(says_and_sleeps).call(path, 600)),  # a copy of one thread
                     ("worker", lambda path: Worker().call(task, path, 600)),
                     ("pool", lambda path: list(run_bounded(says_and_sleeps, [path], jobs=1)))):
    path = os.path.join(folder, name)
    threading.Thread(target=target, args=(path,), daemon=True).start()
    while not os.path.exists(path):
        time.sleep(0.02)
os.kill(os.getpid(), signal.SIGKILL)
"""


def says_and_sleeps(path: str) -> None:
    place = Path(path)
    place.with_name(f".{place.name}").write_text(str(os.getpid()))
    place.with_name(f".{place.name}").rename(place)
    time.sleep(600)


def task(path: str) -> Generator[None, None, None]:
    yield
    says_and_sleeps(path)


def test_children_end_in_the_middle_of_their_work_when_their_parent_is_killed(tmp_path: Path) -> None:
    done = program(PARENT, str(tmp_path))
    assert done.returncode == -signal.SIGKILL, done.stderr
    pids = {path.name: int(path.read_text()) for path in tmp_path.iterdir()}
    assert pids.keys() == {"worker", "twin", "pool"}
    deadline = time.monotonic() + 20
    while alive := {name for name, pid in pids.items() if psutil.pid_exists(pid) and not is_zombie(pid)}:
        assert time.monotonic() < deadline, f"they go on: {alive}"
        time.sleep(0.05)


def is_zombie(pid: int) -> bool:
    """Return whether a process has ended, and nobody has asked how."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def program(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program that gets Ctrl-C, even where the shell of the tests ignores it, as it does in the background."""
    return subprocess.run(
        [sys.executable, "-c", text, *arguments], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=60, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip

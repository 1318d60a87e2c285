"""The step tests' options and fixtures: which kernels, on which machine, at which sizes; and how a failure looks.

pytest tests/test_step03.py                                # gemm_kernels.py, in the simulator or on a Blackwell GPU
pytest tests/test_step03.py --sizes 256,512                # only these sizes
pytest tests --kernels kernels_ref --target sim            # the references
pytest tests --target sim:h100                             # gemm_kernels_sm90.py, on a modelled H100
pytest tests/test_step07.py --schedules 20 --seed 1        # in 20 random orders of events
pytest tests/test_step07.py --possible=warn                # errors that did not happen in these orders are warnings
pytest tests/test_step07.py --sms 4                        # on a GPU with 4 SMs, which computes many tiles on each
pytest tests/test_step07.py --target cuda --explain 20     # what hangs on a GPU is simulated for at most 20 s

Warnings of kernels that pass are in the terminal summary.

Without --sizes and --sms, the steps from 3 on also run one shape of three different extents and, where the kernel is
persistent, one small problem with at least three tiles for each CTA. Their results are judged, and not their times.

Where a kernel hangs on a GPU, the other sizes of its step are skipped: each would cost its whole time limit.
"""

from __future__ import annotations

import gc
import inspect
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest._code.code import ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback

from tests.browser import axe, browser, node_modules  # noqa: F401 (fixtures)

if TYPE_CHECKING:
    from tirx_mini.course import Case, Meter
    from utils import Run

pytest_plugins = ("tests.suites", "tests.texts")

ROOT = Path(__file__).parents[1]
KERNEL = "kernel"
"""The property of a test that says how fast its kernel is, and what was found."""
COMPILER = ("cuda.bindings.nvrtc", "cuda.core", "cuda.pathfinder")
"""The modules without which nothing is compiled."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kernels")
    group.addoption("--kernels", metavar="PATH", help="kernel file or folder under test (default: gemm_kernels*.py)")
    group.addoption("--target", default=None, metavar="TARGET", help="sim, sim:GPU or cuda")
    group.addoption("--sizes", default=None, metavar="N,…", help="only these sizes")
    group.addoption("--sms", type=int, default=None, metavar="N", help="model only N SMs, and set SM_COUNT to N")
    group.addoption(
        "--schedules", type=int, default=1, metavar="N", help="how many orders of events the simulator tries"
    )
    group.addoption("--seed", type=int, default=0, metavar="S", help="of the first of them; 0 is not random")
    group.addoption(
        "--possible",
        default="fail",
        choices=("fail", "warn"),
        help="what errors do that are possible in another order and did not happen (default: fail)",
    )
    group.addoption("--all", action="store_true", help="show each finding, those that follow from others too")
    group.addoption(
        "--explain", type=float, default=60.0, metavar="S", help="seconds to explain what hangs on a GPU (default: 60)"
    )
    group.addoption("--full", action="store_true", help="also the sizes that take the simulator minutes")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None):
        from tirx_mini.ending import one_thread_each

        one_thread_each()  # the threads of NumPy in several processes would wait for one another
    if not (config.getoption("--target") or "").startswith("sim"):
        choose_gpu()


def pytest_report_header() -> str | None:
    """Say why kernels run in the simulator on a machine that has a GPU."""
    if shutil.which("nvidia-smi") is None or find_spec("torch") is not None:
        return None
    from tirx_mini.pytorch import how_to_install

    return f"kernels run in the simulator: on this machine's GPU, they need PyTorch: {how_to_install()}"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Keep the garbage collector from scanning modules and tests again and again, while they are made and afterwards.

    It runs once in 10,000 new objects, in place of 700: most of what a test makes is freed without it.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()  # the classes that `dataclass(slots=True)` replaces, say, are none of the tests' business
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The longest tests come first, so that no worker is left with one of them at the end.
    items.sort(key=lambda item: item.path.parent.name != "tools")
    if sys.platform == "darwin" or platform.machine() == "ARM64":
        for item in items:
            if item.get_closest_marker("compiler") is not None:
                item.add_marker(pytest.mark.skip(reason="there is no CUDA compiler for this platform"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Hide the compiler from tests that are not marked as needing it, so that they pass where there is none.

    PyTorch, an extra, is hidden in the same way, except from modules that import it themselves, and from the step
    tests: students run these, with whatever they have installed.
    """
    with pytest.MonkeyPatch.context() as patch:
        if shutil.which("nvidia-smi") is None:
            hidden = () if item.get_closest_marker("compiler") is not None else COMPILER
            imported = hasattr(getattr(item, "module", None), "torch") or item.get_closest_marker("torch") is not None
            for module in (*hidden, *(() if imported or is_step_test(item) else ("torch",))):
                patch.setitem(sys.modules, module, None)
        return (yield)


def choose_gpu() -> None:
    """Make the GPU with the least memory in use the only visible one, unless the user has chosen."""
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        return
    query = ["nvidia-smi", "--query-gpu=memory.used,index", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, check=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return
    gpus = sorted(tuple(map(int, line.split(","))) for line in answer.splitlines() if line.strip())
    if gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = str(gpus[0][1])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A step test runs once a shape: `STEP` of its module says which."""
    if "case" in metafunc.fixturenames and hasattr(metafunc.module, "STEP"):
        metafunc.parametrize("case", list(dict.fromkeys(cases(metafunc.config, metafunc.module.STEP))), ids=str)


def cases(config: pytest.Config, number: int) -> list[Case]:
    """The shapes of a step, and those that show what squares and single tiles hide."""
    from tirx_mini.course import STEPS, Case, arch_folder
    from utils import architecture

    step, sms, sizes = STEPS[number], config.getoption("--sms"), config.getoption("--sizes")
    if sizes:
        return [Case(step.shape(int(size)), sms) for size in sizes.split(",")]
    if sms is not None:
        return [Case(shape, sms) for shape in step.all_shapes(full_run(config))]
    target = target_of(config)
    folder = arch_folder(architecture(target))
    return list(step.cases(folder, full=full_run(config), few_sms=target.startswith("sim")))


def full_run(config: pytest.Config) -> bool:
    """Return whether the large sizes run too: where asked for, and on a GPU, where they cost nothing."""
    return config.getoption("--full") or target_of(config).startswith("cuda")


def target_of(config: pytest.Config) -> str:
    from utils import default_target

    return config.getoption("--target") or default_target()


@pytest.fixture(scope="session")
def target(pytestconfig: pytest.Config) -> str:
    """The machine that the kernels run on."""
    return target_of(pytestconfig)


@pytest.fixture
def shape(case: Case) -> tuple[int, int, int]:
    """(M, N, K)."""
    return case.shape


@pytest.fixture
def schedules(
    case: Case, pytestconfig: pytest.Config, request: pytest.FixtureRequest
) -> Generator[dict[str, Any], None, None]:
    """Which orders of events the simulator tries, what others count, SMs, who is told: options of `compile_and_run`."""
    step: int = request.module.STEP

    def told(run: Run) -> None:
        request.node.user_properties.append((KERNEL, f"step {step} {case}: {run}"))

    options = {name: pytestconfig.getoption(f"--{name}") for name in ("schedules", "seed", "possible")}
    with terminal(pytestconfig) as write, progress(pytestconfig, str(case), write) as meter:
        explain = pytestconfig.getoption("--explain")
        yield {"sms": case.sms, "watch": meter.watch, "told": told, "explain_s": explain, **options}


def progress(config: pytest.Config, case: str, write: Callable[[str], None] | None) -> Meter:
    """How far the simulation of a test is, behind what pytest has written on the line; nothing without a terminal."""
    from tirx_mini.course import Meter

    if write is None:
        return Meter(None)
    writer = config.get_terminal_writer()

    def show(text: str) -> None:
        write(behind(f"  {case}: {text}" if text else "", writer.fullwidth - writer.width_of_current_line - 1))

    return Meter(show)


def behind(text: str, room: int) -> str:
    """What writes `text` behind the cursor in `room` columns, in the place of what is there, and leaves the cursor."""
    save, clear, restore = "\x1b7", "\x1b[K", "\x1b8"
    return f"{save}{text[: max(0, room)]}{clear}{restore}"


@contextmanager
def terminal(config: pytest.Config) -> Generator[Callable[[str], None] | None, None, None]:
    """What writes to the terminal, past pytest's capture; None where the output is not one."""
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled():
        there = sys.stdout is not None and sys.stdout.isatty() and config.get_terminal_writer().hasmarkup
        handle = os.dup(sys.stdout.fileno()) if there else None
    if handle is None:
        yield None
        return
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        yield lambda text: print(text, end="", file=stream, flush=True)


@pytest.fixture
def hgemm(request: pytest.FixtureRequest, case: Case, pytestconfig: pytest.Config) -> Any:
    """The kernel factory under test: ``hgemm(M, N, K, dtype="float16")``."""
    return kernel_factory(kernels_of(pytestconfig), request.module.STEP, target_of(pytestconfig), case.sms)


@pytest.fixture
def reference(request: pytest.FixtureRequest, case: Case, pytestconfig: pytest.Config) -> Any:
    """The reference's factory, to compare times with; one that gives None where times are not compared."""
    from tirx_mini.course import default_kernels

    references = default_kernels().resolve()
    if not case.timed or kernels_of(pytestconfig).resolve().is_relative_to(references):
        return lambda *shape: None
    return kernel_factory(references, request.module.STEP, target_of(pytestconfig), case.sms)


def kernels_of(config: pytest.Config) -> Path:
    """The kernels under test: what the option says, else the student's file for the machine."""
    from tirx_mini.hardware import architecture_of
    from utils import architecture

    return Path(config.getoption("--kernels") or architecture_of(architecture(target_of(config))).student_file)


def kernel_factory(path: Path, step: int, target: str, sms: int | None = None) -> Any:
    from tirx_mini.course import KernelFileError, arch_folder, load_kernels
    from utils import architecture

    place = path if path.exists() else ROOT / path
    kernels = load_kernels(place, arch_folder(architecture(target)), sms=sms)
    if step not in kernels:
        raise KernelFileError(f"{place} defines no hgemm_v{step}")
    return kernels[step]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The times and the findings of the kernels that pass."""
    passed: list[pytest.TestReport] = terminalreporter.getreports("passed")
    lines = [str(text) for report in passed for name, text in report.user_properties if name == KERNEL]
    if lines:
        terminalreporter.section("kernels")
        for line in lines:
            terminalreporter.line(line)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where no test used Hypothesis, its plugin has nothing to say: it would be imported for that, which takes long."""
    plugins = session.config.pluginmanager
    if "hypothesis" not in sys.modules and plugins.has_plugin("hypothesispytest"):
        plugins.unregister(name="hypothesispytest")


HUNG = pytest.StashKey[dict[str, str]]()
"""Of the session: by the file of a step test, its first case that hung on a GPU."""


def pytest_runtest_setup(item: pytest.Item) -> None:
    first = item.session.stash.get(HUNG, {}).get(str(item.path))
    if first is not None:
        pytest.skip(f"{first} hung on the GPU, and this size would cost its whole time limit too")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """What is wrong with a kernel is shown as its page, without the Python frames that led there."""
    report = yield
    error = call.excinfo.value if call.excinfo else None
    if error is not None and is_step_test(item) and isinstance(error, page_errors()):
        if hung(error):
            item.session.stash.setdefault(HUNG, {}).setdefault(str(item.path), item.name)
        path, line, _ = item.location
        name = getattr(item.funcargs.get("hgemm"), "__name__", "")
        text = page_text(error, item.config.getoption("--all"), name)
        entry = ReprEntryNative([text + timeline_hint(item, error)])
        crash = ReprFileLocation(path, (line or 0) + 1, headline(error))
        report.longrepr = ReprExceptionInfo(ReprTraceback([entry], None, "native"), crash)
    return report


def hung(error: BaseException) -> bool:
    """Return whether a kernel was ended on a GPU because it did not finish."""
    from tirx_mini.runtime import KernelTimeout

    return isinstance(getattr(error, "cause", None) or error, KernelTimeout)


def page_text(error: BaseException, everything: bool = False, name: str = "") -> str:
    """The page, what was seen on a GPU before what the simulator says of it.

    everything: as in `report_page`. name: of the kernel's factory.
    """
    from tirx_mini.report import plain, report_page

    report, cause = getattr(error, "report", None), getattr(error, "cause", None)
    if report is None:
        return f"{error}\n"
    report = replace(report, kernel=name or report.kernel)
    return (f"{cause}\n\n" if cause else "") + plain(report_page(report, getattr(error, "finding", None), everything))


def timeline_hint(item: pytest.Function, error: BaseException) -> str:
    """For a kernel that is too slow, or that hangs: the command that shows its time; "" for any other."""
    from utils import TooSlow

    report = getattr(error, "report", None)
    slow, hangs = isinstance(error, TooSlow), report is not None and report.verdict == "deadlock"
    if not (slow or hangs) or "hgemm" not in item.funcargs:
        return ""
    what = "where its time goes" if slow else "what each warp waits for"
    return f"\nTo see {what}:\n\n    {timeline_command(item)}\n"


def timeline_command(item: pytest.Function) -> str:
    """``python -m tirx_mini trace …`` for the kernel of a step test, at its shape and on its modelled GPU."""
    from tirx_mini.hardware import DEFAULT_GPU, nearest_gpu
    from tirx_mini.target import Target
    from utils import architecture

    step, case = item.module.STEP, item.callspec.params["case"]
    target = target_of(item.config)
    chosen = Target(target)
    gpu = chosen.detail if chosen.kind == "sim" else nearest_gpu(architecture(target)).name.lower()
    words = ["python -m tirx_mini trace", kernel_place(item.funcargs["hgemm"])]
    words.append(f"--shape {','.join(map(str, case.shape))}")
    words += [f"--gpu {gpu}"] if gpu and gpu != DEFAULT_GPU else []
    words += [f"--sms {case.sms}"] if case.sms else []
    words += [f"--seed {item.config.getoption('--seed')}"] if item.config.getoption("--seed") else []
    return " ".join([*words, f"-o step{step:02}.html"])


def kernel_place(factory: Any) -> str:
    """FILE.py:KERNEL of a factory, from the working directory where it lies below."""
    source = Path(inspect.unwrap(factory).__code__.co_filename)
    place = source.relative_to(Path.cwd()) if source.is_relative_to(Path.cwd()) else source
    return f"{place}:{factory.__name__}"


def headline(error: BaseException) -> str:
    """The sentence for pytest's summary."""
    report, diagnostic = getattr(error, "report", None), getattr(error, "diagnostic", None)
    finding = getattr(error, "finding", None)
    if finding is not None:
        return finding.message
    if report is not None and report.findings:
        verdict = "possible, and right here" if report.only_possible and report.right else report.verdict
        return f"{verdict}: {report.findings[0].message}"
    return diagnostic.message if diagnostic is not None else str(error).splitlines()[0]


def is_step_test(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and hasattr(item.module, "STEP")


def page_errors() -> tuple[type[BaseException], ...]:
    """The errors that explain themselves."""
    from tirx_mini import SimulationError
    from tirx_mini.course import KernelFileError
    from tirx_mini.ir import TirxError
    from tirx_mini.pytorch import PyTorchMissing
    from tirx_mini.runtime import KernelFailure
    from utils import TooSlow, WrongResult

    return TirxError, SimulationError, KernelFileError, KernelFailure, PyTorchMissing, WrongResult, TooSlow

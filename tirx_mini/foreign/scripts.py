"""Execution of other projects' scripts and modules, with tirx_mini in place of their imports."""

from __future__ import annotations

import argparse
import atexit
import importlib
import importlib.util
import os
import runpy
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

from tirx_mini.guests import frontends, resolve
from tirx_mini.hardware import DEFAULT_GPU, GPUS

from .simulated_device import GPU_VARIABLE
from .torch_on_host import gpu_or_simulator

_STUB = """from tirx_mini.foreign.scripts import stand_in

stand_in({package!r})
"""
"""The text of a stub package for child processes, which substitutes tirx_mini."""


def importable() -> Mapping[str, str]:
    """Return the other projects' packages that programs import, each with its front end's context."""
    return {package: context for each in frontends() for package, context in each.imports.items()}


@contextmanager
def in_place_of(packages: Collection[str]) -> Iterator[None]:
    """Substitute tirx_mini for packages of other projects within the block, also in child processes.

    Without a GPU, PyTorch's "cuda" is host memory, and kernels run in the simulator.
    """
    # A stub of a package within another, as cuda.tile, would hide its neighbours from child processes.
    stubs = {package: _STUB.format(package=package) for package in packages if "." not in package}
    with ExitStack() as entered:
        for package, context in importable().items():
            if package in packages:
                entered.enter_context(resolve(context)())
        entered.enter_context(gpu_or_simulator(children=stubs))
        for context in {context for each in frontends() for context in each.hosts.values()}:
            entered.enter_context(resolve(context)())
        yield


_STRICT = "TIRX_MINI_STRICT"
"""The environment variable for child processes."""


def strict() -> bool:
    """Return whether programs end at errors that occur only in another order of events than the run's."""
    return os.environ.get(_STRICT) == "1"


def stand_in(package: str) -> None:
    """Substitute tirx_mini for a package for the rest of the process, called by a child process's stub."""
    entered = ExitStack()
    atexit.register(entered.close)
    entered.enter_context(in_place_of((package,)))
    sys.modules[package] = importlib.import_module(package)


def run_script(argv: Sequence[str] | None, program: str, packages: Collection[str]) -> int:
    """Run a script, or with -m a module, with tirx_mini in place of other packages; return the exit status.

    argv: the command line, or None for that of this process: a script and its arguments. program: the command.
    A mistake in a kernel prints its page and returns 1; a command line that names nothing to run returns 2.
    """
    from tirx_mini.diagnose import SimulationError
    from tirx_mini.ir import TirxError
    from tirx_mini.layout import LayoutError
    from tirx_mini.pytorch import PyTorchMissing, is_missing
    from tirx_mini.script import explained

    options, unknown = _parser(program, packages).parse_known_args(argv)
    given = options.script if options.module is None else ["-m", *options.module]
    missing = None if packages else "this installation has no front end for other projects' languages"
    problem = missing or _problem(unknown or given, program)
    if problem is not None:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    before, path = sys.argv, list(sys.path)
    try:
        with patch.dict(os.environ, _variables(options)), in_place_of(packages):
            if given[0] == "-m":
                sys.argv = list(given[1:])
                runpy.run_module(given[1], run_name="__main__", alter_sys=True)
            else:
                execute(given)
    except (TirxError, LayoutError) as error:
        print(explained(error), file=sys.stderr)
        return 1
    except (SimulationError, PyTorchMissing) as error:
        print(error, file=sys.stderr)
        return 1
    except ImportError as error:
        page = explained(error) if is_missing(error) else None
        if page is None:
            raise
        print(page, file=sys.stderr)
        return 1
    finally:
        sys.argv, sys.path[:] = before, path
    return 0


def execute(given: Sequence[str]) -> None:
    """Execute a script as Python does. given: the script and its arguments."""
    folder = str(Path(given[0]).resolve().parent)
    with patch.object(sys, "argv", list(given)), patch.object(sys, "path", [folder, *sys.path]):
        runpy.run_path(given[0], run_name="__main__")


def _variables(options: argparse.Namespace) -> Mapping[str, str]:
    """Return the environment variables of the options, which child processes inherit."""
    return {**({_STRICT: "1"} if options.strict else {}), **({GPU_VARIABLE: options.gpu} if options.gpu else {})}


def _parser(program: str, packages: Collection[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        usage=f"{program} SCRIPT [ARGUMENT …]\n       {program} -m MODULE [ARGUMENT …]",
        description=f"Run a script or a module with tirx_mini in the place of {', '.join(packages)}. Without a GPU, "
        'PyTorch\'s "cuda" is host memory, and kernels run in the simulator. A mistake in a kernel prints its page.',
    )
    parser.add_argument(
        "--strict", action="store_true",
        help="end at errors that need another order of events than the run had, too; by default they are warnings",
    )  # fmt: skip
    parser.add_argument(
        "--gpu", choices=sorted(GPUS), metavar="GPU",
        help=f"the GPU to simulate: {', '.join(sorted(GPUS))} (default: that of this machine, or {DEFAULT_GPU})",
    )  # fmt: skip
    parser.add_argument("script", metavar="SCRIPT", nargs=argparse.REMAINDER, help="a script, with its arguments")
    parser.add_argument(
        "-m", metavar="MODULE", nargs=argparse.REMAINDER, dest="module", help="a module instead, such as pytest"
    )
    return parser


def _problem(given: Sequence[str], program: str) -> str | None:
    """Return the reason that nothing can be run, as a sentence, or None."""
    if not given:
        return f"which script? Write for example: {program} gemm_kernels.py"
    if given[0] == "-m":
        if len(given) < 2:
            return f"which module? Write for example: {program} -m pytest tests"
        try:
            found = importlib.util.find_spec(given[1])
        except ImportError:
            found = None
        return None if found is not None else f"the module {given[1]} is not installed"
    if given[0].startswith("-"):
        return f"{given[0]} is not an option. Write {program} SCRIPT, or {program} -m MODULE"
    if not Path(given[0]).is_file():
        return f"the script {given[0]} {'is a folder' if Path(given[0]).is_dir() else 'does not exist'}"
    return None

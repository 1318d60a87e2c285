"""Scripts and modules of other projects, run with tirx_mini in the place of those that they import."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path


def run_script(given: Sequence[str], program: str, doc: str | None, within: AbstractContextManager[object]) -> int:
    """Run a script, or with -m a module, `within` a context. Returns the exit status.

    given: the command line: a script and its arguments. program, doc: how the command is called, and what it does.
    A mistake in a kernel prints its page and returns 1; a command line that names nothing to run returns 2.
    """
    from tirx_mini.diagnose import SimulationError
    from tirx_mini.ir import TirxError
    from tirx_mini.layout import LayoutError
    from tirx_mini.pytorch import PyTorchMissing, is_missing
    from tirx_mini.script import explained

    if list(given[:1]) in (["-h"], ["--help"]):
        print(f"usage: {program} SCRIPT [ARGUMENT …]\n       {program} -m MODULE [ARGUMENT …]\n\n{doc}")
        return 0
    problem = _problem(given, program)
    if problem is not None:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    argv, path = sys.argv, list(sys.path)
    try:
        with within:
            if given[0] == "-m":
                sys.argv = list(given[1:])
                runpy.run_module(given[1], run_name="__main__", alter_sys=True)
            else:
                sys.argv = list(given)
                sys.path.insert(0, str(Path(given[0]).resolve().parent))  # as Python does for a script
                runpy.run_path(given[0], run_name="__main__")
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
        sys.argv, sys.path[:] = argv, path
    return 0


def _problem(given: Sequence[str], program: str) -> str | None:
    """Why nothing can be run, as a sentence, or None."""
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

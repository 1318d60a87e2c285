"""A part of the tests on every supported Python that is installed: ``python -m tools.interpreters``.

`make test-all` runs everything on one Python. This runs, on each of the others, the short suite of what depends most on
Python itself (reading source and its positions, printing and reading the IR, what is pickled between processes), and
then every reference kernel in the simulator. They need neither PyTorch nor the CUDA compiler, so the environments are
small; they are kept in a folder of this one for the next time.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
TESTS = tuple(f"tests/tirx_mini/{name}" for name in ("script", "ir", "saved", "test_worker.py", "test_pool.py"))
"""The folders and files whose tests are run; those marked `compiler`, and slow ones, are left out."""
NOT_NEEDED = (
    *("modal", "torch", "cuda-", "nvidia-", "import-linter", "ipykernel", "nb", "playwright", "pyright", "ruff"),
    *("httpx", "llvmlite", "mkdocs", "starlette", "uvicorn"),
)
"""How the names of the packages begin that these tests do without."""
CLASSIFIER = "Programming Language :: Python :: "


@dataclass(frozen=True)
class Interpreter:
    """One Python. version: as in "3.12"."""

    version: str
    path: Path


def supported() -> tuple[str, ...]:
    """The versions of Python that the project's metadata name, as in ("3.10", "3.11")."""
    classifiers = metadata.metadata("tirx_mini").get_all("Classifier") or []
    return tuple(line.removeprefix(CLASSIFIER) for line in classifiers if line.startswith(f"{CLASSIFIER}3."))


def packages(version: str) -> list[str]:
    """The packages for `TESTS` on Python `version`: the project's and its tests' without `NOT_NEEDED`."""
    environment = {"python_version": version, "extra": "dev"}
    found = [Requirement(line) for line in metadata.requires("tirx_mini") or ()]
    return [
        f"{item.name}{item.specifier}"
        for item in found
        if not item.name.startswith(NOT_NEEDED) and (item.marker is None or item.marker.evaluate(environment))
    ]


def find(version: str) -> Interpreter | None:
    """The first Python of `version` that can make an environment, or None."""
    return next((Interpreter(version, path) for path in _candidates(version) if _works(path, version)), None)


def _candidates(version: str) -> Iterator[Path]:
    """Where a Python may be: on PATH, and among the versions of pyenv, whose shims run only the chosen ones."""
    on_path = shutil.which(f"python{version}")
    if on_path:
        yield Path(on_path)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python"))


def _works(path: Path, version: str) -> bool:
    """Return whether `path` starts, is what its name says, and has the module that puts pip into an environment."""
    program = "import ensurepip, sys; print('{}.{}'.format(*sys.version_info))"
    try:
        answer = subprocess.run([path, "-c", program], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and answer.stdout.strip() == version


def environment(interpreter: Interpreter, folder: Path) -> Path:
    """The Python of an environment with `packages`, made where it is not there or was made from other requirements."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    needed, pins = packages(interpreter.version), ROOT / "constraints.txt"
    wanted = "\n".join([*needed, pins.read_text(encoding="utf-8")])
    stamp = folder / "installed.txt"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    subprocess.run([interpreter.path, "-m", "venv", "--clear", folder], check=True)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "-qq", "--no-compile"]
    subprocess.run([*pip, "--constraint", pins, *needed], check=True)
    stamp.write_text(wanted, encoding="utf-8")
    return python


def check(interpreter: Interpreter, jobs: int) -> bool:
    """Run the tests and the ladder; returns whether both passed."""
    try:
        python = environment(interpreter, Path(sys.prefix) / "interpreters" / interpreter.version)
    except subprocess.CalledProcessError as error:
        print(f"{' '.join(map(str, error.cmd))} failed")
        return False
    tests = ["-m", "pytest", "-q", f"--numprocesses={jobs}", "--kernels=kernels_ref", "--short", "-m", "not compiler"]
    ladder = ["-m", "tirx_mini", "ladder", "--size", "512", "--jobs", str(jobs)]
    return all(subprocess.run([python, *command], cwd=ROOT).returncode == 0 for command in ([*tests, *TESTS], ladder))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the part on each Python but this one; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.interpreters", description="Test other versions of Python.")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (default: 2)")
    parser.add_argument("versions", nargs="*", default=supported(), metavar="VERSION", help="as in 3.12 (default: all)")
    options = parser.parse_args(arguments)
    here = "{}.{}".format(*sys.version_info)
    outcomes: dict[str, str] = {}
    for version in options.versions:
        if version == here:
            outcomes[version] = "skipped, `make test-all` runs everything on it"
        elif (interpreter := find(version)) is None:
            outcomes[version] = "skipped, not found"
        else:
            print(f"Python {version}: {interpreter.path}", flush=True)
            start = time.monotonic()
            outcome = "passed" if check(interpreter, options.jobs) else "FAILED"
            outcomes[version] = f"{outcome} in {time.monotonic() - start:.0f} s"
    for version, outcome in outcomes.items():
        print(f"Python {version}: {outcome}")
    return int(any(outcome.startswith("FAILED") for outcome in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())

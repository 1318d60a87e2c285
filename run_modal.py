"""Run the kit on a cloud B200, through Modal.

    pip install modal && modal setup             once
    modal run run_modal.py                       every step's test
    modal run run_modal.py --step 1,3,5          some of them
    modal run run_modal.py --inspect 7           the CUDA C++ of step 7
    modal run run_modal.py --inspect 9 --size 2048 > v9.cu
"""

# modal is not a development dependency, so the type checker cannot see it.
# pyright: reportMissingImports=false, reportFunctionMemberAccess=false

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import modal

HERE = Path(__file__).parent
KIT = "/root/kit"
GPU = "B200"  # as Modal calls it
IGNORED = [".git", ".venv", "build", "dist", "**/__pycache__", "**/.*_cache"]

app = modal.App("gemm-kit")
image = (
    modal.Image.debian_slim(python_version="3.12")
    .add_local_file(HERE / "pyproject.toml", f"{KIT}/pyproject.toml", copy=True)
    .add_local_file(HERE / "constraints.txt", f"{KIT}/constraints.txt", copy=True)
    .add_local_file(HERE / "README.md", f"{KIT}/README.md", copy=True)
    .add_local_dir(HERE / "tirx_mini", f"{KIT}/tirx_mini", copy=True, ignore=IGNORED)
    .run_commands(f"cd {KIT} && pip install --quiet --constraint constraints.txt --editable '.[dev]'")
    .workdir(KIT)
    .add_local_dir(HERE, KIT, ignore=IGNORED)
)


@app.function(image=image, gpu=GPU, timeout=1800)
def run_tests(steps: str) -> int:
    """Run the tests of a list of steps, "" for all; returns the exit status of pytest."""
    from tirx_mini.course import STEPS, parse_steps  # installed in the image, but perhaps not on the local machine

    files = [f"tests/test_step{step:02}.py" for step in (parse_steps(steps) if steps else STEPS)]
    return subprocess.run([sys.executable, "-m", "pytest", "-v", "--target", "cuda", *files], check=False).returncode


@app.function(image=image, timeout=300)
def run_inspect(step: int, size: int, stage: str, comments: bool) -> tuple[int, str, str]:
    """Exit status and output of inspect_cuda.py; compiling needs no GPU. size: 0 for the default."""
    sizes = [str(size)] if size else []
    flags = ["--comments" if comments else "--no-comments", "--stage", stage]
    command = [sys.executable, "inspect_cuda.py", str(step), *sizes, *flags]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    return done.returncode, done.stdout, done.stderr


@app.local_entrypoint()
def main(step: str = "", inspect: int = 0, size: int = 0, stage: str = "cuda", comments: bool = True) -> None:
    """--step N,… or N-M: the tests to run (default: all).

    --inspect N [--size S] [--stage …] [--no-comments]: show what step N becomes instead.
    """
    if inspect:
        status, text, notes = run_inspect.remote(inspect, size, stage, comments)
        sys.stdout.buffer.write(text.encode())
        sys.stderr.write(notes)
    else:
        status = run_tests.remote(step)
    sys.exit(status)

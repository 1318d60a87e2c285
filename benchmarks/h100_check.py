"""All that a Hopper GPU has to confirm, in one go: launches, the references and their times, the conformance
table, the cost of a launch.

    PYTHONPATH=. python benchmarks/h100_check.py --out results

Logs and tables are under --out. Ends with 1 where anything fails; each part has a time limit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tirx_mini.course import STEPS
from tirx_mini.ending import command

ROOT = Path(__file__).parents[1]
STEP_TESTS = tuple(f"tests/test_step{step:02}.py" for step in STEPS)
PARTS: dict[str, tuple[float, tuple[str, ...]]] = {
    "tests": (180, ("-m", "pytest", "tests/gpu", "-v", "-rA", "--tb=short", "-p", "no:cacheprovider")),
    "steps": (
        400,
        ("-m", "pytest", *STEP_TESTS, "--target", "cuda", "--kernels", "kernels_ref", "-rA", "-p", "no:cacheprovider"),
    ),
    "conformance": (200, ("benchmarks/conformance_h100.py", "--out", "{out}")),
    "launch_overhead": (60, ("benchmarks/launch_overhead.py", "--out", "{out}")),
}
"""By name: seconds it may take, and the interpreter's arguments."""


def run(name: str, out: Path) -> int:
    """One part, its output into a log; its exit status, 124 where its time was up."""
    limit, arguments = PARTS[name]
    command = [sys.executable, *(argument.format(out=out) for argument in arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    start = time.monotonic()
    with (out / f"{name}.log").open("w") as log:
        try:
            status = subprocess.run(
                command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, timeout=limit, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            status = 124
    lines = (out / f"{name}.log").read_text(errors="replace").splitlines()
    print(f"== {name}: exit {status} after {time.monotonic() - start:.0f} s")
    print("\n".join(interesting(lines)), flush=True)
    return status


def interesting(lines: list[str]) -> list[str]:
    """What went wrong, and the end of a log."""
    wrong = [line for line in lines if line.startswith(("FAILED", "ERROR", "differ", "hang", "fault", "error"))]
    return [*wrong[:60], *lines[-12:]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for logs and tables")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    statuses = [run(name, out) for name in options.parts.split(",")]
    return int(any(statuses))


if __name__ == "__main__":
    sys.exit(command(main))

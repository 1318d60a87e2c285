"""What a step's kernel becomes: IR, CUDA C++, PTX or machine code. No GPU is needed.

    python inspect_cuda.py 7                     step 7 of gemm_kernels.py at size 1024, as CUDA C++
    python inspect_cuda.py 9 2048 --stage sass   the machine code, and a count of the instructions that matter
    python inspect_cuda.py 7 --stage passes --diff    what each pass of the lowering changes
    python inspect_cuda.py 7 | grep mbarrier_init

A step that is not written yet is shown as the reference has it, and a note on stderr says so.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tirx_mini.codegen import cuda_source
from tirx_mini.course import STEPS, KernelFileError, Shape, Step, default_kernels, load_kernels
from tirx_mini.hardware import DEFAULT_ARCH, architecture_of
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.passes import PIPELINE, lower
from tirx_mini.runtime import Executable, ToolchainError, build, device_arch, summarise, summary_text

DEFAULT_SIZE = 1024
STUDENT = Path(__file__).parent / architecture_of(DEFAULT_ARCH).student_file


def main(argv: list[str] | None = None) -> int:
    """The exit status is 0, 1 for a kernel that cannot be shown at the stage, and 2 for bad input."""
    options = _parser().parse_args(argv)
    if options.list_passes:
        text = "".join(f"{p.name:<24}{p.doc}\n" for p in PIPELINE)
    elif options.step is None:
        print("error: which step? Write for example: python inspect_cuda.py 7", file=sys.stderr)
        return 2
    else:
        try:
            text = STAGES[options.stage](_kernel(options), options)
        except (KernelFileError, TirxError, ToolchainError, ValueError) as error:
            print(error if isinstance(error, TirxError) else f"error: {error}", file=sys.stderr)
            return 1 if isinstance(error, (TirxError, ToolchainError)) else 2
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        _print(text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", type=int, nargs="?", choices=STEPS, metavar="STEP", help="1 to 10")
    parser.add_argument(
        "size", type=int, nargs="?", metavar="SIZE", help=f"M = N = K (default: {DEFAULT_SIZE}); of step 2 only K"
    )
    parser.add_argument("--kernels", type=Path, metavar="PATH", help=f"kernel file or folder (default: {STUDENT.name})")
    parser.add_argument("--dtype", default="float16", choices=("float16", "bfloat16"), help="the type of A, B and D")
    parser.add_argument("--arch", help=f"as in sm_90a (default: that of this machine's GPU, else {DEFAULT_ARCH})")
    parser.add_argument("--stage", default="cuda", choices=STAGES, help="what to show (default: cuda)")
    parser.add_argument("--comments", action="store_true", help="quote the kernel's lines in the CUDA C++")
    parser.add_argument("--diff", action="store_true", help="with --stage passes: what each pass changes")
    parser.add_argument("--list-passes", action="store_true", help="the passes of the lowering, and no more")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to FILE")
    return parser


def _kernel(options: argparse.Namespace) -> PrimFunc:
    """The step's kernel: the student's, or the reference where that is not written yet."""
    kernels = options.kernels or STUDENT
    try:
        return _build(kernels, options)
    except (TirxError, KernelFileError) as error:
        if options.kernels is not None or not (isinstance(error, KernelFileError) or "TODO" in str(error)):
            raise
        print(f"note: step {options.step} of {kernels.name} is not written yet; this is the reference", file=sys.stderr)
        return _build(default_kernels(), options)


def _build(kernels: Path, options: argparse.Namespace) -> PrimFunc:
    found = load_kernels(kernels)
    if options.step not in found:
        raise KernelFileError(f"{kernels} defines no hgemm_v{options.step}")
    return found[options.step](*_shape(STEPS[options.step], options.size), dtype=options.dtype)


def _shape(step: Step, size: int | None) -> Shape:
    """Raises `ValueError` for a size where the step leaves none to choose."""
    if size is not None and not step.free:
        m, n, k = step.shape(size)
        raise ValueError(f"step {step.number} takes no size: it is one tile, M = {m}, N = {n} and K = {k}")
    return step.shape(DEFAULT_SIZE if size is None else size)


# -- stages ------------------------------------------------------------------------------------------------------------


def _tir(kernel: PrimFunc, options: argparse.Namespace) -> str:
    return kernel.script() + "\n"


def _passes(kernel: PrimFunc, options: argparse.Namespace) -> str:
    """The IR after every pass, or what the pass changed in it."""
    parts: list[str] = []
    before = kernel.script()
    if not options.diff:
        parts.append(f"# ---- as written ----\n{before}\n")

    def after(name: str, func: PrimFunc) -> None:
        nonlocal before
        text = func.script()
        body = "\n".join(_changes(before, text)) or "# no change" if options.diff else text
        parts.append(f"# ---- after {name} ----\n{body}\n")
        before = text

    lower(kernel, after=after)
    return "\n".join(parts)


def _changes(before: str, after: str) -> Iterator[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return (line for line in lines if not line.startswith(("---", "+++")))


def _cuda(kernel: PrimFunc, options: argparse.Namespace) -> str:
    return cuda_source(lower(kernel), comments=options.comments).text


def _ptx(kernel: PrimFunc, options: argparse.Namespace) -> str:
    return _executable(kernel, options).source("ptx") + "\n"


def _sass(kernel: PrimFunc, options: argparse.Namespace) -> str:
    exe = _executable(kernel, options)
    sass = exe.source("sass")
    assert exe.func.launch is not None
    return f"{sass}\n{summary_text(summarise(sass), exe.compiled, exe.func.launch.smem_bytes)}\n"


def _executable(kernel: PrimFunc, options: argparse.Namespace) -> Executable:
    return build(lower(kernel), options.arch or device_arch(), original=kernel)


STAGES: Mapping[str, Callable[[PrimFunc, argparse.Namespace], str]] = {
    "tir": _tir,
    "passes": _passes,
    "cuda": _cuda,
    "ptx": _ptx,
    "sass": _sass,
}


def _print(text: str) -> None:
    """Print; a reader that has seen enough (``| head``) ends the program quietly."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.close()


if __name__ == "__main__":
    sys.exit(main())

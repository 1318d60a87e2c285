"""A step's kernel as IR, CUDA C++, PTX or machine code. No GPU is needed.

    python inspect_cuda.py 7                     step 7 of gemm_kernels.py at size 1024, as CUDA C++
    python inspect_cuda.py 9 2048 --stage sass   the machine code and the counts of its instructions
    python inspect_cuda.py --help

The same as ``python -m tirx_mini inspect``.
"""

import sys

from tirx_mini.ending import command


def main() -> int:
    from tirx_mini.commands import run_command  # which takes a second: Ctrl-C has its handler by now

    return run_command("inspect", sys.argv[1:], prog="python inspect_cuda.py")


if __name__ == "__main__":
    sys.exit(command(main))

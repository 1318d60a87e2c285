"""What a hand-in scores, and why.

    python grade.py                          gemm_kernels.py, in the simulator
    python grade.py handin.tar --html grade.html
    python grade.py --help

The same as ``python -m tirx_mini grade``.
"""

import sys

from tirx_mini.commands.grade import main

if __name__ == "__main__":
    sys.exit(main(prog="python grade.py"))

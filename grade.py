"""What a hand-in scores, and why.

    python grade.py                          gemm_kernels.py, in the simulator
    python grade.py handin.tar --html grade.html
    python grade.py --help

The same as ``tirx grade``. Both may be run in a folder that has hand-ins: nothing is imported from there.
"""

import os
import sys

KIT = os.path.dirname(os.path.abspath(__file__))
HERE = os.path.realpath(os.curdir)
sys.path[:] = [KIT, *(path for path in sys.path if os.path.isabs(path) and os.path.realpath(path) != HERE)]

from tirx_mini.commands.grade import main

if __name__ == "__main__":
    sys.exit(main(prog="python grade.py"))

"""Tools that test the simulator by making kernels wrong on purpose."""

import sys

if sys.argv[0] == "-m":  # it is `python -m tools.…` that runs, and its imports take seconds
    from tirx_mini.ending import quiet_start

    quiet_start()

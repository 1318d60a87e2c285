"""Reference solutions of the ladder, one file per step, for comparison with a finished `gemm_kernels.py`.

Each file reads from top to bottom and differs from the previous one only in what its step teaches: `diff` two of them.
"""

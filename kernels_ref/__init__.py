"""Reference solutions of the ladder, one file a step: what a finished `gemm_kernels.py` looks like.

Each file reads from top to bottom, and differs from the one before by what its step teaches: `diff` two neighbours.
"""

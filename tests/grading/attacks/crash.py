"""Crash Python itself."""

import sys

ctypes = sys.modules["ctypes"]
def hgemm_v1(M, N, K, dtype="float16"):
    ctypes.string_at(0)

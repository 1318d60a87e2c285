"""Recurse without an end."""

import sys


def hgemm_v1(M, N, K, dtype="float16"):
    sys.setrecursionlimit(10**9)
    return hgemm_v1(M, N, K, dtype)

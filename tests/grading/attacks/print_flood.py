"""Print without an end."""


def hgemm_v1(M, N, K, dtype="float16"):
    while True:
        print("0" * (1 << 20))

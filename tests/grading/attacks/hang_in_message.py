"""An exception whose message never ends."""


class Endless(Exception):
    def __str__(self):
        while True:
            pass


def hgemm_v1(M, N, K, dtype="float16"):
    raise Endless

"""A kernel of a class of its own, which claims to be one of the language."""

from tirx_mini.ir import PrimFunc


class Right(PrimFunc):
    verdict = "ok"

    def __reduce__(self):
        return print, ("taken apart by pickle",)


def hgemm_v1(M, N, K, dtype="float16"):
    kernel = object.__new__(Right)
    object.__setattr__(kernel, "name", "right")
    return kernel

"""Let the message clear the screen, write a line in green, and turn the rest around."""


def hgemm_v1(M, N, K, dtype="float16"):
    raise RuntimeError("\x1b[2J\x1b[32mscore: 100\x1b[0m\0\x07\r\u202e\u200b\ue000 \ud800 end")

"""Execute another program."""

import os

TOUCH = ["/bin/sh", "-c", "touch /tmp/tirx-mini-was-here"]


def hgemm_v1(M, N, K, dtype="float16"):
    for act in (lambda: os.posix_spawn(TOUCH[0], TOUCH, {}), lambda: os.system(TOUCH[2]) == 0, os.fork):
        try:
            if act():
                print("sent")
        except OSError:
            pass
    os.execv(TOUCH[0], TOUCH)

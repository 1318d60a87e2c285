"""Delete the hand-in, and what is beside it."""

import os
from pathlib import Path


def hgemm_v1(M, N, K, dtype="float16"):
    here = Path(__file__)
    elsewhere = "/tmp/tirx-mini-was-here"
    acts = [here.unlink, here.parent.rmdir, lambda: here.rename(elsewhere), lambda: os.truncate(here, 0)]
    acts += [lambda: os.link(here, elsewhere), lambda: os.symlink("/etc/passwd", elsewhere), lambda: os.utime(here)]
    for act in (*acts, lambda: os.chmod(here, 0), lambda: os.mkdir(elsewhere), lambda: os.mkfifo(elsewhere)):
        try:
            print("written", act())
        except OSError:
            pass
    Path(__file__).write_text("def hgemm_v1(M, N, K, dtype): ...")

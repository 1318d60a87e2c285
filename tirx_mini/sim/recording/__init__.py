"""The timeline recorder: warps and mbarriers note their steps, and engines report their work.

A run that is not recorded knows nothing of it: the recorded program, warps and mbarriers take the places of the others.
While the run lasts only the least is noted; `build` makes a `Timeline` of that at the end.
"""

from .mbarriers import RecordedMbarrier
from .recorder import TimelineRecorder
from .warps import RecordedWarp

__all__ = ["RecordedMbarrier", "RecordedWarp", "TimelineRecorder"]

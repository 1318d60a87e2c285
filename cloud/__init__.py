"""What `run_modal.py` does besides calling Modal: plans of runs, the runs themselves, prices. Needs nothing but Python.

`plan` is used on the machine of the user, `remote` on the one in the cloud.
"""

from .machines import GPUS, LARGE, PRICES, PRICES_FROM, SMALL, Gpu, cost, named
from .plan import STAGES, BadInput, Job, Plan, plan
from .remote import events, gpu_here, graded

__all__ = [
    "GPUS", "LARGE", "PRICES", "PRICES_FROM", "SMALL", "STAGES", "BadInput", "Gpu", "Job", "Plan",
    "cost", "events", "gpu_here", "graded", "named", "plan",
]  # fmt: skip

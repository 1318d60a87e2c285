"""What `run_modal.py` does besides calling Modal: plans of runs, the runs themselves, prices. Needs nothing but Python.

`plan` is used on the machine of the user, `remote` on the one in the cloud.
"""

from .machines import GPUS, LARGE, PRICES, PRICES_FROM, SMALL, Gpu, cost
from .plan import BadInput, Job, Plan, plan
from .remote import events, gpu_here, graded

__all__ = [
    "GPUS", "LARGE", "PRICES", "PRICES_FROM", "SMALL", "BadInput", "Gpu", "Job", "Plan",
    "cost", "events", "gpu_here", "graded", "plan",
]  # fmt: skip

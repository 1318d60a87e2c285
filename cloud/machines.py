"""The machines in the cloud and their prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Gpu:
    """A kind of GPU. modal: as Modal calls it. student_file: the kernels for it. model: the simulated GPU."""

    modal: str
    student_file: str
    model: str


# The kinds that the kit has kernels for, of those that Modal lists (https://modal.com/docs/guide/gpu). "H100!" is an
# H100 and nothing else: for "H100", Modal may give an H200. "B200+" is a B200 or a B300, whichever is free.
GPUS: Mapping[str, Gpu] = MappingProxyType({
    "B200": Gpu("B200", "gemm_kernels.py", "b200"),
    "B200+": Gpu("B200+", "gemm_kernels.py", "b200"),
    "B300": Gpu("B300", "gemm_kernels.py", "b300"),
    "H100": Gpu("H100!", "gemm_kernels_sm90.py", "h100"),
    "H200": Gpu("H200", "gemm_kernels_sm90.py", "h200"),
})  # fmt: skip

PRICES: Mapping[str, float] = MappingProxyType(
    {"B200": 0.001736, "H200": 0.001261, "H100": 0.001097, "CPU core": 0.0000131, "GiB of memory": 0.00000222}
)
"""US dollars a second, as Modal published them (https://modal.com/pricing) on `PRICES_FROM`; it had none for a B300."""
PRICES_FROM = "2026-07-01"

SMALL, LARGE = (2, 4), (8, 16)
"""(CPU cores, GiB of memory) of a machine without a GPU, and of one with a GPU."""


def named(text: str) -> str:
    """The key of `GPUS` for a name in any case, also as Modal writes it; the text itself where none fits."""
    name = text.strip().upper()
    return next((key for key, gpu in GPUS.items() if name in (key, gpu.modal)), text)


def cost(gpu: str, seconds: float) -> str:
    """Return the approximate cost of a run: seconds times the prices of GPU, cores and memory. gpu: "" for none.

    Modal charges a "B200+" as a B200, whichever it is.
    """
    cores, gib = LARGE if gpu else SMALL
    priced = gpu.rstrip("+")
    if gpu and priced not in PRICES:
        return f"{seconds:.0f} s of a {gpu}; its price is on https://modal.com/pricing"
    rate = PRICES.get(priced, 0.0) + cores * PRICES["CPU core"] + gib * PRICES["GiB of memory"]
    what = f"a {gpu}" if gpu else "a machine without a GPU"
    usd = f"about ${seconds * rate:.3f}" if seconds * rate >= 0.001 else "less than $0.001"
    return f"{seconds:.0f} s of {what}: {usd} at Modal's prices of {PRICES_FROM}"

"""The context of the tile compiler's passes: the GPU, the user's options and the collected notes."""

from __future__ import annotations

from dataclasses import field

from tirx_mini.hardware import GpuSpec, gpu_spec
from tirx_mini.ir import Diagnostic, Span
from tirx_mini.records import dataclass

SPECIALIZED, UNSPECIALIZED = "specialized", "unspecialized"
SERIAL, COST_BASED = "serial", "cost-based"


@dataclass(frozen=True)
class Options:
    """Options fixed by a kernel's decorator, its launch or the command line; None leaves the choice to the passes.

    num_warps: warps that compute: a power of two, at most 16.
    num_stages: buffers of each pipeline, at least 1.
    occupancy: CTAs that are to fit on one SM.
    agents: `SPECIALIZED` (producer and compute warps), or `UNSPECIALIZED` (each warp does everything).
    schedule: `SERIAL` (the order of the program, by default), or `COST_BASED` (loads before what does not need them).
    dynamic_persistent: whether as many CTAs as fit take program instances one after another.
    num_ctas: CTAs of a cluster, which may share what they load.
    """

    num_warps: int | None = None
    num_stages: int | None = None
    occupancy: int | None = None
    agents: str | None = None
    schedule: str | None = None
    dynamic_persistent: bool | None = None
    num_ctas: int | None = None


@dataclass
class Context:
    """The state shared by all passes of one compilation.

    gpu: the GPU that the costs and limits are of.
    options: the fixed options.
    grid: the blocks of a launch along x, y and z; None where the program is compiled for any.
    notes: what passes chose or could not do, in order; reports show them as notes.
    """

    gpu: GpuSpec
    options: Options = Options()
    grid: tuple[int, int, int] | None = None
    notes: list[Diagnostic] = field(default_factory=list)

    @property
    def arch(self) -> str:
        """The architecture: "sm_90a", "sm_100a" or "sm_103a"."""
        return self.gpu.arch

    @property
    def has_tensor_memory(self) -> bool:
        """Return whether MMAs accumulate in tensor memory (tcgen05) rather than in registers (wgmma)."""
        return self.gpu.arch.startswith("sm_10")

    def note(self, message: str, span: Span | None = None, hint: str | None = None) -> None:
        """Add a note for the program's author."""
        self.notes.append(Diagnostic(message, span, hint, severity="note"))


def context_for(gpu: str | GpuSpec, options: Options | None = None) -> Context:
    """Return the compilation context for `gpu`, a name in `hardware.GPUS`. Raises `ValueError` for an unknown GPU."""
    return Context(gpu_spec(gpu), options or Options())

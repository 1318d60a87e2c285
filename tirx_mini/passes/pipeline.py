"""The lowering pipeline: named passes, each a function PrimFunc -> PrimFunc whose result can be printed."""

from __future__ import annotations

from collections.abc import Callable

from tirx_mini.ir import Pass, PrimFunc, TirxError, run_passes, symbols

from .bind import bind_loops
from .blocks import lower_blocks
from .flatten import flatten_buffers
from .griddepcontrol import find_grid_dependence
from .prefetch import prefetch_tensor_maps
from .returns import lower_returns
from .scopes import lower_scopes
from .shared_memory import plan_shared_memory
from .simplify import simplify_function
from .tiles import dispatch_tile_primitives
from .vectorize import vectorize_loops
from .vectors import lower_vectors
from .verify import verify_lowered

PIPELINE: tuple[Pass[PrimFunc], ...] = (
    Pass("LowerBlocks", "blocks become the statements in them, and buffers as small as their use", lower_blocks),
    Pass("BindLoops", "loops that a schedule bound become CTAs and threads, with barriers between them", bind_loops),
    Pass("LowerReturns", "threads that end early skip what follows", lower_returns),
    Pass("LowerScopes", "scopes and ids become special registers and conditions; the launch is known", lower_scopes),
    Pass("LowerVectors", "vectors that are computed become the lanes of which they are made", lower_vectors),
    Pass("DispatchTilePrimitives", "tile calls become instructions", dispatch_tile_primitives),
    Pass("FlattenBuffers", "layouts are applied and views resolved: one flat index an access", flatten_buffers),
    Pass("VectorizeLoops", "loops over the elements of a vector become accesses of 16 bytes at most", vectorize_loops),
    Pass("PlanSharedMemory", "one dynamic allocation holds every shared buffer", plan_shared_memory),
    Pass("Simplify", "constants folded, indices simplified, dead branches gone", simplify_function),
    Pass("PrefetchTensorMaps", "one thread of each CTA begins by prefetching its tensor maps", prefetch_tensor_maps),
    Pass("FindGridDependence", "the launch says whether the kernel may begin early", find_grid_dependence),
    Pass("VerifyLowered", "the invariants of lowered IR are checked", verify_lowered),
)


def lower(func: PrimFunc, *, after: Callable[[str, PrimFunc], None] | None = None) -> PrimFunc:
    """Lower a function for codegen and the simulator; a lowered function is returned unchanged.

    after: called with the name and the result of each pass.

    Raises TirxError for a mistake in the kernel. Where a pass itself fails, its exception is the cause of the error.
    """
    if func.launch is not None:
        return func
    unknown = symbols(func)
    if unknown:
        names = ", ".join(f"`{var.name}`" for var in unknown)
        raise TirxError(
            f"{func.name} has extents that are only known when it is called: {names}",
            func.span,
            f"call it with arrays, or choose them: {func.name}.specialize({{{unknown[0].name!r}: 1024}})",
        )
    if after is None:
        return run_passes(func, PIPELINE)
    return run_passes(func, PIPELINE, watch=lambda name, _, func: after(name, func))

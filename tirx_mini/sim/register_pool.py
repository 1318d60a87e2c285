"""The registers of a CTA, which setmaxnreg moves between its warps (PTX ISA: "setmaxnreg")."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from .barriers import Wait

if TYPE_CHECKING:
    from .machine import Cta
    from .warp import Warp

LANES = 32
STEP = 8
FEWEST, MOST = 24, 256
RULE = "PTX ISA: setmaxnreg"


class RegisterPool:
    """What the warps of a CTA have given up and not taken.

    All begin with the same share. held: registers of a thread of
    each warp. changed: what each warp has asked for, in order; the warps of a warpgroup ask for the same.
    """

    def __init__(self, cta: Cta) -> None:
        warps = cta.gpu.image.launch.warps
        whole = cta.gpu.spec.registers_per_sm // (warps * LANES) // STEP * STEP
        self.share = cta.gpu.image.registers or min(MOST, whole)
        self.free = 0
        self.held = [self.share] * warps
        self.changed: list[list[int]] = [[] for _ in range(warps)]
        self._waiting: list[tuple[int, Warp]] = []

    def set(self, w: Warp, count: int, increase: bool) -> Generator[Wait, None, None]:
        """setmaxnreg.inc (which waits until there are enough) or .dec, by one warp."""
        self._check(w, count, increase)
        need = (count - self.held[w.warp_id]) * LANES
        while need > self.free:
            self._waiting.append((need, w))
            text = f"{need} registers a warp, to have {count} a thread, of the {max(0, self.free)} that are free"
            yield Wait("setmaxnreg", w, text, None, None, w.time, w.span)
        self.free -= need
        self.held[w.warp_id] = count
        if need < 0:
            self._hand_out(w.time)

    def _hand_out(self, time: float) -> None:
        """Wake those whom the free registers may suffice; they look again."""
        waiting, self._waiting = self._waiting, []
        for need, warp in waiting:
            if need <= self.free:
                warp.gpu.wake(warp, time)
            else:
                self._waiting.append((need, warp))

    def _check(self, w: Warp, count: int, increase: bool) -> None:
        w.require_converged("setmaxnreg")
        if count % STEP or not FEWEST <= count <= MOST:
            raise w.fault(
                "illegal-instruction",
                f"setmaxnreg to {count} registers; it must be a multiple of {STEP} from {FEWEST} to {MOST}",
                rule=RULE,
            )
        held = self.held[w.warp_id]
        if count < held if increase else count > held:
            verb, other = ("inc", "dec") if increase else ("dec", "inc")
            raise w.fault(
                "illegal-instruction",
                f"setmaxnreg.{verb} to {count}, and each thread of {w.role} has {held} registers",
                rule=RULE,
                hint=f"use setmaxnreg.{other}, or another number",
            )
        self.changed[w.warp_id].append(count)
        number = len(self.changed[w.warp_id]) - 1
        for peer in peers(w):
            other = self.changed[peer.warp_id]
            if len(other) > number and other[number] != count:
                raise w.fault(
                    "illegal-convergence",
                    f"{w.role} asks for {count} registers, and {peer.role} for {other[number]}: the four warps of a "
                    "warpgroup execute one setmaxnreg together",
                    rule=RULE,
                    hint="choose the number by warpgroup, not by warp",
                )

    def exited(self, w: Warp) -> None:
        """A warp has ended: record it where its warpgroup did not execute setmaxnreg together."""
        for peer in peers(w):
            if peer.done and len(self.changed[peer.warp_id]) != len(self.changed[w.warp_id]):
                few, many = sorted((w, peer), key=lambda warp: len(self.changed[warp.warp_id]))
                w.report(
                    "illegal-convergence",
                    "error",
                    f"{many.role} executes a setmaxnreg that {few.role} does not: the four warps of a warpgroup "
                    "execute it together",
                    rule=RULE,
                    hint="put it under the condition of the warpgroup alone, before the roles of its warps part",
                )
                return


def peers(w: Warp) -> list[Warp]:
    """The other warps of the warpgroup."""
    first = w.warp_id // 4 * 4
    return [warp for warp in w.cta.warps[first : first + 4] if warp is not w]

"""What can be wrong with a kernel: each kind of finding with its stable code, its verdict and the rule it breaks.

TX1xx: waiting and barriers. TX2xx: orders that the ISA does not give. TX3xx: rules of the hardware. TX4xx: what keeps
a kernel from being compiled. TX5xx: results. Codes and names never change their meaning; new ones are added.
`docs/findings.md` has a section for each code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from tirx_mini.ir import ERROR_CODES

Verdict = Literal["ok", "hazard", "deadlock", "fault"]
VERDICTS: tuple[Verdict, ...] = ("fault", "deadlock", "hazard", "ok")
"""Worst first."""


@dataclass(frozen=True)
class Kind:
    """code: as in "TX201". verdict: what an error of this kind makes of a kernel. rule: what it breaks, in a sentence.

    isa: where the rule is from, sections of the PTX ISA by their names, which new versions keep ("" for plain sense).
    """

    name: str
    code: str
    verdict: Verdict
    rule: str
    isa: str = ""


def _table(*kinds: Kind) -> Mapping[str, Kind]:
    return MappingProxyType({kind.name: kind for kind in kinds})


_MBARRIER = "PTX ISA: mbarrier"
_INIT = "PTX ISA: mbarrier.init"
_TX_COUNT = "PTX ISA: mbarrier, tx-count"
_ALLOC = "PTX ISA: tcgen05.alloc, tcgen05.dealloc"
_ORDER = "PTX ISA: memory consistency model, causality order"

CAUSES = _table(
    Kind("never-initialised", "TX101", "deadlock", "A wait on memory that holds no mbarrier never ends.", _INIT),
    Kind("part-of-a-warp", "TX102", "deadlock", "A barrier for all threads completes when all of them call it.",
         "PTX ISA: bar.sync, barrier.cluster"),
    Kind("nobody-signals", "TX103", "deadlock", "A phase completes when its arrivals have come, and no code makes any.",
         _MBARRIER),
    Kind("signal-never-runs", "TX104", "deadlock", "Code under guards that exclude each other runs in no thread."),
    Kind("one-cta-signals", "TX105", "deadlock", "A commit arrives in each CTA of its mask, and in no other.",
         "PTX ISA: tcgen05.commit"),
    Kind("bytes-differ", "TX106", "deadlock", "A phase completes when the bytes expected are those that landed.",
         _TX_COUNT),
    Kind("bytes-astray", "TX106", "deadlock", "A phase completes when the bytes expected are those that landed.",
         _TX_COUNT),
    Kind("too-few-arrive", "TX107", "deadlock", "A phase completes after as many arrivals as init was given.", _INIT),
    Kind("wrong-first-phase", "TX108", "deadlock",
         "A fresh barrier lets a wait for parity 1 through, and blocks parity 0.",
         "PTX ISA: mbarrier.try_wait"),
    Kind("stage-stands-still", "TX109", "deadlock",
         "Both sides of a pipeline go on to the next stage in each iteration."),
    Kind("out-of-step", "TX119", "deadlock",
         "Each round of a pipeline's stage is used before the next one is waited for.", _MBARRIER),
    Kind("wrong-stage", "TX120", "deadlock", "Whoever waits for a stage signals that stage.", _MBARRIER),
    Kind("rounds-differ", "TX110", "deadlock", "Each wait needs its arrivals, so both sides go round equally often.",
         _MBARRIER),
    Kind("some-never-call", "TX111", "deadlock",
         "A barrier waits for every thread that it counts.", "PTX ISA: bar.sync"),
    Kind("too-many-arrive", "TX116", "deadlock", "A phase completes as soon as its arrivals have come.", _INIT),
    Kind("out-of-registers", "TX117", "deadlock", "setmaxnreg.inc waits until other warps have given some up.",
         "PTX ISA: setmaxnreg"),
    Kind("warpgroup-incomplete", "TX118", "deadlock", "All four warps of a warpgroup issue a wgmma together.",
         "PTX ISA: wgmma.mma_async"),
    Kind("in-general", "TX112", "deadlock", "Each phase needs its arrivals, and each wait its phase.", _MBARRIER),
    Kind("anything", "TX113", "deadlock", "What a warp waits for has to be provided by one that can run."),
)  # fmt: skip
"""Why nothing can advance: what findings of the kind "deadlock" are told apart by."""

KINDS = _table(
    # nothing can advance, or barriers are misused
    Kind("deadlock", "TX113", "deadlock", CAUSES["anything"].rule),
    Kind("runaway-loop", "TX114", "deadlock",
         "A loop ends when its condition changes, and nothing in this one changes it."),
    Kind("barrier-incomplete", "TX115", "deadlock", "A phase that was begun gets all of its arrivals.", _INIT),
    Kind("byte-count", "TX106", "hazard", CAUSES["bytes-differ"].rule, _TX_COUNT),
    Kind("barrier-uninitialised", "TX121", "fault",
         "An mbarrier is initialised before any other operation on it.", _INIT),
    Kind("barrier-reinitialised", "TX122", "fault",
         "An mbarrier is initialised once, unless mbarrier.inval ends its life.",
         _INIT),
    Kind("barrier-overflow", "TX123", "fault", "No more arrivals come in a phase than init was given.",
         "PTX ISA: mbarrier, contents of the mbarrier object"),
    Kind("barrier-misuse", "TX124", "fault", "Barriers are used by their own operations, with counts that agree.",
         _MBARRIER),
    # an order that the ISA does not give
    Kind("race", "TX201", "hazard", "Two accesses to one place, of which one writes, are ordered by synchronisation.",
         _ORDER),
    Kind("missing-proxy-fence", "TX202", "hazard",
         "TMA and MMA see what threads wrote after fence.proxy.async and a synchronisation.",
         "PTX ISA: memory consistency model, proxies; fence.proxy.async"),
    Kind("missing-tcgen05-fence", "TX203", "hazard",
         "tcgen05 operations of different threads are ordered by fences around the synchronisation.",
         "PTX ISA: tcgen05.fence"),
    Kind("missing-tcgen05-wait", "TX204", "hazard", "tcgen05.ld and tcgen05.st are complete after tcgen05.wait.",
         "PTX ISA: tcgen05.wait"),
    Kind("missing-mbarrier-fence", "TX205", "hazard",
         "Other CTAs see an initialised mbarrier after fence.mbarrier_init and a cluster barrier.",
         "PTX ISA: fence.mbarrier_init"),
    Kind("identical-writes", "TX206", "hazard",
         "Two writes to one place are ordered, also if their bytes are the same.",
         _ORDER),
    Kind("uninitialised-read", "TX207", "hazard", "Memory holds nothing until it is written."),
    Kind("uninitialised-register", "TX208", "hazard", "A register holds nothing until it is written."),
    Kind("in-flight-at-exit", "TX209", "hazard", "What uses a CTA's memory is complete before the CTA ends.",
         "PTX ISA: asynchronous operations; cluster shared memory"),
    Kind("lost-result", "TX210", "hazard", "An MMA that does not accumulate replaces what tensor memory held.",
         "PTX ISA: tcgen05.mma, enable-input-d"),
    Kind("missing-wgmma-fence", "TX211", "hazard", "wgmma sees registers and memory as they were at wgmma.fence.",
         "PTX ISA: wgmma.fence"),
    Kind("missing-wgmma-wait", "TX212", "hazard", "Accumulators are not touched before wgmma.wait_group.",
         "PTX ISA: wgmma.wait_group"),
    Kind("missing-grid-wait", "TX213", "hazard",
         "A kernel that begins early waits for the one before it ahead of global memory.", "PTX ISA: griddepcontrol"),
    # a rule of the hardware is broken
    Kind("out-of-bounds", "TX301", "fault", "An access stays inside its buffer."),
    Kind("misaligned-access", "TX302", "fault", "An address is a multiple of what its access needs.",
         "PTX ISA: alignment"),
    Kind("shared-memory-limit", "TX303", "fault", "A CTA has at most 227 KiB of shared memory.",
         "CUDA: compute capabilities"),
    Kind("register-limit", "TX304", "fault", "The threads of a CTA share the 65,536 registers of an SM.",
         "CUDA: compute capabilities"),
    Kind("launch-limit", "TX305", "fault", "A CTA has at most 1,024 threads, and a cluster at most 8 CTAs.",
         "CUDA: compute capabilities"),
    Kind("illegal-convergence", "TX306", "fault", "All threads of a warp execute an .aligned instruction together.",
         "PTX ISA: .sync, .aligned"),
    Kind("illegal-instruction", "TX307", "fault", "An instruction takes only some values of its operands."),
    Kind("tmem-allocation", "TX308", "fault",
         "Tensor memory is allocated in powers of two of 32 to 512 columns, as many as an SM has.", _ALLOC),
    Kind("tmem-access", "TX309", "fault",
         "Tensor memory is accessed while it is allocated, by the warp whose lanes it is.",
         "PTX ISA: Tensor Memory, access restrictions"),
    Kind("tmem-not-freed", "TX310", "fault", "All tensor memory is freed before the CTA ends.", _ALLOC),
    Kind("bad-descriptor", "TX311", "fault", "A descriptor describes a tile that the tensor core can read.",
         "PTX ISA: matrix descriptors"),
    Kind("bad-tensor-map", "TX312", "fault",
         "Strides of a tensor map are multiples of 16 bytes, boxes at most 256 wide.",
         "CUDA driver API: cuTensorMapEncodeTiled"),
    Kind("division-by-zero", "TX313", "fault", "A divisor is not zero."),
    # what keeps a kernel from being compiled
    Kind("lowering", ERROR_CODES["lowering"], "fault", "A kernel has to be compiled before it runs."),
    Kind("todo", ERROR_CODES["todo"], "fault", "A part that is left out does nothing."),
    Kind("unknown-name", ERROR_CODES["unknown-name"], "fault", "A name is defined before it is used."),
    Kind("pool-committed", ERROR_CODES["pool-committed"], "fault", "A pool's size is fixed when it is committed."),
    Kind("no-dispatch", ERROR_CODES["no-dispatch"], "fault", "A tile operation becomes instructions that the GPU has."),
    Kind("extents-differ", ERROR_CODES["extents-differ"], "fault", "The tiles of one operation have the same extents."),
    Kind("not-constant", ERROR_CODES["not-constant"], "fault",
         "The extents of a tile are known before the kernel runs."),
    Kind("assigned-twice", ERROR_CODES["assigned-twice"], "fault",
         "A name that changes is declared with its type first."),
    # results
    Kind("wrong-result", "TX501", "fault", "D is A multiplied by B transposed."),
)  # fmt: skip
"""Every kind of finding, by name."""

_BY_CODE: Mapping[str, Kind] = {kind.code: kind for kind in (*CAUSES.values(), *KINDS.values())}


def kind_of(name: str, cause: str | None = None) -> Kind:
    """The entry of a finding of this kind; that of its cause where it is a deadlock that has one."""
    return CAUSES[cause] if cause is not None else KINDS[name]


def kind_with(code: str) -> Kind:
    """A kind with this code. Raises `KeyError` for a code that there is not."""
    return _BY_CODE[code]


def codes() -> tuple[str, ...]:
    """All codes, in their order."""
    return tuple(sorted(_BY_CODE))

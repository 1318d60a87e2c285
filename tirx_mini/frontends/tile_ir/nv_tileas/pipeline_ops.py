"""The asynchronous operations of nv_tileas: copies, MMAs, pipelines and agents.

A producer acquires a stage of a pipeline, begins copies into it, and commits; a consumer waits for the stage, reads it
and releases it. Each agent has an iterator of its own for each pipeline that it uses.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ssa import BOOL, FLAG, INT, STRING, Codec, Op, OpKind, Parser, Printer, Region, Syntax, make
from .dialect import NV_TILEAS
from .pipeline_types import ASYNC, I32, ITERATOR, STAGE, TMA_DESC, Pipeline, parse_pipeline

NV_TILEAS.types["pipeline"] = parse_pipeline
for named in (ITERATOR, STAGE, ASYNC, TMA_DESC):
    NV_TILEAS.types[named.name] = lambda _, type=named: type

ALL = -1
"""In place of a part: all of them."""
PART = {"part": INT(0)}
"""Which part of a stage the tensor core fills or reads. Warps that compute have the part of their warpgroup."""
_PIPELINE = "async.pipeline."
_op = NV_TILEAS.op

create_pipeline = _op(
    _PIPELINE + "create_pipeline", "over?", "pipeline", "[[over $over]] attr-dict : type($pipeline)",
    attrs={"label": STRING(""), "ctas": INT(1)},
    doc="Room for the stages of a pipeline in shared or tensor memory, and its barriers. over: the pipeline whose "
    "tensor the first tensor of this one takes the place of. ctas: 2 where the tensor cores of a pair of CTAs work "
    "together: a stage is one of both.",
)  # fmt: skip
create_iterator = _op(
    _PIPELINE + "create_iterator", "pipeline", "iterator", "$pipeline attr-dict",
    infer=lambda op: ITERATOR, attrs={"producer": FLAG},
    doc="A position in the pipeline: at its first stage, which a producer finds empty.",
)  # fmt: skip
inc_iter = _op(
    _PIPELINE + "inc_iter", "iterator", "next", "$iterator", infer=lambda op: ITERATOR,
    doc="The position one stage further. The one before is no longer used.",
)  # fmt: skip
producer_acquire = _op(
    _PIPELINE + "producer_acquire", "pipeline iterator", "stage", "$pipeline, $iterator attr-dict", attrs=PART,
    infer=lambda op: STAGE, doc="Wait until all consumers have released the stage.",
)  # fmt: skip


def _written(op: Op) -> Iterator[str]:
    expected = pipeline_of(op).tensors
    if tuple(p.type for p in op.body.params) != expected:
        yield f"its region must have the tensors of a stage as parameters: {', '.join(map(str, expected))}"


producer_write = _op(
    _PIPELINE + "producer_write", "pipeline stage", "written", "$pipeline, $stage $body",
    infer=lambda op: STAGE, regions="body", verify=_written,
    doc="Begin the copies of the region into the tensors of the stage, which are its parameters.",
)  # fmt: skip
producer_room = _op(
    _PIPELINE + "producer_room", "pipeline stage", "*tensors", "$pipeline, $stage",
    infer=lambda op: pipeline_of(op).tensors, doc="The tensors of an acquired stage, for MMAs that accumulate in them.",
)  # fmt: skip
producer_commit = _op(
    _PIPELINE + "producer_commit", "pipeline stage", "", "$pipeline, $stage attr-dict", attrs=PART,
    doc="The stage is full when the copies that were begun are complete.",
)  # fmt: skip
consumer_wait = _op(
    _PIPELINE + "consumer_wait", "pipeline iterator", "stage", "$pipeline, $iterator attr-dict",
    attrs={**PART, "again": FLAG}, infer=lambda op: STAGE,
    doc="Wait until the stage is full. again: the agent has waited for it.",
)  # fmt: skip
consumer_read = _op(
    _PIPELINE + "consumer_read", "pipeline stage", "*tensors",
    "$pipeline, $stage attr-dict", attrs={"consumer_idx": INT(0)},
    infer=lambda op: pipeline_of(op).tensors, doc="The tensors of the stage, where they lie.",
)  # fmt: skip
consumer_release = _op(
    _PIPELINE + "consumer_release", "pipeline stage", "", "$pipeline, $stage attr-dict",
    attrs={"deferred": FLAG, **PART},
    doc="The agent has read the stage. deferred: it has read the stage before this one, whose reads were in flight.",
)  # fmt: skip
consumer_drain = _op(
    _PIPELINE + "consumer_drain", "pipeline iterator", "", "$pipeline, $iterator",
    doc="Release the stage that a deferred release has left, if there is one.",
)  # fmt: skip
elect_one = _op(
    _PIPELINE + "elect_one", "", "", "$body", regions="body",
    doc="One thread of those that execute it executes the region: where each warp computes, and one also loads.",
)  # fmt: skip
pipeline_yield = _op(
    _PIPELINE + "yield", "*values", "", "[[$values : type($values)]]", terminator=True,
    doc="The end of a region of these operations.",
)  # fmt: skip

make_tiled_tma_desc = _op(
    "make_tiled_tma_desc", "memref", "desc", "$memref attr-dict : type($memref)", infer=lambda op: TMA_DESC,
    attrs={"tmaIdx": INT(0)}, pure=True, doc="The tensor map of an array.",
)  # fmt: skip
tiled_tma_load = _op(
    "async.tiled_tma_load", "view buffer desc *indices", "token",
    "$view, $buffer, $desc, $indices attr-dict : type($view), type($buffer), type($indices)",
    infer=lambda op: ASYNC, attrs={"multicast": FLAG},
    doc="Begin a TMA load of the tile at `indices` of a block_tile into shared memory. multicast: each CTA of the "
    "cluster loads a part of it into the shared memory of all.",
)  # fmt: skip
tiled_tma_store = _op(
    "async.tiled_tma_store", "view buffer desc *indices", "token",
    "$view, $buffer, $desc, $indices : type($view), type($buffer), type($indices)", infer=lambda op: ASYNC,
    doc="Begin a TMA store of a tile in shared memory to the place at `indices` of a block_tile.",
)  # fmt: skip
wait_tma_store = _op(
    "async.wait_tma_store", "", "", "attr-dict", attrs={"pending": INT(0), "read": FLAG},
    doc="Wait until at most `pending` of the most recent TMA stores are unfinished; read: until all others have read "
    "shared memory.",
)  # fmt: skip
async_load = _op(
    "async.load", "source mask? buffer", "token",
    "$source [[, if $mask]] to $buffer : type($source) [[, type($mask)]], type($buffer)", infer=lambda op: ASYNC,
    doc="Begin to copy the elements that a tensor of pointers names into shared memory, by cp.async of each thread; "
    "those for which `mask` does not hold become 0.",
)  # fmt: skip
alloc_tensor = _op(
    "alloc_tensor", "", "tensor", ": type($tensor)", doc="Room for a tensor in shared or tensor memory, or registers.",
)  # fmt: skip
wait_tma = _op(
    "async.wait_tma", "token buffer", "tensor", "$token, $buffer : type($buffer)", infer="buffer",
    doc="The tensor in `buffer`, once the load of the token is complete.",
)  # fmt: skip
wait_load = _op(
    "async.wait_load", "token buffer", "tensor", "$token, $buffer : type($buffer)", infer="buffer",
    doc="The tensor in `buffer`, once the copies of the token are complete.",
)  # fmt: skip
async_dot = _op(
    "async.dot", "lhs rhs acc adds? over?", "result",
    "$lhs, $rhs, $acc [[if $adds]] [[over $over]] attr-dict : type($lhs), type($rhs), type($acc)",
    infer="acc", attrs={"mma": STRING("wgmma"), "part": INT(ALL), "ctas": INT(1), "signed": BOOL(True)},
    doc="Begin acc + lhs · rhs; where `adds` does not hold, lhs · rhs. Until it was waited for, only MMAs may use the "
    "result. An accumulator in tensor memory is updated in place. over: the tensor whose registers a product without "
    "sums takes; its elements are no longer used. part: the block of 128 rows; by default, all. ctas: 2 for MMAs on "
    "behalf of a pair of CTAs (PTX ISA: .cta_group::2). signed: whether integers of A and B are.",
)  # fmt: skip
write = _op(
    "write", "source buffer", "", "$source, $buffer attr-dict : type($source), type($buffer)", attrs={"begun": FLAG},
    doc="The elements of a tensor in registers, stored to its place in tensor memory (PTX ISA: tcgen05.st). begun: "
    "they are there after `written`.",
)
written = _op(
    "written", "", "", "attr-dict", doc="Wait for all writes that were begun (PTX ISA: tcgen05.wait::st).",
)  # fmt: skip
copy = _op(
    "copy", "source", "result", "$source attr-dict : type($source) -> type($result)", attrs={"begun": FLAG},
    doc="The elements of a tensor in tensor memory, in registers, rounded to the type of the result. begun: they are "
    "there after `copied`.",
)
copied = _op(
    "copied", "source", "result", "$source : type($source)", infer="source",
    doc="The tensor of a copy that was begun, which is complete (PTX ISA: tcgen05.wait::ld).",
)  # fmt: skip
async_wait = _op(
    "async.wait", "*values", "*results", "[[$values]] attr-dict [[: type($values)]]",
    infer=lambda op: tuple(v.type for v in op.values), attrs={"pending": INT(0)},
    doc="Wait until at most `pending` groups of the most recent MMAs are unfinished.",
)  # fmt: skip

begin_turns = _op(
    "async.begin_turns", "", "", "attr-dict", doc="Warpgroups that compute take turns from here on, in their order.",
)  # fmt: skip
take_turn = _op(
    "async.take_turn", "", "", "attr-dict",
    doc="Wait until it is the warpgroup's turn. All warpgroups take as many turns.",
)  # fmt: skip
pass_turn = _op("async.pass_turn", "", "", "attr-dict", doc="The turn is the next warpgroup's.")

computed = _op(
    "async.computed", "source", "result", "$source : type($source)", infer="source",
    doc="The same tensor, which is computed before the next wait: no compiler below moves its code behind that.",
)  # fmt: skip


def pipeline_of(op: Op) -> Pipeline:
    """Return the type of the pipeline on which an operation works."""
    found = op.pipeline.type
    assert isinstance(found, Pipeline)
    return found


get_cta_slot = _op(
    "get_cta_slot", "", "slot slots", "attr-dict", infer=lambda op: (I32, I32),
    attrs={"most": INT, "halves": INT(1), "cluster": INT(1)}, pure=True,
    doc="The number of this CTA, and how many take instances of the program: as many as there are, up to `most`. "
    "halves: 2 where the first half of the CTAs has the even numbers, as far as their number is even. cluster: CTAs of "
    "a cluster, which have one number, and are counted as one.",
)  # fmt: skip
get_cta_rank = _op(
    "get_cta_rank", "", "rank", ": type($rank)", infer=lambda op: I32, pure=True,
    doc="The number of this CTA in its cluster (PTX ISA: %cluster_ctarank).",
)  # fmt: skip


# -- agents --------------------------------------------------------------------------------------------------------


def _print_agents(op: Op, printer: Printer) -> None:
    printer.write("{")
    printer.end_line()
    printer.depth += 1
    for place, ((name, warps), region) in enumerate(zip(op.agents, op.regions, strict=True)):
        registers = f" registers({op.registers[place]})" if op.registers else ""
        printer.write(f"agent {name} warps({warps}){registers}")
        printer.region(region)
        printer.end_line()
    printer.depth -= 1
    printer.write("}")


def _parse_agents(p: Parser, kind: OpKind) -> Op:
    agents: list[tuple[str, int]] = []
    registers: list[int] = []
    regions: list[Region] = []

    def count() -> int:
        p.expect("(")
        found = int(p.number())
        p.expect(")")
        return found

    p.expect("{")
    while p.accept("agent"):
        name = p.word()
        p.expect("warps")
        agents.append((name, count()))
        if p.accept("registers"):
            registers.append(count())
        regions.append(p.region())
    p.expect("}")
    return make(kind, (), {"agents": tuple(agents), "registers": tuple(registers)}, regions, ())


def _agent_text(value: object, _: Printer) -> str:
    return str(value)


agent_switch = _op(
    _PIPELINE + "agent_switch", "", "", Syntax(_print_agents, _parse_agents),
    attrs={name: Codec(_agent_text, lambda p: p.error("the agents are in the text of the operation"), default)
           for name, default in (("agents", ()), ("registers", ()))},
    regions="*agents",
    doc="Each agent, a number of warps of the CTA in this order, executes a region of its own. registers: of each of "
    "its threads; whole warpgroups give some up for others.",
)  # fmt: skip
PRODUCER, COMPUTE, MATRIX = "producer", "compute", "mma"
"""Names of agents: who copies, who computes, and who issues MMAs on tensor memory."""

"""Types of the asynchronous operations: pipelines, iterators, stages, tokens and tensor maps."""

from __future__ import annotations

from tirx_mini.records import dataclass

from ..nv_tileaa import Tensor, parse_tensor
from ..ssa import Parser, Printer, Scalar, Type

I32 = Scalar("i32")

TMA, CP_ASYNC, MMA, THREADS = "tma", "cp_async", "mma", "threads"
PRODUCERS = (TMA, CP_ASYNC, MMA, THREADS)
"""What fills a stage. TMA: its bytes complete the phase. CP_ASYNC: each thread's copies. MMA: the tensor core commits.
THREADS: stores to tensor memory, and an arrival of each warp."""
WGMMA = "wgmma"
CONSUMERS = (WGMMA, MMA, THREADS)
"""What empties a stage. WGMMA: an arrival of each warpgroup. MMA: a commit of the tensor core. THREADS: one a warp."""


@dataclass(frozen=True)
class Pipeline(Type):
    """A ring buffer of `stages` stages, each with storage for `tensors` and a pair of full and empty barriers.

    parts: blocks of 128 rows of the tensors that have barriers of their own: one for each computing warpgroup, so that
    the tensor core works for one while another computes.
    """

    stages: int
    producer: str
    consumer: str
    tensors: tuple[Tensor, ...]
    parts: int = 1

    def __str__(self) -> str:
        return self._text([str(tensor) for tensor in self.tensors])

    def text(self, printer: Printer) -> str:
        return self._text([printer.type(tensor) for tensor in self.tensors])

    def _text(self, tensors: list[str]) -> str:
        stages = f"{self.stages} x {self.parts}" if self.parts > 1 else str(self.stages)
        return f"!nv_tileas.pipeline<{stages}, {self.producer} -> {self.consumer}, {', '.join(tensors)}>"


@dataclass(frozen=True)
class Named(Type):
    """A type without parameters, such as ``!nv_tileas.iterator``."""

    name: str

    def __str__(self) -> str:
        return f"!nv_tileas.{self.name}"


ITERATOR = Named("iterator")
"""The position of one agent in a pipeline: a stage, and the parity of the phase that it waits for."""
STAGE = Named("stage")
"""A stage that an agent holds."""
ASYNC = Named("async_token")
"""What has been begun and may not be done."""
TMA_DESC = Named("tma_desc")
"""A tensor map."""


def parse_pipeline(p: Parser) -> Pipeline:
    """Parse the rest of a type after ``!nv_tileas.pipeline``."""
    p.expect("<")
    stages = int(p.number())
    parts = int(p.number()) if p.accept("x") else 1
    p.expect(",")
    producer = p.word_of(PRODUCERS)
    p.expect("->")
    consumer = p.word_of(CONSUMERS)
    tensors: list[Tensor] = []
    while p.accept(","):
        p.expect("tensor")
        tensors.append(parse_tensor(p))
    p.expect(">")
    return Pipeline(stages, producer, consumer, tuple(tensors), parts)

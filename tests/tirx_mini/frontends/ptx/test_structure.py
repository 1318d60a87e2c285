"""Structured control flow: PTX text to statements, and random graphs that do the same before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from textwrap import dedent

from hypothesis import given, settings
from hypothesis import strategies as st

from tirx_mini.frontends.ptx.blocks import Block, Branch, End, Jump, Table, Terminator
from tirx_mini.frontends.ptx.kernel import kernel
from tirx_mini.frontends.ptx.loops import reducible
from tirx_mini.frontends.ptx.printing import printed
from tirx_mini.frontends.ptx.reader import read
from tirx_mini.frontends.ptx.structure import structured
from tirx_mini.frontends.ptx.syntax import (
    Break,
    Continue,
    Exit,
    Flag,
    If,
    Instruction,
    Loop,
    Node,
    Register,
    SetFlag,
    Switch,
)

MOST_STEPS = 300


def structure(body: str) -> str:
    """The structure of a kernel with this body."""
    registers = ".reg .pred %p<10>; .reg .b32 %r<10>;"
    return printed(kernel(read(f".version 8.0\n.target sm_90\n.entry k() {{ {registers} {body} }}")).body)


def same(found: str, expected: str) -> None:
    assert found == dedent(expected).strip("\n")


def test_a_jump_over_code_is_an_if() -> None:
    same(
        structure("@%p1 bra L; add.u32 %r1, %r1, 1; L: ret;"),
        """
        if not %p1:
          add.u32 %r1, %r1, 1
        """,
    )


def test_two_arms_meet_behind_the_if() -> None:
    same(
        structure(
            "@%p1 bra A; mov.u32 %r1, 1; bra END; A: mov.u32 %r1, 2; END: mov.u32 %r2, %r1; ret;",
        ),
        """
        if %p1:
          mov.u32 %r1, 2
        else:
          mov.u32 %r1, 1
        mov.u32 %r2, %r1
        """,
    )


def test_a_jump_back_is_a_loop_and_what_follows_stands_behind_it() -> None:
    same(
        structure("TOP: add.u32 %r1, %r1, 1; @%p1 bra TOP; mov.u32 %r2, %r1; ret;"),
        """
        loop:
          add.u32 %r1, %r1, 1
          if not %p1:
            break
        mov.u32 %r2, %r1
        """,
    )


def test_code_that_only_the_exit_of_a_loop_reaches_stands_behind_the_loop() -> None:
    """Lanes that leave a loop at different times meet there."""
    same(
        structure("TOP: @%p1 bra OUT; add.u32 %r1, %r1, 1; bra TOP; OUT: bar.sync 0; exit;"),
        """
        loop:
          if %p1:
            break
          add.u32 %r1, %r1, 1
        bar.sync 0
        """,
    )


def test_conditions_that_share_an_end_nest() -> None:
    same(
        structure("@%p1 bra END; mov.u32 %r1, 1; @%p2 bra END; mov.u32 %r1, 2; END: ret;"),
        """
        if not %p1:
          mov.u32 %r1, 1
          if not %p2:
            mov.u32 %r1, 2
        """,
    )


def test_a_thread_that_ends_early_skips_what_follows() -> None:
    same(
        structure("@%p1 ret; mov.u32 %r1, 1; @!%p2 exit; mov.u32 %r1, 2; ret;"),
        """
        if not %p1:
          mov.u32 %r1, 1
          if %p2:
            mov.u32 %r1, 2
        """,
    )


def test_an_exit_out_of_two_loops_goes_by_a_flag() -> None:
    same(
        structure(
            "OUTER: mov.u32 %r1, 0; INNER: @%p1 bra ABORT; @%p2 bra INNER; @%p3 bra OUTER; mov.u32 %r2, 1; bra END;"
            "ABORT: mov.u32 %r2, 2; END: mov.u32 %r3, %r2; ret;"
        ),
        """
        loop:
          mov.u32 %r1, 0
          loop:
            if %p1:
              exit0 = true
              break
            if not %p2:
              break
          if exit0:
            exit0 = false
            break
          if not %p3:
            exit1 = true
            break
        if exit1:
          mov.u32 %r2, 1
        else:
          mov.u32 %r2, 2
        mov.u32 %r3, %r2
        """,
    )


def test_brx_idx_is_a_switch() -> None:
    same(
        structure(
            "T: .branchtargets A, B, A; @%p1 bra END; brx.idx %r1, T; A: mov.u32 %r2, 1; bra END; B: mov.u32 %r2, 2;"
            "END: mov.u32 %r3, %r2; ret;"
        ),
        """
        if not %p1:
          switch %r1:
          case 0:
          case 1:
            mov.u32 %r2, 2
            exit0 = true
          case 2:
          if not exit0:
            mov.u32 %r2, 1
        mov.u32 %r3, %r2
        """,
    )


def test_a_lane_that_holds_a_lock_gets_to_its_release() -> None:
    """Lanes meet behind the release, and not behind the loop in which the others still try."""
    same(
        structure(
            "TRY: atom.global.cas.b32 %r1, [%r2], 0, 1; @%p1 bra TRY; bra OUT; OUT: add.u32 %r3, %r3, 1;"
            "st.global.u32 [%r4], %r3;"
            "atom.global.exch.b32 %r5, [%r2], 0; bar.sync 0; st.global.u32 [%r4], %r3; ret;"
        ),
        """
        loop:
          atom.global.cas.b32 %r1, [%r2], 0, 1
          if %p1:
            continue
          add.u32 %r3, %r3, 1
          st.global.u32 [%r4], %r3
          atom.global.exch.b32 %r5, [%r2], 0
          break
        bar.sync 0
        st.global.u32 [%r4], %r3
        """,
    )


def test_many_early_exits_do_not_nest_without_end() -> None:
    text = structure("".join(f"@%p1 bra END; mov.u32 %r1, {i};" for i in range(300)) + "END: ret;")
    assert max(len(line) - len(line.lstrip()) for line in text.splitlines()) < 60
    assert text.count("mov.u32") == 300


def test_many_ifs_in_a_row() -> None:
    text = structure("".join(f"@%p1 bra L{i}; mov.u32 %r1, {i}; L{i}:" for i in range(3000)) + "ret;")
    assert text.count("if not %p1:\n  mov.u32") == 3000


def test_a_loop_with_two_entries_is_split() -> None:
    text = structure(
        "@%p1 bra SECOND; FIRST: mov.u32 %r1, 1; SECOND: mov.u32 %r1, 2; @%p2 bra FIRST; ret;",
    )
    same(
        text,
        """
        if %p1:
          mov.u32 %r1, 2
          if not %p2:
            exit0 = true
        if not exit0:
          loop:
            mov.u32 %r1, 1
            mov.u32 %r1, 2
            if not %p2:
              break
        """,
    )


@dataclass
class Trace:
    """The blocks that a thread executes, by number. decisions: what each branch of a block decides, one time after
    the other."""

    decisions: Mapping[int, Sequence[int]]
    steps: list[int] = field(default_factory=list)
    flags: dict[str, bool] = field(default_factory=dict)

    def step(self, number: int) -> None:
        self.steps.append(number)
        if len(self.steps) >= MOST_STEPS:
            raise StopIteration

    def decided(self, register: Register) -> int:
        number = int(register.name)
        choices = self.decisions[number]
        return choices[(self.steps.count(number) - 1) % len(choices)]

    def graph(self, found: Mapping[int, Block]) -> list[int]:
        """Execute blocks."""
        at = 0
        try:
            while True:
                block = found[at]
                for each in block.code:
                    self.step(each.line)
                end = block.end
                if isinstance(end, Jump):
                    at = end.target
                elif isinstance(end, Branch):
                    at = end.then if bool(self.decided(end.test) & 1) != end.test.negated else end.orelse
                elif isinstance(end, Table):
                    assert isinstance(end.index, Register)
                    at = end.targets[self.decided(end.index) % len(end.targets)]
                else:
                    return self.steps
        except StopIteration:
            return self.steps

    def tree(self, nodes: Sequence[Node]) -> list[int]:
        """Execute statements."""
        with suppress(StopIteration, EOFError):
            self.run(nodes)
        return self.steps

    def run(self, nodes: Sequence[Node]) -> str:
        """Returns what a loop around has to do: "break", "continue" or nothing."""
        for node in nodes:
            done = ""
            if isinstance(node, Instruction):
                self.step(node.line)
            elif isinstance(node, If):
                test = node.test
                value = self.flags.get(test.name, False) if isinstance(test, Flag) else bool(self.decided(test) & 1)
                done = self.run(node.then if value != test.negated else node.orelse)
            elif isinstance(node, Switch):
                assert isinstance(node.index, Register)
                done = self.run(node.cases[self.decided(node.index) % len(node.cases)])
            elif isinstance(node, Loop):
                while self.run(node.body) != "break":
                    pass
            elif isinstance(node, SetFlag):
                self.flags[node.name] = node.value
            elif isinstance(node, Exit):
                raise EOFError
            else:
                assert isinstance(node, (Break, Continue))
                done = "break" if isinstance(node, Break) else "continue"
            if done:
                return done
        return ""


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[int, Block], dict[int, list[int]]]:
    """Random blocks, and what their branches decide."""
    size = draw(st.integers(1, 9))
    block = st.integers(0, size - 1)
    found: dict[int, Block] = {}
    for number in range(size):
        name = Register(str(number), negated=draw(st.booleans()))
        end: Terminator = draw(
            st.one_of(
                st.builds(Branch, st.just(name), block, block),
                st.builds(Jump, block),
                st.just(End()),
                st.builds(Table, st.just(Register(str(number))), st.lists(block, min_size=1, max_size=4).map(tuple)),
            )
        )
        found[number] = Block((Instruction(("step",), line=number),), end)
    decisions = {number: draw(st.lists(st.integers(0, 11), min_size=1, max_size=5)) for number in range(size)}
    return reached(found), decisions


def reached(found: Mapping[int, Block]) -> dict[int, Block]:
    seen = {0}
    waiting = [0]
    while waiting:
        for each in found[waiting.pop()].successors:
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    return {number: found[number] for number in sorted(seen)}


def steps_of(nodes: Sequence[Node]) -> list[int]:
    """The blocks in statements, in the order of their text."""
    found: list[int] = []
    for node in nodes:
        if isinstance(node, Instruction):
            found.append(node.line)
        elif isinstance(node, If):
            found += [*steps_of(node.then), *steps_of(node.orelse)]
        elif isinstance(node, Loop):
            found += steps_of(node.body)
        elif isinstance(node, Switch):
            found += [step for case in node.cases for step in steps_of(case)]
    return found


@settings(max_examples=200, deadline=None)
@given(graphs())
def test_statements_do_what_the_graph_does(drawn: tuple[dict[int, Block], dict[int, list[int]]]) -> None:
    found, decisions = drawn
    nodes, flags = structured(found)
    before, after = Trace(decisions), Trace(decisions)
    assert after.tree(nodes) == before.graph(found), printed(nodes)
    assert set(after.flags) <= set(flags)


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_each_block_stands_once(drawn: tuple[dict[int, Block], dict[int, list[int]]]) -> None:
    """No code is copied, except to give a loop one entry."""
    found, _ = drawn
    nodes, _ = structured(found)
    copies = [block.code[0].line for block in reducible(found).values()]
    assert sorted(steps_of(nodes)) == sorted(copies)


def test_a_flag_that_is_set_again_guards_what_follows_again() -> None:
    """Both tables of jumps leave to the end; the second one has cases of which one falls through."""
    ends: list[Terminator] = [
        Table(Register("0"), (1, 2, 3)), Jump(8), Jump(3), Table(Register("3"), (4, 5, 6, 7)), Jump(8), Jump(6),
        Jump(8),
        Jump(8), End(),
    ]  # fmt: skip
    found = {n: Block((Instruction(("step",), line=n),), end) for n, end in enumerate(ends)}
    nodes, _ = structured(found)
    for first in range(3):
        for second in range(4):
            decisions = {number: [first if number == 0 else second] for number in found}
            assert Trace(decisions).tree(nodes) == Trace(decisions).graph(found), printed(nodes)

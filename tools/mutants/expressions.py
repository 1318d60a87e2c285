"""The operators that write another expression in the place of one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from tools.source import Edit, KernelSource, dotted

from .mutation import BARRIERS, Mutation, Operator, barriers


def rewrite(source: KernelSource, node: ast.expr, *texts: str) -> Iterator[Mutation]:
    """The mutations that write each of `texts` for an expression."""
    old = source.segment(node)
    for new in texts:
        if new != old:
            yield Mutation(f"`{old}` becomes `{new}`", source.statement_of(node), (source.replace(node, new),))


def calls(source: KernelSource, pattern: str) -> Iterator[ast.Call]:
    """The calls of functions whose dotted name matches, also those above the kernel."""
    for call in source.find(ast.Call, source.factory):
        if re.fullmatch(pattern, dotted(call)):
            yield call


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """An argument of a call, by position or by name."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[position] if 0 <= position < len(call.args) else None


def argument_of(pattern: str, position: int, name: str, *texts: str) -> Operator:
    """Rewrite an argument; in `texts`, {} stands for what it is now."""

    def operator(source: KernelSource) -> Iterator[Mutation]:
        for call in calls(source, pattern):
            node = argument(call, position, name)
            if node is not None:
                yield from rewrite(source, node, *(_filled(source, node, text) for text in texts))

    return operator


def _filled(source: KernelSource, node: ast.expr, text: str) -> str:
    """`text` with what `node` is in place of {}; sums of numbers are carried out."""
    new = text.format(source.segment(node))
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return str(eval(new, {"__builtins__": {}}))  # arithmetic on a literal of our own
    return new


def name_use(pattern: str, *texts: str) -> Operator:
    """Rewrite each use of a name; in `texts`, {} stands for it."""

    def operator(source: KernelSource) -> Iterator[Mutation]:
        for node in source.find(ast.Name, source.factory):
            if isinstance(node.ctx, ast.Load) and re.fullmatch(pattern, node.id):
                yield from rewrite(source, node, *(text.format(node.id) for text in texts))

    return operator


def counts(source: KernelSource) -> Iterator[Mutation]:
    """Initialise a barrier for another number of arrivals."""
    for call in calls(source, r".+\.init"):
        owner = dotted(call).removesuffix(".init")
        count = call.args[1] if owner == "Tx.ptx.mbarrier" else call.args[0] if owner in barriers(source) else None
        if count is not None:
            others = [_filled(source, count, new) for new in ("({}) + 1", "({}) - 1", "({}) * 2")]
            yield from rewrite(source, count, *others)


def initial_values(source: KernelSource) -> Iterator[Mutation]:
    """Begin with another phase or stage."""
    for assign in source.find(ast.Assign):
        target, value = assign.targets[0], assign.value
        if isinstance(value, ast.Constant) and isinstance(target, ast.Name) and re.match("phase|stage", target.id):
            yield from rewrite(source, value, "1")


def initial_states(source: KernelSource) -> Iterator[Mutation]:
    """Begin as a producer where a consumer is, or the other way round."""
    for call in calls(source, r".+\.init"):
        node = argument(call, -1, "is_producer")
        if isinstance(node, ast.Constant):
            yield from rewrite(source, node, str(not node.value))


def stages(source: KernelSource) -> Iterator[Mutation]:
    """Use another stage in a wait, an arrival, a copy or an MMA."""
    for call in source.find(ast.Call):
        name = dotted(call)
        nodes: list[ast.expr] = []
        signals = re.fullmatch(r"(?!Tx\.).+\.(wait|arrive)", name) is not None
        if call.args and (signals or name in source.inline_functions):
            nodes.append(call.args[0])
        elif name.endswith(".ptr_to") and call.args and isinstance(call.args[0], ast.List):
            nodes.append(call.args[0].elts[0])
        elif name in ("Tx.copy_async", "Tx.gemm_async"):
            nodes += [n for region in call.args for n in _stage_indices(region)]
        for node in nodes:
            yield from _other_stage(source, node)


def _stage_indices(region: ast.expr) -> list[ast.expr]:
    if isinstance(region, ast.Subscript) and isinstance(region.slice, ast.Tuple):
        return [n for n in region.slice.elts if not isinstance(n, ast.Slice)]
    return []


def _other_stage(source: KernelSource, node: ast.expr) -> Iterator[Mutation]:
    text = source.segment(node)
    if isinstance(node, ast.Constant):
        yield from rewrite(source, node, _filled(source, node, "({}) + 1"))
    elif text in ("warp_id", "wg_id", "c"):
        yield from rewrite(source, node, "0", f"1 - {text}")
    else:
        yield from rewrite(source, node, "0", f"({text} + 1) % PIPE_DEPTH")


def other_barrier(source: KernelSource) -> Iterator[Mutation]:
    """Wait for, or arrive at, another barrier."""
    names = barriers(source)
    for call in source.find(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("wait", "arrive", "ptr_to"):
            node = call.func.value
            if isinstance(node, ast.Name) and node.id in names:
                position = names.index(node.id)
                yield from rewrite(source, node, names[(position + 1) % len(names)])


OTHER_STATE = {"tma_phase": "mma_phase", "mma_phase": "tma_phase", "ld_phase": "wb_phase", "wb_phase": "ld_phase"}


def other_state(source: KernelSource) -> Iterator[Mutation]:
    """Use another pipeline state, once. The states of depth 1 have but one stage, so those are the same."""
    for node in source.find(ast.Attribute):
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if name in OTHER_STATE and (node.attr != "stage" or name in ("tma_phase", "mma_phase")):
            yield from rewrite(source, node.value, OTHER_STATE[name])


def accumulation(source: KernelSource) -> Iterator[Mutation]:
    """Accumulate on other K tiles."""
    for call in calls(source, r"Tx\.gemm_async"):
        node = argument(call, -1, "accum")
        if node is not None:
            new = ["True", "False"]
            if "k" in source.segment(node):
                new += ["(k == 0)", "(k != 1)", "(k > 1)"]
            yield from rewrite(source, node, *new)


NOBODY = {"warp_id": "4", "wg_id": "4", "lane_id": "32", "cbx": "2"}
"""A number that no thread has."""


def guards(source: KernelSource) -> Iterator[Mutation]:
    """Let other threads, or other turns of a loop, through."""
    for branch in source.find(ast.If):
        test = branch.test
        if not isinstance(test, ast.Compare):
            continue
        left, right = source.segment(test.left), source.segment(test.comparators[0])
        if isinstance(test.ops[0], ast.Eq):
            other = NOBODY.get(left) or _filled(source, test.comparators[0], "({}) + 1")
            yield from rewrite(source, test, f"{left} == {other}", f"{left} != {right}", "True")
            yield from rewrite(source, test, *(source.segment(test) for test in _other_roles(source, branch)))
        else:
            yield from rewrite(source, test, f"{left} <= {right}", f"{left} + 1 < {right}", "True")


def _other_roles(source: KernelSource, branch: ast.If) -> Iterator[ast.expr]:
    """The guards of the other branches beside this one."""
    beside = branch.orelse[0] if branch.orelse else source.parents[branch]
    if isinstance(beside, ast.If) and (branch.orelse or branch in beside.orelse):
        yield beside.test


def elections(source: KernelSource) -> Iterator[Mutation]:
    """Elect more threads than one, or one that is not there."""
    for block in source.find(ast.With):
        node = block.items[0].context_expr
        if isinstance(node, ast.Subscript):
            yield from rewrite(source, node.slice, "lane_id < 2", "lane_id == 32")
            yield from rewrite(source, node, source.segment(node.value))


def scopes(source: KernelSource) -> Iterator[Mutation]:
    """Execute a block in another scope."""
    for block in source.find(ast.With):
        node = block.items[0].context_expr
        copies = any(dotted(call) == "Tx.copy" for call in source.find(ast.Call, block))
        if copies and isinstance(node, ast.Call) and dotted(node) in ("Tx.cta", "Tx.warpgroup", "Tx.thread"):
            yield from rewrite(source, node, *(f"Tx.{scope}()" for scope in ("warp", "thread", "warpgroup")))


def roles(source: KernelSource) -> Iterator[Mutation]:
    """Exchange the threads of two roles."""
    for branch in source.find(ast.If):
        if len(branch.orelse) == 1 and isinstance(other := branch.orelse[0], ast.If):
            change = f"exchange `{source.segment(branch.test)}` and `{source.segment(other.test)}`"
            yield Mutation(change, branch, source.swap(branch.test, other.test))


def offsets(source: KernelSource) -> Iterator[Mutation]:
    """Move a slice by its own width, or take the offset of another matrix."""
    for call in calls(source, r"Tx\.(copy|copy_async|gemm_async|cast)"):
        for region in call.args:
            for node in source.find(ast.Slice, region):
                yield from _moved(source, node)


def _moved(source: KernelSource, node: ast.Slice) -> Iterator[Mutation]:
    if node.upper is None:
        return
    lower = source.segment(node.lower) if node.lower else "0"
    upper = source.segment(node.upper)
    texts = [f"{upper} : {upper} + ({upper}) - ({lower})"]
    for one, other in (("m_st", "n_st"), ("n_st", "m_st"), ("b_st", "n_st"), ("a_st", "m_st"), ("k_st", "0")):
        if re.search(rf"\b{one}\b", lower):
            texts.append(re.sub(rf"\b{one}\b", other, f"{lower} : {upper}"))
    start = source.start(node.lower or node.upper) - (0 if node.lower else 1)
    old = f"{lower} : {upper}" if node.lower else f":{upper}"
    for new in texts:
        edit = Edit(start, source.stop(node.upper), new)
        yield Mutation(f"`{old}` becomes `{new}`", source.statement_of(node), (edit,))


SLIPS = (
    ("bx", "by"), ("by", "bx"), ("m_idx", "n_idx"), ("n_idx", "m_idx"), ("cbx", "0"), ("k *", "0 *"),
    ("warp_id * 32", "warp_id * 16"), ("BLK_M", "(BLK_M // 2)"), ("BLK_K", "(BLK_K // 2)"), ("MMA_N", "BLK_N"),
    ("BLK_N", "(BLK_N // 2)"),
)  # fmt: skip
"""What is written for what in the place of a tile."""


def places_of_tiles(source: KernelSource) -> Iterator[Mutation]:
    """Compute the place of a tile in another way."""
    for call in calls(source, r"Tx\.meta_var"):
        node = call.args[0]
        if isinstance(node, ast.BinOp):
            text = source.segment(node)
            patterns = [(rf"\b{re.escape(old)}", new) for old, new in SLIPS]
            slips = [re.sub(old, new, text) for old, new in patterns if re.search(old, text)]
            yield from rewrite(source, node, f"{text} + 64", *slips)


def rows(source: KernelSource) -> Iterator[Mutation]:
    """Let a thread take another row."""
    for call in calls(source, r"Tx\.copy"):
        for node in source.find(ast.BinOp, call):
            if source.segment(node) == "warp_id * 32 + lane_id":
                yield from rewrite(source, node, "lane_id", "warp_id * 32 + lane_id + 1", "lane_id * 4 + warp_id")


def bounds(source: KernelSource) -> Iterator[Mutation]:
    """One turn of a loop more, or fewer."""
    for call in calls(source, r"range|Tx\.unroll"):
        text = source.segment(call.args[0])
        yield from rewrite(source, call.args[0], f"{text} - 1", f"{text} + 1")


def dimensions(source: KernelSource) -> Iterator[Mutation]:
    """Narrow a buffer in one dimension."""
    for call in calls(source, r"pool\.alloc|Tx\.alloc_local"):
        shape = call.args[0]
        if isinstance(shape, ast.Tuple):
            for node in shape.elts:
                text = source.segment(node)
                yield from rewrite(source, node, f"{text} // 2" if text != "1" else "0")


def operands(source: KernelSource) -> Iterator[Mutation]:
    """Exchange two operands."""
    for call in calls(source, r"Tx\.gemm_async"):
        first, second = call.args[1:3]
        change = f"exchange `{source.segment(first)}` and `{source.segment(second)}`"
        yield Mutation(change, source.statement_of(call), source.swap(first, second))
    for one, other in pairwise(calls(source, r"Tx\.(copy|copy_async)")):
        targets = one.args[0], other.args[0]
        if all(re.match("[AB]smem", source.segment(t)) for t in targets):
            change = f"exchange `{source.segment(targets[0])}` and `{source.segment(targets[1])}`"
            yield Mutation(change, source.statement_of(one), source.swap(*targets))


def named_barriers(source: KernelSource) -> Iterator[Mutation]:
    """Meet at another named barrier: that of the whole CTA, that of another warpgroup, or one that is not there."""
    for call in calls(source, r"Tx\.cuda\.warpgroup_sync"):
        node = call.args[0]
        others = [] if isinstance(node, ast.Constant) else ["1", f"{source.segment(node)} + 1"]
        yield from rewrite(source, node, "0", "16", *others)


def depths(source: KernelSource) -> Iterator[Mutation]:
    """Another depth of the pipeline in one place. More barriers than are needed are no mistake."""
    for node in source.find(ast.Name, source.factory):
        if node.id == "PIPE_DEPTH" and isinstance(node.ctx, ast.Load):
            call = source.parents[node]
            makes_barriers = isinstance(call, ast.Call) and dotted(call) in BARRIERS
            yield from rewrite(source, node, "(PIPE_DEPTH - 1)", *(() if makes_barriers else ("(PIPE_DEPTH + 1)",)))

"""Forms of loads, stores and atomic operations on 64 bytes of each thread, and of warp instructions (PTX ISA: "Data
Movement and Conversion Instructions", "Parallel Synchronization and Communication Instructions").
"""

from __future__ import annotations

from .forms import Form, expanded, written

_SPACES = {"global": "[{G}{at}]", "shared": "[{S}{at}]", "local": "[{L}{at}]"}
_TYPES = ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64")


def _address(space: str, offset: int = 0) -> str:
    return _SPACES[space].replace("{at}", f"+{offset}" if offset else "")


def loads() -> list[Form]:
    """A stored value is loaded again, and parts of it as other types."""
    found: list[Form] = []
    for space in _SPACES:
        for kind in _TYPES:
            text = f"st.{space}.{kind} {_address(space, 8)}, {{a}}; ld.{space}.{kind} {{d}}, {_address(space, 8)};"
            found.append(written(f"st, ld.{space}.{kind}", text, kind, kind))
            for count in (2, 4):
                if count * int(kind[1:]) > 128:
                    continue
                given = ", ".join(f"{{{name}}}" for name in "abco"[:count])
                taken = ", ".join(f"{{{name}}}" for name in "defg"[:count])
                text = (
                    f"st.{space}.v{count}.{kind} {_address(space, 16)}, {{{{{given}}}}}; "
                    f"ld.{space}.v{count}.{kind} {{{{{taken}}}}}, {_address(space, 16)};"
                )
                kinds = f"{kind} " * count
                found.append(written(f"st, ld.{space}.v{count}.{kind}", text, kinds, kinds))
        for kind in ("b8", "u8", "s8"):
            text = f"st.{space}.b32 {_address(space, 4)}, {{a}}; ld.{space}.{kind} {{d}}, {_address(space, 6)};"
            found.append(written(f"ld.{space}.{kind} to 16 bits", text, "b32", "b16"))
            found.append(written(f"ld.{space}.{kind} to 32 bits", text, "b32", "b32"))
            found.append(written(f"ld.{space}.{kind} to 64 bits", text, "b32", "b64"))
            text = (
                f"st.{space}.b32 {_address(space, 4)}, {{a}}; st.{space}.{kind} {_address(space, 5)}, {{b}}; "
                f"ld.{space}.b32 {{d}}, {_address(space, 4)};"
            )
            found.append(written(f"st.{space}.{kind}", text, "b32 b16", "b32"))
            found.append(written(f"st.{space}.{kind} of 32 bits", text, "b32 b32", "b32"))
        for kind in ("u16", "s16", "u32", "s32"):
            to = "b64" if kind.endswith("32") else "b32"
            text = f"st.{space}.b32 {_address(space, 12)}, {{a}}; ld.{space}.{kind} {{d}}, {_address(space, 12)};"
            found.append(written(f"ld.{space}.{kind} to {to[1:]} bits", text, "b32", to))
        text = (
            f"st.{space}.v4.b8 {_address(space, 20)}, {{{{{{a}}, {{b}}, {{c}}, {{o}}}}}}; "
            f"ld.{space}.v2.b16 {{{{{{d}}, {{e}}}}}}, {_address(space, 20)};"
        )
        found.append(written(f"st.{space}.v4.b8, ld.v2.b16", text, "b16 b16 b16 b16", "b16 b16"))
        place = _address(space, 24)
        taken = "{{{d}, {e}, {f}, {g}}}"
        text = f"st.{space}.b64 {place}, {{a}}; ld.{space}.v4.u8 {taken}, {place};"
        found.append(written(f"st.{space}.b64, ld.v4.u8", text, "b64", "b16 b16 b16 b16"))
    return [*found, *strong(), *generic()]


def strong() -> list[Form]:
    """Volatile, relaxed, acquiring and releasing accesses, and cache hints."""
    found: list[Form] = []
    for space in ("global", "shared"):
        for stores, loads_ in (
            ("volatile", "volatile"), ("relaxed.gpu", "relaxed.gpu"), ("release.gpu", "acquire.gpu"),
            ("relaxed.cta", "acquire.cta"), ("release.sys", "relaxed.sys"), ("weak", "weak"),
        ):
            for kind in ("b32", "u64", "f32"):
                text = (
                    f"st.{stores}.{space}.{kind} {_address(space, 32)}, {{a}}; "
                    f"ld.{loads_}.{space}.{kind} {{d}}, {_address(space, 32)};"
                )
                found.append(written(f"st.{stores}, ld.{loads_}.{space}.{kind}", text, kind, kind))
    for opcode in ("ld.global.nc.b64", "ld.global.L1::no_allocate.b64", "ld.global.L2::128B.b64", "ldu.global.b64"):
        found.append(written(f"{opcode} of an operand", f"{opcode} {{d}}, [%di];", "b64", "b64"))
    for opcode in (*expanded("fence.[sc|acq_rel].[cta|cluster|gpu|sys]"), *expanded("membar.[cta|gl|sys]")):
        text = f"st.global.b32 [{{G}}], {{a}}; {opcode}; ld.global.b32 {{d}}, [{{G}}];"
        found.append(written(opcode, text, "b32", "b32"))
    for opcode in ("prefetch.global.L1", "prefetch.global.L2", "prefetchu.L1"):
        text = f"{opcode} [{{G}}]; mov.b32 {{d}}, {{a}};"
        found.append(written(opcode, text, "b32", "b32"))
    for stores, loads_ in (("wb", "ca"), ("cg", "cg"), ("cs", "cs"), ("wt", "cv"), ("wb", "lu")):
        text = f"st.global.{stores}.b32 [{{G}}+40], {{a}}; ld.global.{loads_}.b32 {{d}}, [{{G}}+40];"
        found.append(written(f"st.global.{stores}, ld.global.{loads_}", text, "b32", "b32"))
    return found


def generic() -> list[Form]:
    """Accesses by generic addresses, which cvta makes."""
    found: list[Form] = []
    for space, place in (("global", "{G}"), ("shared", "{SW}"), ("local", "{LW}")):
        for kind in ("b8", "b32", "b64"):
            held = "b16" if kind == "b8" else kind
            text = (
                f"{{{{ .reg .b64 to; cvta.{space}.u64 to, {place}; st.{kind} [to+48], {{a}}; "
                f"ld.{space}.{kind} {{d}}, {_address(space, 48)}; }}}}"
            )
            found.append(written(f"st.{kind} by a generic address, {space}", text, held, held))
            text = (
                f"{{{{ .reg .b64 to; cvta.{space}.u64 to, {place}; st.{space}.{kind} {_address(space, 56)}, {{a}}; "
                f"ld.{kind} {{d}}, [to+56]; }}}}"
            )
            found.append(written(f"ld.{kind} by a generic address, {space}", text, held, held))
        for asked in ("global", "shared", "local", "const"):
            text = f"{{{{ .reg .b64 to; cvta.{space}.u64 to, {place}; isspacep.{asked} {{d}}, to; }}}}"
            found.append(written(f"isspacep.{asked} of {space}", text, "", "pred"))
    return found


_OPS = {
    "add": ("u32", "s32", "u64", "f32", "f64"), "min": ("u32", "s32", "u64", "s64"),
    "max": ("u32", "s32", "u64", "s64"), "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"),
    "inc": ("u32",), "dec": ("u32",),
    "exch": ("b32", "b64"), "cas": ("b16", "b32", "b64"),
}  # fmt: skip


def atomics() -> list[Form]:
    """Atomic operations on the thread's own memory: the old value and the new one."""
    found: list[Form] = []
    for space in ("global", "shared"):
        for op, kinds in _OPS.items():
            for kind in kinds:
                place = _address(space, 32)
                given = "{b}, {c}" if op == "cas" else "{b}"
                head = f"st.{space}.{kind} {place}, {{a}}; "
                tail = f" ld.{space}.{kind} {{e}}, {place};"
                operands = f"{kind} " * (3 if op == "cas" else 2)
                text = f"{head}atom.{space}.{op}.{kind} {{d}}, {place}, {given};{tail}"
                found.append(written(f"atom.{space}.{op}.{kind}", text, operands, f"{kind} {kind}"))
                if op == "cas":
                    text = f"{head}atom.{space}.{op}.{kind} {{d}}, {place}, {{a}}, {{b}};{tail}"
                    found.append(
                        written(f"atom.{space}.{op}.{kind} that swaps", text, f"{kind} {kind}", f"{kind} {kind}")
                    )
                elif op != "exch":
                    text = f"{head}red.{space}.{op}.{kind} {place}, {{b}};{tail.replace('{e}', '{d}')}"
                    found.append(written(f"red.{space}.{op}.{kind}", text, operands, kind))
        for kind, whole in (("f16", "b16"), ("bf16", "b16"), ("f16x2", "b32"), ("bf16x2", "b32")):
            text = (
                f"st.{space}.{whole} {_address(space, 36)}, {{a}}; "
                f"atom.{space}.add.noftz.{kind} {{d}}, {_address(space, 36)}, {{b}}; "
                f"ld.{space}.{whole} {{e}}, {_address(space, 36)};"
            )
            found.append(written(f"atom.{space}.add.noftz.{kind}", text, f"{kind} {kind}", f"{kind} {kind}"))
    for words in ("relaxed.cta", "acquire.gpu", "release.gpu", "acq_rel.sys"):
        text = f"st.global.u32 [{{G}}+32], {{a}}; atom.{words}.global.add.u32 {{d}}, [{{G}}+32], {{b}};"
        found.append(written(f"atom.{words}.global.add.u32", text, "u32 u32", "u32"))
    return found


def warps() -> list[Form]:
    """Shuffles, votes, matches and reductions of a whole warp, and of the lanes of a mask."""
    found: list[Form] = []
    for mode in ("up", "down", "bfly", "idx"):
        for clamp in (0, 31, 0x0C1F, 0x1C1F, 0x181F, 0x1800, 0x1E03, 0x0007):
            text = f"shfl.sync.{mode}.b32 {{d}}|{{e}}, {{a}}, {{b}}, {clamp:#x}, -1;"
            found.append(written(f"shfl.sync.{mode}.b32 {clamp:#x}", text, "b32 b32&31", "b32 pred", warp="all"))
        text = f"shfl.sync.{mode}.b32 {{d}}, {{a}}, {{b}}, {{c}}, -1;"
        found.append(written(f"shfl.sync.{mode}.b32 of registers", text, "b32 b32&31 b32&7967", "b32", warp="all"))
    text = "shfl.sync.idx.b32 {d}, {a}, 3, 31, -1;"
    found.append(written("shfl.sync.idx.b32 of lane 3", text, "b32", "b32", warp="all"))
    text = "shfl.sync.bfly.b32 {d}, {a}, 5, 31, -1;"
    found.append(written("shfl.sync.bfly.b32 of f32", text, "f32", "f32", warp="all"))
    text = "{{ .reg .b32 first; bfind.u32 first, {m}; shfl.sync.idx.b32 {d}, {a}, first, 31, {m}; }}"
    found.append(written("shfl.sync.idx.b32 of the last lane", text, "b32", "b32", warp="mask"))
    for opcode in expanded("vote.sync.[all|any|uni].pred"):
        found.append(written(opcode, f"{opcode} {{d}}, {{a}}, {{m}};", "pred", "pred", warp="mask"))
        found.append(written(f"{opcode} !a", f"{opcode} {{d}}, !{{a}}, {{m}};", "pred", "pred", warp="mask"))
    text = "vote.sync.ballot.b32 {d}, {a}, {m};"
    found.append(written("vote.sync.ballot.b32", text, "pred", "b32", warp="mask"))
    for kind in ("b32", "b64"):
        few = f"{kind}&3"
        text = f"match.any.sync.{kind} {{d}}, {{a}}, {{m}};"
        found.append(written(f"match.any.sync.{kind}", text, few, "b32", warp="mask"))
        found.append(written(f"match.any.sync.{kind} of any", text, kind, "b32", warp="mask"))
        text = f"match.all.sync.{kind} {{d}}|{{e}}, {{a}}, {{m}};"
        found.append(written(f"match.all.sync.{kind}", text, f"{kind}&1", "b32 pred", warp="mask"))
    for opcode in (*expanded("redux.sync.[add|min|max].[u32|s32]"), *expanded("redux.sync.[and|or|xor].b32")):
        found.append(written(opcode, f"{opcode} {{d}}, {{a}}, {{m}};", "b32", "b32", warp="mask"))
    for count in (1, 2, 4):
        taken = ", ".join(f"{{{name}}}" for name in "defg"[:count])
        for mod in ("", ".trans"):
            opcode = f"ldmatrix.sync.aligned.m8n8.x{count}{mod}.shared.b16"
            text = (
                "st.shared.v4.b32 [{S}], {{{a}, {b}, {c}, {o}}}; bar.warp.sync -1; "
                f"{opcode} {{{{{taken}}}}}, [{{S}}]; bar.warp.sync -1;"
            )
            found.append(written(opcode, text, "b32 b32 b32 b32", "b32 " * count, warp="all"))
            given = ", ".join(f"{{{name}}}" for name in "abco"[:count])
            opcode = opcode.replace("ldmatrix", "stmatrix")
            text = (
                "st.shared.v4.b32 [{S}], {{{a}, {a}, {a}, {a}}}; bar.warp.sync -1; "
                f"{opcode} [{{S}}], {{{{{given}}}}}; bar.warp.sync -1; "
                "ld.shared.v4.b32 {{{d}, {e}, {f}, {g}}}, [{S}];"
            )
            found.append(written(opcode, text, "b32 " * count, "b32 b32 b32 b32", warp="all"))
    opcode = "movmatrix.sync.aligned.m8n8.trans.b16"
    found.append(written(opcode, f"{opcode} {{d}}, {{a}};", "b32", "b32", warp="all"))
    for size in (4, 8, 16):
        load = f"ld.shared.b{8 * min(size, 8)} {{d}}, [{{S}}+{max(16, size + 8)}];"
        text = (
            f"st.global.v2.b64 [{{G}}+16], {{{{{{a}}, {{b}}}}}}; "
            f"cp.async.ca.shared.global [{{S}}+16], [{{G}}+16], {size}; "
            f"cp.async.commit_group; cp.async.wait_group 0; {load}"
        )
        found.append(written(f"cp.async of {size} bytes", text, "b64 b64", f"b{8 * min(size, 8)}", warp="all"))
    found.append(written("activemask.b32", "bar.warp.sync -1; activemask.b32 {d};", "", "b32", warp="all"))
    found.append(written("elect.sync", "elect.sync _|{d}, -1;", "", "pred", warp="all"))
    for op, to in (("popc.u32", "u32"), ("and.pred", "pred"), ("or.pred", "pred")):
        text = f"bar.red.{op} {{d}}, 0, {{a}};"
        found.append(written(f"bar.red.{op}", text, "pred", to, warp="cta"))
        text = f"barrier.red.{op} {{d}}, 1, !{{a}};"
        found.append(written(f"barrier.red.{op}", text, "pred", to, warp="cta"))
    for name in ("laneid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "tid.x", "ntid.x",
                 "ctaid.x", "nctaid.x", "tid.y", "ntid.z"):  # fmt: skip
        found.append(written(f"%{name}", f"mov.u32 {{d}}, %{name};", "", "b32"))
    return found


def access_forms() -> list[Form]:
    return [*loads(), *atomics(), *warps()]

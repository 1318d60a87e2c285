"""Forms of integer, bit, logic, selection and move instructions.

PTX ISA: "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic Instructions", "Comparison and
Selection Instructions", "Logic and Shift Instructions".
"""

from __future__ import annotations

from .forms import Form, expanded, forms, written

ALL = "[u16|s16|u32|s32|u64|s64]"
NARROW = "[u16|s16|u32|s32]"
WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


def arithmetic() -> list[Form]:
    """Sums, products and bits. The negation of the least number is left out: ptxas takes it for a positive one."""
    found = [
        *forms(f"[add|sub|min|max].{ALL}", "$ $", "$"),
        *forms("[add|sub].sat.s32", "$ $", "$"),
        *forms("[add|min|max].[u16x2|s16x2]", "$ $", "$"),
        *forms("[min|max].relu.[s32|s16x2]", "$ $", "$"),
        *forms(f"mul.[lo|hi].{ALL}", "$ $", "$"),
        *forms(f"mad.[lo|hi].{ALL}", "$ $ $", "$"),
        *forms("mad.hi.sat.s32", "$ $ $", "$"),
        *forms(f"sad.{ALL}", "$ $ $", "$"),
        *forms(f"[div|rem].{ALL}", "$ $!", "$"),
        *forms("[abs|neg].[s16|s32|s64]", "$!", "$"),
        *forms("mul24.[lo|hi].u32", "u32&16777215 u32&16777215", "u32"),
        *forms("mul24.[lo|hi].s32", "s32>>8 s32>>8", "s32"),
        *forms("mad24.[lo|hi].u32", "u32&16777215 u32&16777215 u32", "u32"),
        *forms("mad24.[lo|hi].s32", "s32>>8 s32>>8 s32", "s32"),
        *forms("mad24.hi.sat.s32", "s32>>8 s32>>8 s32", "s32"),
        *forms("[popc|clz].[b32|b64]", "$", "u32"),
        *forms("bfind.[u32|s32|u64|s64]", "$", "u32"),
        *forms("bfind.shiftamt.[u32|s32|u64|s64]", "$", "u32"),
        *forms("brev.[b32|b64]", "$", "$"),
        *forms("fns.b32", "b32 b32&31 s32>>27", "b32"),
        *forms("bfe.[u32|s32|u64|s64]", "$ u32&127 u32&127", "$"),
        *forms("bfi.[b32|b64]", "$ $ u32&127 u32&127", "$"),
        *forms("szext.[clamp|wrap].[u32|s32]", "$ u32", "$"),
        *forms("bmsk.[clamp|wrap].b32", "b32&63 b32&63", "b32"),
    ]
    for kind, wide in WIDE.items():
        found += forms(f"mul.wide.{kind}", f"{kind} {kind}", wide)
        found += forms(f"mad.wide.{kind}", f"{kind} {kind} {wide}", wide)
    for a in ("u32", "s32"):
        for b in ("u32", "s32"):
            c = "u32" if a == b == "u32" else "s32"
            found += forms(f"dp4a.{a}.{b}", f"b32 b32 {c}", c)
            found += forms(f"dp2a.[lo|hi].{a}.{b}", f"b32 b32 {c}", c)
    return [*found, *whole_fields()]


def whole_fields() -> list[Form]:
    """Forms whose positions and lengths have any of the eight bits that they may have."""
    found = [
        written(f"bfe.{kind} of any field", f"bfe.{kind} {{d}}, {{a}}, {{b}}, {{c}};", f"{kind} u32&255 u32&255", kind)
        for kind in ("u32", "s32", "u64", "s64")
    ]
    found += [
        written(
            f"bfi.{kind} of any field", f"bfi.{kind} {{d}}, {{a}}, {{b}}, {{c}}, {{o}};",
            f"{kind} {kind} u32&255 u32&255", kind,
        )
        for kind in ("b32", "b64")
    ]
    return found


def carries() -> list[Form]:
    """Chains of sums, differences and products with a carry."""
    found: list[Form] = []
    for kind in ("u32", "s32", "u64", "s64"):
        for op in ("add", "sub"):
            text = (
                f"{op}.cc.{kind} {{d}}, {{a}}, {{b}}; {op}c.cc.{kind} {{e}}, {{b}}, {{c}}; "
                f"{op}c.{kind} {{f}}, {{c}}, {{a}};"
            )
            found.append(written(f"{op}.cc.{kind}, {op}c.cc, {op}c", text, f"{kind} " * 3, f"{kind} " * 3))
        for first, last in (("lo", "hi"), ("hi", "lo")):
            text = (
                f"mad.{first}.cc.{kind} {{d}}, {{a}}, {{b}}, {{c}}; madc.{last}.cc.{kind} {{e}}, {{b}}, {{c}}, {{o}}; "
                f"madc.{last}.{kind} {{f}}, {{a}}, {{c}}, {{o}};"
            )
            found.append(
                written(f"mad.{first}.cc.{kind}, madc.{last}.cc, madc.{last}", text, f"{kind} " * 4, f"{kind} " * 3)
            )
    return found


def logic() -> list[Form]:
    found = [
        *forms("[and|or|xor].[b16|b32|b64|pred]", "$ $", "$"),
        *forms("not.[b16|b32|b64|pred]", "$", "$"),
        *forms("cnot.[b16|b32|b64]", "$", "$"),
        *forms("shl.[b16|b32|b64]", "$ u32&127", "$"),
        *forms("shr.[b16|b32|b64|u16|u32|u64|s16|s32|s64]", "$ u32&127", "$"),
        *forms("shf.[l|r].[clamp|wrap].b32", "b32 b32 u32&63", "b32"),
        *forms("prmt.b32", "b32 b32 b32", "b32"),
        *forms("selp.[b16|b32|b64|u16|u32|u64|s16|s32|s64]", "$ $ pred", "$"),
        *(
            written(f"prmt.b32.{mode}", f"prmt.b32.{mode} {{d}}, {{a}}, {{b}}, {{c}};", "b32 b32 b32", "b32")
            for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
        ),
    ]
    for kind in ("b32", "b64"):
        found += [
            written(f"{op}.{kind} by any count", f"{op}.{kind} {{d}}, {{a}}, {{b}};", f"{kind} u32", kind)
            for op in ("shl", "shr")
        ]
    for table in (0x00, 0x1A, 0x2D, 0x80, 0x96, 0xCA, 0xE8, 0xFE, 0xFF):
        found.append(written(
            f"lop3.b32 {table:#x}", f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table:#x};", "b32 b32 b32", "b32"
        ))  # fmt: skip
    for op in ("and", "or"):
        text = f"lop3.{op}.b32 {{d}}|{{e}}, {{a}}, {{b}}, {{c}}, 0x40, {{o}};"
        found.append(written(f"lop3.{op}.b32", text, "b32 b32 b32 pred", "b32 pred"))
    for kind in ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"):
        found += forms(f"slct.{kind}.s32", f"{kind} {kind} s32", kind)
        found += forms(f"slct[.ftz|].{kind}.f32", f"{kind} {kind} f32", kind)
    return found


def comparisons() -> list[Form]:
    """setp and set of integers."""
    found: list[Form] = []
    tests = {"s": "eq ne lt le gt ge", "u": "eq ne lt le gt ge lo ls hi hs", "b": "eq ne"}
    for size in (16, 32, 64):
        for sign, words in tests.items():
            kind = f"{sign}{size}"
            for word in words.split():
                found += forms(f"setp.{word}.{kind}", "$ $", "pred")
                found += forms(f"set.{word}.[u32|s32|f32].{kind}", "$ $", "b32")
            found += joined(kind, words.split()[-1])
    return found


def joined(kind: str, word: str, mods: str = "") -> list[Form]:
    """Comparisons whose result is joined with a predicate, or has its complement beside it."""
    found: list[Form] = []
    for op in ("and", "or", "xor"):
        opcode = f"setp.{word}.{op}{mods}.{kind}"
        pair = "" if kind in ("f16", "bf16") else "|{e}"
        found.append(written(
            f"{opcode} p|q", f"{opcode} {{d}}{pair}, {{a}}, {{b}}, {{c}};", f"{kind} {kind} pred",
            "pred pred" if pair else "pred",
        ))  # fmt: skip
        found.append(written(
            f"{opcode} !c", f"{opcode} {{d}}, {{a}}, {{b}}, !{{c}};", f"{kind} {kind} pred", "pred"
        ))  # fmt: skip
        opcode = f"set.{word}.{op}{mods}.u32.{kind}"
        found.append(written(opcode, f"{opcode} {{d}}, {{a}}, {{b}}, {{c}};", f"{kind} {kind} pred", "u32"))
    return found


def moves() -> list[Form]:
    """Moves, packing and unpacking, conversions of addresses."""
    found = [*forms("mov.[b16|b32|b64|u16|u32|u64|s16|s32|s64|pred]", "$", "$")]
    for parts, kind, whole in ((2, "b16", "b32"), (2, "b32", "b64"), (4, "b16", "b64")):
        names = [f"{{{name}}}" for name in "abco"[:parts]]
        found.append(written(
            f"mov.{whole} of {parts}", f"mov.{whole} {{d}}, {{{{{', '.join(names)}}}}};", f"{kind} " * parts, whole
        ))  # fmt: skip
        names = [f"{{{name}}}" for name in "defg"[:parts]]
        found.append(written(
            f"mov.{whole} to {parts}", f"mov.{whole} {{{{{', '.join(names)}}}}}, {{a}};", whole, f"{kind} " * parts
        ))  # fmt: skip
    found += [
        written("mov.b32 of f32", "mov.b32 {d}, {a};", "f32~", "b32"),
        written("mov.b64 of f64", "mov.b64 {d}, {a};", "f64~", "b64"),
        written("mov.b32 to f32", "mov.b32 {d}, {a};", "b32", "f32"),
        written("mov.b64 to f64", "mov.b64 {d}, {a};", "b64", "f64"),
        written("mov.b16 of f16", "mov.b16 {d}, {a};", "f16~", "b16"),
        written("mov.b16 to f16", "mov.b16 {d}, {a};", "b16", "f16"),
        written("mov.b16 to bf16", "mov.b16 {d}, {a};", "b16", "bf16"),
        written("mov.b32 of f16s", "mov.b32 {d}, {{{a}, {b}}};", "f16 f16", "f16x2"),
        written("mov.b32 of bf16s", "mov.b32 {d}, {{{a}, {b}}};", "bf16 bf16", "bf16x2"),
        written("mov.b32 to f16s", "mov.b32 {{{d}, {e}}}, {a};", "f16x2", "f16 f16"),
        written("mov.b32 to bf16s", "mov.b32 {{{d}, {e}}}, {a};", "bf16x2", "bf16 bf16"),
        written("mov.b64 sink", "mov.b64 {{_, {d}}}, {a};", "b64", "b32"),
    ]
    for opcode in expanded("cvt.pack.sat.[u16|s16].s32"):
        found.append(written(opcode, f"{opcode} {{d}}, {{a}}, {{b}};", "s32 s32", "b32"))
    for opcode in expanded("cvt.pack.sat.[u8|s8|u4|s4|u2|s2].s32.b32"):
        found.append(written(opcode, f"{opcode} {{d}}, {{a}}, {{b}}, {{c}};", "s32 s32 b32", "b32"))
    return found


def integer_forms() -> list[Form]:
    return [*arithmetic(), *carries(), *logic(), *comparisons(), *moves()]

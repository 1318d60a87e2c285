"""Tokeniser and parser of constant expressions and operands (PTX ISA: "Lexical Elements", "Constants", "Operands")."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from tirx_mini.records import dataclass

from .syntax import Address, Float, Group, Immediate, Operand, Pair, Register, Sink, Special, Symbol, Vector

_TOKEN = re.compile(
    r"(?:%(?!\d)|[$_A-Za-z])[\w$]*"  # names; a lone % and the operator % are not names
    r"|0[fF][0-9a-fA-F]{8}(?!\w)|0[dD][0-9a-fA-F]{16}(?!\w)"
    r"|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?|\d+U?"
    r'|"[^"\n]*"'
    r"|<<|>>|<=|>=|==|!=|&&|\|\||[^\s]"
)
_NAME = re.compile(r"(?:%(?!\d)|[$_A-Za-z])[\w$]*\Z")
_WORD = (1 << 64) - 1

SPECIALS = frozenset(
    "tid ntid laneid warpid nwarpid ctaid nctaid smid nsmid gridid is_explicit_cluster clusterid nclusterid "
    "cluster_ctaid cluster_nctaid cluster_ctarank cluster_nctarank lanemask_eq lanemask_le lanemask_lt lanemask_ge "
    "lanemask_gt clock clock_hi clock64 globaltimer globaltimer_lo globaltimer_hi reserved_smem_offset_begin "
    "reserved_smem_offset_end reserved_smem_offset_cap reserved_smem_offset_0 reserved_smem_offset_1 total_smem_size "
    "aggr_smem_size dynamic_smem_size current_graph_exec".split()
) | {*(f"pm{i}" for i in range(8)), *(f"pm{i}_64" for i in range(8)), *(f"envreg{i}" for i in range(32))}
"""Special registers, without their % (PTX ISA: "Special Registers")."""


class PtxSyntaxError(Exception):
    """A syntax error without its line, which the reader adds."""


def tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def number(token: str) -> Immediate | Float | None:
    """Parse a numeric constant, or return None for any other token."""
    head = token[:2].lower()
    if head == "0f" and len(token) == 10:
        return Float(int(token[2:], 16), 32)
    if head == "0d" and len(token) == 18:
        return Float(int(token[2:], 16), 64)
    if not (token[0].isdigit() or (token[0] == "." and len(token) > 1)):
        return None
    if head not in ("0x", "0b") and ("." in token or "e" in token.lower()):
        return Float(struct.unpack("<Q", struct.pack("<d", float(token)))[0], 64)
    digits = token.rstrip("U")
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    try:
        return Immediate(int(digits, 8) if octal else int(digits, 0))
    except ValueError:
        raise PtxSyntaxError(f"{token} is not a number") from None


def _signed(value: int) -> int:
    """Wrap a constant to a signed 64-bit integer."""
    value &= _WORD
    return value - (1 << 64) if value >> 63 else value


def _quotient(a: int, b: int) -> int:
    if b == 0:
        raise PtxSyntaxError("a constant is divided by zero")
    return -(-a // b) if (a < 0) != (b < 0) else a // b


_BINARY: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "||": (1, lambda a, b: int(bool(a or b))),
    "&&": (2, lambda a, b: int(bool(a and b))),
    "|": (3, lambda a, b: a | b),
    "^": (4, lambda a, b: a ^ b),
    "&": (5, lambda a, b: a & b),
    "==": (6, lambda a, b: int(a == b)),
    "!=": (6, lambda a, b: int(a != b)),
    "<": (7, lambda a, b: int(a < b)),
    "<=": (7, lambda a, b: int(a <= b)),
    ">": (7, lambda a, b: int(a > b)),
    ">=": (7, lambda a, b: int(a >= b)),
    "<<": (8, lambda a, b: a << (b & 63)),
    ">>": (8, lambda a, b: a >> (b & 63)),
    "+": (9, lambda a, b: a + b),
    "-": (9, lambda a, b: a - b),
    "*": (10, lambda a, b: a * b),
    "/": (10, _quotient),
    "%": (10, lambda a, b: a - b * _quotient(a, b)),
}
"""Operators of constant expressions, each with the strength of its binding and its function."""


@dataclass
class Operands:
    """A parser of operands from tokens. named: resolves a name to a Register or Symbol."""

    words: list[str]
    named: Callable[[str], Operand]
    at: int = 0

    def peek(self) -> str:
        """Return the next token, or "" at the end."""
        return self.words[self.at] if self.at < len(self.words) else ""

    def take(self, expected: str = "") -> str:
        """Consume the next token, which must equal `expected` if given."""
        word = self.peek()
        if (expected and word != expected) or not word:
            found = f"{word!r}" if word else "the end"
            lacks = f"{found} stands where {expected!r} is expected" if expected else "an operand is missing"
            raise PtxSyntaxError(lacks)
        self.at += 1
        return word

    def list(self, end: str, groups: bool = False) -> tuple[Operand, ...]:
        """Parse operands up to and including the token `end` ("" for the end of the text)."""
        found: list[Operand] = []
        while self.peek() != end:
            found.append(self.operand(groups))
            if self.peek() == end:
                break
            self.take(",")
        if end:
            self.take(end)
        return tuple(found)

    def operand(self, groups: bool = False) -> Operand:
        """Parse one operand. groups: treat parentheses as those of a call."""
        word = self.peek()
        if word == "{":
            self.at += 1
            return Vector(self.list("}"))
        if word == "[":
            self.at += 1
            return self._address()
        if word == "(" and groups:
            self.at += 1
            return Group(self.list(")"))
        if word == "!":
            self.at += 1
            found = self.named(self.take())
            if not isinstance(found, Register):
                raise PtxSyntaxError(f"{word}{getattr(found, 'name', '')} negates something that is not a register")
            return Register(found.name, not found.negated, found.component)
        if _NAME.match(word) and word != "WARP_SZ":
            return self._named()
        return self.constant()

    def _named(self) -> Operand:
        """Parse a name with an optional component or offset, and an optional second result after ``|``."""
        word = self.take()
        found: Operand = Sink() if word == "_" else self.named(word)
        if self.peek() == "." and isinstance(found, (Register, Special)):
            self.at += 1
            component = self.take()
            special = isinstance(found, Special)
            found = Special(found.name, component) if special else Register(found.name, False, component)
        elif self.peek() in ("+", "-") and isinstance(found, Symbol):
            found = Symbol(found.name, self.offset())
        if self.peek() == "|":
            self.at += 1
            return Pair(found, self.operand())
        return found

    def offset(self) -> int:
        """Parse the remaining terms of a constant sum, starting at the sign."""
        total = 0
        while self.peek() in ("+", "-"):
            sign = self.take()
            part = self._value(10)
            total += part if sign == "+" else -part
        return total

    def _address(self) -> Address:
        base = self.operand()
        offset = self.offset() if isinstance(base, Register) else 0
        if isinstance(base, Symbol):
            base, offset = Symbol(base.name), base.offset
        more: tuple[Operand, ...] = ()
        if self.peek() == ",":
            self.at += 1
            more = self.list("]")
        else:
            self.take("]")
        return Address(base, offset, more)

    def constant(self) -> Immediate | Float:
        """Parse a constant expression."""
        start = self.at
        sign = self.peek() in ("-", "+")
        self.at += sign
        found = number(self.peek()) if self.peek() else None
        if isinstance(found, Float):
            self.at += 1
            flip = 1 << (found.width - 1) if self.words[start] == "-" else 0
            return Float(found.bits ^ flip, found.width)
        self.at = start
        return Immediate(self.integer())

    def integer(self) -> int:
        """Parse and evaluate an integer constant expression."""
        value = self._value(0)
        if self.peek() == "?":
            self.at += 1
            yes = self.integer()
            self.take(":")
            no = self.integer()
            return yes if value else no
        return value

    def _value(self, strength: int) -> int:
        """Parse operators by precedence climbing, down to precedence `strength`."""
        value = self._unary()
        while self.peek() in _BINARY and _BINARY[self.peek()][0] >= strength:
            power, apply = _BINARY[self.take()]
            value = _signed(apply(value, self._value(power + 1)))
        return value

    def _unary(self) -> int:
        word = self.take()
        if word == "-":
            return -self._unary()
        if word == "+":
            return self._unary()
        if word == "~":
            return ~self._unary()
        if word == "!":
            return int(not self._unary())
        if word == "WARP_SZ":
            return 32
        if word == "(":
            if self.peek() == ".":
                self.at += 1
                kind = self.take()
                self.take(")")
                value = self._unary()
                return value & _WORD if kind == "u64" else _signed(value)
            value = self.integer()
            self.take(")")
            return value
        found = number(word)
        if not isinstance(found, Immediate):
            raise PtxSyntaxError(f"{word} is not a constant")
        return found.value

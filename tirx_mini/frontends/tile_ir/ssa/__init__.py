"""The SSA infrastructure of tile programs: values, operations, regions, dialects, text, rewriting and passes."""

from .attributes import ATTRIBUTE, BOOL, FLAG, FLOAT, INT, INTS, STRING, SYMBOL, TYPE, one_of, quoted, sequence
from .build import Builder, make
from .core import (
    DTYPES,
    REQUIRED,
    Arg,
    Codec,
    Field,
    Module,
    Op,
    OpKind,
    Region,
    Scalar,
    Syntax,
    Type,
    Value,
    Verify,
    flat,
)
from .dialect import Dialect
from .parser import ParseError, Parser, parse_module
from .passes import Watch, diff, run_verified
from .printer import Printer, print_module
from .rewrite import KEEP, Rewriter, Rule, merge_equal, remove_dead, rewrite, uses
from .verifier import verify

__all__ = [
    "ATTRIBUTE", "BOOL", "DTYPES", "FLAG", "FLOAT", "INT", "INTS", "KEEP", "REQUIRED", "STRING", "SYMBOL", "TYPE",
    "Arg", "Builder", "Codec", "Dialect", "Field", "Module", "Op", "OpKind", "ParseError", "Parser", "Printer",
    "Region", "Rewriter", "Rule", "Scalar", "Syntax", "Type", "Value", "Verify", "Watch",
    "diff", "flat", "make", "merge_equal", "one_of", "parse_module", "print_module", "quoted", "remove_dead", "rewrite",
    "run_verified", "sequence", "uses", "verify",
]  # fmt: skip

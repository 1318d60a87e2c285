"""Serialisation of kernels: `save_json` and `load_json`, under TVM's names.

The text is JSON, and no part of it is evaluated. Every node is a row of a table, and refers only to earlier rows:

    {"format": "tirx_mini kernel", "version": 1, "files": ["gemm_kernels.py"],
     "nodes": [["Var", {"dtype": "int32", "name": "k"}], ["Const", {"dtype": "int32", "value": 1}],
               ["Binary", {"dtype": "int32", "op": "+", "a": {"ref": 0}, "b": {"ref": 1}}], …], "func": 3}

The input may be untrusted, so `load_json` checks every field against the grammar (`grammar.py`), every
instruction against its signature, and every name, since names become text of Python and CUDA. It also bounds sizes and
depths. The returned kernel can be lowered, simulated and compiled like a kernel of the front end, and may have the same
mistakes.
"""

from .grammar import GRAMMAR, SavedKernelError
from .read import ELSEWHERE, MOST_BYTES, load_json
from .write import save_json

__all__ = ["ELSEWHERE", "GRAMMAR", "MOST_BYTES", "SavedKernelError", "load_json", "save_json"]

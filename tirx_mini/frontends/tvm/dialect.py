"""TVM's kernel decorators, with the defaults of Apache TVM 0.26.

The course's ``@Tx.prim_func(tirx=True)`` keeps those of the course (`tirx_mini.script.kernels`).
"""

from functools import partial

from tirx_mini.ir import TVM
from tirx_mini.script import tirx

prim_func = partial(tirx.prim_func, dialect=TVM)
jit = partial(tirx.jit, dialect=TVM)

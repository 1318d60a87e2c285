"""cuda_tile modules as bytecode (Tile IR: Binary Format)."""

from .assembler import assemble, find_tileiras
from .codes import CODES, VERSION
from .writer import write_bytecode

__all__ = ["CODES", "VERSION", "assemble", "find_tileiras", "write_bytecode"]

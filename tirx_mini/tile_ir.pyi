from tirx_mini.frontends.tile_ir import *
from tirx_mini.frontends.tile_ir import ct as ct

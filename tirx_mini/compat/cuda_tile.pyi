from tirx_mini.frontends.tile_ir.script import *

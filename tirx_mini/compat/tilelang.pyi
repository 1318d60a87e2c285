from tirx_mini.frontends.tilelang.script import *

from tirx_mini.frontends.tilelang import *

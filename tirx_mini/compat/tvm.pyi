from tirx_mini.frontends.tvm.script import *

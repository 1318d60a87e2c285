from tirx_mini.frontends.tvm.cpu import *

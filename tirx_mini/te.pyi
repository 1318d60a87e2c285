from tirx_mini.frontends.tvm.te import *

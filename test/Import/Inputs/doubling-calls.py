"""Print a program of so many functions, each of which calls the next one twice."""

import sys

TYPE = "tensor<8xf32>"
depth = int(sys.argv[1])
for i in range(depth):
    lines = [f"  %0 = call @f{i + 1}(%x) : ({TYPE}) -> {TYPE}",
             f"  %1 = call @f{i + 1}(%0) : ({TYPE}) -> {TYPE}"]
    if i == depth - 1:
        lines = [f"  %1 = arith.negf %x : {TYPE}"]
    visibility = "private " if i else ""
    print(f"func.func {visibility}@f{i}(%x: {TYPE}) -> {TYPE} {{", *lines,
          f"  return %1 : {TYPE}", "}", sep="\n")

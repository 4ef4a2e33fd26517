// Sine and cosine of floats of any bits, infinities and NaN among them, against
// the interpreter's, which are a library's.
// RUN: sed 's/TYPE/f32/g; s/BITS/i32/g' %s | tp-check-kernels - | FileCheck %s
// RUN: sed 's/TYPE/bf16/g; s/BITS/i16/g' %s | tp-check-kernels - | FileCheck %s
// RUN: sed 's/TYPE/f16/g; s/BITS/i16/g' %s | tp-check-kernels - | FileCheck %s

// CHECK: rows_0: right

#rows = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<24x136xi64>) -> (tensor<24x136xTYPE>, tensor<24x136xTYPE>) {
  %e = tensor.empty() : tensor<24x136xTYPE>
  %y:2 = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<24x136xi64>) outs(%e, %e : tensor<24x136xTYPE>, tensor<24x136xTYPE>) {
  ^bb0(%i: i64, %o: TYPE, %p: TYPE):
    %row = linalg.index 0 : index
    %column = linalg.index 1 : index
    %width = arith.constant 136 : index
    %before = arith.muli %row, %width : index
    %position = arith.addi %before, %column : index
    %number = arith.index_cast %position : index to i64
    %sum = arith.addi %number, %i : i64
    %factor = arith.constant -7046029254386353131 : i64
    %product = arith.muli %sum, %factor : i64
    %high = arith.constant 32 : i64
    %shifted = arith.shrui %product, %high : i64
    %bits = arith.trunci %shifted : i64 to BITS
    %v = arith.bitcast %bits : BITS to TYPE
    %sine = math.sin %v : TYPE
    %cosine = math.cos %v : TYPE
    linalg.yield %sine, %cosine : TYPE, TYPE
  } -> (tensor<24x136xTYPE>, tensor<24x136xTYPE>)
  return %y#0, %y#1 : tensor<24x136xTYPE>, tensor<24x136xTYPE>
}

// REQUIRES: ptxas
// RUN: sed 's/TYPE/bf16/g; s/COLS/4096/g' %s > %t.mlir
// RUN: tp-compile %t.mlir --target cuda:sm_80,sm_90,sm_100 --save-kernels=%t.4096 -o %t.tpa
// RUN: %python %S/Inputs/check-resources.py %t.4096/kernels.json 5 sm_80,sm_90,sm_100
// RUN: sed 's/TYPE/bf16/g; s/COLS/20480/g' %s > %t.mlir
// RUN: tp-compile %t.mlir --target cuda:%architectures --save-kernels=%t.20480 -o %t.tpa
// RUN: %python %S/Inputs/check-resources.py %t.20480/kernels.json 5 %architectures
// RUN: sed 's/TYPE/bf16/g; s/COLS/53248/g' %s > %t.mlir
// RUN: tp-compile %t.mlir --target cuda:%architectures --save-kernels=%t.53248 -o %t.tpa
// RUN: %python %S/Inputs/check-resources.py %t.53248/kernels.json 5 %architectures
// RUN: sed 's/TYPE/bf16/g; s/COLS/4097/g' %s > %t.mlir
// RUN: tp-compile %t.mlir --target cuda:%architectures --save-kernels=%t.4097 -o %t.tpa
// RUN: %python %S/Inputs/check-resources.py %t.4097/kernels.json 5 %architectures
// RUN: sed 's/TYPE/f16/g; s/COLS/50257/g' %s > %t.mlir
// RUN: tp-compile %t.mlir --target cuda:%architectures --save-kernels=%t.50257 -o %t.tpa
// RUN: %python %S/Inputs/check-resources.py %t.50257/kernels.json 5 %architectures
// RUN: sed 's/TYPE/f32/g; s/COLS/128257/g' %s > %t.mlir
// RUN: tp-compile %t.mlir --target cuda:%architectures --save-kernels=%t.128257 -o %t.tpa
// RUN: %python %S/Inputs/check-resources.py %t.128257/kernels.json 5 %architectures
// The assembler would spill one of these for the sake of more blocks.
// RUN: sed 's/TYPE/bf16/g; s/COLS/20000/g' %s > %t.mlir
// RUN: tp-compile %t.mlir --target cuda:sm_80,sm_90,sm_100 --save-kernels=%t.20000 -o %t.tpa
// RUN: %python %S/Inputs/check-resources.py %t.20000/kernels.json 5 sm_80,sm_90,sm_100
// RUN: tp-compile %t.mlir --target cuda:ptx --save-kernels=%t.ptx -o %t.tpa
// RUN: not grep minnctapersm %t.ptx/kernels.ptx
// RUN: grep minnctapersm %t.20000/kernels.ptx

// No row kernel spills, on any architecture, though a thread keeps up to eight
// vectors of a row and computes much with them, also where rows begin anywhere in
// a line of memory, and in blocks whose threads have fewer registers.

func.func @norm_gelu(%x: tensor<64xCOLSxTYPE>, %r: tensor<64xCOLSxTYPE>, %w: tensor<COLSxTYPE>, %b: tensor<COLSxTYPE>) -> (tensor<64xCOLSxTYPE>, tensor<64xCOLSxTYPE>) {
  %s = arith.addf %x, %r : tensor<64xCOLSxTYPE>
  %y = nn.layer_norm %s, %w bias %b {epsilon = 1.0e-5 : f64} : (tensor<64xCOLSxTYPE>, tensor<COLSxTYPE>, tensor<COLSxTYPE>) -> tensor<64xCOLSxTYPE>
  %g = nn.gelu erf %y : tensor<64xCOLSxTYPE>
  return %s, %g : tensor<64xCOLSxTYPE>, tensor<64xCOLSxTYPE>
}

func.func @norm_swiglu(%x: tensor<64xCOLSxTYPE>, %r: tensor<64xCOLSxTYPE>, %w: tensor<COLSxTYPE>) -> (tensor<64xCOLSxTYPE>, tensor<64xCOLSxTYPE>) {
  %s = arith.addf %x, %r : tensor<64xCOLSxTYPE>
  %y = nn.rms_norm %s, %w {epsilon = 1.0e-5 : f64} : (tensor<64xCOLSxTYPE>, tensor<COLSxTYPE>) -> tensor<64xCOLSxTYPE>
  %a = nn.silu %y : tensor<64xCOLSxTYPE>
  %g = arith.mulf %a, %r : tensor<64xCOLSxTYPE>
  return %s, %g : tensor<64xCOLSxTYPE>, tensor<64xCOLSxTYPE>
}

#id = affine_map<(s, h) -> (s, h)>
#row = affine_map<(s, h) -> (s)>
func.func @softmax(%x: tensor<64xCOLSxTYPE>) -> tensor<64xCOLSxTYPE> {
  %y = nn.softmax %x : tensor<64xCOLSxTYPE>
  return %y : tensor<64xCOLSxTYPE>
}
func.func @argmax(%x: tensor<64xCOLSxTYPE>) -> tensor<64xi64> {
  %low = arith.constant dense<-1.0e4> : tensor<64xTYPE>
  %zero = arith.constant dense<0> : tensor<64xi64>
  %m:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64xCOLSxTYPE>) outs(%low, %zero : tensor<64xTYPE>, tensor<64xi64>) {
  ^bb0(%in: TYPE, %best: TYPE, %at: i64):
    %i = linalg.index 1 : index
    %here = arith.index_cast %i : index to i64
    %greater = arith.cmpf ogt, %in, %best : TYPE
    %b = arith.select %greater, %in, %best : TYPE
    %p = arith.select %greater, %here, %at : i64
    linalg.yield %b, %p : TYPE, i64
  } -> (tensor<64xTYPE>, tensor<64xi64>)
  return %m#1 : tensor<64xi64>
}

// Quotients and roots without a subroutine, around which registers are spilled.
#column = affine_map<(s, h) -> (h)>
func.func @ratios(%x: tensor<64xCOLSxTYPE>, %w: tensor<COLSxTYPE>) -> tensor<64xCOLSxTYPE> {
  %empty = tensor.empty() : tensor<64xCOLSxTYPE>
  %y = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %w : tensor<64xCOLSxTYPE>, tensor<COLSxTYPE>) outs(%empty : tensor<64xCOLSxTYPE>) {
  ^bb0(%a: TYPE, %b: TYPE, %out: TYPE):
    %0 = math.exp %a : TYPE
    %1 = math.tanh %b : TYPE
    %2 = math.sqrt %0 : TYPE
    %3 = arith.mulf %2, %1 : TYPE
    %4 = arith.divf %3, %0 : TYPE
    %greater = arith.cmpf ogt, %a, %b : TYPE
    %5 = arith.select %greater, %4, %a : TYPE
    linalg.yield %5 : TYPE
  } -> tensor<64xCOLSxTYPE>
  return %y : tensor<64xCOLSxTYPE>
}

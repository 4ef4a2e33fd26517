// REQUIRES: ptxas
// RUN: sed 's/TYPE/bf16/g; s/COLS/4096/g' %s > %t.mlir
// RUN: tp-compile %t.mlir --target cuda:sm_80,sm_90,sm_100 --save-kernels=%t.4096 -o %t.tpa
// RUN: %python %S/Inputs/check-resources.py %t.4096/kernels.json 2 3
// RUN: sed 's/TYPE/bf16/g; s/COLS/20480/g' %s > %t.mlir
// RUN: tp-compile %t.mlir --target cuda:sm_80,sm_90,sm_100 --save-kernels=%t.20480 -o %t.tpa
// RUN: %python %S/Inputs/check-resources.py %t.20480/kernels.json 2 3
// RUN: sed 's/TYPE/f32/g; s/COLS/16384/g' %s > %t.mlir
// RUN: tp-compile %t.mlir --target cuda:sm_80,sm_90,sm_100 --save-kernels=%t.16384 -o %t.tpa
// RUN: %python %S/Inputs/check-resources.py %t.16384/kernels.json 2 3
// RUN: sed 's/TYPE/bf16/g; s/COLS/53248/g' %s > %t.mlir
// RUN: tp-compile %t.mlir --target cuda:sm_80,sm_90,sm_100 --save-kernels=%t.53248 -o %t.tpa
// RUN: %python %S/Inputs/check-resources.py %t.53248/kernels.json 2 3

// No row kernel spills, on any architecture, though a thread keeps up to eight
// vectors of a row and computes much with them.

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

// Every function and narrow type of generated code against Python's math
// module: compiled code has polynomials of its own.

// RUN: rm -rf %t && mkdir -p %t/weights
// RUN: %python %S/Inputs/math_functions.py prepare %t
// RUN: tp-compile %s --plan replicated -o %t/model.tpa 2> %t/log
// RUN: tp-run %t/model.tpa --weights %t/weights --input %t/in.safetensors --output %t/out.safetensors
// RUN: %python %S/Inputs/math_functions.py check %t | FileCheck %s

// CHECK: exp: agrees
// CHECK: log: agrees
// CHECK: tanh: agrees
// CHECK: erf: agrees
// CHECK: sin: agrees
// CHECK: cos: agrees
// CHECK: rsqrt: agrees
// CHECK: gelu: agrees
// CHECK: silu: agrees
// CHECK: bf16: agrees
// CHECK: f16: agrees
// CHECK: sum16: agrees

#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<3x37xf32> {tp.name = "x"}, %positive: tensor<3x37xf32> {tp.name = "positive"})
    -> (tensor<3x37xf32> {tp.name = "exp"}, tensor<3x37xf32> {tp.name = "log"}, tensor<3x37xf32> {tp.name = "tanh"}, tensor<3x37xf32> {tp.name = "erf"},
        tensor<3x37xf32> {tp.name = "sin"}, tensor<3x37xf32> {tp.name = "cos"}, tensor<3x37xf32> {tp.name = "rsqrt"}, tensor<3x37xf32> {tp.name = "gelu"},
        tensor<3x37xf32> {tp.name = "silu"}, tensor<3x37xf32> {tp.name = "bf16"}, tensor<3x37xf32> {tp.name = "f16"}, tensor<3xf32> {tp.name = "sum16"}) {
  %0 = math.exp %x : tensor<3x37xf32>
  %1 = math.log %positive : tensor<3x37xf32>
  %2 = math.tanh %x : tensor<3x37xf32>
  %3 = math.erf %x : tensor<3x37xf32>
  %4 = math.sin %x : tensor<3x37xf32>
  %5 = math.cos %x : tensor<3x37xf32>
  %6 = math.rsqrt %positive : tensor<3x37xf32>
  %7 = nn.gelu erf %x : tensor<3x37xf32>
  %8 = nn.silu %x : tensor<3x37xf32>
  // Narrow products are rounded to nearest even once.
  %b = arith.truncf %x : tensor<3x37xf32> to tensor<3x37xbf16>
  %bb = arith.mulf %b, %b : tensor<3x37xbf16>
  %9 = arith.extf %bb : tensor<3x37xbf16> to tensor<3x37xf32>
  %h = arith.truncf %x : tensor<3x37xf32> to tensor<3x37xf16>
  %hh = arith.addf %h, %h : tensor<3x37xf16>
  %10 = arith.extf %hh : tensor<3x37xf16> to tensor<3x37xf32>
  // A sum of bf16 accumulates in f32.
  %z = arith.constant dense<0.0> : tensor<3xbf16>
  %s = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%b : tensor<3x37xbf16>) outs(%z : tensor<3xbf16>) {
  ^bb0(%in: bf16, %acc: bf16):
    %a = arith.addf %acc, %in : bf16
    linalg.yield %a : bf16
  } -> tensor<3xbf16>
  %11 = arith.extf %s : tensor<3xbf16> to tensor<3xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<3x37xf32>, tensor<3x37xf32>, tensor<3x37xf32>, tensor<3x37xf32>, tensor<3x37xf32>, tensor<3x37xf32>, tensor<3x37xf32>, tensor<3x37xf32>, tensor<3x37xf32>, tensor<3x37xf32>, tensor<3x37xf32>, tensor<3xf32>
}

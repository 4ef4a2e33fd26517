// Sine and cosine of numbers of every size, of which the largest are reduced in
// integers: right to 2 units in the last place, NaN of infinity and NaN, and of
// -0 with its sign.

// RUN: rm -rf %t && mkdir -p %t/weights
// RUN: %python %S/Inputs/sine_arguments.py prepare %t
// RUN: tp-compile %s --plan replicated -o %t/model.tpa 2> %t/log
// RUN: tp-run %t/model.tpa --weights %t/weights --input %t/in.safetensors --output %t/out.safetensors
// RUN: %python %S/Inputs/sine_arguments.py check %t | FileCheck %s
// RUN: tp-compile %s --plan replicated --target cpu:x86-64-v3 -o %t/model.tpa 2> %t/log
// RUN: tp-run %t/model.tpa --weights %t/weights --input %t/in.safetensors --output %t/out.safetensors
// RUN: %python %S/Inputs/sine_arguments.py check %t | FileCheck %s

// CHECK: sine: agrees
// CHECK: cosine: agrees
// CHECK: sine_bf16: agrees
// CHECK: cosine_f16: agrees

func.func @main(%x: tensor<123x67xf32> {tp.name = "x"})
    -> (tensor<123x67xf32> {tp.name = "sine"}, tensor<123x67xf32> {tp.name = "cosine"}, tensor<123x67xf32> {tp.name = "bf16"},
        tensor<123x67xf32> {tp.name = "sine_bf16"}, tensor<123x67xf32> {tp.name = "f16"}, tensor<123x67xf32> {tp.name = "cosine_f16"}) {
  %0 = math.sin %x : tensor<123x67xf32>
  %1 = math.cos %x : tensor<123x67xf32>
  %b = arith.truncf %x : tensor<123x67xf32> to tensor<123x67xbf16>
  %2 = arith.extf %b : tensor<123x67xbf16> to tensor<123x67xf32>
  %bs = math.sin %b : tensor<123x67xbf16>
  %3 = arith.extf %bs : tensor<123x67xbf16> to tensor<123x67xf32>
  %h = arith.truncf %x : tensor<123x67xf32> to tensor<123x67xf16>
  %4 = arith.extf %h : tensor<123x67xf16> to tensor<123x67xf32>
  %hc = math.cos %h : tensor<123x67xf16>
  %5 = arith.extf %hc : tensor<123x67xf16> to tensor<123x67xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<123x67xf32>, tensor<123x67xf32>, tensor<123x67xf32>, tensor<123x67xf32>, tensor<123x67xf32>, tensor<123x67xf32>
}

// Repeated layers, executed: carried values that swap, values from above,
// stacked operands and results, parameters by the layer's number, an odd and an
// even number of iterations, on one rank and on two.

// RUN: rm -rf %t && mkdir -p %t/weights
// RUN: %python %S/Inputs/repeat.py prepare %t
// RUN: tp-compile %s --plan replicated -o %t/one.tpa 2> %t/log
// RUN: tp-run %t/one.tpa --weights %t/weights --input %t/in.safetensors --output %t/out.safetensors
// RUN: %python %S/Inputs/repeat.py check %t | FileCheck %s
// RUN: tp-compile %s --plan replicated --mesh tp=2 -o %t/two.tpa 2> %t/log
// RUN: tp-run %t/two.tpa --weights %t/weights --input %t/in.safetensors --output %t/out.safetensors
// RUN: %python %S/Inputs/repeat.py check %t | FileCheck %s

// CHECK: first: agrees
// CHECK: second: agrees
// CHECK: kept: agrees
// CHECK: even: agrees

func.func @main(%a: tensor<3x5xf32> {tp.name = "a"}, %b: tensor<3x5xf32> {tp.name = "b"}, %s: tensor<3x3x5xf32> {tp.name = "s"})
    -> (tensor<3x5xf32> {tp.name = "first"}, tensor<3x5xf32> {tp.name = "second"}, tensor<3x3x5xf32> {tp.name = "kept"}, tensor<3x5xf32> {tp.name = "even"}) {
  %shared = arith.mulf %a, %b : tensor<3x5xf32>
  %0:3 = tp.repeat 3 times from 2 iter(%a, %b) stacked(%s) : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x3x5xf32>) {
  ^bb0(%i: index, %x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %slice: tensor<3x5xf32>):
    %w = tp.parameter "layers.{i}.w" : tensor<5xf32>
    %wide = tensor.expand_shape %w [[0, 1]] output_shape [1, 5] : tensor<5xf32> into tensor<1x5xf32>
    %e = tensor.empty() : tensor<3x5xf32>
    %scaled = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (0, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
        ins(%slice, %wide : tensor<3x5xf32>, tensor<1x5xf32>) outs(%e : tensor<3x5xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %m = arith.mulf %l, %r : f32
      linalg.yield %m : f32
    } -> tensor<3x5xf32>
    %sum = arith.addf %x, %scaled : tensor<3x5xf32>
    %more = arith.addf %sum, %shared : tensor<3x5xf32>
    tp.yield %y, %more, %sum : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>
  }
  %1 = tp.repeat 4 times iter(%0#0) : (tensor<3x5xf32>) -> tensor<3x5xf32> {
  ^bb0(%i: index, %x: tensor<3x5xf32>):
    %d = arith.addf %x, %x : tensor<3x5xf32>
    tp.yield %d : tensor<3x5xf32>
  }
  return %0#0, %0#1, %0#2, %1 : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x3x5xf32>, tensor<3x5xf32>
}

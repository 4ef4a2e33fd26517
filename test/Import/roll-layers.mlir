// RUN: tp-opt %s --tp-roll-layers --split-input-file | FileCheck %s

// Four layers in a row are one; the table used before and after stays outside.

// CHECK-LABEL: func.func @layers(
// CHECK: %[[X:.*]] = nn.embedding
// CHECK: %[[R:.*]] = tp.repeat 4 times iter(%[[X]]) : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
// CHECK: ^bb0(%{{.*}}: index, %[[C:.*]]: tensor<1x4x8xf32>):
// CHECK: tp.parameter "layers.{i}.up" alternatives ["m.layers.{i}.up"] : tensor<16x8xf32>
// CHECK: nn.linear %[[C]]
// CHECK: tp.parameter "layers.{i}.down"
// CHECK: %[[D:.*]] = nn.linear
// CHECK: %[[Y:.*]] = arith.addf %[[C]], %[[D]]
// CHECK: tp.yield %[[Y]]
// CHECK-NOT: layers.
// CHECK: nn.linear %[[R]],
func.func @layers(%ids: tensor<1x4xi64>) -> tensor<1x4x10xf32> {
  %t = tp.parameter "table" : tensor<10x8xf32>
  %x0 = nn.embedding %ids, %t : (tensor<1x4xi64>, tensor<10x8xf32>) -> tensor<1x4x8xf32>
  %u0 = tp.parameter "layers.0.up" alternatives ["m.layers.0.up"] : tensor<16x8xf32>
  %d0 = tp.parameter "layers.0.down" : tensor<8x16xf32>
  %h0 = nn.linear %x0, %u0 : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
  %y0 = nn.linear %h0, %d0 : (tensor<1x4x16xf32>, tensor<8x16xf32>) -> tensor<1x4x8xf32>
  %x1 = arith.addf %x0, %y0 : tensor<1x4x8xf32>
  %u1 = tp.parameter "layers.1.up" alternatives ["m.layers.1.up"] : tensor<16x8xf32>
  %d1 = tp.parameter "layers.1.down" : tensor<8x16xf32>
  %h1 = nn.linear %x1, %u1 : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
  %y1 = nn.linear %h1, %d1 : (tensor<1x4x16xf32>, tensor<8x16xf32>) -> tensor<1x4x8xf32>
  %x2 = arith.addf %x1, %y1 : tensor<1x4x8xf32>
  %u2 = tp.parameter "layers.2.up" alternatives ["m.layers.2.up"] : tensor<16x8xf32>
  %d2 = tp.parameter "layers.2.down" : tensor<8x16xf32>
  %h2 = nn.linear %x2, %u2 : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
  %y2 = nn.linear %h2, %d2 : (tensor<1x4x16xf32>, tensor<8x16xf32>) -> tensor<1x4x8xf32>
  %x3 = arith.addf %x2, %y2 : tensor<1x4x8xf32>
  %u3 = tp.parameter "layers.3.up" alternatives ["m.layers.3.up"] : tensor<16x8xf32>
  %d3 = tp.parameter "layers.3.down" : tensor<8x16xf32>
  %h3 = nn.linear %x3, %u3 : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
  %y3 = nn.linear %h3, %d3 : (tensor<1x4x16xf32>, tensor<8x16xf32>) -> tensor<1x4x8xf32>
  %x4 = arith.addf %x3, %y3 : tensor<1x4x8xf32>
  %l = nn.linear %x4, %t : (tensor<1x4x8xf32>, tensor<10x8xf32>) -> tensor<1x4x10xf32>
  return %l : tensor<1x4x10xf32>
}

// -----

// A layer with another epsilon stays apart; those after it count on.

// CHECK-LABEL: func.func @odd(
// CHECK: %[[W:.*]] = tp.parameter "h.2.w"
// CHECK: %[[A:.*]] = tp.repeat 2 times iter(
// CHECK: nn.rms_norm {{.*}}epsilon = 1.000000e-05
// CHECK: %[[B:.*]] = nn.rms_norm %[[A]], %[[W]] {epsilon = 9.9999999999999995E-7
// CHECK: tp.repeat 3 times from 3 iter(%[[B]])
// CHECK: tp.parameter "h.{i}.w"
// CHECK-NOT: tp.parameter
func.func @odd(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w0 = tp.parameter "h.0.w" : tensor<8xf32>
  %w1 = tp.parameter "h.1.w" : tensor<8xf32>
  %w2 = tp.parameter "h.2.w" : tensor<8xf32>
  %w3 = tp.parameter "h.3.w" : tensor<8xf32>
  %w4 = tp.parameter "h.4.w" : tensor<8xf32>
  %w5 = tp.parameter "h.5.w" : tensor<8xf32>
  %0 = nn.rms_norm %x, %w0 {epsilon = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = nn.rms_norm %0, %w1 {epsilon = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = nn.rms_norm %1, %w2 {epsilon = 1.0e-6} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %3 = nn.rms_norm %2, %w3 {epsilon = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %4 = nn.rms_norm %3, %w4 {epsilon = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %5 = nn.rms_norm %4, %w5 {epsilon = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

// -----

// Plain linalg: the first operation that reads a parameter is in the middle of
// the layer, zeros are shared by all layers, constants are repeated.

// CHECK-LABEL: func.func @linalg(
// CHECK: tp.repeat 3 times iter(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK: ^bb0(%{{.*}}: index, %[[C:.*]]: tensor<4x8xf32>):
// CHECK: linalg.fill
// CHECK: linalg.generic {{.*}} ins(%[[C]], %[[C]]
// CHECK: linalg.generic
// CHECK: math.rsqrt
// CHECK: tp.yield
// CHECK-NOT: linalg
// CHECK: return
#rows = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
func.func @linalg(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %e = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %o = tensor.empty() : tensor<4x8xf32>
  %w0 = tp.parameter "block0.w" : tensor<8xf32>
  %s0 = linalg.generic {indexing_maps = [#rows, #rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %x : tensor<4x8xf32>, tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  %y0 = linalg.generic {indexing_maps = [#rows, #row, #column, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %s0, %w0 : tensor<4x8xf32>, tensor<4xf32>, tensor<8xf32>) outs(%o : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %m = arith.addf %b, %eps : f32
    %r = math.rsqrt %m : f32
    %n = arith.mulf %a, %r : f32
    %p = arith.mulf %n, %c : f32
    linalg.yield %p : f32
  } -> tensor<4x8xf32>
  %w1 = tp.parameter "block1.w" : tensor<8xf32>
  %s1 = linalg.generic {indexing_maps = [#rows, #rows, #row], iterator_types = ["parallel", "reduction"]} ins(%y0, %y0 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  %eps1 = arith.constant 1.0e-5 : f32
  %y1 = linalg.generic {indexing_maps = [#rows, #row, #column, #rows], iterator_types = ["parallel", "parallel"]} ins(%y0, %s1, %w1 : tensor<4x8xf32>, tensor<4xf32>, tensor<8xf32>) outs(%o : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %m = arith.addf %b, %eps1 : f32
    %r = math.rsqrt %m : f32
    %n = arith.mulf %a, %r : f32
    %p = arith.mulf %n, %c : f32
    linalg.yield %p : f32
  } -> tensor<4x8xf32>
  %w2 = tp.parameter "block2.w" : tensor<8xf32>
  %s2 = linalg.generic {indexing_maps = [#rows, #rows, #row], iterator_types = ["parallel", "reduction"]} ins(%y1, %y1 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  %y2 = linalg.generic {indexing_maps = [#rows, #row, #column, #rows], iterator_types = ["parallel", "parallel"]} ins(%y1, %s2, %w2 : tensor<4x8xf32>, tensor<4xf32>, tensor<8xf32>) outs(%o : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %m = arith.addf %b, %eps : f32
    %r = math.rsqrt %m : f32
    %n = arith.mulf %a, %r : f32
    %p = arith.mulf %n, %c : f32
    linalg.yield %p : f32
  } -> tensor<4x8xf32>
  return %y2 : tensor<4x8xf32>
}

// -----

// A layer's value that is read later keeps the layers apart, and so do numbers
// that do not go up by one.

// CHECK-LABEL: func.func @apart(
// CHECK-NOT: tp.repeat
func.func @apart(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %w0 = tp.parameter "h.0.w" : tensor<8xf32>
  %w1 = tp.parameter "h.1.w" : tensor<8xf32>
  %0 = nn.rms_norm %x, %w0 {epsilon = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = nn.rms_norm %0, %w1 {epsilon = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
func.func @backwards(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w0 = tp.parameter "h.1.w" : tensor<8xf32>
  %w1 = tp.parameter "h.0.w" : tensor<8xf32>
  %0 = nn.rms_norm %x, %w0 {epsilon = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = nn.rms_norm %0, %w1 {epsilon = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// A loop that never runs is what it begins with.

// CHECK-LABEL: func.func @never(
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>
// CHECK-NEXT: return %[[X]]
func.func @never(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tp.repeat 0 times iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    %w = tp.parameter "h.{i}.w" : tensor<8xf32>
    %1 = arith.addf %c, %w : tensor<8xf32>
    tp.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

// Layers of loops that name the same tensors by a template stay apart: in a repeat
// the template would be of two nested loops.

// CHECK-LABEL: func.func @nested(
// CHECK: "h.0.w"
// CHECK: "h.1.w"
func.func @nested(%x: tensor<8xf32>) -> tensor<8xf32> {
  %w0 = tp.parameter "h.0.w" : tensor<8xf32>
  %0 = arith.mulf %x, %w0 : tensor<8xf32>
  %1 = tp.repeat 2 times iter(%0) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    %w = tp.parameter "h.{i}.w" : tensor<8xf32>
    %y = arith.addf %c, %w : tensor<8xf32>
    tp.yield %y : tensor<8xf32>
  }
  %w1 = tp.parameter "h.1.w" : tensor<8xf32>
  %2 = arith.mulf %1, %w1 : tensor<8xf32>
  %3 = tp.repeat 2 times iter(%2) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    %w = tp.parameter "h.{i}.w" : tensor<8xf32>
    %y = arith.addf %c, %w : tensor<8xf32>
    tp.yield %y : tensor<8xf32>
  }
  return %3 : tensor<8xf32>
}

// -----

// Names with numbers of their own are no layers of the others.

// CHECK-LABEL: func.func @families(
// CHECK: tp.parameter "conv1.weight"
// CHECK: tp.parameter "conv2.weight"
// CHECK: tp.repeat 3 times iter
// CHECK: tp.parameter "layers.{i}.w"
func.func @families(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = tp.parameter "conv1.weight" : tensor<8x8xf32>
  %b = tp.parameter "conv2.weight" : tensor<8x8xf32>
  %w0 = tp.parameter "layers.0.w" : tensor<8x8xf32>
  %w1 = tp.parameter "layers.1.w" : tensor<8x8xf32>
  %w2 = tp.parameter "layers.2.w" : tensor<8x8xf32>
  %0 = nn.linear %x, %a : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = math.tanh %0 : tensor<4x8xf32>
  %2 = nn.linear %1, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = nn.linear %2, %w0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %4 = nn.linear %3, %w1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %5 = nn.linear %4, %w2 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

// -----

// A fill that a region captures stays before it.

// CHECK-LABEL: func.func @captured(
// CHECK: linalg.fill
// CHECK: linalg.generic
// CHECK: tensor.extract
// CHECK: linalg.fill
#rows = affine_map<(d0) -> (d0)>
func.func @captured(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %w = tp.parameter "w0" : tensor<8xf32>
  %v = tp.parameter "w1" : tensor<8xf32>
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %ones = linalg.fill ins(%one : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %c = tensor.extract %ones[%i] : tensor<8xf32>
    %d = arith.addf %a, %c : f32
    linalg.yield %d : f32
  } -> tensor<8xf32>
  %1 = arith.addf %0, %w : tensor<8xf32>
  %2 = arith.mulf %1, %v : tensor<8xf32>
  %3 = arith.addf %2, %ones : tensor<8xf32>
  return %1, %3 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Layers of two kinds in turn, behind convolutions with numbers of their own:
// two layers are a segment, and one is left over. Other names go with the
// first.

// CHECK-LABEL: func.func @periodic(
// CHECK: tp.parameter "conv1.weight"
// CHECK: tp.parameter "conv2.weight"
// CHECK: %[[LAST:.*]] = tp.parameter "layers.4.w"
// CHECK: math.tanh
// CHECK: %[[STEM:.*]] = nn.linear
// CHECK: %[[R:.*]] = tp.repeat 2 times iter(%[[STEM]])
// CHECK: ^bb0(%{{.*}}: index, %[[C:.*]]: tensor<4x8xf32>):
// CHECK: %[[W0:.*]] = tp.parameter "layers.{2*{i}}.w" alternatives ["h.{2*{i}}.w"]
// CHECK: %[[P:.*]] = nn.linear %[[C]], %[[W0]]
// CHECK: %[[T:.*]] = math.tanh %[[P]]
// CHECK: %[[W1:.*]] = tp.parameter "layers.{2*{i}+1}.w" :
// CHECK: %[[Q:.*]] = nn.linear %[[T]], %[[W1]]
// CHECK: %[[S:.*]] = arith.addf %[[T]], %[[Q]]
// CHECK: tp.yield %[[S]]
// CHECK: nn.linear %[[R]], %[[LAST]]
// CHECK-NOT: tp.repeat
func.func @periodic(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = tp.parameter "conv1.weight" : tensor<8x8xf32>
  %b = tp.parameter "conv2.weight" : tensor<8x8xf32>
  %w0 = tp.parameter "layers.0.w" alternatives ["h.0.w"] : tensor<8x8xf32>
  %w1 = tp.parameter "layers.1.w" : tensor<8x8xf32>
  %w2 = tp.parameter "layers.2.w" alternatives ["h.2.w"] : tensor<8x8xf32>
  %w3 = tp.parameter "layers.3.w" : tensor<8x8xf32>
  %w4 = tp.parameter "layers.4.w" alternatives ["h.4.w"] : tensor<8x8xf32>
  %0 = nn.linear %x, %a : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = math.tanh %0 : tensor<4x8xf32>
  %2 = nn.linear %1, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = nn.linear %2, %w0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %4 = math.tanh %3 : tensor<4x8xf32>
  %5 = nn.linear %4, %w1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %6 = arith.addf %4, %5 : tensor<4x8xf32>
  %7 = nn.linear %6, %w2 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %8 = math.tanh %7 : tensor<4x8xf32>
  %9 = nn.linear %8, %w3 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %10 = arith.addf %8, %9 : tensor<4x8xf32>
  %11 = nn.linear %10, %w4 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %12 = math.tanh %11 : tensor<4x8xf32>
  return %12 : tensor<4x8xf32>
}

// -----

// Each pair reads what the pair before it made, and what one layer of the pair
// made is read by the next pair: two values are carried.

// CHECK-LABEL: func.func @carried(
// CHECK: tp.repeat 2 times iter(%arg1, %arg0)
// CHECK: tp.parameter "layers.{2*{i}+1}.w"
// CHECK: tp.parameter "layers.{2*{i}+2}.w"
func.func @carried(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %w1 = tp.parameter "layers.1.w" : tensor<8xf32>
  %w2 = tp.parameter "layers.2.w" : tensor<8xf32>
  %w3 = tp.parameter "layers.3.w" : tensor<8xf32>
  %w4 = tp.parameter "layers.4.w" : tensor<8xf32>
  %0 = arith.addf %x, %w1 : tensor<8xf32>
  %1 = arith.mulf %0, %w2 : tensor<8xf32>
  %2 = arith.mulf %1, %y : tensor<8xf32>
  %3 = arith.addf %2, %w3 : tensor<8xf32>
  %4 = arith.mulf %3, %w4 : tensor<8xf32>
  %5 = arith.mulf %4, %0 : tensor<8xf32>
  return %5 : tensor<8xf32>
}

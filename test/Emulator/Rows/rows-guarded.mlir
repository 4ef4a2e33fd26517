// Terms of a sum that are zero by what is known before they are read: the last token of each
// sequence, picked as the sum of all where the position is the last. They are not read; what a
// condition of the columns or of the values decides is.
// RUN: tp-check-kernels %s | FileCheck %s
// RUN: tp-opt %s --tp-generate-gpu-kernels | FileCheck %s --check-prefix=GPU
// RUN: tp-opt %s --tp-generate-kernels | FileCheck %s --check-prefix=CPU

// CHECK: last: right
// CHECK-NEXT: others: right
// CHECK-NEXT: whole: right
// CHECK-NEXT: column: right
// CHECK-NEXT: value: right
// CHECK-NEXT: begun: right

#xs = affine_map<(b, s, c) -> (b, s, c)>
#n = affine_map<(b, s, c) -> (b)>
#y = affine_map<(b, s, c) -> (b, c)>

// GPU-LABEL: gpu.func @last
// GPU: %[[LAST:.*]] = arith.cmpf oeq
// GPU-NEXT: scf.if %[[LAST]]
// GPU: llvm.load {{.*}} -> vector<8xi16>
// GPU: } else {
// CPU-LABEL: func.func private @last
// CPU: %[[LAST:.*]] = arith.cmpf oeq
// CPU-NEXT: scf.if %[[LAST]]
func.func private @last(%x: tensor<3x50x40xbf16>, %m: tensor<3x50xi64>) -> tensor<3x40xbf16> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %none = arith.constant dense<0.0> : tensor<3xf32>
  %zeros = arith.constant dense<0.0> : tensor<3x40xbf16>
  %zero = arith.constant 0.0 : bf16
  %0 = arith.constant 0 : i64
  %one = arith.constant 1 : index
  %count = linalg.generic {indexing_maps = [affine_map<(b, s) -> (b, s)>, affine_map<(b, s) -> (b)>], iterator_types = ["parallel", "reduction"]} ins(%m : tensor<3x50xi64>) outs(%none : tensor<3xf32>) {
  ^bb0(%in: i64, %acc: f32):
    %is = arith.cmpi ne, %in, %0 : i64
    %number = arith.uitofp %is : i1 to f32
    %v = arith.addf %acc, %number : f32
    linalg.yield %v : f32
  } -> tensor<3xf32>
  %s = linalg.generic {indexing_maps = [#xs, #n, #y], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x, %count : tensor<3x50x40xbf16>, tensor<3xf32>) outs(%zeros : tensor<3x40xbf16>) {
  ^bb0(%in: bf16, %last: f32, %acc: bf16):
    %i = linalg.index 1 : index
    %next = arith.addi %i, %one : index
    %wide = arith.index_cast %next : index to i64
    %number = arith.sitofp %wide : i64 to f32
    %is = arith.cmpf oeq, %number, %last : f32
    %term = arith.select %is, %in, %zero : bf16
    %v = arith.addf %acc, %term : bf16
    linalg.yield %v : bf16
  } -> tensor<3x40xbf16>
  return %s : tensor<3x40xbf16>
}

// The other way round.
// GPU-LABEL: gpu.func @others
// GPU: %[[NOT:.*]] = arith.xori {{.*}} : i1
// GPU-NEXT: scf.if %[[NOT]]
func.func private @others(%x: tensor<3x50x7xf32>) -> tensor<3x7xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %zeros = arith.constant dense<0.0> : tensor<3x7xf32>
  %zero = arith.constant 0.0 : f32
  %bound = arith.constant 20 : index
  %s = linalg.generic {indexing_maps = [#xs, #y], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x : tensor<3x50x7xf32>) outs(%zeros : tensor<3x7xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %i = linalg.index 1 : index
    %is = arith.cmpi ult, %i, %bound : index
    %square = arith.mulf %in, %in : f32
    %term = arith.select %is, %zero, %square : f32
    %v = arith.addf %term, %acc : f32
    linalg.yield %v : f32
  } -> tensor<3x7xf32>
  return %s : tensor<3x7xf32>
}

// Integers.
// GPU-LABEL: gpu.func @whole
// GPU: scf.if
func.func private @whole(%x: tensor<2x30x16xi32>) -> tensor<2x16xi32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %zeros = arith.constant dense<0> : tensor<2x16xi32>
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : index
  %none = arith.constant 0 : index
  %s = linalg.generic {indexing_maps = [#xs, #y], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x : tensor<2x30x16xi32>) outs(%zeros : tensor<2x16xi32>) {
  ^bb0(%in: i32, %acc: i32):
    %i = linalg.index 1 : index
    %rest = arith.remui %i, %two : index
    %is = arith.cmpi eq, %rest, %none : index
    %term = arith.select %is, %in, %zero : i32
    %v = arith.addi %acc, %term : i32
    linalg.yield %v : i32
  } -> tensor<2x16xi32>
  return %s : tensor<2x16xi32>
}

// Lanes decide each for itself.
// GPU-LABEL: gpu.func @column
// GPU-NOT: scf.if {{.*}} -> (vector
// GPU: gpu.return
func.func private @column(%x: tensor<3x50x40xf32>) -> tensor<3x40xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %zeros = arith.constant dense<0.0> : tensor<3x40xf32>
  %zero = arith.constant 0.0 : f32
  %s = linalg.generic {indexing_maps = [#xs, #y], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x : tensor<3x50x40xf32>) outs(%zeros : tensor<3x40xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %i = linalg.index 1 : index
    %c = linalg.index 2 : index
    %is = arith.cmpi eq, %i, %c : index
    %term = arith.select %is, %in, %zero : f32
    %v = arith.addf %acc, %term : f32
    linalg.yield %v : f32
  } -> tensor<3x40xf32>
  return %s : tensor<3x40xf32>
}

// So do values.
// GPU-LABEL: gpu.func @value
// GPU-NOT: scf.if {{.*}} -> (vector
// GPU: gpu.return
func.func private @value(%x: tensor<3x50x40xf32>) -> tensor<3x40xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %zeros = arith.constant dense<0.0> : tensor<3x40xf32>
  %zero = arith.constant 0.0 : f32
  %s = linalg.generic {indexing_maps = [#xs, #y], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x : tensor<3x50x40xf32>) outs(%zeros : tensor<3x40xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %is = arith.cmpf ogt, %in, %zero : f32
    %term = arith.select %is, %in, %zero : f32
    %v = arith.addf %acc, %term : f32
    linalg.yield %v : f32
  } -> tensor<3x40xf32>
  return %s : tensor<3x40xf32>
}

// A sum that does not begin with zero may be -0, which a zero more would change.
// GPU-LABEL: gpu.func @begun
// GPU-NOT: scf.if {{.*}} -> (vector
// GPU: gpu.return
func.func private @begun(%x: tensor<3x50x40xf32>, %y: tensor<3x40xf32>) -> tensor<3x40xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %bound = arith.constant 20 : index
  %s = linalg.generic {indexing_maps = [#xs, #y], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x : tensor<3x50x40xf32>) outs(%y : tensor<3x40xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %i = linalg.index 1 : index
    %is = arith.cmpi ult, %i, %bound : index
    %term = arith.select %is, %in, %zero : f32
    %v = arith.addf %acc, %term : f32
    linalg.yield %v : f32
  } -> tensor<3x40xf32>
  return %s : tensor<3x40xf32>
}

func.func @main(%a: tensor<3x50x40xbf16>, %m: tensor<3x50xi64>, %b: tensor<3x50x7xf32>, %c: tensor<2x30x16xi32>, %d: tensor<3x50x40xf32>, %y: tensor<3x40xf32>) -> (tensor<3x40xbf16>, tensor<3x7xf32>, tensor<2x16xi32>, tensor<3x40xf32>, tensor<3x40xf32>, tensor<3x40xf32>) {
  %0 = call @last(%a, %m) : (tensor<3x50x40xbf16>, tensor<3x50xi64>) -> tensor<3x40xbf16>
  %1 = call @others(%b) : (tensor<3x50x7xf32>) -> tensor<3x7xf32>
  %2 = call @whole(%c) : (tensor<2x30x16xi32>) -> tensor<2x16xi32>
  %3 = call @column(%d) : (tensor<3x50x40xf32>) -> tensor<3x40xf32>
  %4 = call @value(%d) : (tensor<3x50x40xf32>) -> tensor<3x40xf32>
  %5 = call @begun(%d, %y) : (tensor<3x50x40xf32>, tensor<3x40xf32>) -> tensor<3x40xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<3x40xbf16>, tensor<3x7xf32>, tensor<2x16xi32>, tensor<3x40xf32>, tensor<3x40xf32>, tensor<3x40xf32>
}

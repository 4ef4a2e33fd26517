// Programs of plain linalg and tensor operations, executed and compared with
// Python: sizes that no vector divides, reductions in every direction, views,
// pads, computed indices.

// RUN: rm -rf %t && mkdir -p %t/weights
// RUN: %python %S/Inputs/linalg.py prepare %t
// RUN: tp-compile %s --plan replicated --target cpu -o %t/native.tpa 2> %t/log
// RUN: tp-run %t/native.tpa --weights %t/weights --input %t/in.safetensors --output %t/out.safetensors
// RUN: %python %S/Inputs/linalg.py check %t | FileCheck %s

// Code for less than the machine has gives the same to rounding.
// RUN: tp-compile %s --plan replicated --target cpu:x86-64-v3 -o %t/v3.tpa 2> %t/log
// RUN: tp-run %t/v3.tpa --weights %t/weights --input %t/in.safetensors --output %t/out.safetensors
// RUN: %python %S/Inputs/linalg.py check %t | FileCheck %s

// CHECK: product: agrees
// CHECK: softmax_transposed: agrees
// CHECK: column_sums: agrees
// CHECK: padded: agrees
// CHECK: joined: agrees
// CHECK: largest: agrees
// CHECK: position: agrees
// CHECK: picked: agrees
// CHECK: total: agrees
// CHECK: inserted: agrees

func.func @main(%x: tensor<5x19xf32> {tp.name = "x"}, %w: tensor<19x23xf32> {tp.name = "w"}, %v: tensor<23x7xf32> {tp.name = "v"}, %ids: tensor<6xi64> {tp.name = "ids"})
    -> (tensor<5x7xf32> {tp.name = "product"}, tensor<23x5xf32> {tp.name = "softmax_transposed"}, tensor<23xf32> {tp.name = "column_sums"},
        tensor<5x23xf32> {tp.name = "padded"}, tensor<5x42xf32> {tp.name = "joined"}, tensor<5xf32> {tp.name = "largest"}, tensor<5xi64> {tp.name = "position"},
        tensor<6x23xf32> {tp.name = "picked"}, tensor<f32> {tp.name = "total"}, tensor<5x23xf32> {tp.name = "inserted"}) {
  %z = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %z64 = arith.constant 0 : i64
  %e = tensor.empty() : tensor<5x23xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<5x23xf32>) -> tensor<5x23xf32>
  %s = linalg.matmul ins(%x, %w : tensor<5x19xf32>, tensor<19x23xf32>) outs(%f : tensor<5x23xf32>) -> tensor<5x23xf32>
  %p = nn.softmax %s : tensor<5x23xf32>

  // Starts from ones: they count once.
  %one = arith.constant dense<1.0> : tensor<5x7xf32>
  %o = linalg.matmul ins(%p, %v : tensor<5x23xf32>, tensor<23x7xf32>) outs(%one : tensor<5x7xf32>) -> tensor<5x7xf32>

  %e3 = tensor.empty() : tensor<23x5xf32>
  %t = linalg.transpose ins(%p : tensor<5x23xf32>) outs(%e3 : tensor<23x5xf32>) permutation = [1, 0]

  %e4 = tensor.empty() : tensor<23xf32>
  %f4 = linalg.fill ins(%z : f32) outs(%e4 : tensor<23xf32>) -> tensor<23xf32>
  %c = linalg.reduce ins(%p : tensor<5x23xf32>) outs(%f4 : tensor<23xf32>) dimensions = [0]
    (%in: f32, %acc: f32) { %a = arith.addf %in, %acc : f32 linalg.yield %a : f32 }

  %sl = tensor.extract_slice %p[0, 3] [5, 9] [1, 2] : tensor<5x23xf32> to tensor<5x9xf32>
  %pd = tensor.pad %sl low[0, 4] high[0, 10] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<5x9xf32> to tensor<5x23xf32>

  %j = tensor.concat dim(1) %p, %x : (tensor<5x23xf32>, tensor<5x19xf32>) -> tensor<5x42xf32>

  // Two results that depend on each other: no vector form.
  %e5 = tensor.empty() : tensor<5xf32>
  %f5 = linalg.fill ins(%low : f32) outs(%e5 : tensor<5xf32>) -> tensor<5xf32>
  %e6 = tensor.empty() : tensor<5xi64>
  %f6 = linalg.fill ins(%z64 : i64) outs(%e6 : tensor<5xi64>) -> tensor<5xi64>
  %m:2 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%x : tensor<5x19xf32>) outs(%f5, %f6 : tensor<5xf32>, tensor<5xi64>) {
  ^bb0(%in: f32, %best: f32, %at: i64):
    %index = linalg.index 1 : index
    %here = arith.index_cast %index : index to i64
    %more = arith.cmpf ogt, %in, %best : f32
    %nb = arith.select %more, %in, %best : f32
    %na = arith.select %more, %here, %at : i64
    linalg.yield %nb, %na : f32, i64
  } -> (tensor<5xf32>, tensor<5xi64>)

  // Rows by computed index.
  %g = nn.embedding %ids, %p : (tensor<6xi64>, tensor<5x23xf32>) -> tensor<6x23xf32>

  %e8 = tensor.empty() : tensor<f32>
  %f8 = linalg.fill ins(%z : f32) outs(%e8 : tensor<f32>) -> tensor<f32>
  %total = linalg.reduce ins(%x : tensor<5x19xf32>) outs(%f8 : tensor<f32>) dimensions = [0, 1]
    (%in: f32, %acc: f32) { %a = arith.addf %in, %acc : f32 linalg.yield %a : f32 }

  %box = tensor.extract_slice %x[1, 2] [2, 3] [1, 1] : tensor<5x19xf32> to tensor<2x3xf32>
  %ins = tensor.insert_slice %box into %p[3, 20] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<5x23xf32>

  return %o, %t, %c, %pd, %j, %m#0, %m#1, %g, %total, %ins : tensor<5x7xf32>, tensor<23x5xf32>, tensor<23xf32>, tensor<5x23xf32>, tensor<5x42xf32>, tensor<5xf32>, tensor<5xi64>, tensor<6x23xf32>, tensor<f32>, tensor<5x23xf32>
}

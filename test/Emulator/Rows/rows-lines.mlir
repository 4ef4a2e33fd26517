// Rows that are no multiple of a vector begin anywhere in a line of 16 bytes:
// norms with weights, what is kept or stored for a later loop, flat kernels, two row
// dimensions, reads at another distance; and selections (argmax and its like).
// RUN: sed 's/TYPE/bf16/g; s/COLS/515/g; s/LONGER/520/g' %s | tp-check-kernels - | FileCheck %s
// RUN: sed 's/TYPE/f16/g; s/COLS/1036/g; s/LONGER/1041/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/f32/g; s/COLS/259/g; s/LONGER/264/g' %s | tp-check-kernels - | FileCheck %s
// RUN: sed 's/TYPE/bf16/g; s/COLS/9001/g; s/LONGER/9006/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/f32/g; s/COLS/20011/g; s/LONGER/20016/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/f32/g; s/COLS/256/g; s/LONGER/261/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s

// CHECK-COUNT-9: rows_{{[0-9]+}}: right in

!x = tensor<3xCOLSxTYPE>
!w = tensor<COLSxTYPE>
#id = affine_map<(s, h) -> (s, h)>
#row = affine_map<(s, h) -> (s)>
#column = affine_map<(s, h) -> (h)>

func.func @softmax(%x: !x) -> !x {
  %y = nn.softmax %x : !x
  return %y : !x
}

func.func @residual_norm(%x: !x, %r: !x, %w: !w, %b: !w) -> (!x, !x) {
  %s = arith.addf %x, %r : !x
  %y = nn.layer_norm %s, %w bias %b {epsilon = 1.0e-5 : f64} : (!x, !w, !w) -> !x
  return %s, %y : !x, !x
}

func.func @weighted(%x: !x, %w: !w) -> !x {
  %e = tensor.empty() : !x
  %y = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %w : !x, !w) outs(%e : !x) {
  ^bb0(%a: TYPE, %b: TYPE, %o: TYPE):
    %v = arith.mulf %a, %b : TYPE
    linalg.yield %v : TYPE
  } -> !x
  return %y : !x
}

func.func @scaled(%x: tensor<2x3xCOLSxTYPE>, %n: tensor<2x3xCOLSxi64>, %w: tensor<3xTYPE>) -> (tensor<2x3xCOLSxTYPE>, tensor<2x3xCOLSxi32>) {
  %e = tensor.empty() : tensor<2x3xCOLSxTYPE>
  %f = tensor.empty() : tensor<2x3xCOLSxi32>
  %y:2 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (b)>, affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %n, %w : tensor<2x3xCOLSxTYPE>, tensor<2x3xCOLSxi64>, tensor<3xTYPE>) outs(%e, %f : tensor<2x3xCOLSxTYPE>, tensor<2x3xCOLSxi32>) {
  ^bb0(%a: TYPE, %i: i64, %b: TYPE, %o: TYPE, %p: i32):
    %v = arith.mulf %a, %b : TYPE
    %t = arith.trunci %i : i64 to i32
    linalg.yield %v, %t : TYPE, i32
  } -> (tensor<2x3xCOLSxTYPE>, tensor<2x3xCOLSxi32>)
  return %y#0, %y#1 : tensor<2x3xCOLSxTYPE>, tensor<2x3xCOLSxi32>
}

// The columns of a wider tensor: rows of both begin elsewhere.
func.func @part(%z: tensor<3xLONGERxTYPE>, %r: !x) -> (!x, tensor<3xTYPE>) {
  %x = tensor.extract_slice %z[0, 2] [3, COLS] [1, 1] : tensor<3xLONGERxTYPE> to !x
  %s = arith.addf %x, %r : !x
  %low = arith.constant dense<0.0> : tensor<3xTYPE>
  %m = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%s : !x) outs(%low : tensor<3xTYPE>) {
  ^bb0(%a: TYPE, %o: TYPE):
    %v = arith.maximumf %o, %a : TYPE
    linalg.yield %v : TYPE
  } -> tensor<3xTYPE>
  return %s, %m : !x, tensor<3xTYPE>
}

// Where the first of the greatest stands, beside a sum and what is made on the way.
func.func @argmax(%x: !x) -> (tensor<3xTYPE>, tensor<3xi64>, !x) {
  %low = arith.constant dense<-1.0e4> : tensor<3xTYPE>
  %zero = arith.constant dense<-7> : tensor<3xi64>
  %n = arith.negf %x : !x
  %m:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%n : !x) outs(%low, %zero : tensor<3xTYPE>, tensor<3xi64>) {
  ^bb0(%in: TYPE, %best: TYPE, %at: i64):
    %i = linalg.index 1 : index
    %here = arith.index_cast %i : index to i64
    %greater = arith.cmpf ogt, %in, %best : TYPE
    %b = arith.select %greater, %in, %best : TYPE
    %p = arith.select %greater, %here, %at : i64
    linalg.yield %b, %p : TYPE, i64
  } -> (tensor<3xTYPE>, tensor<3xi64>)
  return %m#0, %m#1, %n : tensor<3xTYPE>, tensor<3xi64>, !x
}

// Few different keys: the last of the least, compared the other way round, with
// another element's value; and the first of the greatest without a sign, where
// only some rows beat what they start with. A key of one row is NaN throughout.
func.func @ties(%n: tensor<3xCOLSxi64>, %x: !x) -> (tensor<3xi32>, tensor<3xTYPE>, tensor<3xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3xi32>) {
  %high = arith.constant dense<100> : tensor<3xi32>
  %zero = arith.constant dense<0.0> : tensor<3xTYPE>
  %none = arith.constant dense<-1> : tensor<3xi32>
  %start3 = arith.constant dense<3> : tensor<3xi32>
  %low = arith.constant dense<0xFF800000> : tensor<3xf32>
  %nan = arith.constant 0x7FC00000 : f32
  %mask = arith.constant 3 : i32
  %one = arith.constant 1 : index
  %a:2 = linalg.generic {indexing_maps = [#id, #id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%n, %x : tensor<3xCOLSxi64>, !x) outs(%high, %zero : tensor<3xi32>, tensor<3xTYPE>) {
  ^bb0(%in: i64, %v: TYPE, %best: i32, %with: TYPE):
    %t = arith.trunci %in : i64 to i32
    %key = arith.andi %t, %mask : i32
    %p = arith.cmpi sge, %best, %key : i32
    %b = arith.select %p, %key, %best : i32
    %w = arith.select %p, %v, %with : TYPE
    linalg.yield %b, %w : i32, TYPE
  } -> (tensor<3xi32>, tensor<3xTYPE>)
  %c:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%n : tensor<3xCOLSxi64>) outs(%start3, %none : tensor<3xi32>, tensor<3xi32>) {
  ^bb0(%in: i64, %best: i32, %at: i32):
    %r = linalg.index 0 : index
    %i = linalg.index 1 : index
    %t = arith.trunci %in : i64 to i32
    %here = arith.index_cast %i : index to i32
    %sum = arith.addi %t, %here : i32
    %low2 = arith.andi %sum, %mask : i32
    %row = arith.index_cast %r : index to i32
    %key = arith.addi %low2, %row : i32
    %p = arith.cmpi ugt, %key, %best : i32
    %b = arith.select %p, %key, %best : i32
    %q = arith.select %p, %here, %at : i32
    linalg.yield %b, %q : i32, i32
  } -> (tensor<3xi32>, tensor<3xi32>)
  %d:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%n : tensor<3xCOLSxi64>) outs(%low, %none : tensor<3xf32>, tensor<3xi32>) {
  ^bb0(%in: i64, %best: f32, %at: i32):
    %r = linalg.index 0 : index
    %i = linalg.index 1 : index
    %t = arith.trunci %in : i64 to i32
    %low2 = arith.andi %t, %mask : i32
    %f = arith.sitofp %low2 : i32 to f32
    %is = arith.cmpi eq, %r, %one : index
    %key = arith.select %is, %nan, %f : f32
    %here = arith.index_cast %i : index to i32
    %p = arith.cmpf oge, %key, %best : f32
    %b = arith.select %p, %key, %best : f32
    %q = arith.select %p, %here, %at : i32
    linalg.yield %b, %q : f32, i32
  } -> (tensor<3xf32>, tensor<3xi32>)
  return %a#0, %a#1, %c#0, %c#1, %d#0, %d#1 : tensor<3xi32>, tensor<3xTYPE>, tensor<3xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3xi32>
}

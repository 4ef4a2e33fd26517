// Every kind of row kernel on a friendly, an odd, a narrow and a wide shape, in
// each element type.
// RUN: sed 's/TYPE/f32/g; s/ROWS/8/g; s/COLS/128/g; s/HALF/64/g; s/DOUBLE/256/g; s/LONGER/131/g' %s | tp-check-kernels - | FileCheck %s
// RUN: sed 's/TYPE/f32/g; s/ROWS/8/g; s/COLS/128/g; s/HALF/64/g; s/DOUBLE/256/g; s/LONGER/131/g' %s | tp-check-kernels - --no-checks | FileCheck %s
// RUN: sed 's/TYPE/f32/g; s/ROWS/3/g; s/COLS/38/g; s/HALF/19/g; s/DOUBLE/76/g; s/LONGER/41/g' %s | tp-check-kernels - | FileCheck %s
// RUN: sed 's/TYPE/f32/g; s/ROWS/2/g; s/COLS/2102/g; s/HALF/1051/g; s/DOUBLE/4204/g; s/LONGER/2105/g' %s | tp-check-kernels - | FileCheck %s
// RUN: sed 's/TYPE/bf16/g; s/ROWS/8/g; s/COLS/128/g; s/HALF/64/g; s/DOUBLE/256/g; s/LONGER/131/g' %s | tp-check-kernels - | FileCheck %s
// RUN: sed 's/TYPE/bf16/g; s/ROWS/3/g; s/COLS/38/g; s/HALF/19/g; s/DOUBLE/76/g; s/LONGER/41/g' %s | tp-check-kernels - | FileCheck %s
// RUN: sed 's/TYPE/bf16/g; s/ROWS/2/g; s/COLS/4096/g; s/HALF/2048/g; s/DOUBLE/8192/g; s/LONGER/4099/g' %s | tp-check-kernels - | FileCheck %s
// RUN: sed 's/TYPE/f16/g; s/ROWS/5/g; s/COLS/2/g; s/HALF/1/g; s/DOUBLE/4/g; s/LONGER/5/g' %s | tp-check-kernels - | FileCheck %s
// RUN: sed 's/TYPE/f16/g; s/ROWS/2/g; s/COLS/1034/g; s/HALF/517/g; s/DOUBLE/2068/g; s/LONGER/1037/g' %s | tp-check-kernels - | FileCheck %s
// As long as the hidden layers and vocabularies of large models.
// RUN: sed 's/TYPE/f16/g; s/ROWS/2/g; s/COLS/30522/g; s/HALF/15261/g; s/DOUBLE/61044/g; s/LONGER/30525/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/bf16/g; s/ROWS/1/g; s/COLS/128256/g; s/HALF/64128/g; s/DOUBLE/256512/g; s/LONGER/128259/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s

// Eleven functions, none without a kernel; a wrong one ends the tool with 1.
// CHECK: rows_10: right

func.func @residual_norm(%x: tensor<ROWSxCOLSxTYPE>, %r: tensor<ROWSxCOLSxTYPE>, %w: tensor<COLSxTYPE>) -> (tensor<ROWSxCOLSxTYPE>, tensor<ROWSxCOLSxTYPE>) {
  %s = arith.addf %x, %r : tensor<ROWSxCOLSxTYPE>
  %y = nn.rms_norm %s, %w {epsilon = 1.0e-5 : f64} : (tensor<ROWSxCOLSxTYPE>, tensor<COLSxTYPE>) -> tensor<ROWSxCOLSxTYPE>
  return %s, %y : tensor<ROWSxCOLSxTYPE>, tensor<ROWSxCOLSxTYPE>
}

func.func @layer_norm(%x: tensor<ROWSxCOLSxTYPE>, %w: tensor<COLSxTYPE>, %b: tensor<COLSxTYPE>) -> tensor<ROWSxCOLSxTYPE> {
  %y = nn.layer_norm %x, %w bias %b {epsilon = 1.0e-5 : f64} : (tensor<ROWSxCOLSxTYPE>, tensor<COLSxTYPE>, tensor<COLSxTYPE>) -> tensor<ROWSxCOLSxTYPE>
  return %y : tensor<ROWSxCOLSxTYPE>
}

func.func @bias_gelu(%x: tensor<ROWSxCOLSxTYPE>, %b: tensor<COLSxTYPE>) -> (tensor<ROWSxCOLSxTYPE>, tensor<ROWSxCOLSxTYPE>) {
  %empty = tensor.empty() : tensor<ROWSxCOLSxTYPE>
  %wide = linalg.broadcast ins(%b : tensor<COLSxTYPE>) outs(%empty : tensor<ROWSxCOLSxTYPE>) dimensions = [0]
  %s = arith.addf %x, %wide : tensor<ROWSxCOLSxTYPE>
  %erf = nn.gelu erf %s : tensor<ROWSxCOLSxTYPE>
  %tanh = nn.gelu tanh %s : tensor<ROWSxCOLSxTYPE>
  return %erf, %tanh : tensor<ROWSxCOLSxTYPE>, tensor<ROWSxCOLSxTYPE>
}

func.func @swiglu(%gate: tensor<ROWSxCOLSxTYPE>, %up: tensor<ROWSxCOLSxTYPE>) -> tensor<ROWSxCOLSxTYPE> {
  %a = nn.silu %gate : tensor<ROWSxCOLSxTYPE>
  %y = arith.mulf %a, %up : tensor<ROWSxCOLSxTYPE>
  return %y : tensor<ROWSxCOLSxTYPE>
}

func.func @softmax(%x: tensor<ROWSxCOLSxTYPE>) -> tensor<ROWSxCOLSxTYPE> {
  %y = nn.softmax %x : tensor<ROWSxCOLSxTYPE>
  return %y : tensor<ROWSxCOLSxTYPE>
}

func.func @rotary(%q: tensor<1xROWSx2xCOLSxTYPE>) -> tensor<1xROWSx2xCOLSxTYPE> {
  %c, %s = nn.rotary_table {inv_freq = dense<0.25> : tensor<HALFxf32>} : tensor<ROWSxHALFxf32>, tensor<ROWSxHALFxf32>
  %y = nn.rotary %q, %c, %s : (tensor<1xROWSx2xCOLSxTYPE>, tensor<ROWSxHALFxf32>, tensor<ROWSxHALFxf32>) -> tensor<1xROWSx2xCOLSxTYPE>
  return %y : tensor<1xROWSx2xCOLSxTYPE>
}

func.func @embedding(%ids: tensor<2xROWSxi64>, %table: tensor<29xCOLSxTYPE>) -> tensor<2xROWSxCOLSxTYPE> {
  %y = nn.embedding %ids, %table : (tensor<2xROWSxi64>, tensor<29xCOLSxTYPE>) -> tensor<2xROWSxCOLSxTYPE>
  return %y : tensor<2xROWSxCOLSxTYPE>
}

func.func @casts(%x: tensor<ROWSxCOLSxTYPE>, %i: tensor<ROWSxCOLSxi64>) -> (tensor<ROWSxCOLSxi32>, tensor<ROWSxCOLSxTYPE>) {
  %e0 = tensor.empty() : tensor<ROWSxCOLSxTYPE>
  %e1 = tensor.empty() : tensor<ROWSxCOLSxi32>
  %y:2 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%i, %x : tensor<ROWSxCOLSxi64>, tensor<ROWSxCOLSxTYPE>) outs(%e0, %e1 : tensor<ROWSxCOLSxTYPE>, tensor<ROWSxCOLSxi32>) {
  ^bb0(%e: i64, %f: TYPE, %o: TYPE, %p: i32):
    %a = arith.sitofp %e : i64 to TYPE
    %b = arith.addf %a, %f : TYPE
    %c = arith.fptosi %b : TYPE to i32
    linalg.yield %b, %c : TYPE, i32
  } -> (tensor<ROWSxCOLSxTYPE>, tensor<ROWSxCOLSxi32>)
  return %y#1, %y#0 : tensor<ROWSxCOLSxi32>, tensor<ROWSxCOLSxTYPE>
}

func.func @user_op(%x: tensor<ROWSxCOLSxTYPE>, %y: tensor<COLSxTYPE>) -> tensor<ROWSxCOLSxTYPE> {
  %empty = tensor.empty() : tensor<ROWSxCOLSxTYPE>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<ROWSxCOLSxTYPE>, tensor<COLSxTYPE>) outs(%empty : tensor<ROWSxCOLSxTYPE>) {
  ^bb0(%a: TYPE, %b: TYPE, %o: TYPE):
    %e = math.exp %a : TYPE
    %t = math.tanh %b : TYPE
    %s = math.sqrt %e : TYPE
    %m = arith.mulf %s, %t : TYPE
    %c = arith.cmpf ogt, %a, %b : TYPE
    %v = arith.select %c, %m, %a : TYPE
    linalg.yield %v : TYPE
  } -> tensor<ROWSxCOLSxTYPE>
  return %r : tensor<ROWSxCOLSxTYPE>
}

// Sums in f32: the reference rounds a narrower accumulator at every step.
func.func @reductions(%x: tensor<ROWSxCOLSxTYPE>, %z: tensor<ROWSxCOLSxf32>) -> (tensor<ROWSxTYPE>, tensor<ROWSxf32>, tensor<COLSxf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant -1.0e4 : TYPE
  %e0 = tensor.empty() : tensor<ROWSxTYPE>
  %i0 = linalg.fill ins(%lowest : TYPE) outs(%e0 : tensor<ROWSxTYPE>) -> tensor<ROWSxTYPE>
  %max = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<ROWSxCOLSxTYPE>) outs(%i0 : tensor<ROWSxTYPE>) {
  ^bb0(%a: TYPE, %o: TYPE):
    %m = arith.maximumf %a, %o : TYPE
    linalg.yield %m : TYPE
  } -> tensor<ROWSxTYPE>
  %e1 = tensor.empty() : tensor<ROWSxf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<ROWSxf32>) -> tensor<ROWSxf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]}
      ins(%z : tensor<ROWSxCOLSxf32>) outs(%i1 : tensor<ROWSxf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.addf %a, %o : f32
    linalg.yield %m : f32
  } -> tensor<ROWSxf32>
  %e2 = tensor.empty() : tensor<COLSxf32>
  %i2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<COLSxf32>) -> tensor<COLSxf32>
  %columns = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (b)>], iterator_types = ["reduction", "parallel"]}
      ins(%z : tensor<ROWSxCOLSxf32>) outs(%i2 : tensor<COLSxf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.addf %a, %o : f32
    linalg.yield %m : f32
  } -> tensor<COLSxf32>
  return %max, %sum, %columns : tensor<ROWSxTYPE>, tensor<ROWSxf32>, tensor<COLSxf32>
}

func.func @moves(%x: tensor<ROWSxCOLSxTYPE>, %y: tensor<ROWSxCOLSxTYPE>) -> (tensor<ROWSxHALFxTYPE>, tensor<ROWSxDOUBLExTYPE>, tensor<ROWSxLONGERxTYPE>) {
  %zero = arith.constant 0.0 : TYPE
  %a = tensor.extract_slice %x[0, HALF] [ROWS, HALF] [1, 1] : tensor<ROWSxCOLSxTYPE> to tensor<ROWSxHALFxTYPE>
  %b = tensor.concat dim(1) %x, %y : (tensor<ROWSxCOLSxTYPE>, tensor<ROWSxCOLSxTYPE>) -> tensor<ROWSxDOUBLExTYPE>
  %c = tensor.pad %x low[0, 1] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : TYPE
  } : tensor<ROWSxCOLSxTYPE> to tensor<ROWSxLONGERxTYPE>
  return %a, %b, %c : tensor<ROWSxHALFxTYPE>, tensor<ROWSxDOUBLExTYPE>, tensor<ROWSxLONGERxTYPE>
}

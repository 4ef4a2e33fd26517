// Forms of row kernels that models seldom have, as they come out of schedule:
// everything reduced to one number, transposes inside a row, repeated and
// reversed reads, several reductions of one operation, reads at computed
// indices, loops of two lengths.
// RUN: tp-check-kernels %s | FileCheck %s

// CHECK: all: right
// CHECK-NEXT: transposes: right
// CHECK-NEXT: affine: right
// CHECK-NEXT: several: right
// CHECK-NEXT: cross: right
// CHECK-NEXT: slice: right
// CHECK-NEXT: inits: right
// CHECK-NEXT: product: right
// CHECK-NEXT: lengths: right
// CHECK-NEXT: argmax: right

#id = affine_map<(s, h) -> (s, h)>
#row = affine_map<(s, h) -> (s)>
#col = affine_map<(s, h) -> (h)>
// Everything to one number, no row dims
func.func private @all(%x: tensor<6x50xf32>, %i: tensor<f32>) -> tensor<f32> attributes {tp.kernel = "rows", tp.row_dims = 0 : i64} {
  %s = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<6x50xf32>) outs(%i : tensor<f32>) {
  ^bb0(%in: f32, %acc: f32):
    %v = arith.addf %acc, %in : f32
    linalg.yield %v : f32
  } -> tensor<f32>
  return %s : tensor<f32>
}
// Transposed store, transposed read, rows permuted in the domain
func.func private @transposes(%x: tensor<4x24x16xbf16>) -> (tensor<4x16x24xbf16>, tensor<4x24x16xbf16>) attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<4x16x24xbf16>
  %e2 = tensor.empty() : tensor<4x24x16xbf16>
  %a = linalg.generic {indexing_maps = [affine_map<(a, b, r) -> (r, a, b)>, affine_map<(a, b, r) -> (r, b, a)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x24x16xbf16>) outs(%e : tensor<4x16x24xbf16>) {
  ^bb0(%in: bf16, %o: bf16):
    %v = arith.negf %in : bf16
    linalg.yield %v : bf16
  } -> tensor<4x16x24xbf16>
  %b = linalg.generic {indexing_maps = [affine_map<(r, a, b) -> (r, b, a)>, affine_map<(r, a, b) -> (r, a, b)>, affine_map<(r, a, b) -> (r, a, b)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a, %x : tensor<4x16x24xbf16>, tensor<4x24x16xbf16>) outs(%e2 : tensor<4x24x16xbf16>) {
  ^bb0(%in: bf16, %y: bf16, %o: bf16):
    %v = arith.mulf %in, %y : bf16
    linalg.yield %v : bf16
  } -> tensor<4x24x16xbf16>
  return %a, %b : tensor<4x16x24xbf16>, tensor<4x24x16xbf16>
}
// Repeat of heads, strided and reversed reads
func.func private @affine(%x: tensor<5x2x32xf32>, %y: tensor<5x64xf32>) -> (tensor<5x8x32xf32>) attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<5x8x32xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(r, a, b) -> (r, a floordiv 4, -b + 31)>, affine_map<(r, a, b) -> (r, b * 2 + a mod 2)>, affine_map<(r, a, b) -> (r, a, b)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %y : tensor<5x2x32xf32>, tensor<5x64xf32>) outs(%e : tensor<5x8x32xf32>) {
  ^bb0(%in: f32, %q: f32, %o: f32):
    %v = arith.addf %in, %q : f32
    linalg.yield %v : f32
  } -> tensor<5x8x32xf32>
  return %a : tensor<5x8x32xf32>
}
// Two results of one op; two reductions of one op; i1 kept; casts; f64
func.func private @several(%x: tensor<7x1000xf32>, %n: tensor<7x1000xi64>) -> (tensor<7xf32>, tensor<7xf32>, tensor<7x1000xi1>, tensor<7x1000xf32>, tensor<7x1000xi32>, tensor<7xi64>) attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %z = arith.constant dense<2.5> : tensor<7xf32>
  %zi = arith.constant dense<2> : tensor<7xi64>
  %e1 = tensor.empty() : tensor<7x1000xi1>
  %ef = tensor.empty() : tensor<7x1000xf32>
  %ei = tensor.empty() : tensor<7x1000xi32>
  %c0 = arith.constant 0.0 : f32
  %m:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<7x1000xf32>) outs(%e1, %ei : tensor<7x1000xi1>, tensor<7x1000xi32>) {
  ^bb0(%in: f32, %o: i1, %o2: i32):
    %v = arith.cmpf ogt, %in, %c0 : f32
    %j = arith.fptosi %in : f32 to i32
    linalg.yield %v, %j : i1, i32
  } -> (tensor<7x1000xi1>, tensor<7x1000xi32>)
  %s:2 = linalg.generic {indexing_maps = [#id, #id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %m#0 : tensor<7x1000xf32>, tensor<7x1000xi1>) outs(%z, %z : tensor<7xf32>, tensor<7xf32>) {
  ^bb0(%in: f32, %b: i1, %a: f32, %c: f32):
    %w = arith.select %b, %in, %c0 : f32
    %v = arith.addf %a, %w : f32
    %u = arith.maximumf %c, %in : f32
    linalg.yield %v, %u : f32, f32
  } -> (tensor<7xf32>, tensor<7xf32>)
  %cnt = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%n : tensor<7x1000xi64>) outs(%zi : tensor<7xi64>) {
  ^bb0(%in: i64, %a: i64):
    %v = arith.addi %a, %in : i64
    linalg.yield %v : i64
  } -> tensor<7xi64>
  %y = linalg.generic {indexing_maps = [#id, #id, #row, #row, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m#0, %s#0, %s#1, %cnt : tensor<7x1000xf32>, tensor<7x1000xi1>, tensor<7xf32>, tensor<7xf32>, tensor<7xi64>) outs(%ef : tensor<7x1000xf32>) {
  ^bb0(%in: f32, %b: i1, %p: f32, %q: f32, %c: i64, %o: f32):
    %d = arith.extf %in : f32 to f64
    %pd = arith.extf %p : f32 to f64
    %v = arith.mulf %d, %pd : f64
    %t = arith.truncf %v : f64 to f32
    %i = linalg.index 1 : index
    %ii = arith.index_cast %i : index to i64
    %k = arith.cmpi slt, %ii, %c : i64
    %w = arith.select %b, %t, %q : f32
    %w2 = arith.select %k, %w, %in : f32
    linalg.yield %w2 : f32
  } -> tensor<7x1000xf32>
  return %s#0, %s#1, %m#0, %y, %m#1, %cnt : tensor<7xf32>, tensor<7xf32>, tensor<7x1000xi1>, tensor<7x1000xf32>, tensor<7x1000xi32>, tensor<7xi64>
}
// Label's logit out of a shard, with its offset; log of a sum
func.func private @cross(%off: index, %l: tensor<6x129xf32>, %t: tensor<6xi64>) -> (tensor<6xf32>, tensor<6xf32>) attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %low = arith.constant dense<0xFF800000> : tensor<6xf32>
  %z = arith.constant dense<0.0> : tensor<6xf32>
  %e = tensor.empty() : tensor<6xf32>
  %c0 = arith.constant 0 : index
  %c129 = arith.constant 129 : index
  %zf = arith.constant 0.0 : f32
  %m = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%l : tensor<6x129xf32>) outs(%low : tensor<6xf32>) {
  ^bb0(%in: f32, %a: f32):
    %v = arith.maximumf %a, %in : f32
    linalg.yield %v : f32
  } -> tensor<6xf32>
  %s = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%l, %m : tensor<6x129xf32>, tensor<6xf32>) outs(%z : tensor<6xf32>) {
  ^bb0(%in: f32, %mm: f32, %a: f32):
    %d = arith.subf %in, %mm : f32
    %x = math.exp %d : f32
    %v = arith.addf %a, %x : f32
    linalg.yield %v : f32
  } -> tensor<6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(s) -> (s)>, affine_map<(s) -> (s)>, affine_map<(s) -> (s)>, affine_map<(s) -> (s)>], iterator_types = ["parallel"]} ins(%t, %m, %s : tensor<6xi64>, tensor<6xf32>, tensor<6xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%in: i64, %mm: f32, %ss: f32, %o: f32):
    %i = arith.index_cast %in : i64 to index
    %j = arith.subi %i, %off : index
    %ok = arith.cmpi ult, %j, %c129 : index
    %k = arith.select %ok, %j, %c0 : index
    %r = linalg.index 0 : index
    %v = tensor.extract %l[%r, %k] : tensor<6x129xf32>
    %lg = math.log %ss : f32
    %u = arith.subf %v, %mm : f32
    %w = arith.subf %lg, %u : f32
    %q = arith.select %ok, %w, %zf : f32
    linalg.yield %q : f32
  } -> tensor<6xf32>
  return %p, %s : tensor<6xf32>, tensor<6xf32>
}
// Slice at a rank's offset along columns, concatenation, padding
func.func private @slice(%off: index, %x: tensor<6x96xbf16>, %y: tensor<6x40xbf16>) -> (tensor<6x64xbf16>, tensor<6x104xbf16>, tensor<6x104xbf16>) attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<6x64xbf16>
  %e2 = tensor.empty() : tensor<6x104xbf16>
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c0 = arith.constant 0 : index
  %zf = arith.constant 0.0 : bf16
  %a = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<6x64xbf16>) {
  ^bb0(%out: bf16):
    %r = linalg.index 0 : index
    %i = linalg.index 1 : index
    %o = arith.muli %off, %c32 : index
    %j = arith.addi %i, %o : index
    %v = tensor.extract %x[%r, %j] : tensor<6x96xbf16>
    linalg.yield %v : bf16
  } -> tensor<6x64xbf16>
  %b = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e2 : tensor<6x104xbf16>) {
  ^bb0(%out: bf16):
    %r = linalg.index 0 : index
    %i = linalg.index 1 : index
    %first = arith.cmpi ult, %i, %c64 : index
    %i0 = arith.select %first, %i, %c0 : index
    %i1 = arith.subi %i, %c64 : index
    %i2 = arith.select %first, %c0, %i1 : index
    %v0 = tensor.extract %x[%r, %i0] : tensor<6x96xbf16>
    %v1 = tensor.extract %y[%r, %i2] : tensor<6x40xbf16>
    %v = arith.select %first, %v0, %v1 : bf16
    linalg.yield %v : bf16
  } -> tensor<6x104xbf16>
  %cc = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<6x104xbf16>) outs(%e2 : tensor<6x104xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %v = arith.addf %in, %in : bf16
    linalg.yield %v : bf16
  } -> tensor<6x104xbf16>
  return %a, %b, %cc : tensor<6x64xbf16>, tensor<6x104xbf16>, tensor<6x104xbf16>
}
// Init read by a map; Mixed with an init made before; result used twice
func.func private @inits(%x: tensor<3x5x40xf32>, %y: tensor<3x40xf32>) -> (tensor<3x40xf32>, tensor<3x40xf32>, tensor<3x40xf32>) attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<3x40xf32>) outs(%y : tensor<3x40xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %in, %out : f32
    linalg.yield %v : f32
  } -> tensor<3x40xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, h, k) -> (s, h, k)>, affine_map<(s, h, k) -> (s, k)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x : tensor<3x5x40xf32>) outs(%a : tensor<3x40xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %in, %out : f32
    linalg.yield %v : f32
  } -> tensor<3x40xf32>
  return %a, %s, %a : tensor<3x40xf32>, tensor<3x40xf32>, tensor<3x40xf32>
}
// Small product in each row
func.func private @product(%x: tensor<3x4x6xf32>, %w: tensor<6x10xf32>) -> tensor<3x4x10xf32> attributes {tp.kernel = "rows", tp.row_dims = 2 : i64} {
  %z = arith.constant dense<0.0> : tensor<3x4x10xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, s, n, k) -> (b, s, k)>, affine_map<(b, s, n, k) -> (k, n)>, affine_map<(b, s, n, k) -> (b, s, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<3x4x6xf32>, tensor<6x10xf32>) outs(%z : tensor<3x4x10xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    %v = arith.addf %p, %out : f32
    linalg.yield %v : f32
  } -> tensor<3x4x10xf32>
  return %s : tensor<3x4x10xf32>
}
// A loop without rows' worth of work beside reductions of two lengths
func.func private @lengths(%x: tensor<9x100xf32>, %y: tensor<9x48xbf16>, %w: tensor<9xf32>) -> (tensor<9x100xf32>, tensor<9x48xbf16>, tensor<9xf32>) attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %z = arith.constant dense<0.0> : tensor<9xf32>
  %ex = tensor.empty() : tensor<9x100xf32>
  %ey = tensor.empty() : tensor<9x48xbf16>
  %a = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<9x100xf32>) outs(%w : tensor<9xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %v = arith.addf %acc, %in : f32
    linalg.yield %v : f32
  } -> tensor<9xf32>
  %b = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<9x48xbf16>) outs(%a : tensor<9xf32>) {
  ^bb0(%in: bf16, %acc: f32):
    %f = arith.extf %in : bf16 to f32
    %v = arith.maximumf %acc, %f : f32
    linalg.yield %v : f32
  } -> tensor<9xf32>
  %c = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %b : tensor<9x100xf32>, tensor<9xf32>) outs(%ex : tensor<9x100xf32>) {
  ^bb0(%in: f32, %s: f32, %o: f32):
    %v = arith.subf %in, %s : f32
    linalg.yield %v : f32
  } -> tensor<9x100xf32>
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %a : tensor<9x48xbf16>, tensor<9xf32>) outs(%ey : tensor<9x48xbf16>) {
  ^bb0(%in: bf16, %s: f32, %o: bf16):
    %t = arith.truncf %s : f32 to bf16
    %v = arith.subf %in, %t : bf16
    linalg.yield %v : bf16
  } -> tensor<9x48xbf16>
  return %c, %d, %b : tensor<9x100xf32>, tensor<9x48xbf16>, tensor<9xf32>
}
// Accumulators that depend on each other, read again in a later loop
func.func private @argmax(%x: tensor<5x70xf32>) -> (tensor<5xi64>, tensor<5x70xf32>) attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %low = arith.constant dense<0xFF800000> : tensor<5xf32>
  %zero = arith.constant dense<0> : tensor<5xi64>
  %e = tensor.empty() : tensor<5x70xf32>
  %m:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x70xf32>) outs(%low, %zero : tensor<5xf32>, tensor<5xi64>) {
  ^bb0(%in: f32, %best: f32, %at: i64):
    %i = linalg.index 1 : index
    %here = arith.index_cast %i : index to i64
    %greater = arith.cmpf ogt, %in, %best : f32
    %b = arith.select %greater, %in, %best : f32
    %p = arith.select %greater, %here, %at : i64
    linalg.yield %b, %p : f32, i64
  } -> (tensor<5xf32>, tensor<5xi64>)
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m#0 : tensor<5x70xf32>, tensor<5xf32>) outs(%e : tensor<5x70xf32>) {
  ^bb0(%in: f32, %best: f32, %out: f32):
    %v = arith.subf %in, %best : f32
    linalg.yield %v : f32
  } -> tensor<5x70xf32>
  return %m#1, %y : tensor<5xi64>, tensor<5x70xf32>
}

func.func @call_all(%x: tensor<6x50xf32>, %i: tensor<f32>) -> (tensor<f32>) {
  %res = call @all(%x, %i) : (tensor<6x50xf32>, tensor<f32>) -> (tensor<f32>)
  return %res : tensor<f32>
}
func.func @call_transposes(%x: tensor<4x24x16xbf16>) -> (tensor<4x16x24xbf16>, tensor<4x24x16xbf16>) {
  %res:2 = call @transposes(%x) : (tensor<4x24x16xbf16>) -> (tensor<4x16x24xbf16>, tensor<4x24x16xbf16>)
  return %res#0, %res#1 : tensor<4x16x24xbf16>, tensor<4x24x16xbf16>
}
func.func @call_affine(%x: tensor<5x2x32xf32>, %y: tensor<5x64xf32>) -> (tensor<5x8x32xf32>) {
  %res = call @affine(%x, %y) : (tensor<5x2x32xf32>, tensor<5x64xf32>) -> (tensor<5x8x32xf32>)
  return %res : tensor<5x8x32xf32>
}
func.func @call_several(%x: tensor<7x1000xf32>, %n: tensor<7x1000xi64>) -> (tensor<7xf32>, tensor<7xf32>, tensor<7x1000xi1>, tensor<7x1000xf32>, tensor<7x1000xi32>, tensor<7xi64>) {
  %res:6 = call @several(%x, %n) : (tensor<7x1000xf32>, tensor<7x1000xi64>) -> (tensor<7xf32>, tensor<7xf32>, tensor<7x1000xi1>, tensor<7x1000xf32>, tensor<7x1000xi32>, tensor<7xi64>)
  return %res#0, %res#1, %res#2, %res#3, %res#4, %res#5 : tensor<7xf32>, tensor<7xf32>, tensor<7x1000xi1>, tensor<7x1000xf32>, tensor<7x1000xi32>, tensor<7xi64>
}
func.func @call_cross(%l: tensor<6x129xf32>, %t: tensor<6xi64>) -> (tensor<6xf32>, tensor<6xf32>) {
  %off = arith.constant 1 : index
  %res:2 = call @cross(%off, %l, %t) : (index, tensor<6x129xf32>, tensor<6xi64>) -> (tensor<6xf32>, tensor<6xf32>)
  return %res#0, %res#1 : tensor<6xf32>, tensor<6xf32>
}
func.func @call_slice(%x: tensor<6x96xbf16>, %y: tensor<6x40xbf16>) -> (tensor<6x64xbf16>, tensor<6x104xbf16>, tensor<6x104xbf16>) {
  %off = arith.constant 1 : index
  %res:3 = call @slice(%off, %x, %y) : (index, tensor<6x96xbf16>, tensor<6x40xbf16>) -> (tensor<6x64xbf16>, tensor<6x104xbf16>, tensor<6x104xbf16>)
  return %res#0, %res#1, %res#2 : tensor<6x64xbf16>, tensor<6x104xbf16>, tensor<6x104xbf16>
}
func.func @call_inits(%x: tensor<3x5x40xf32>, %y: tensor<3x40xf32>) -> (tensor<3x40xf32>, tensor<3x40xf32>, tensor<3x40xf32>) {
  %res:3 = call @inits(%x, %y) : (tensor<3x5x40xf32>, tensor<3x40xf32>) -> (tensor<3x40xf32>, tensor<3x40xf32>, tensor<3x40xf32>)
  return %res#0, %res#1, %res#2 : tensor<3x40xf32>, tensor<3x40xf32>, tensor<3x40xf32>
}
func.func @call_product(%x: tensor<3x4x6xf32>, %w: tensor<6x10xf32>) -> (tensor<3x4x10xf32>) {
  %res = call @product(%x, %w) : (tensor<3x4x6xf32>, tensor<6x10xf32>) -> (tensor<3x4x10xf32>)
  return %res : tensor<3x4x10xf32>
}
func.func @call_lengths(%x: tensor<9x100xf32>, %y: tensor<9x48xbf16>, %w: tensor<9xf32>) -> (tensor<9x100xf32>, tensor<9x48xbf16>, tensor<9xf32>) {
  %res:3 = call @lengths(%x, %y, %w) : (tensor<9x100xf32>, tensor<9x48xbf16>, tensor<9xf32>) -> (tensor<9x100xf32>, tensor<9x48xbf16>, tensor<9xf32>)
  return %res#0, %res#1, %res#2 : tensor<9x100xf32>, tensor<9x48xbf16>, tensor<9xf32>
}
func.func @call_argmax(%x: tensor<5x70xf32>) -> (tensor<5xi64>, tensor<5x70xf32>) {
  %res:2 = call @argmax(%x) : (tensor<5x70xf32>) -> (tensor<5xi64>, tensor<5x70xf32>)
  return %res#0, %res#1 : tensor<5xi64>, tensor<5x70xf32>
}

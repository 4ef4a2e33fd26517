// RUN: tp-opt %s --split-input-file --test-tp-print-rules --verify-diagnostics

func.func @named(%a: tensor<4x6xf32>, %b: tensor<6x8xf32>, %c: tensor<4x8xf32>, %b2: tensor<8x6xf32>, %v: tensor<4xf32>, %f: f32) {
  // A constant fill is the same wherever the tensor is cut.
  // expected-remark @below {{d0=4, d1=8: [], [d0, d1] -> [d0, d1]}}
  %0 = linalg.fill ins(%f : f32) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  // The initial value counts once where d2 is split.
  // expected-remark @below {{d0=4, d1=8, d2=6 sum: [d0, d2] multilinear, [d2, d1] multilinear, [d0, d1] additive -> [d0, d1]}}
  %1 = linalg.matmul ins(%a, %b : tensor<4x6xf32>, tensor<6x8xf32>) outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{d0=8, d1=6: [d1, d0] multilinear, [d0, d1] -> [d0, d1]}}
  %2 = linalg.transpose ins(%b : tensor<6x8xf32>) outs(%b2 : tensor<8x6xf32>) permutation = [1, 0]
  // expected-remark @below {{d0=4, d1=6: [d0] multilinear, [d0, d1] -> [d0, d1]}}
  %3 = linalg.broadcast ins(%v : tensor<4xf32>) outs(%a : tensor<4x6xf32>) dimensions = [1]
  // expected-remark @below {{d0=4, d1=6 sum: [d0, d1] additive, [d0] additive -> [d0]}}
  %4 = linalg.reduce { arith.addf } ins(%a : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [1]
  // expected-remark @below {{d0=4, d1=6 max: [d0, d1], [d0] initial -> [d0]}}
  %5 = linalg.reduce { arith.maximumf } ins(%a : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [1]
  // expected-remark @below {{d0=4, d1=6 min: [d0, d1], [d0] initial -> [d0]}}
  %6 = linalg.reduce { arith.minimumf } ins(%a : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [1]
  // A product over split positions is not known to the algebra.
  // expected-remark @below {{d0=4, d1=6 whole: [d0, d1], [d0] -> [d0]}}
  %7 = linalg.reduce { arith.mulf } ins(%a : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [1]
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>

// The initial value of a sum of terms that are not linear counts once, but may
// not be partial.
func.func @sum_of_exponentials(%x: tensor<4x6xf32>, %m: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-remark @below {{d0=4, d1=6 sum: [d0, d1], [d0], [d0] initial -> [d0]}}
  %0 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<4x6xf32>, tensor<4xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.subf %a, %b : f32
    %2 = math.exp %1 : f32
    %3 = arith.addf %out, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4xf32>
  return
}

// x w + b: x and w as products, b added once; the scale changes nothing.
func.func @scale_and_bias(%x: tensor<4x6xf32>, %w: tensor<6xf32>, %b: tensor<6xf32>, %e: tensor<4x6xbf16>) {
  // expected-remark @below {{d0=4, d1=6: [d0, d1] multilinear, [d1] multilinear, [d1] additive, [d0, d1] -> [d0, d1]}}
  %0 = linalg.generic {indexing_maps = [#id, #col, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %w, %b : tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) outs(%e : tensor<4x6xbf16>) {
  ^bb0(%a: f32, %v: f32, %c: f32, %out: bf16):
    %two = arith.constant 2.0 : f32
    %1 = arith.mulf %a, %two : f32
    %2 = arith.mulf %1, %v : f32
    %3 = arith.addf %2, %c : f32
    %4 = arith.truncf %3 : f32 to bf16
    linalg.yield %4 : bf16
  } -> tensor<4x6xbf16>
  // A constant that is added would be added on every rank.
  // expected-remark @below {{d0=4, d1=6: [d0, d1], [d0, d1] -> [d0, d1]}}
  %5 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) {
  ^bb0(%a: f32, %out: f32):
    %one = arith.constant 1.0 : f32
    %6 = arith.addf %a, %one : f32
    linalg.yield %6 : f32
  } -> tensor<4x6xf32>
  // x² and x y + z w are not linear in anything; x (y + z) is in x.
  // expected-remark @below {{d0=4, d1=6: [d0, d1] multilinear, [d1], [d1], [d0, d1] -> [d0, d1]}}
  %7 = linalg.generic {indexing_maps = [#id, #col, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %w, %b : tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) outs(%x : tensor<4x6xf32>) {
  ^bb0(%a: f32, %v: f32, %c: f32, %out: f32):
    %8 = arith.addf %v, %c : f32
    %9 = arith.mulf %a, %8 : f32
    linalg.yield %9 : f32
  } -> tensor<4x6xf32>
  // expected-remark @below {{d0=4, d1=6: [d0, d1], [d0, d1] -> [d0, d1]}}
  %10 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) {
  ^bb0(%a: f32, %out: f32):
    %11 = arith.mulf %a, %a : f32
    linalg.yield %11 : f32
  } -> tensor<4x6xf32>
  return
}

// Several results share one kind of reduction or none.
func.func @two_results(%x: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-remark @below {{d0=4, d1=6 sum: [d0, d1], [d0] initial, [d0] initial -> [d0], [d0]}}
  %0:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x6xf32>) outs(%v, %v : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %s: f32, %q: f32):
    %1 = arith.addf %s, %a : f32
    %2 = arith.mulf %a, %a : f32
    %3 = arith.addf %q, %2 : f32
    linalg.yield %1, %3 : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  // expected-remark @below {{d0=4, d1=6 whole: [d0, d1], [d0], [d0] -> [d0], [d0]}}
  %4:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x6xf32>) outs(%v, %v : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %s: f32, %m: f32):
    %5 = arith.addf %s, %a : f32
    %6 = arith.maximumf %m, %a : f32
    linalg.yield %5, %6 : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// x is added at every step: it may neither count once nor be partial.
func.func @often(%x: tensor<4xf32>, %w: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-remark @below {{d0=4, d1=6 sum: [d0], [d0, d1], [d0] initial -> [d0]}}
  %0 = linalg.generic {indexing_maps = [#row, #id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %w : tensor<4xf32>, tensor<4x6xf32>) outs(%v : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.subf %b, %a : f32
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  return
}

// A scalar that is added would be added on every rank; one that scales may.
func.func @scalars(%x: tensor<4x6xf32>, %f: f32) {
  // expected-remark @below {{d0=4, d1=6: [d0, d1], [], [d0, d1] -> [d0, d1]}}
  %0 = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> ()>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %f : tensor<4x6xf32>, f32) outs(%x : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<4x6xf32>
  // expected-remark @below {{d0=4, d1=6: [d0, d1] multilinear, [], [d0, d1] -> [d0, d1]}}
  %2 = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> ()>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %f : tensor<4x6xf32>, f32) outs(%x : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %3 = arith.mulf %a, %b : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  return
}

// A running product with the sum is no reduction that can be split.
func.func @recurrence(%x: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-remark @below {{d0=4, d1=6 whole: [d0, d1], [d0] -> [d0]}}
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x6xf32>) outs(%v : tensor<4xf32>) {
  ^bb0(%a: f32, %s: f32):
    %half = arith.constant 0.5 : f32
    %1 = arith.mulf %s, %half : f32
    %2 = arith.addf %1, %a : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  return
}

// -----

// Rotation: the half that is read at 1 - p stays whole, the rest shards.
func.func @reversed(%x: tensor<4x2x3xf32>) {
  // expected-remark @below {{d0=4, d1=2 whole index, d2=3, x3=2 whole: [d0, d1, d2] additive, [d0, x3, d2] additive, [d0, d1, d2] -> [d0, d1, d2]}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>,
                                        affine_map<(d0, d1, d2) -> (d0, 1 - d1, d2)>,
                                        affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %x : tensor<4x2x3xf32>, tensor<4x2x3xf32>) outs(%x : tensor<4x2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = linalg.index 1 : index
    %c0 = arith.constant 0 : index
    %first = arith.cmpi eq, %p, %c0 : index
    %neg = arith.negf %b : f32
    %1 = arith.select %first, %neg, %b : f32
    %2 = arith.addf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x2x3xf32>
  return
}

// A convolution reads i + j: both loops stay whole.
func.func @convolution(%x: tensor<1x10x4xf32>, %k: tensor<3x4x8xf32>, %o: tensor<1x8x8xf32>) {
  // expected-remark @below {{d0=1, d1=8 whole, d2=8, d3=3 whole, d4=4 sum, x5=10 whole: [d0, x5, d4] multilinear, [d3, d4, d2] multilinear, [d0, d1, d2] additive -> [d0, d1, d2]}}
  %0 = linalg.conv_1d_nwc_wcf ins(%x, %k : tensor<1x10x4xf32>, tensor<3x4x8xf32>) outs(%o : tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  return
}

// A diagonal cannot be cut along both of its dimensions.
func.func @diagonal(%x: tensor<4x4xf32>, %v: tensor<4xf32>) {
  // expected-remark @below {{d0=4 whole: [d0, d0] multilinear, [d0] -> [d0]}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0, d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4x4xf32>) outs(%v : tensor<4xf32>) {
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Every term must carry what is partial exactly once, and nothing may use it
// otherwise.
func.func @every_term(%x: tensor<4x6xf32>, %h: tensor<4x6xf32>, %p: tensor<4x6xi1>) {
  // expected-remark @below {{d0=4, d1=6: [d0, d1], [d0, d1], [d0, d1] -> [d0, d1]}}
  %0 = linalg.map ins(%x, %h : tensor<4x6xf32>, tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) (%a: f32, %b: f32, %out: f32) {
    %1 = math.tanh %a : f32
    %2 = arith.mulf %1, %b : f32
    %3 = arith.addf %a, %2 : f32
    linalg.yield %3 : f32
  }
  // expected-remark @below {{d0=4, d1=6: [d0, d1], [d0, d1], [d0, d1] -> [d0, d1]}}
  %4 = linalg.map ins(%x, %h : tensor<4x6xf32>, tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) (%a: f32, %b: f32, %out: f32) {
    %5 = arith.mulf %a, %b : f32
    %6 = arith.addf %5, %a : f32
    linalg.yield %6 : f32
  }
  // What a region of the body reads is used by it.
  // expected-remark @below {{d0=4, d1=6: [d0, d1], [d0, d1], [d0, d1] -> [d0, d1]}}
  %7 = linalg.map ins(%x, %h : tensor<4x6xf32>, tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) (%a: f32, %b: f32, %out: f32) {
    %true = arith.constant true
    %8 = scf.if %true -> f32 {
      %9 = math.exp %a : f32
      scf.yield %9 : f32
    } else {
      scf.yield %b : f32
    }
    %10 = arith.mulf %8, %a : f32
    linalg.yield %10 : f32
  }
  // Truth values are no numbers: 1 + 1 = 0.
  // expected-remark @below {{d0=4, d1=6: [d0, d1], [d0, d1], [d0, d1] -> [d0, d1]}}
  %11 = linalg.map ins(%p, %p : tensor<4x6xi1>, tensor<4x6xi1>) outs(%p : tensor<4x6xi1>) (%a: i1, %b: i1, %out: i1) {
    %12 = arith.addi %a, %b : i1
    linalg.yield %12 : i1
  }
  return
}

// By a zero, the parts of a sum would be infinities of both signs.
func.func @quotients(%x: tensor<4x6xf32>, %h: tensor<4x6xf32>) {
  // expected-remark @below {{d0=4, d1=6: [d0, d1], [d0, d1], [d0, d1] -> [d0, d1]}}
  %0 = linalg.map ins(%x, %h : tensor<4x6xf32>, tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) (%a: f32, %b: f32, %out: f32) {
    %1 = arith.divf %a, %b : f32
    linalg.yield %1 : f32
  }
  // expected-remark @below {{d0=4, d1=6: [d0, d1] multilinear, [d0, d1] -> [d0, d1]}}
  %2 = linalg.map ins(%x : tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) (%a: f32, %out: f32) {
    %three = arith.constant 3.0 : f32
    %3 = arith.divf %a, %three : f32
    linalg.yield %3 : f32
  }
  return
}

// Nor may a factor be infinite; added up, it may.
func.func @infinities(%x: tensor<4x6xf32>) {
  // expected-remark @below {{d0=6:  -> [d0]}}
  %mask = arith.constant dense<[0.0, 0xFF800000, 0.0, 0.0, 0.0, 0.0]> : tensor<6xf32>
  // expected-remark @below {{d0=4, d1=6: [d0, d1], [d1], [d0, d1] -> [d0, d1]}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %mask : tensor<4x6xf32>, tensor<6xf32>) outs(%x : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.mulf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<4x6xf32>
  // expected-remark @below {{d0=4, d1=6: [d0, d1] additive, [d1] additive, [d0, d1] -> [d0, d1]}}
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %mask : tensor<4x6xf32>, tensor<6xf32>) outs(%x : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %3 = arith.addf %a, %b : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  // expected-remark @below {{d0=4, d1=6: [d0, d1], [d0, d1] -> [d0, d1]}}
  %4 = linalg.map ins(%x : tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) (%a: f32, %out: f32) {
    %infinity = arith.constant 0x7F800000 : f32
    %5 = arith.mulf %a, %infinity : f32
    linalg.yield %5 : f32
  }
  return
}

// An initial value counts once, even beside terms that are always zero.
func.func @no_terms(%x: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-remark @below {{d0=4, d1=6 sum: [d0, d1], [d0] additive -> [d0]}}
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x6xf32>) outs(%v : tensor<4xf32>) {
  ^bb0(%a: f32, %s: f32):
    %zero = arith.constant 0.0 : f32
    %1 = arith.mulf %a, %zero : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  return
}

// A term may depend on no output, its own or another's.
func.func @terms_of_outputs(%x: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-remark @below {{d0=4, d1=6 whole: [d0, d1], [d0], [d0] -> [d0], [d0]}}
  %0:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x6xf32>) outs(%v, %v : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %s: f32, %t: f32):
    %1 = arith.addf %s, %a : f32
    %2 = arith.addf %t, %1 : f32
    linalg.yield %1, %2 : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  // expected-remark @below {{d0=4, d1=6 whole: [d0, d1], [d0] -> [d0]}}
  %3 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x6xf32>) outs(%v : tensor<4xf32>) {
  ^bb0(%a: f32, %s: f32):
    %true = arith.constant true
    %4 = scf.if %true -> f32 {
      scf.yield %s : f32
    } else {
      scf.yield %a : f32
    }
    %5 = arith.addf %s, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<4xf32>
  // A maximum that passes over NaN is not the one that ranks are joined by.
  // expected-remark @below {{d0=4, d1=6 whole: [d0, d1], [d0] -> [d0]}}
  %6 = linalg.reduce { arith.maxnumf } ins(%x : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [1]
  return
}

// Shared sub-expressions are read once: 2^30 x is x 2^30 times over.
func.func @shared(%x: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-remark @below {{d0=4, d1=6 sum: [d0, d1], [d0] initial -> [d0]}}
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x6xf32>) outs(%v : tensor<4xf32>) {
  ^bb0(%a: f32, %s: f32):
    %d0 = arith.addf %a, %a : f32
    %d1 = arith.addf %d0, %d0 : f32
    %d2 = arith.addf %d1, %d1 : f32
    %d3 = arith.addf %d2, %d2 : f32
    %d4 = arith.addf %d3, %d3 : f32
    %d5 = arith.addf %d4, %d4 : f32
    %d6 = arith.addf %d5, %d5 : f32
    %d7 = arith.addf %d6, %d6 : f32
    %d8 = arith.addf %d7, %d7 : f32
    %d9 = arith.addf %d8, %d8 : f32
    %d10 = arith.addf %d9, %d9 : f32
    %d11 = arith.addf %d10, %d10 : f32
    %d12 = arith.addf %d11, %d11 : f32
    %d13 = arith.addf %d12, %d12 : f32
    %d14 = arith.addf %d13, %d13 : f32
    %d15 = arith.addf %d14, %d14 : f32
    %d16 = arith.addf %d15, %d15 : f32
    %d17 = arith.addf %d16, %d16 : f32
    %d18 = arith.addf %d17, %d17 : f32
    %d19 = arith.addf %d18, %d18 : f32
    %d20 = arith.addf %d19, %d19 : f32
    %d21 = arith.addf %d20, %d20 : f32
    %d22 = arith.addf %d21, %d21 : f32
    %d23 = arith.addf %d22, %d22 : f32
    %d24 = arith.addf %d23, %d23 : f32
    %d25 = arith.addf %d24, %d24 : f32
    %d26 = arith.addf %d25, %d25 : f32
    %d27 = arith.addf %d26, %d26 : f32
    %d28 = arith.addf %d27, %d27 : f32
    %d29 = arith.addf %d28, %d28 : f32
    %1 = arith.addf %s, %d29 : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return
}

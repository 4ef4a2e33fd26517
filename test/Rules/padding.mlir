// RUN: tp-opt %s --test-tp-print-padding --verify-diagnostics

func.func @linear(%x: tensor<1x8x62xf32>, %w: tensor<250x62xf32>, %b: tensor<250xf32>) {
  // Zero rows of the weight, times rows that may hold an infinity.
  // expected-remark @below {{results: anything}}
  %0 = nn.linear %x, %w bias %b {test.padding = ["n", "none", "zero", "zero"]} : (tensor<1x8x62xf32>, tensor<250x62xf32>, tensor<250xf32>) -> tensor<1x8x250xf32>
  // A padding token gives the bias.
  // expected-remark @below {{results: anything}}
  %1 = nn.linear %x, %w bias %b {test.padding = ["s", "zero", "none", "none"]} : (tensor<1x8x62xf32>, tensor<250x62xf32>, tensor<250xf32>) -> tensor<1x8x250xf32>
  // Zero times zero: nothing to mask in the sum.
  // expected-remark @below {{results: zero}}
  %2 = nn.linear %x, %w {test.padding = ["k", "zero", "zero"]} : (tensor<1x8x62xf32>, tensor<250x62xf32>) -> tensor<1x8x250xf32>
  // What is not known may be no number: one mask is due.
  // expected-remark @below {{results: anything; operand 0 masked with 0}}
  %3 = nn.linear %x, %w bias %b {test.padding = ["k", "anything", "zero", "none"]} : (tensor<1x8x62xf32>, tensor<250x62xf32>, tensor<250xf32>) -> tensor<1x8x250xf32>
  return
}

func.func @nn(%q: tensor<1x8x6x4xf32>, %x: tensor<1x6x8xf32>, %w: tensor<8xf32>, %i: tensor<1x6xi64>, %t: tensor<50x8xf32>) {
  // expected-remark @below {{results: zero}}
  %0 = nn.attention %q, %q, %q {causal, scale = 1.0 : f64, test.padding = ["kv heads", "zero", "zero", "zero"]} : (tensor<1x8x6x4xf32>, tensor<1x8x6x4xf32>, tensor<1x8x6x4xf32>) -> tensor<1x8x6x4xf32>
  // The weight may hold an infinity.
  // expected-remark @below {{results: anything, anything}}
  %1:2 = nn.rms_norm %x, %w {epsilon = 1.0e-5 : f64, test.padding = ["s", "zero", "none"]} : (tensor<1x6x8xf32>, tensor<8xf32>) -> (tensor<1x6x8xf32>, tensor<1x6xf32>)
  // expected-remark @below {{results: anything}}
  %3 = nn.layer_norm %x, %w bias %w {epsilon = 1.0e-5 : f64, test.padding = ["s", "zero", "none", "none"]} : (tensor<1x6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x6x8xf32>
  // An id past the logical vocabulary names a padding row, and gives zeros.
  // expected-remark @below {{results: anything; operand 1 masked with 0}}
  %4 = nn.embedding %i, %t {test.padding = ["vocabulary", "none", "anything"]} : (tensor<1x6xi64>, tensor<50x8xf32>) -> tensor<1x6x8xf32>
  // expected-remark @below {{results: zero}}
  %5 = nn.embedding %i, %t {test.padding = ["h", "none", "zero"]} : (tensor<1x6xi64>, tensor<50x8xf32>) -> tensor<1x6x8xf32>
  // expected-remark @below {{results: zero}}
  %6 = nn.gelu tanh %x {test.padding = ["d1", "zero"]} : tensor<1x6x8xf32>
  // expected-remark @below {{results: anything}}
  %7 = nn.softmax %x {test.padding = ["s", "zero"]} : tensor<1x6x8xf32>
  return
}

func.func @generation(%q: tensor<1x8x6x4xf32>, %i: tensor<8xi32>, %t: tensor<2x4xi32>, %new: tensor<8x6x4xf32>, %pool: tensor<64x6x4xf32>, %bytes: tensor<64x6x4xi8>, %scales: tensor<64x6xf32>) {
  // expected-remark @below {{results: zero}}
  %0 = nn.paged_attention %q, %pool, %pool, %i, %i, %t {page = 16 : i64, scale = 1.0 : f64, test.padding = ["kv heads", "zero", "zero", "zero", "none", "none", "none"]} : (tensor<1x8x6x4xf32>, tensor<64x6x4xf32>, tensor<64x6x4xf32>, tensor<8xi32>, tensor<8xi32>, tensor<2x4xi32>) -> tensor<1x8x6x4xf32>
  // A cache may hold anything in heads that only pad.
  // expected-remark @below {{results: anything}}
  %1 = nn.paged_attention %q, %pool, %pool, %i, %i, %t {page = 16 : i64, scale = 1.0 : f64, test.padding = ["kv heads", "zero", "anything", "zero", "none", "none", "none"]} : (tensor<1x8x6x4xf32>, tensor<64x6x4xf32>, tensor<64x6x4xf32>, tensor<8xi32>, tensor<8xi32>, tensor<2x4xi32>) -> tensor<1x8x6x4xf32>
  // expected-remark @below {{results: zero}}
  %2 = nn.cache_write %new, %i, %pool {test.padding = ["kv heads", "zero", "none", "zero"]} : (tensor<8x6x4xf32>, tensor<8xi32>, tensor<64x6x4xf32>) -> tensor<64x6x4xf32>
  // Cells that are not written keep what they have.
  // expected-remark @below {{results: anything}}
  %3 = nn.cache_write %new, %i, %pool {test.padding = ["kv heads", "zero", "none", "anything"]} : (tensor<8x6x4xf32>, tensor<8xi32>, tensor<64x6x4xf32>) -> tensor<64x6x4xf32>
  // expected-remark @below {{results: zero, zero}}
  %4:2 = nn.quantized_cache_write %new, %i, %bytes, %scales {element = i8, test.padding = ["kv heads", "zero", "none", "zero", "zero"]} : (tensor<8x6x4xf32>, tensor<8xi32>, tensor<64x6x4xi8>, tensor<64x6xf32>) -> (tensor<64x6x4xi8>, tensor<64x6xf32>)
  // expected-remark @below {{results: zero, anything}}
  %5:2 = nn.quantized_cache_write %new, %i, %bytes, %scales {element = i8, test.padding = ["kv heads", "zero", "none", "zero", "anything"]} : (tensor<8x6x4xf32>, tensor<8xi32>, tensor<64x6x4xi8>, tensor<64x6xf32>) -> (tensor<64x6x4xi8>, tensor<64x6xf32>)
  // A scale may be no number.
  // expected-remark @below {{results: anything}}
  %6 = nn.paged_attention %q, %bytes, %bytes, %i, %i, %t scales %scales, %scales {page = 16 : i64, scale = 1.0 : f64, element = i8, test.padding = ["kv heads", "zero", "zero", "zero", "none", "none", "none", "zero", "anything"]} : (tensor<1x8x6x4xf32>, tensor<64x6x4xi8>, tensor<64x6x4xi8>, tensor<8xi32>, tensor<8xi32>, tensor<2x4xi32>, tensor<64x6xf32>, tensor<64x6xf32>) -> tensor<1x8x6x4xf32>
  // expected-remark @below {{results: anything, anything}}
  %c, %s = nn.rotary_table positions %i : tensor<8xi32> {inv_freq = dense<[1.0, 0.1]> : tensor<2xf32>, test.padding = ["s", "none"]} : tensor<8x2xf32>, tensor<8x2xf32>
  return
}

func.func @elementwise(%x: tensor<6xf32>) {
  // expected-remark @below {{results: zero}}
  %0 = arith.mulf %x, %x {test.padding = ["d0", "zero", "zero"]} : tensor<6xf32>
  // expected-remark @below {{results: anything}}
  %1 = arith.addf %x, %x {test.padding = ["d0", "zero", "none"]} : tensor<6xf32>
  // expected-remark @below {{results: anything}}
  %2 = arith.mulf %x, %x {test.padding = ["d0", "zero", "anything"]} : tensor<6xf32>
  // expected-remark @below {{results: zero}}
  %3 = math.exp %x {test.padding = ["d0", "neg_inf"]} : tensor<6xf32>
  // expected-remark @below {{results: anything}}
  %4 = math.exp %x {test.padding = ["d0", "zero"]} : tensor<6xf32>
  // expected-remark @below {{results: pos_inf}}
  %5 = arith.negf %x {test.padding = ["d0", "neg_inf"]} : tensor<6xf32>
  // expected-remark @below {{results: neg_inf}}
  %6 = arith.subf %x, %x {test.padding = ["d0", "neg_inf", "zero"]} : tensor<6xf32>
  // expected-remark @below {{results: zero}}
  %7 = arith.constant {test.padding = ["d0"]} dense<0.0> : tensor<6xf32>
  // expected-remark @below {{results: anything}}
  %8 = arith.constant {test.padding = ["d0"]} dense<1.0> : tensor<6xf32>
  // A slice of a constant is padded with zeros.
  // expected-remark @below {{results: zero}}
  %9 = arith.constant {test.padding = ["d0"]} dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  return
}

// The pieces of a softmax over a padded dimension.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
func.func @linalg(%x: tensor<4x6xf32>, %m: tensor<4xf32>, %w: tensor<5x6xf32>, %o: tensor<4x5xf32>, %p: tensor<6xf32>) {
  // Zeros take part in a maximum.
  // expected-remark @below {{results: zero; guarded in the body}}
  %0 = linalg.reduce { arith.maximumf } ins(%x : tensor<4x6xf32>) outs(%m : tensor<4xf32>) dimensions = [1] {test.padding = ["d1", "zero", "none"]}
  // No padding of %x makes every term zero: the row's %m may be infinite.
  // expected-remark @below {{results: anything; guarded in the body}}
  %1 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<4x6xf32>, tensor<4xf32>) outs(%m : tensor<4xf32>)
      attrs = {test.padding = ["d1", "zero", "none", "none"]} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %2 = arith.subf %a, %b : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %out, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<4xf32>
  // Rows of zeros, times rows that may hold an infinity.
  // expected-remark @below {{results: anything}}
  %5 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] {test.padding = ["d1", "none", "zero", "zero"]} ins(%x, %w : tensor<4x6xf32>, tensor<5x6xf32>) outs(%o : tensor<4x5xf32>) -> tensor<4x5xf32>
  // Padding that grows with every step of a sum is not known.
  // expected-remark @below {{results: anything}}
  %6 = linalg.generic {indexing_maps = [#row, #col], iterator_types = ["reduction", "parallel"]}
      ins(%m : tensor<4xf32>) outs(%p : tensor<6xf32>)
      attrs = {test.padding = ["d1", "none", "zero"]} {
  ^bb0(%a: f32, %out: f32):
    %one = arith.constant 1.0 : f32
    %7 = arith.addf %out, %one : f32
    linalg.yield %7 : f32
  } -> tensor<6xf32>
  return
}

// What may not be run on padding, or look something up there.
func.func @undefined(%w: tensor<6x6xi32>, %i: tensor<6xi32>, %x: tensor<6xf32>, %t: tensor<5x8xf32>, %p: tensor<6x1xindex>) {
  // expected-remark @below {{results: anything; operand 1 masked with 1}}
  %0 = arith.divsi %i, %i {test.padding = ["d0", "anything", "zero"]} : tensor<6xi32>
  // expected-remark @below {{results: zero; operand 1 masked with 1}}
  %1 = arith.remui %i, %i {test.padding = ["d0", "zero", "anything"]} : tensor<6xi32>
  %three = arith.constant dense<3> : tensor<6xi32>
  // The padding of a splat is what it is elsewhere.
  // expected-remark @below {{results: anything}}
  %2 = arith.divsi %i, %three {test.padding = ["d0", "anything", "anything"]} : tensor<6xi32>
  %table = arith.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  // expected-remark @below {{results: anything; operand 1 masked with 1}}
  %3 = arith.divsi %i, %table {test.padding = ["d0", "anything", "zero"]} : tensor<6xi32>
  // expected-remark @below {{results: anything; operand 0 masked with 0}}
  %4 = arith.fptosi %x {test.padding = ["d0", "neg_inf"]} : tensor<6xf32> to tensor<6xi32>
  // expected-remark @below {{results: anything}}
  %5 = arith.fptosi %x {test.padding = ["d0", "zero"]} : tensor<6xf32> to tensor<6xi32>
  // expected-remark @below {{results: anything; operand 1 masked with 0}}
  %6 = arith.shli %i, %i {test.padding = ["d0", "anything", "anything"]} : tensor<6xi32>
  // expected-remark @below {{results: anything; operand 1 masked with 0}}
  %7 = tensor.gather %t[%p] gather_dims([0]) {test.padding = ["d0", "none", "anything"]} : (tensor<5x8xf32>, tensor<6x1xindex>) -> tensor<6x8xf32>
  // A divisor that depends on padding, and one that does not.
  // expected-remark @below {{results: anything; guarded in the body}}
  %8 = linalg.map ins(%i, %i : tensor<6xi32>, tensor<6xi32>) outs(%i : tensor<6xi32>) {test.padding = ["d0", "anything", "zero", "zero"]} (%a: i32, %b: i32, %out: i32) {
    %c = arith.muli %a, %b : i32
    %d = arith.divsi %a, %c : i32
    linalg.yield %d : i32
  }
  // expected-remark @below {{results: zero}}
  %9 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%i, %i : tensor<6xi32>, tensor<6xi32>) outs(%w : tensor<6x6xi32>) attrs = {test.padding = ["d0", "zero", "none", "zero"]} {
  ^bb0(%a: i32, %b: i32, %out: i32):
    %c = arith.divsi %out, %b : i32
    linalg.yield %c : i32
  } -> tensor<6x6xi32>
  return
}

// Harmless is a property of the whole term.
func.func @terms(%x: tensor<4x6xf32>, %i: tensor<4x6xi32>, %m: tensor<4xf32>, %n: tensor<4xi32>) {
  // Minus infinity less padding of the smallest integer would wrap.
  // expected-remark @below {{results: anything; guarded in the body}}
  %0 = linalg.generic {indexing_maps = [#id, #id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%i, %i : tensor<4x6xi32>, tensor<4x6xi32>) outs(%n : tensor<4xi32>)
      attrs = {test.padding = ["d1", "anything", "zero", "none"]} {
  ^bb0(%a: i32, %b: i32, %out: i32):
    %1 = arith.addi %a, %b : i32
    %2 = arith.maxsi %out, %1 : i32
    linalg.yield %2 : i32
  } -> tensor<4xi32>
  // 0 times the exponential of a row that may be infinite.
  // expected-remark @below {{results: anything; guarded in the body}}
  %3 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<4x6xf32>, tensor<4xf32>) outs(%m : tensor<4xf32>)
      attrs = {test.padding = ["d1", "zero", "none", "none"]} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %4 = math.exp %b : f32
    %5 = arith.mulf %a, %4 : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<4xf32>
  return
}

// A position looked up in a body, and one that no padding has a part in.
func.func @extracted(%x: tensor<6xf32>) {
  %table = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  // expected-remark @below {{results: anything; guarded in the body}}
  %0 = linalg.map ins(%x : tensor<6xf32>) outs(%x : tensor<6xf32>) {test.padding = ["d0", "zero", "zero"]} (%a: f32, %out: f32) {
    %i = linalg.index 0 : index
    %e = tensor.extract %table[%i] : tensor<6xf32>
    linalg.yield %e : f32
  }
  // expected-remark @below {{results: anything}}
  %1 = linalg.map ins(%x : tensor<6xf32>) outs(%x : tensor<6xf32>) {test.padding = ["d0", "zero", "zero"]} (%a: f32, %out: f32) {
    %i = arith.constant 2 : index
    %e = tensor.extract %table[%i] : tensor<6xf32>
    linalg.yield %e : f32
  }
  return
}

func.func @experts(%y: tensor<2x8x48xf32>, %i: tensor<32xi32>, %x: tensor<2x8x64xf32>, %r: tensor<2x8x6xf32>, %g: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>) {
  // Rows and experts without a weight.
  // expected-remark @below {{results: zero}}
  %0 = nn.experts %x, %r, %g, %g, %d {activation = "silu", test.padding = ["experts", "none", "zero", "anything", "anything", "anything"]} : (tensor<2x8x64xf32>, tensor<2x8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<2x8x48xf32>
  // expected-remark @below {{results: zero}}
  %1 = nn.experts %x, %r, %g, %g, %d {activation = "silu", test.padding = ["s", "anything", "zero", "none", "none", "none"]} : (tensor<2x8x64xf32>, tensor<2x8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<2x8x48xf32>
  // expected-remark @below {{results: anything}}
  %2 = nn.experts %x, %r, %g, %g, %d {activation = "silu", test.padding = ["s", "zero", "anything", "none", "none", "none"]} : (tensor<2x8x64xf32>, tensor<2x8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<2x8x48xf32>
  // expected-remark @below {{results: anything; operand 1 masked with 0}}
  %3 = nn.experts %x, %r, %g, %g, %d {activation = "silu", test.padding = ["experts", "none", "anything", "zero", "zero", "zero"]} : (tensor<2x8x64xf32>, tensor<2x8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<2x8x48xf32>
  // Positions of the width that are left out, where the last matrix has no NaN to
  // multiply them with.
  // expected-remark @below {{results: zero}}
  %5 = nn.experts %x, %r, %g, %g, %d inside %i {activation = "silu", test.padding = ["width", "none", "none", "zero", "zero", "zero", "zero"]} : (tensor<2x8x64xf32>, tensor<2x8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>, tensor<32xi32>) -> tensor<2x8x48xf32>
  // expected-remark @below {{results: anything; operand 5 masked with 0}}
  %6 = nn.experts %x, %r, %g, %g, %d inside %i {activation = "silu", test.padding = ["width", "none", "none", "zero", "zero", "zero", "anything"]} : (tensor<2x8x64xf32>, tensor<2x8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>, tensor<32xi32>) -> tensor<2x8x48xf32>
  // expected-remark @below {{results: anything; operand 4 masked with 0; operand 5 masked with 0}}
  %7 = nn.experts %x, %r, %g, %g, %d inside %i {activation = "silu", test.padding = ["width", "none", "none", "zero", "zero", "anything", "anything"]} : (tensor<2x8x64xf32>, tensor<2x8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>, tensor<32xi32>) -> tensor<2x8x48xf32>
  // In the derivative those by the first two are multiplied with these again.
  // expected-remark @below {{results: zero, zero, anything, anything, anything}}
  %8:5 = nn.experts_backward %y, %x, %r, %g, %g, %d inside %i {activation = "silu", test.padding = ["width", "none", "none", "none", "zero", "zero", "anything", "zero"]} : (tensor<2x8x48xf32>, tensor<2x8x64xf32>, tensor<2x8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>, tensor<32xi32>) -> (tensor<2x8x64xf32>, tensor<2x8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>)
  // expected-remark @below {{results: anything, zero, anything, anything, anything; operand 3 masked with 0; operand 4 masked with 0}}
  %9:5 = nn.experts_backward %y, %x, %r, %g, %g, %d inside %i {activation = "silu", test.padding = ["width", "none", "none", "none", "anything", "anything", "anything", "zero"]} : (tensor<2x8x48xf32>, tensor<2x8x64xf32>, tensor<2x8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>, tensor<32xi32>) -> (tensor<2x8x64xf32>, tensor<2x8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>)
  // expected-remark @below {{results: anything}}
  %4 = nn.router %r {top_k = 2 : i64, test.padding = ["s", "zero"]} : (tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
  return
}

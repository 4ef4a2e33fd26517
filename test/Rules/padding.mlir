// RUN: tp-opt %s --test-tp-print-padding --verify-diagnostics

func.func @linear(%x: tensor<1x8x62xf32>, %w: tensor<250x62xf32>, %b: tensor<250xf32>) {
  // Zero rows of the weight and of the bias make zero columns.
  // expected-remark @below {{results: zero}}
  %0 = nn.linear %x, %w bias %b {test.padding = ["n", "none", "zero", "zero"]} : (tensor<1x8x62xf32>, tensor<250x62xf32>, tensor<250xf32>) -> tensor<1x8x250xf32>
  // A padding token gives the bias.
  // expected-remark @below {{results: anything}}
  %1 = nn.linear %x, %w bias %b {test.padding = ["s", "zero", "none", "none"]} : (tensor<1x8x62xf32>, tensor<250x62xf32>, tensor<250xf32>) -> tensor<1x8x250xf32>
  // Zero times zero: nothing to mask in the sum.
  // expected-remark @below {{results: zero; harmless with: zero, zero}}
  %2 = nn.linear %x, %w {test.padding = ["k", "zero", "zero"]} : (tensor<1x8x62xf32>, tensor<250x62xf32>) -> tensor<1x8x250xf32>
  // What is not known may be no number: one mask is due.
  // expected-remark @below {{results: anything; harmless with: zero, zero, none}}
  %3 = nn.linear %x, %w bias %b {test.padding = ["k", "anything", "zero", "none"]} : (tensor<1x8x62xf32>, tensor<250x62xf32>, tensor<250xf32>) -> tensor<1x8x250xf32>
  return
}

func.func @nn(%q: tensor<1x8x6x4xf32>, %x: tensor<1x6x8xf32>, %w: tensor<8xf32>, %i: tensor<1x6xi64>, %t: tensor<50x8xf32>) {
  // expected-remark @below {{results: zero}}
  %0 = nn.attention %q, %q, %q {causal, scale = 1.0 : f64, test.padding = ["kv heads", "zero", "zero", "zero"]} : (tensor<1x8x6x4xf32>, tensor<1x8x6x4xf32>, tensor<1x8x6x4xf32>) -> tensor<1x8x6x4xf32>
  // expected-remark @below {{results: zero, anything}}
  %1:2 = nn.rms_norm %x, %w {epsilon = 1.0e-5 : f64, test.padding = ["s", "zero", "none"]} : (tensor<1x6x8xf32>, tensor<8xf32>) -> (tensor<1x6x8xf32>, tensor<1x6xf32>)
  // Zero over the root of zero.
  // expected-remark @below {{results: anything}}
  %2 = nn.rms_norm %x, %w {epsilon = 0.0 : f64, test.padding = ["s", "zero", "none"]} : (tensor<1x6x8xf32>, tensor<8xf32>) -> tensor<1x6x8xf32>
  // expected-remark @below {{results: anything}}
  %3 = nn.layer_norm %x, %w bias %w {epsilon = 1.0e-5 : f64, test.padding = ["s", "zero", "none", "none"]} : (tensor<1x6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x6x8xf32>
  // No id names a padding row.
  // expected-remark @below {{results: zero; harmless with: none, anything}}
  %4 = nn.embedding %i, %t {test.padding = ["vocabulary", "none", "anything"]} : (tensor<1x6xi64>, tensor<50x8xf32>) -> tensor<1x6x8xf32>
  // expected-remark @below {{results: zero}}
  %5 = nn.embedding %i, %t {test.padding = ["h", "none", "zero"]} : (tensor<1x6xi64>, tensor<50x8xf32>) -> tensor<1x6x8xf32>
  // expected-remark @below {{results: zero}}
  %6 = nn.gelu tanh %x {test.padding = ["d1", "zero"]} : tensor<1x6x8xf32>
  // expected-remark @below {{results: anything}}
  %7 = nn.softmax %x {test.padding = ["s", "zero"]} : tensor<1x6x8xf32>
  return
}

func.func @elementwise(%x: tensor<6xf32>) {
  // expected-remark @below {{results: zero}}
  %0 = arith.mulf %x, %x {test.padding = ["d0", "zero", "none"]} : tensor<6xf32>
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
  %6 = arith.subf %x, %x {test.padding = ["d0", "neg_inf", "none"]} : tensor<6xf32>
  // expected-remark @below {{results: zero}}
  %7 = arith.constant {test.padding = ["d0"]} dense<0.0> : tensor<6xf32>
  // expected-remark @below {{results: anything}}
  %8 = arith.constant {test.padding = ["d0"]} dense<1.0> : tensor<6xf32>
  // A slice of a constant is padded with zeros.
  // expected-remark @below {{results: zero}}
  %9 = arith.constant {test.padding = ["d0"]} dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  return
}

// The pieces of a softmax over padded lanes.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
func.func @linalg(%x: tensor<4x6xf32>, %m: tensor<4xf32>, %w: tensor<5x6xf32>, %o: tensor<4x5xf32>, %p: tensor<6xf32>) {
  // Zeros take part in a maximum: mask with -inf.
  // expected-remark @below {{results: zero; harmless with: neg_inf, none}}
  %0 = linalg.reduce { arith.maximumf } ins(%x : tensor<4x6xf32>) outs(%m : tensor<4xf32>) dimensions = [1] {test.padding = ["d1", "zero", "none"]}
  // exp(-inf) is a zero that the sum ignores.
  // expected-remark @below {{results: anything; harmless with: neg_inf, none, none}}
  %1 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<4x6xf32>, tensor<4xf32>) outs(%m : tensor<4xf32>)
      attrs = {test.padding = ["d1", "zero", "none", "none"]} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %2 = arith.subf %a, %b : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %out, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<4xf32>
  // Rows of zeros, added to zeros.
  // expected-remark @below {{results: zero}}
  %5 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] {test.padding = ["d1", "none", "zero", "zero"]} ins(%x, %w : tensor<4x6xf32>, tensor<5x6xf32>) outs(%o : tensor<4x5xf32>) -> tensor<4x5xf32>
  // A lane that grows with every step of a sum is not known.
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

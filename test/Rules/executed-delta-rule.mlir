// The gated delta rule with heads over ranks, evenly and not, fewer key heads than
// ranks, against the one-device program; and its rules.
// RUN: tp-verify %s | FileCheck %s
// RUN: tp-opt %s --test-tp-print-rules -o /dev/null 2>&1 | FileCheck %s --check-prefix=RULE

tp.mesh @mesh <["dp"=2, "tp"=4]>

// RULE: b=2, s=5 whole, key heads=4, value heads per key head=2, key size=3 whole, value size=6 whole: [b, s, key heads, key size], [b, s, key heads, key size], [b, s, (key heads * value heads per key head), value size], [b, s, (key heads * value heads per key head)], [b, s, (key heads * value heads per key head)] -> [b, s, (key heads * value heads per key head), value size]
// CHECK: partition @heads: equal
func.func @heads(%q: tensor<2x5x4x3xf32>, %k: tensor<2x5x4x3xf32>, %v: tensor<2x5x8x6xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}, {"tp"}, {}]>}, %g: tensor<2x5x8xf32>, %b: tensor<2x5x8xf32>) -> tensor<2x5x8x6xf32> {
  %decay = nn.silu %g : tensor<2x5x8xf32>
  %o = nn.gated_delta_rule %q, %k, %v, %decay beta %b : (tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32>, tensor<2x5x8x6xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8x6xf32>
  return %o : tensor<2x5x8x6xf32>
}

// Two key heads on four ranks, each of which has half of the value heads of one; no beta.
// CHECK: partition @shared: equal
func.func @shared(%q: tensor<1x5x2x3xf32>, %k: tensor<1x5x2x3xf32>, %v: tensor<1x5x4x6xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}, {"tp"}, {}]>}, %g: tensor<1x5x4xf32>) -> (tensor<1x5x4x6xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}, {"tp"}, {}]>}) {
  %o = nn.gated_delta_rule %q, %k, %v, %g : (tensor<1x5x2x3xf32>, tensor<1x5x2x3xf32>, tensor<1x5x4x6xf32>, tensor<1x5x4xf32>) -> tensor<1x5x4x6xf32>
  return %o : tensor<1x5x4x6xf32>
}

// Six heads on four ranks, and a sequence that is gathered.
// CHECK: partition @uneven: equal
func.func @uneven(%q: tensor<1x8x6x3xf32>, %k: tensor<1x8x6x3xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"dp"}, {}, {}]>}, %v: tensor<1x8x6x5xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}, {"tp"}, {}]>}, %g: tensor<1x8x6xf32>, %b: tensor<1x8x6xf32>) -> tensor<1x8x6x5xf32> {
  %o = nn.gated_delta_rule %q, %k, %v, %g beta %b : (tensor<1x8x6x3xf32>, tensor<1x8x6x3xf32>, tensor<1x8x6x5xf32>, tensor<1x8x6xf32>, tensor<1x8x6xf32>) -> tensor<1x8x6x5xf32>
  return %o : tensor<1x8x6x5xf32>
}

// Tokens of three texts, one of which begins, and padding.
// CHECK: partition @step: equal
func.func @step(%q: tensor<1x6x2x3xf32>, %k: tensor<1x6x2x3xf32>, %v: tensor<1x6x4x5xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}, {"tp"}, {}]>}, %g: tensor<1x6x4xf32>, %b: tensor<1x6x4xf32>, %pool: tensor<5x4x15xf32>) -> (tensor<1x6x4x5xf32>, tensor<5x4x15xf32>) {
  %slots = arith.constant dense<[-1, 3, 0, 2, -1, -1]> : tensor<6xi32>
  %sources = arith.constant dense<[[9], [0], [1], [-1], [6], [-1]]> : tensor<6x1xi32>
  // RULE: slots=5 whole, state=15 whole, earlier=1 whole
  %o, %next = nn.paged_gated_delta_rule %q, %k, %v, %g, %pool, %slots, %sources beta %b : (tensor<1x6x2x3xf32>, tensor<1x6x2x3xf32>, tensor<1x6x4x5xf32>, tensor<1x6x4xf32>, tensor<5x4x15xf32>, tensor<6xi32>, tensor<6x1xi32>, tensor<1x6x4xf32>) -> (tensor<1x6x4x5xf32>, tensor<5x4x15xf32>)
  return %o, %next : tensor<1x6x4x5xf32>, tensor<5x4x15xf32>
}

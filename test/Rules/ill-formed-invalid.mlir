// RUN: tp-opt %s --split-input-file --verify-diagnostics --test-tp-ill-formed-rules

// A rule that an operation gives of itself is checked wherever it is asked for.
func.func @cast(%x: tensor<8xf32>) -> tensor<8xi32> {
  // expected-error @below {{'builtin.unrealized_conversion_cast' op has an ill-formed sharding rule: operand 0 dimension 0: expected size 7, the product of its factors, got 8; this is a fault of the operation's rule and not of the program: please report it}}
  %0 = builtin.unrealized_conversion_cast %x : tensor<8xf32> to tensor<8xi32>
  return %0 : tensor<8xi32>
}

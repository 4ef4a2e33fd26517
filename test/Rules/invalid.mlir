// RUN: tp-opt %s --split-input-file --test-tp-print-rules --verify-diagnostics

func.func @unknown(%x: tensor<4x4xf32>, %s: tensor<2xindex>) {
  // expected-error @below {{'tensor.reshape' op has no sharding rule: implement ShardingRuleOpInterface or add a case to lib/Rules}}
  %0 = tensor.reshape %x(%s) : (tensor<4x4xf32>, tensor<2xindex>) -> tensor<2x8xf32>
  return
}

// -----

func.func private @callee(tensor<4xf32>) -> tensor<4xf32>
func.func @call(%x: tensor<4xf32>) {
  // expected-error @below {{'func.call' op has no sharding rule of its own: inline calls before sharding (--inline)}}
  %0 = call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?x4xf32>) {
  // expected-error @below {{'arith.addf' op expected tensors of static shape to shard, got 'tensor<?x4xf32>'}}
  %0 = arith.addf %x, %x : tensor<?x4xf32>
  return
}

// -----

// expected-note @below {{the value is defined here}}
func.func @capture(%x: tensor<4xf32>, %f: f32) {
  // expected-error @below {{'linalg.map' op expected its body to use its own arguments and constants alone, got a value from outside: make it an operand}}
  %0 = linalg.map ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) (%a: f32, %out: f32) {
    %1 = arith.mulf %a, %f : f32
    linalg.yield %1 : f32
  }
  return
}

// RUN: tp-opt %s --split-input-file --test-tp-print-rules --verify-diagnostics

func.func @unknown(%x: tensor<4x4xf32>, %s: tensor<2xindex>) {
  // expected-error @below {{'tensor.reshape' op has no sharding rule: write what it computes as linalg.generic, or layers that repeat as tp.repeat; a rule of its own implements ShardingRuleOpInterface (docs/Editors.md)}}
  %0 = tensor.reshape %x(%s) : (tensor<4x4xf32>, tensor<2xindex>) -> tensor<2x8xf32>
  return
}

// -----

func.func private @callee(tensor<4xf32>) -> tensor<4xf32>
func.func @call(%x: tensor<4xf32>) {
  // expected-error @below {{'func.call' op has no sharding rule: run tp-import-pipeline first, which inlines calls}}
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

func.func @sparse() {
  // expected-error @below {{'arith.constant' op expected its elements in the program as dense<...>, got sparse ones or a resource}}
  %0 = arith.constant sparse<[[0, 1], [5, 3]], [1.0, 2.0]> : tensor<6x4xf32>
  return
}

// -----

func.func @empty(%x: tensor<4x0xf32>) {
  // expected-error @below {{'nn.silu' op expected tensors of at least one element, got 'tensor<4x0xf32>'}}
  %0 = nn.silu %x : tensor<4x0xf32>
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

// -----

func.func @dropped(%x: tensor<6x40xf32>, %y: tensor<6xf32>) {
  // expected-error @below {{'linalg.generic' op expected result 0 to be written whole, at each of the parallel dimensions once, got the map affine_map<(d0, d1) -> (d0)>}}
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<6x40xf32>) outs(%y : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @strided(%x: tensor<6x40xf32>, %y: tensor<6x80xf32>) {
  // expected-error @below {{'linalg.generic' op expected result 0 to be written whole, at each of the parallel dimensions once, got the map affine_map<(d0, d1) -> (d0, d1 * 2 + 1)>}}
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b * 2 + 1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<6x40xf32>) outs(%y : tensor<6x80xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<6x80xf32>
  return
}

// -----

func.func @part(%x: tensor<40xf32>, %y: tensor<3x40xf32>) {
  // expected-error @below {{'linalg.generic' op expected result 0 to be written whole, at each of the parallel dimensions once, got the map affine_map<(d0) -> (1, d0)>}}
  %0 = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (1, a)>], iterator_types = ["parallel"]} ins(%x : tensor<40xf32>) outs(%y : tensor<3x40xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x40xf32>
  return
}

// -----

// A reduced dimension in a result is a race.
func.func @reduced(%x: tensor<6x40xf32>, %y: tensor<6x40xf32>) {
  // expected-error @below {{'linalg.generic' op expected result 0 to be written whole, at each of the parallel dimensions once, got the map affine_map<(d0, d1) -> (d0, d1)>}}
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<6x40xf32>) outs(%y : tensor<6x40xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<6x40xf32>
  return
}

// -----

// expected-note @below {{the value is defined here}}
func.func @gather(%table: tensor<16x8xf32>, %ids: tensor<4xindex>, %out: tensor<4x8xf32>) {
  // expected-error @below {{'linalg.generic' op expected its body to use its own arguments and constants alone, got a value from outside: make it an operand with the indexing map of the element that is read, or nn.embedding, which reads the rows of a table by ids}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<4xindex>) outs(%out : tensor<4x8xf32>) {
  ^bb0(%id: index, %old: f32):
    %j = linalg.index 1 : index
    %v = tensor.extract %table[%id, %j] : tensor<16x8xf32>
    linalg.yield %v : f32
  } -> tensor<4x8xf32>
  return
}

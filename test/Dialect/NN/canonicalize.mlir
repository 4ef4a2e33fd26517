// RUN: tp-opt %s --canonicalize | FileCheck %s

// An offset of zero is none; any other stays.
// CHECK-LABEL: func.func @offsets
func.func @offsets(%i: tensor<1x8xi64>, %t: tensor<100x64xf32>, %o: index) -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<1x8x64xf32>, tensor<1x8x64xf32>) {
  %zero = arith.constant 0 : index
  // CHECK: nn.rotary_table {
  %c, %s = nn.rotary_table offset %zero {inv_freq = dense<1.0> : tensor<2xf32>} : tensor<8x2xf32>, tensor<8x2xf32>
  // CHECK: nn.rotary_table offset
  %c1, %s1 = nn.rotary_table offset %o {inv_freq = dense<1.0> : tensor<2xf32>} : tensor<8x2xf32>, tensor<8x2xf32>
  // CHECK: nn.embedding %{{[a-z0-9]*}}, %{{[a-z0-9]*}} :
  %0 = nn.embedding %i, %t offset %zero : (tensor<1x8xi64>, tensor<100x64xf32>, index) -> tensor<1x8x64xf32>
  // CHECK: nn.embedding %{{[a-z0-9]*}}, %{{[a-z0-9]*}} offset
  %1 = nn.embedding %i, %t offset %o : (tensor<1x8xi64>, tensor<100x64xf32>, index) -> tensor<1x8x64xf32>
  return %c, %s1, %0, %1 : tensor<8x2xf32>, tensor<8x2xf32>, tensor<1x8x64xf32>, tensor<1x8x64xf32>
}

// A row that the first part of a table has not is in another part.
// CHECK-LABEL: func.func @padding_row
func.func @padding_row(%i: tensor<1x8xi64>, %t: tensor<100x64xf32>) -> (tensor<1x8x64xf32>, tensor<1x8x64xf32>) {
  %zero = arith.constant 0 : index
  // CHECK: nn.embedding %{{[a-z0-9]*}}, %{{[a-z0-9]*}} :
  %0 = nn.embedding %i, %t offset %zero {padding_row = 100 : i64} : (tensor<1x8xi64>, tensor<100x64xf32>, index) -> tensor<1x8x64xf32>
  // CHECK: nn.embedding %{{[a-z0-9]*}}, %{{[a-z0-9]*}} {padding_row = 99 : i64} :
  %1 = nn.embedding %i, %t offset %zero {padding_row = 99 : i64} : (tensor<1x8xi64>, tensor<100x64xf32>, index) -> tensor<1x8x64xf32>
  return %0, %1 : tensor<1x8x64xf32>, tensor<1x8x64xf32>
}

// CHECK-LABEL: func.func @dropout
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<8xf32>
func.func @dropout(%x: tensor<8xf32>, %seed: tensor<i64>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = nn.dropout %x, %seed, %seed {op_id = 3 : i64, probability = 0.0 : f64} : tensor<8xf32>
  // CHECK: %[[Y:.*]] = nn.dropout
  %1 = nn.dropout %x, %seed, %seed {op_id = 3 : i64, probability = 0.5 : f64} : tensor<8xf32>
  // CHECK: return %[[X]], %[[Y]]
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// A bias whose derivative nobody reads: it is not computed.
// CHECK-LABEL: func.func @attention_backward
func.func @attention_backward(%q: tensor<1x8x4x16xf32>, %l: tensor<1x8x4xf32>, %b: tensor<4x8x8xf32>) -> (tensor<1x8x4x16xf32>, tensor<1x4x8x8xf32>) {
  // CHECK: nn.attention_backward {{.*}} bias {{.*}} -> (tensor<1x8x4x16xf32>, tensor<1x8x4x16xf32>, tensor<1x8x4x16xf32>){{$}}
  %0:4 = nn.attention_backward %q, %q, %q, %q, %l, %l bias %b {scale = 1.0 : f64} : (tensor<1x8x4x16xf32>, tensor<1x8x4x16xf32>, tensor<1x8x4x16xf32>, tensor<1x8x4x16xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<4x8x8xf32>) -> (tensor<1x8x4x16xf32>, tensor<1x8x4x16xf32>, tensor<1x8x4x16xf32>, tensor<1x4x8x8xf32>)
  // CHECK: nn.attention_backward {{.*}} tensor<1x4x8x8xf32>)
  %1:4 = nn.attention_backward %q, %q, %q, %q, %l, %l bias %b {causal, scale = 1.0 : f64} : (tensor<1x8x4x16xf32>, tensor<1x8x4x16xf32>, tensor<1x8x4x16xf32>, tensor<1x8x4x16xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<4x8x8xf32>) -> (tensor<1x8x4x16xf32>, tensor<1x8x4x16xf32>, tensor<1x8x4x16xf32>, tensor<1x4x8x8xf32>)
  return %0#0, %1#3 : tensor<1x8x4x16xf32>, tensor<1x4x8x8xf32>
}

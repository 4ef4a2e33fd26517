// RUN: tp-opt %s --split-input-file --tp-plan-buffers --verify-diagnostics

func.func @index(%x: tensor<6x40xindex>) -> tensor<6x40xindex> {
  // expected-error @below {{'arith.addi' op expected tensors of f64, f32, bf16, f16, i64, i32, i16, i8 or i1 in memory, got 'tensor<6x40xindex>'}}
  %y = arith.addi %x, %x : tensor<6x40xindex>
  return %y : tensor<6x40xindex>
}

// -----

func.func @odd(%x: tensor<4xi33>) -> tensor<4xi33> {
  // expected-error @below {{'arith.addi' op expected tensors of f64, f32, bf16, f16, i64, i32, i16, i8 or i1 in memory, got 'tensor<4xi33>'}}
  %y = arith.addi %x, %x : tensor<4xi33>
  return %y : tensor<4xi33>
}

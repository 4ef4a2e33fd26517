//===- Decompose.cpp - nn operations as linalg
//------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each operation's definition and its derivative.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "tp/Dialect/NN/IR/NNOps.h"

using namespace mlir;
using namespace tp::nn;

FailureOr<SmallVector<Value>> LinearOp::decompose(OpBuilder &) {
  return emitOpError("has no decomposition");
}
FailureOr<SmallVector<Value>> LinearOp::buildVjp(OpBuilder &, ValueRange) {
  return emitOpError("has no vector-Jacobian product");
}
FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &) {
  return emitOpError("has no decomposition");
}
FailureOr<SmallVector<Value>> AttentionOp::buildVjp(OpBuilder &, ValueRange) {
  return emitOpError("has no vector-Jacobian product");
}
FailureOr<SmallVector<Value>> RMSNormOp::decompose(OpBuilder &) {
  return emitOpError("has no decomposition");
}
FailureOr<SmallVector<Value>> RMSNormOp::buildVjp(OpBuilder &, ValueRange) {
  return emitOpError("has no vector-Jacobian product");
}
FailureOr<SmallVector<Value>> LayerNormOp::decompose(OpBuilder &) {
  return emitOpError("has no decomposition");
}
FailureOr<SmallVector<Value>> LayerNormOp::buildVjp(OpBuilder &, ValueRange) {
  return emitOpError("has no vector-Jacobian product");
}
FailureOr<SmallVector<Value>> RotaryTableOp::decompose(OpBuilder &) {
  return emitOpError("has no decomposition");
}
FailureOr<SmallVector<Value>> RotaryOp::decompose(OpBuilder &) {
  return emitOpError("has no decomposition");
}
FailureOr<SmallVector<Value>> RotaryOp::buildVjp(OpBuilder &, ValueRange) {
  return emitOpError("has no vector-Jacobian product");
}
FailureOr<SmallVector<Value>> EmbeddingOp::decompose(OpBuilder &) {
  return emitOpError("has no decomposition");
}
FailureOr<SmallVector<Value>> EmbeddingOp::buildVjp(OpBuilder &, ValueRange) {
  return emitOpError("has no vector-Jacobian product");
}
FailureOr<SmallVector<Value>> CrossEntropyOp::decompose(OpBuilder &) {
  return emitOpError("has no decomposition");
}
FailureOr<SmallVector<Value>> CrossEntropyOp::buildVjp(OpBuilder &,
                                                       ValueRange) {
  return emitOpError("has no vector-Jacobian product");
}
FailureOr<SmallVector<Value>> SoftmaxOp::decompose(OpBuilder &) {
  return emitOpError("has no decomposition");
}
FailureOr<SmallVector<Value>> SoftmaxOp::buildVjp(OpBuilder &, ValueRange) {
  return emitOpError("has no vector-Jacobian product");
}
FailureOr<SmallVector<Value>> GeluOp::decompose(OpBuilder &) {
  return emitOpError("has no decomposition");
}
FailureOr<SmallVector<Value>> GeluOp::buildVjp(OpBuilder &, ValueRange) {
  return emitOpError("has no vector-Jacobian product");
}
FailureOr<SmallVector<Value>> SiluOp::decompose(OpBuilder &) {
  return emitOpError("has no decomposition");
}
FailureOr<SmallVector<Value>> SiluOp::buildVjp(OpBuilder &, ValueRange) {
  return emitOpError("has no vector-Jacobian product");
}
FailureOr<SmallVector<Value>> DropoutOp::decompose(OpBuilder &) {
  return emitOpError("has no decomposition");
}
FailureOr<SmallVector<Value>> DropoutOp::buildVjp(OpBuilder &, ValueRange) {
  return emitOpError("has no vector-Jacobian product");
}

//===- Upstream.h - What upstream's operations are in nn --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named operations of upstream that have no indexing maps, so that no rule and
// no loop nest follow from them, but whose meaning an nn operation has.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_NN_IR_UPSTREAM_H
#define TP_DIALECT_NN_IR_UPSTREAM_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tp::nn {

/// Gives linalg.softmax its decomposition.
void registerUpstreamDecompositions(mlir::DialectRegistry &registry);

} // namespace tp::nn

#endif // TP_DIALECT_NN_IR_UPSTREAM_H

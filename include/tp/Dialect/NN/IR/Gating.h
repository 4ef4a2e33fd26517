//===- Gating.h - The activations of experts ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a gate goes through, for the definition of nn.experts and for kernels
// that compute it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_NN_IR_GATING_H
#define TP_DIALECT_NN_IR_GATING_H

#include "mlir/IR/Builders.h"

namespace tp::nn {

/// The activation `name` (relu, silu, gelu_erf or gelu_tanh) of `x`, f32 or
/// f64, and its derivative there.
mlir::Value buildActivation(mlir::OpBuilder &builder, mlir::Location loc,
                            llvm::StringRef name, mlir::Value x);
mlir::Value buildActivationSlope(mlir::OpBuilder &builder, mlir::Location loc,
                                 llvm::StringRef name, mlir::Value x);

} // namespace tp::nn

#endif // TP_DIALECT_NN_IR_GATING_H

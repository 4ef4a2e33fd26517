//===- Gating.h - The activations of experts ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The activation of gate and up, shared by the definition of nn.experts and the
// kernels that compute it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_NN_IR_GATING_H
#define TP_DIALECT_NN_IR_GATING_H

#include "mlir/IR/Builders.h"
#include <optional>

namespace tp::nn {

/// How an expert makes its width of gate g and up u: activation(min(g, limit))
/// * (clamp(u, -limit, limit) + upOffset); `alpha` is the slope of silu.
struct Gating {
  llvm::StringRef activation;
  double alpha = 1;
  std::optional<double> limit;
  double upOffset = 0;

  /// Returns true if the gating is activation(g) * u.
  bool isPlain() const { return alpha == 1 && !limit && upOffset == 0; }
};

/// Builds the gating of `gate` and `up`, f32 or f64.
mlir::Value buildGated(mlir::OpBuilder &builder, mlir::Location loc,
                       const Gating &gating, mlir::Value gate, mlir::Value up);
/// The derivatives of that by `gate` and by `up`, zero beyond the limit.
std::pair<mlir::Value, mlir::Value>
buildGatedSlopes(mlir::OpBuilder &builder, mlir::Location loc,
                 const Gating &gating, mlir::Value gate, mlir::Value up);

/// The activation `name` (relu, silu, gelu_erf or gelu_tanh) of `x`, f32 or
/// f64, and its derivative there.
mlir::Value buildActivation(mlir::OpBuilder &builder, mlir::Location loc,
                            llvm::StringRef name, mlir::Value x);
mlir::Value buildActivationSlope(mlir::OpBuilder &builder, mlir::Location loc,
                                 llvm::StringRef name, mlir::Value x);

} // namespace tp::nn

#endif // TP_DIALECT_NN_IR_GATING_H

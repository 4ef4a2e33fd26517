//===- Derivative.h - Gradients against differences -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves each parameter a little along a random direction and holds the change
// of the loss against the gradient in that direction, both in f64. The change
// is of the forward program alone, so that nothing of differentiate is used to
// judge it.
//
// How close is equal: the difference is taken with two steps, h and 2h. What
// they differ by is three times the first term of the error, which the two
// together cancel; it must be small, else shorter steps are tried. A loss that
// bends there (a maximum that changes hands) cannot be judged and is named.
//
//===----------------------------------------------------------------------===//

#ifndef TP_VERIFY_DERIVATIVE_H
#define TP_VERIFY_DERIVATIVE_H

#include "tp/Differentiate/Recompute.h"
#include "tp/Verify/Verify.h"

namespace tp {

struct DerivativeReport {
  /// A gradient that is not what the loss does.
  struct Difference {
    std::string parameter, problem;
  };
  std::optional<Difference> difference;
  /// Parameters along no direction of which the loss is smooth.
  std::vector<std::string> unjudged;
  int64_t numParameters = 0;
  /// The largest difference as a part of what was allowed.
  double worst = 0;

  void print(llvm::raw_ostream &os) const;
  llvm::json::Value toJSON() const;
};

/// Import and differentiate `module` (unless it has a function with gradients
/// already; a training step is not made of it) and check each parameter's
/// gradient, the last of the program first, up to one that differs. Fails,
/// after an error, if it has no loss or does not run.
mlir::FailureOr<DerivativeReport>
verifyDerivative(mlir::ModuleOp module, const VerifyOptions &options,
                 Recompute recompute = Recompute::Selective);

} // namespace tp

#endif // TP_VERIFY_DERIVATIVE_H

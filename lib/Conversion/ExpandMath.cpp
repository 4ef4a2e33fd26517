//===- ExpandMath.cpp - Math functions as arithmetic ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's polynomial approximations and expansions, applied to kernels.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tp {
#define GEN_PASS_DEF_EXPANDMATH
#include "tp/Conversion/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// Functions that every target computes in instructions. Fused multiply-add is
/// not among them: it becomes a product and a sum, which the code generator
/// fuses where it can.
static bool isInstruction(Operation *op) {
  return isa<math::SqrtOp, math::AbsFOp, math::AbsIOp, math::CopySignOp,
             math::FloorOp, math::CeilOp, math::RoundEvenOp, math::TruncOp,
             math::CountLeadingZerosOp, math::CountTrailingZerosOp,
             math::CtPopOp>(op);
}

namespace {
struct ExpandMathPass : tp::impl::ExpandMathBase<ExpandMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    math::populateExpansionPatterns(
        patterns, {"rsqrt", "fma", "exp2", "powf", "fpowi", "sinh", "cosh",
                   "tan", "asinh", "acosh", "atanh", "round", "clampf"});
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained(
          {"math.exp", "math.expm1", "math.log", "math.log2", "math.log1p",
           "math.tanh", "math.erf", "math.erfc", "math.sin", "math.cos",
           "math.atan", "math.atan2", "math.acos", "math.asin", "math.cbrt"},
          name);
    });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    WalkResult result = getOperation()->walk([](Operation *op) {
      if (!isa<math::MathDialect>(op->getDialect()) || isInstruction(op))
        return WalkResult::advance();
      op->emitOpError("expected a function of f32 with an expansion, got ")
          << op->getResult(0).getType();
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace

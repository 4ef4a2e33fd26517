//===- ExpandMath.cpp - Math functions as arithmetic ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's polynomial approximations and expansions, applied to kernels; our
// own where those are wrong by more than a few units in the last place (sine
// and cosine, in ExpandSine.cpp, the arctangent) or missing. Polynomial of the
// arctangent: Moshier, Cephes Math Library.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Math/FloatArithmetic.h"
#include "tp/Conversion/Math/Passes.h"
#include "tp/Support/MathInstructions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <limits>
#include <numbers>

namespace tp {
#define GEN_PASS_DEF_EXPANDMATH
#include "tp/Conversion/Math/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
/// atan(x) = base + atan(y) with y between -tan(pi / 8) and tan(pi / 8): x, (x
/// - 1) / (x + 1) beside pi / 4, or -1 / x beside pi / 2.
struct ExpandAtan : OpRewritePattern<math::AtanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::AtanOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()))
      return failure();
    Location loc = op.getLoc();
    Arithmetic a{rewriter, loc, op.getType()};
    Value x = math::AbsFOp::create(rewriter, loc, op.getOperand());
    auto isAbove = [&](double bound) {
      return a.compare(arith::CmpFPredicate::OGT, x, a.number(bound));
    };
    Value isMiddle = isAbove(0.4142135623730950);
    Value isLarge = isAbove(2.414213562373095);
    Value one = a.number(1), zero = a.number(0);
    Value upper = a.select(isMiddle, a.sub(x, one), x);
    upper = a.select(isLarge, a.number(-1), upper);
    Value lower = a.select(isMiddle, a.add(x, one), one);
    lower = a.select(isLarge, x, lower);
    Value base = a.select(isMiddle, a.number(std::numbers::pi / 4), zero);
    base = a.select(isLarge, a.number(std::numbers::pi / 2), base);
    Value y = arith::DivFOp::create(rewriter, loc, upper, lower);
    Value square = a.mul(y, y);
    Value rest = a.polynomial(square, {8.05374449538e-2, -1.38776856032e-1,
                                       1.99777106478e-1, -3.33329491539e-1});
    Value result = a.add(base, a.fma(a.mul(rest, square), y, y));
    rewriter.replaceOpWithNewOp<math::CopySignOp>(op, result, op.getOperand());
    return success();
  }
};

/// The number that a scalar is, or all elements of a vector are.
std::optional<double> matchNumber(Value value) {
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
    value = broadcast.getSource();
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return std::nullopt;
  if (auto splat = dyn_cast<SplatElementsAttr>(constant))
    constant = splat.getSplatValue<Attribute>();
  auto number = dyn_cast<FloatAttr>(constant);
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

/// x^y is exp(y log |x|), negative for odd y below zero and no number for y
/// that are no integers there; as wrong as exp makes the roundings of its
/// argument, |y log x| units. Of small y that are known it is a product.
struct ExpandPower : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::PowFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()))
      return failure();
    Location loc = op.getLoc();
    Arithmetic a{rewriter, loc, op.getType()};
    Value x = op.getLhs(), y = op.getRhs();
    if (std::optional<double> number = matchNumber(y)) {
      Value result = *number == 1   ? x
                     : *number == 2 ? a.mul(x, x)
                     : *number == 3 ? a.mul(a.mul(x, x), x)
                     : *number == -1
                         ? arith::DivFOp::create(rewriter, loc, a.number(1), x)
                         : Value();
      if (result) {
        rewriter.replaceOp(op, result);
        return success();
      }
    }
    auto isWhole = [&](Value value) {
      return a.compare(arith::CmpFPredicate::OEQ,
                       math::FloorOp::create(rewriter, loc, value), value);
    };
    Value zero = a.number(0);
    Value log = math::LogOp::create(rewriter, loc,
                                    math::AbsFOp::create(rewriter, loc, x));
    Value result = math::ExpOp::create(rewriter, loc, a.mul(y, log));
    Value isNegative = a.compare(arith::CmpFPredicate::OLT, x, zero);
    Value negated = arith::NegFOp::create(rewriter, loc, result);
    Value nan = a.number(std::numeric_limits<double>::quiet_NaN());
    Value below = a.select(isWhole(a.mul(y, a.number(0.5))), result, negated);
    below = a.select(isWhole(y), below, nan);
    result = a.select(isNegative, below, result);
    Value isZero = a.compare(arith::CmpFPredicate::OEQ, y, zero);
    rewriter.replaceOp(op, a.select(isZero, a.number(1), result));
    return success();
  }
};

struct ExpandLog10 : OpRewritePattern<math::Log10Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::Log10Op op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()))
      return failure();
    Arithmetic a{rewriter, op.getLoc(), op.getType()};
    Value log = math::LogOp::create(rewriter, op.getLoc(), op.getOperand());
    rewriter.replaceOp(op, a.mul(log, a.number(std::numbers::log10e)));
    return success();
  }
};

/// isnan, isinf and isfinite are comparisons.
template <typename Op, arith::CmpFPredicate predicate, bool withInfinity>
struct ExpandClass : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand(), other = x;
    if (withInfinity) {
      auto element = cast<FloatType>(getElementTypeOrSelf(x.getType()));
      x = math::AbsFOp::create(rewriter, op.getLoc(), x);
      Arithmetic a{rewriter, op.getLoc(), x.getType()};
      other = a.constant(rewriter.getFloatAttr(
          element, std::numeric_limits<double>::infinity()));
    }
    rewriter.replaceOpWithNewOp<arith::CmpFOp>(op, predicate, x, other);
    return success();
  }
};

struct ExpandMathPass : tp::impl::ExpandMathBase<ExpandMathPass> {
  using ExpandMathBase::ExpandMathBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    math::populateExpansionPatterns(
        patterns, {"rsqrt", "fma", "exp2", "fpowi", "sinh", "cosh", "tan",
                   "asinh", "acosh", "atanh", "round", "clampf"});
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained({"math.exp", "math.expm1", "math.log",
                                 "math.log2", "math.log1p", "math.tanh",
                                 "math.erf", "math.erfc", "math.atan2",
                                 "math.acos", "math.asin", "math.cbrt"},
                                name);
    });
    patterns
        .add<ExpandAtan, ExpandLog10, ExpandPower,
             ExpandClass<math::IsNaNOp, arith::CmpFPredicate::UNO, false>,
             ExpandClass<math::IsInfOp, arith::CmpFPredicate::OEQ, true>,
             ExpandClass<math::IsFiniteOp, arith::CmpFPredicate::OLT, true>>(
            &getContext());
    populateSinePatterns(patterns, loopsOverLanes);
    if (failed(applyPatternsGreedily(
            getOperation(), std::move(patterns),
            GreedyRewriteConfig().setRegionSimplificationLevel(
                GreedySimplifyRegionLevel::Disabled))))
      return signalPassFailure();
    WalkResult result = getOperation()->walk([](Operation *op) {
      if (isa<arith::RemFOp>(op)) {
        op->emitOpError(
            "has no expansion in instructions: x - y * trunc(x / y) "
            "is one where the quotient is small");
        return WalkResult::interrupt();
      }
      if (!isa<math::MathDialect>(op->getDialect()) || isMathInstruction(op))
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

//===- ExpandMath.cpp - Math functions as arithmetic ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's polynomial approximations and expansions, applied to kernels; our
// own where those are wrong by more than a few units in the last place (sine
// and cosine of large arguments, the arctangent) or missing. Polynomials of
// sine, cosine and arctangent: Moshier, Cephes Math Library.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <limits>
#include <numbers>

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
/// Arithmetic on f32, scalars or vectors as `type` is one.
struct Arithmetic {
  OpBuilder &builder;
  Location loc;
  Type type;

  Type like(Type element) const {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? vector.clone(element) : element;
  }
  Value constant(TypedAttr value) const {
    auto vector = dyn_cast<VectorType>(like(value.getType()));
    if (vector)
      value = DenseElementsAttr::get(vector, Attribute(value));
    return arith::ConstantOp::create(builder, loc, value);
  }
  Value number(double value) const {
    return constant(builder.getF32FloatAttr(value));
  }
  Value integer(int32_t value) const {
    return constant(builder.getI32IntegerAttr(value));
  }
  Value add(Value a, Value b) const {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) const {
    return arith::SubFOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) const {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  /// Rounded once, on every target: an instruction of x86-64-v3 and of devices.
  Value fma(Value a, Value b, Value c) const {
    return LLVM::FMAOp::create(builder, loc, a, b, c);
  }
  Value select(Value condition, Value a, Value b) const {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) const {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  /// Coefficients from the highest power down.
  Value polynomial(Value x, ArrayRef<double> coefficients) const {
    Value result = number(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      result = fma(result, x, number(coefficient));
    return result;
  }
};

static bool isF32(Type type) { return getElementTypeOrSelf(type).isF32(); }

/// With n the whole number next to x / (pi / 2) and r = x - n pi / 2, the sine
/// and the cosine of x are those of r, one for the other if n is odd, with a
/// sign that n gives. pi / 2 has three floats' worth of digits, and r is right
/// to its last digit up to 2^22. What is beyond is NaN rather than wrong.
template <typename Op, bool isCosine>
struct ExpandSine : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()))
      return failure();
    Location loc = op.getLoc();
    Arithmetic a{rewriter, loc, op.getType()};
    Type i32 = a.like(rewriter.getI32Type());
    Value x = op.getOperand();
    // Adding this number leaves a whole number, in the lowest bits.
    Value magic = a.number(0x1.8p+23);
    Value shifted = a.add(a.mul(x, a.number(2 / std::numbers::pi)), magic);
    Value n = a.sub(shifted, magic);
    Value quadrant = arith::BitcastOp::create(rewriter, loc, i32, shifted);
    if (isCosine)
      quadrant = arith::AddIOp::create(rewriter, loc, quadrant, a.integer(1));
    Value r = a.fma(n, a.number(-0x1.921fb6p+0), x);
    r = a.fma(n, a.number(0x1.777a5cp-25), r);
    r = a.fma(n, a.number(0x1.ee59dap-50), r);
    Value size = math::AbsFOp::create(rewriter, loc, x);
    r = a.select(a.compare(arith::CmpFPredicate::OLE, size, a.number(0x1p22)),
                 r, a.number(std::numeric_limits<double>::quiet_NaN()));
    Value square = a.mul(r, r);
    Value sine = a.polynomial(
        square, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
    sine = a.fma(a.mul(sine, square), r, r);
    Value cosine =
        a.polynomial(square, {2.443315711809948e-5, -1.388731625493765e-3,
                              4.166664568298827e-2, -0.5, 1});
    auto hasBit = [&](int32_t bit) -> Value {
      Value masked =
          arith::AndIOp::create(rewriter, loc, quadrant, a.integer(bit));
      return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne,
                                   masked, a.integer(0));
    };
    Value result = a.select(hasBit(1), cosine, sine);
    Value negated = arith::NegFOp::create(rewriter, loc, result);
    rewriter.replaceOp(op, a.select(hasBit(2), negated, result));
    return success();
  }
};

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
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    math::populateExpansionPatterns(
        patterns, {"rsqrt", "fma", "exp2", "powf", "fpowi", "sinh", "cosh",
                   "tan", "asinh", "acosh", "atanh", "round", "clampf"});
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained({"math.exp", "math.expm1", "math.log",
                                 "math.log2", "math.log1p", "math.tanh",
                                 "math.erf", "math.erfc", "math.atan2",
                                 "math.acos", "math.asin", "math.cbrt"},
                                name);
    });
    patterns
        .add<ExpandSine<math::SinOp, false>, ExpandSine<math::CosOp, true>,
             ExpandAtan, ExpandLog10,
             ExpandClass<math::IsNaNOp, arith::CmpFPredicate::UNO, false>,
             ExpandClass<math::IsInfOp, arith::CmpFPredicate::OEQ, true>,
             ExpandClass<math::IsFiniteOp, arith::CmpFPredicate::OLT, true>>(
            &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    WalkResult result = getOperation()->walk([](Operation *op) {
      if (isa<arith::RemFOp>(op)) {
        op->emitOpError(
            "has no expansion in instructions: x - y * trunc(x / y) "
            "is one where the quotient is small");
        return WalkResult::interrupt();
      }
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

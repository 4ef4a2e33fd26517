//===- ExpandSine.cpp - Sine and cosine as arithmetic ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Let n be the whole number next to x / (pi / 2) and r = x - n pi / 2. The sine
// and the cosine of x are those of r, one for the other if n is odd, with a
// sign that n gives. Both r and n come of floats where n is small; else, in a
// branch that vectors take if one of their lanes must, of integers (Payne and
// Hanek, Radian Reduction for Trigonometric Functions). Polynomials: Moshier,
// Cephes Math Library.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Math/FloatArithmetic.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cstdint>
#include <numbers>

using namespace mlir;
using namespace tp;

namespace {
/// A number as n pi / 2 + rest; n modulo 4, in the lowest bits of an i32.
struct Quadrants {
  Value rest, n;
};

/// Up to here the product with 2 / pi is right to a twentieth; where floats are
/// coarser, the rest is beyond what the polynomials are for.
constexpr double smallBound = 0x1p20;
} // namespace

/// pi / 2 has three floats' worth of digits. All are positive, so that the rest
/// of -0 is -0, and the first product cancels exactly.
static Quadrants reduceSmall(const Arithmetic &a, Value x) {
  // Adding this number leaves a whole number, in the lowest bits.
  Value magic = a.number(0x1.8p+23);
  Value shifted = a.add(a.mul(x, a.number(2 / std::numbers::pi)), magic);
  Value n = a.sub(shifted, magic);
  Value r = a.fma(n, a.number(-0x1.921fb4p+0), x);
  r = a.fma(n, a.number(-0x1.4442dp-24), r);
  r = a.fma(n, a.number(-0x1.84698ap-48), r);
  return {r, a.cast<arith::BitcastOp>(a.builder.getI32Type(), shifted)};
}

/// 96 bits of 2 / pi, those from 2^(1 - s) on, as words of 32; what is above
/// counts whole turns of m 2^s / (pi / 2), m being a whole number. `start` is s
/// + 3: there are five zeros before the digits.
static SmallVector<Value> takeWindow(const Arithmetic &a, Value start) {
  SmallVector<Value> words;
  for (uint32_t word : {0x0517cc1bu, 0x727220a9u, 0x4fe13abeu, 0x8fa9a6eeu,
                        0x06db14acu, 0xc9e21c82u, 0x0ff28b1du})
    words.push_back(a.integer(int32_t(word)));
  // The word where it starts, by the bits of its number.
  for (int32_t skipped : {2, 1}) {
    Value bit = a.make<arith::AndIOp>(start, a.integer(32 * skipped));
    Value skips = arith::CmpIOp::create(
        a.builder, a.loc, arith::CmpIPredicate::ne, bit, a.integer(0));
    for (size_t i = 0; i + skipped < words.size(); ++i)
      words[i] = a.select(skips, words[i + skipped], words[i]);
    words.pop_back_n(skipped);
  }
  Value left = a.make<arith::AndIOp>(start, a.integer(31));
  Value right = a.make<arith::XOrIOp>(left, a.integer(31));
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    // By one more than `right`, which may be 32.
    Value low = a.make<arith::ShRUIOp>(words[i + 1], a.integer(1));
    low = a.make<arith::ShRUIOp>(low, right);
    words[i] = a.make<arith::OrIOp>(a.make<arith::ShLIOp>(words[i], left), low);
  }
  words.pop_back();
  return words;
}

/// x = m 2^s with m a whole number of 24 bits, and m times the window is x in
/// quadrants modulo 4, with 62 bits after the point, all but the last right. No
/// float is nearer to a multiple of pi / 2 than 2^-30.
static Quadrants reduceLarge(const Arithmetic &a, Value x) {
  Type i32 = a.builder.getI32Type(), i64 = a.builder.getI64Type();
  Type f64 = a.builder.getF64Type();
  Value bits = a.cast<arith::BitcastOp>(i32, x);
  Value exponent = a.make<arith::ShRUIOp>(bits, a.integer(23));
  exponent = a.make<arith::AndIOp>(exponent, a.integer(0xff));
  Value m = a.make<arith::AndIOp>(bits, a.integer(0x7fffff));
  m = a.make<arith::OrIOp>(m, a.integer(0x800000));
  m = a.cast<arith::ExtUIOp>(i64, m);
  SmallVector<Value> window =
      takeWindow(a, a.make<arith::SubIOp>(exponent, a.integer(127 + 20)));
  SmallVector<Value> products;
  for (Value word : window)
    products.push_back(
        a.make<arith::MulIOp>(m, a.cast<arith::ExtUIOp>(i64, word)));
  Value count = a.make<arith::ShLIOp>(products[0], a.wideInteger(32));
  count = a.make<arith::AddIOp>(count, products[1]);
  count = a.make<arith::AddIOp>(
      count, a.make<arith::ShRUIOp>(products[2], a.wideInteger(32)));
  Value isNegative = arith::CmpIOp::create(
      a.builder, a.loc, arith::CmpIPredicate::slt, bits, a.integer(0));
  count = a.select(isNegative, a.make<arith::SubIOp>(a.wideInteger(0), count),
                   count);
  // The nearest quadrant, and what is left of the number, with a sign.
  Value n = a.make<arith::AddIOp>(count, a.wideInteger(int64_t(1) << 61));
  n = a.make<arith::ShRUIOp>(n, a.wideInteger(62));
  Value rest = a.make<arith::ShLIOp>(count, a.wideInteger(2));
  Value scale =
      a.constant(a.builder.getF64FloatAttr(std::numbers::pi / 2 * 0x1p-64));
  rest = a.make<arith::MulFOp>(a.cast<arith::SIToFPOp>(f64, rest), scale);
  rest = a.cast<arith::TruncFOp>(a.builder.getF32Type(), rest);
  // Zero, or NaN.
  return {a.add(rest, a.sub(x, x)), a.cast<arith::TruncIOp>(i32, n)};
}

/// A branch to `then` that is hardly ever taken, and `other` if it is not.
static Quadrants branch(OpBuilder &builder, Location loc, Value condition,
                        function_ref<Quadrants(OpBuilder &)> then,
                        Quadrants other) {
  condition =
      LLVM::ExpectOp::create(builder, loc, condition,
                             arith::ConstantIntOp::create(builder, loc, 0, 1));
  auto yield = [&](OpBuilder &inside, Quadrants result) {
    scf::YieldOp::create(inside, loc, ValueRange{result.rest, result.n});
  };
  auto op = scf::IfOp::create(
      builder, loc, condition,
      [&](OpBuilder &inside, Location) { yield(inside, then(inside)); },
      [&](OpBuilder &inside, Location) { yield(inside, other); });
  return {op.getResult(0), op.getResult(1)};
}

/// One lane after the other: the registers of one are enough. A device's would
/// spill if lanes were counted.
static Quadrants reduceLanes(OpBuilder &builder, Location loc, Value x,
                             Value isLarge, Quadrants small) {
  auto type = cast<VectorType>(x.getType());
  SmallVector<Value> rests, ns;
  for (int64_t i = 0; i < type.getDimSize(0); ++i) {
    auto take = [&](Value vector) -> Value {
      return vector::ExtractOp::create(builder, loc, vector, i);
    };
    Quadrants lane = branch(
        builder, loc, take(isLarge),
        [&](OpBuilder &inside) {
          return reduceLarge({inside, loc, type.getElementType()}, take(x));
        },
        {take(small.rest), take(small.n)});
    rests.push_back(lane.rest);
    ns.push_back(lane.n);
  }
  return {vector::FromElementsOp::create(builder, loc, type, rests),
          vector::FromElementsOp::create(
              builder, loc, cast<VectorType>(small.n.getType()), ns)};
}

/// One lane after the other in a loop, whose body is compiled once.
static Quadrants loopOverLanes(OpBuilder &builder, Location loc, Value x,
                               Value isLarge, Quadrants small) {
  auto type = cast<VectorType>(x.getType());
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto loop = scf::ForOp::create(
      builder, loc, index(0), index(type.getDimSize(0)), index(1),
      ValueRange{small.rest, small.n},
      [&](OpBuilder &inside, Location, Value i, ValueRange done) {
        auto put = [&](OpBuilder &then, Value lane, Value vector) -> Value {
          return vector::InsertOp::create(then, loc, lane, vector, i);
        };
        Value lane = vector::ExtractOp::create(inside, loc, isLarge, i);
        Quadrants next =
            branch(inside, loc, lane,
                   [&](OpBuilder &then) -> Quadrants {
                     Value number = vector::ExtractOp::create(then, loc, x, i);
                     Quadrants large = reduceLarge(
                         {then, loc, type.getElementType()}, number);
                     return {put(then, large.rest, done[0]),
                             put(then, large.n, done[1])};
                   },
                   {done[0], done[1]});
        scf::YieldOp::create(inside, loc, ValueRange{next.rest, next.n});
      });
  return {loop.getResult(0), loop.getResult(1)};
}

/// No f16 is.
static bool mayBeLarge(Value x) {
  auto widened = x.getDefiningOp<arith::ExtFOp>();
  return !widened || !getElementTypeOrSelf(widened.getIn().getType()).isF16();
}

static Quadrants reduce(const Arithmetic &a, Value x, bool loopsOverLanes) {
  Quadrants small = reduceSmall(a, x);
  if (!mayBeLarge(x))
    return small;
  Value size = math::AbsFOp::create(a.builder, a.loc, x);
  Value isLarge =
      a.compare(arith::CmpFPredicate::OGT, size, a.number(smallBound));
  if (!isa<VectorType>(x.getType()))
    return branch(
        a.builder, a.loc, isLarge,
        [&](OpBuilder &inside) {
          return reduceLarge({inside, a.loc, a.type}, x);
        },
        small);
  Value isAny = vector::ReductionOp::create(a.builder, a.loc,
                                            vector::CombiningKind::OR, isLarge);
  return branch(
      a.builder, a.loc, isAny,
      [&](OpBuilder &inside) {
        return loopsOverLanes ? loopOverLanes(inside, a.loc, x, isLarge, small)
                              : reduceLanes(inside, a.loc, x, isLarge, small);
      },
      small);
}

namespace {
template <typename Op, bool isCosine>
struct ExpandSine : OpRewritePattern<Op> {
  ExpandSine(MLIRContext *context, bool loopsOverLanes)
      : OpRewritePattern<Op>(context), loopsOverLanes(loopsOverLanes) {}
  bool loopsOverLanes;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!isF32(op.getType()) || (vector && vector.getRank() != 1))
      return failure();
    Location loc = op.getLoc();
    Arithmetic a{rewriter, loc, op.getType()};
    auto [r, n] = reduce(a, op.getOperand(), loopsOverLanes);
    if (isCosine)
      n = a.make<arith::AddIOp>(n, a.integer(1));
    Value square = a.mul(r, r);
    Value sine = a.polynomial(
        square, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
    sine = a.fma(a.mul(sine, square), r, r);
    Value cosine =
        a.polynomial(square, {2.443315711809948e-5, -1.388731625493765e-3,
                              4.166664568298827e-2, -0.5, 1});
    auto toBits = [&](Value value) -> Value {
      return a.cast<arith::BitcastOp>(rewriter.getI32Type(), value);
    };
    Value signBit = a.integer(INT32_MIN);
    // The sine has r's sign, but for a sum of zeros, which has lost it.
    Value sineBits = a.make<arith::OrIOp>(
        toBits(sine), a.make<arith::AndIOp>(toBits(r), signBit));
    Value isOdd = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne,
                                        a.make<arith::AndIOp>(n, a.integer(1)),
                                        a.integer(0));
    Value result = a.select(isOdd, toBits(cosine), sineBits);
    // The second bit of n is the sign's.
    Value turned = a.make<arith::ShLIOp>(n, a.integer(30));
    result =
        a.make<arith::XOrIOp>(result, a.make<arith::AndIOp>(turned, signBit));
    rewriter.replaceOp(op,
                       a.cast<arith::BitcastOp>(rewriter.getF32Type(), result));
    return success();
  }
};
} // namespace

void tp::populateSinePatterns(RewritePatternSet &patterns,
                              bool loopsOverLanes) {
  patterns.add<ExpandSine<math::SinOp, false>, ExpandSine<math::CosOp, true>>(
      patterns.getContext(), loopsOverLanes);
}

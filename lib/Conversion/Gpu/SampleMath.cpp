//===- SampleMath.cpp - Scores of tokens in f64 ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See SampleMath.h. Series are taken as far as f64 has digits.
//
//===----------------------------------------------------------------------===//

#include "SampleMath.h"

#include "llvm/Support/MathExtras.h"
#include <array>
#include <limits>

using namespace mlir;
using namespace tp;
using Compare = arith::CmpFPredicate;

static constexpr double infinity = std::numeric_limits<double>::infinity();
/// log 2 in two parts: multiples of the first up to 2^11 are exact.
static constexpr double log2High = 0x1.62e42fefp-1;
static constexpr double log2Low = 0x1.473de6af278edp-34;
/// Powers below this are zero.
static constexpr double leastExponent = -708;

Value SampleMath::number(double value) {
  return arith::ConstantOp::create(e.builder, e.loc,
                                   e.builder.getF64FloatAttr(value));
}
Value SampleMath::bits(uint64_t value) { return e.int64(int64_t(value)); }
Value SampleMath::widen(Value value) {
  return arith::ExtFOp::create(e.builder, e.loc, f64, value);
}
Value SampleMath::narrow(Value value) {
  return arith::TruncFOp::create(e.builder, e.loc, e.f32, value);
}
Value SampleMath::sub(Value a, Value b) {
  return arith::SubFOp::create(e.builder, e.loc, a, b);
}
Value SampleMath::div(Value a, Value b) {
  return arith::DivFOp::create(e.builder, e.loc, a, b);
}
Value SampleMath::exclusiveOr(Value a, Value b) {
  return arith::XOrIOp::create(e.builder, e.loc, a, b);
}

static Value toFloat(KernelEmitter &e, Value number) {
  return arith::SIToFPOp::create(e.builder, e.loc, e.builder.getF64Type(),
                                 number);
}
static Value shiftLeft(KernelEmitter &e, Value a, int64_t by) {
  return arith::ShLIOp::create(e.builder, e.loc, a, e.int64(by));
}

/// x = 2^k m with m from sqrt(1/2) to sqrt(2), and with s = (m - 1) / (m + 1)
///   log m = 2 s (1 + s^2 / 3 + s^4 / 5 + ...), s^2 < 0.0295
Value SampleMath::log(Value x) {
  constexpr uint64_t root = 0x3fe6a09e667f3bcd; // of sqrt(1/2)
  Value all = arith::BitcastOp::create(e.builder, e.loc, e.i64, x);
  Value above = e.sub(all, bits(root));
  Value k = arith::ShRSIOp::create(e.builder, e.loc, above, e.int64(52));
  Value m = arith::BitcastOp::create(e.builder, e.loc, f64,
                                     e.sub(all, shiftLeft(e, k, 52)));
  Value f = sub(m, number(1));
  Value s = div(f, add(f, number(2)));
  Value square = mul(s, s);
  constexpr int terms = 11;
  Value series = number(1.0 / (2 * terms + 1));
  for (int i = terms - 1; i >= 0; --i)
    series = e.fma(series, square, number(1.0 / (2 * i + 1)));
  Value power = toFloat(e, k), twice = add(s, s);
  Value low = e.fma(power, number(log2Low), mul(twice, series));
  return e.fma(power, number(log2High), low);
}

/// x = k log 2 + r with r from -log 2 / 2 to log 2 / 2
Value SampleMath::exp(Value x) {
  // What is no number becomes zero, too: it has no k.
  Value isZero = e.compare(Compare::ULT, x, number(leastExponent));
  x = e.select(isZero, number(0), x);
  Value half = number(-0.5); // x is not above zero
  Value k = arith::FPToSIOp::create(
      e.builder, e.loc, e.i64, e.fma(x, number(llvm::numbers::log2e), half));
  Value power = toFloat(e, k);
  Value r = e.fma(power, number(-log2High), x);
  r = e.fma(power, number(-log2Low), r);
  constexpr int terms = 14;
  std::array<double, terms> coefficients{1};
  for (int i = 1; i < terms; ++i)
    coefficients[i] = coefficients[i - 1] / i;
  Value series = number(coefficients.back());
  for (int i = terms - 2; i >= 0; --i)
    series = e.fma(series, r, number(coefficients[i]));
  Value scale = arith::BitcastOp::create(e.builder, e.loc, f64,
                                         shiftLeft(e, e.add(k, 1023), 52));
  return e.select(isZero, number(0), mul(series, scale));
}

Value SampleMath::isFinite(Value x) {
  Value isBelow = e.compare(Compare::OLT, x, e.float32(infinity));
  return e.bitAnd(isBelow, e.compare(Compare::OGT, x, e.float32(-infinity)));
}

Value SampleMath::greatest(Value a, Value b) {
  return arith::MaximumFOp::create(e.builder, e.loc, a, b);
}

RowDraw SampleMath::readDraw(Value row, Value positions, Value seeds,
                             Value temperatures) {
  auto read = [&](Type type, Value base, int64_t bytes) {
    return e.load(type, e.offset(base, e.toInt64(e.mul(row, bytes))), bytes);
  };
  RowDraw draw;
  draw.position = read(e.i32, positions, 4);
  draw.seed = read(e.i64, seeds, 8);
  draw.temperature = read(e.f32, temperatures, 4);
  draw.isRandom = e.compare(Compare::OGT, draw.temperature, e.float32(0));
  Value divisor = e.select(draw.isRandom, draw.temperature, e.float32(1));
  draw.scale = div(number(1), widen(divisor));
  return draw;
}

/// The first word of Philox4x32-10 (Salmon et al., 2011), the seed as key, the
/// token and the position in the counter.
Value SampleMath::getWord(Value token, const RowDraw &draw) {
  auto toWord = [&](Value wide) { return e.toInt32(wide); };
  auto high = [&](Value wide) { return toWord(e.shiftRight(wide, 32)); };
  auto multiply = [&](Value x, uint32_t multiplier) {
    Value wide = arith::ExtUIOp::create(e.builder, e.loc, e.i64, x);
    return e.mul(wide, bits(multiplier));
  };
  Value key0 = toWord(draw.seed), key1 = high(draw.seed);
  std::array<Value, 4> c{token, e.int32(0), e.int32(0), draw.position};
  for (int round = 0; round < 10; ++round) {
    if (round) {
      key0 = e.add(key0, e.int32(int32_t(0x9E3779B9)));
      key1 = e.add(key1, e.int32(int32_t(0xBB67AE85)));
    }
    Value product0 = multiply(c[0], 0xD2511F53);
    Value product1 = multiply(c[2], 0xCD9E8D57);
    c = {exclusiveOr(exclusiveOr(high(product1), c[1]), key0), toWord(product1),
         exclusiveOr(exclusiveOr(high(product0), c[3]), key1),
         toWord(product0)};
  }
  return c[0];
}

/// With u = (word + 1/2) / 2^32 the Gumbel number is -log(-log(1 - u)); 1 - u
/// has no more digits than f64.
Value SampleMath::getScore(Value logit, Value token, const RowDraw &draw) {
  Value wide = widen(logit);
  return e.choose(
      draw.isRandom,
      [&] {
        Value word = arith::UIToFPOp::create(e.builder, e.loc, f64,
                                             getWord(token, draw));
        Value rest = e.fma(add(word, number(0.5)), number(-0x1p-32), number(1));
        Value gumbel = e.negate(log(e.negate(log(rest))));
        return KernelEmitter::Values{add(mul(wide, draw.scale), gumbel)};
      },
      [&] { return KernelEmitter::Values{wide}; })[0];
}

DrawnToken SampleMath::getNone() {
  return {number(-infinity), e.int32(noToken), e.float32(-infinity)};
}

DrawnToken SampleMath::getBetter(const DrawnToken &a, const DrawnToken &b) {
  Value isLower = e.compare(arith::CmpIPredicate::slt, a.token, b.token);
  Value isEqual = e.compare(Compare::OEQ, a.score, b.score);
  Value isFirst = e.bitOr(e.compare(Compare::OGT, a.score, b.score),
                          e.bitAnd(isEqual, isLower));
  auto choose = [&](Value x, Value y) { return e.select(isFirst, x, y); };
  return {choose(a.score, b.score), choose(a.token, b.token),
          choose(a.logit, b.logit)};
}

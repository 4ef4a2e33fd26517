//===- Disturbance.cpp - Round otherwise than the definition does ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of the changes. Magnitudes are drawn from the upper half of what is
// allowed, so that no number is left nearly undisturbed.
//
//===----------------------------------------------------------------------===//

#include "tp/Interpreter/Disturbance.h"

#include "llvm/ADT/STLExtras.h"
#include <bit>
#include <climits>
#include <cmath>
#include <iterator>

using llvm::MutableArrayRef;

namespace tp::interp {

double getUnit(ElementType type, double magnitude) {
  // Below the normal numbers the unit no longer shrinks. Integers have none.
  constexpr double least[] = {0x1p-1074, 0x1p-149, 0x1p-24, 0x1p-133, 0,
                              0x1p-9,    0x1p-16,  0.5,     0x1p-127};
  static_assert(std::size(least) == ElementType::E8M0 + 1);
  return std::max(getEpsilon(type) * magnitude, least[type.kind]);
}

/// The number for the type that functions are computed in.
static double getSmallestNormal(ElementType type) {
  return type.kind == ElementType::F64 ? 0x1p-1022 : 0x1p-126;
}

int getLowestBit(double value) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint64_t mantissa = bits & ((uint64_t(1) << 52) - 1);
  int exponent = int(bits >> 52 & 0x7ff);
  if (exponent == 0)
    return mantissa ? -1074 + std::countr_zero(mantissa) : INT_MAX;
  return exponent - 1075 + std::countr_zero(mantissa | uint64_t(1) << 52);
}

/// 2^`exponent`, where that is a double.
static double getPowerOfTwo(int exponent) {
  return exponent >= -1022
             ? std::bit_cast<double>(uint64_t(exponent + 1023) << 52)
             : std::ldexp(1.0, exponent);
}

double Disturber::next(double value) {
  double size = disturbance.units;
  switch (disturbance.direction) {
  case Disturbance::None:
    return 0;
  case Disturbance::Random:
  case Disturbance::Opposite: {
    state = state * 6364136223846793005 + 1442695040888963407;
    // A sign and a magnitude in 1/2 .. 1.
    size *= 0.5 + double(uint32_t(state >> 33)) * 0x1p-32;
    bool negative = state >> 32 & 1;
    return negative == (disturbance.direction == Disturbance::Random) ? -size
                                                                      : size;
  }
  case Disturbance::Up:
    return size;
  case Disturbance::Down:
    return -size;
  case Disturbance::Away:
    return std::copysign(size, value);
  case Disturbance::Toward:
    return -std::copysign(size, value);
  case Disturbance::Alternating:
    isOdd = !isOdd;
    return isOdd ? size : -size;
  }
  return 0;
}

double Disturber::add(double value, double change) const {
  // Towards zero is not beyond it: what cancels but for roundings is nothing.
  bool isGone = disturbance.direction == Disturbance::Toward &&
                std::abs(change) > std::abs(value);
  return isGone ? 0 : value + change;
}

double Disturber::disturbOne(ElementType type, double value, bool canBeExact) {
  double change = next(value);
  if (!std::isfinite(value))
    return value;
  // A sum over ranks does not keep the sign of a zero: -0 + 0 is 0.
  if (value == 0 && disturbance.direction == Disturbance::Opposite)
    return -value;
  // Every f64 was rounded already: integers are what is likely to be exact, up
  // to where all numbers are.
  if (canBeExact &&
      (type.kind == ElementType::F64
           ? std::abs(value) < 0x1p52 && value == std::nearbyint(value)
           : value == roundTo(type, value)))
    return value;
  // Functions are approximated to zero below the normal numbers.
  if (!canBeExact && disturbance.direction == Disturbance::Opposite &&
      std::abs(value) < getSmallestNormal(type))
    return std::copysign(0, value);
  return add(value, change * getUnit(type, std::abs(value)));
}

void Disturber::disturb(ElementType type, MutableArrayRef<double> values,
                        bool canBeExact) {
  for (double &value : values)
    value = disturbOne(type, value, canBeExact);
}

double Disturber::disturbAddition(ElementType type, double value, double x,
                                  double y) {
  double change = next(value);
  double magnitude = std::abs(x) + std::abs(y);
  if (!std::isfinite(value) || !std::isfinite(magnitude))
    return value;
  // A sum over ranks does not keep the sign of a zero: -0 + 0 is 0.
  if (magnitude == 0 && disturbance.direction == Disturbance::Opposite)
    return -value;
  // No order of the terms needs more bits than the type has.
  int lowestBit = std::min(getLowestBit(x), getLowestBit(y));
  if (lowestBit > 1023 ||
      magnitude * getEpsilon(type) <= getPowerOfTwo(lowestBit))
    return value;
  return add(value, change * getUnit(type, std::max(std::abs(x), std::abs(y))));
}

void Disturber::disturbAdditions(ElementType type,
                                 MutableArrayRef<double> values,
                                 const double *x, const double *y) {
  for (auto [i, value] : llvm::enumerate(values))
    value = disturbAddition(type, value, x[i], y[i]);
}

double Disturber::disturbSum(ElementType type, double value, double magnitude,
                             int64_t length, int lowestBit) {
  double change = next(value);
  // Added up in the type itself, infinities of either sign may come to be.
  if (std::isfinite(magnitude) && std::isinf(roundTo(type, magnitude)))
    return disturbance.direction == Disturbance::Opposite
               ? std::numeric_limits<double>::quiet_NaN()
               : value;
  if (!std::isfinite(value) || !std::isfinite(magnitude) || lowestBit > 1023)
    return value;
  if (reader && getEpsilon(*reader) > getEpsilon(type))
    type = *reader;
  // No order of the terms needs more bits than the type has.
  if (magnitude * getEpsilon(type) <= getPowerOfTwo(lowestBit))
    return value;
  return add(value, change * getUnit(type, magnitude) *
                        (1 + std::sqrt(double(length)) / 8));
}

} // namespace tp::interp

//===- RandomBody.h - Scalar bodies drawn at random -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text of linalg.generic operations whose bodies add, multiply, compare, select
// and call functions of their inputs and outputs in any order, for tests of
// what is read from a body.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_UNIT_RULES_RANDOMBODY_H
#define TP_TEST_UNIT_RULES_RANDOMBODY_H

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tp {

/// One body: lines that compute from the values named in `inputs`, all of
/// element type `type`, and the names of what can be yielded.
class RandomBody {
public:
  RandomBody(uint64_t seed, std::string type)
      : random(seed), type(std::move(type)) {}

  int64_t below(int64_t bound) { return int64_t(random() % uint64_t(bound)); }
  bool chance(int64_t percent) { return below(100) < percent; }

  /// Values that operations may read.
  std::vector<std::string> values;
  /// Append an operation that reads some of `values` and return its result,
  /// which is among them from then on.
  std::string draw();
  /// Append `op` of two operands.
  std::string binary(const std::string &op, const std::string &a,
                     const std::string &b);
  const std::string &someValue() { return values[below(values.size())]; }

  std::string text;

private:
  std::string append(const std::string &operation);
  std::string constant();

  std::mt19937_64 random;
  std::string type;
  int count = 0;
};

} // namespace tp

#endif // TP_TEST_UNIT_RULES_RANDOMBODY_H

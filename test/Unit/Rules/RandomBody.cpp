//===- RandomBody.cpp - Scalar bodies drawn at random ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums and products are drawn more often than other operations, so that a fair
// share of the bodies is linear in something.
//
//===----------------------------------------------------------------------===//

#include "RandomBody.h"

namespace tp {

std::string RandomBody::append(const std::string &operation) {
  std::string name = "%v" + std::to_string(count++);
  text += "      " + name + " = " + operation + "\n";
  values.push_back(name);
  return name;
}

std::string RandomBody::binary(const std::string &op, const std::string &a,
                               const std::string &b) {
  return append(op + " " + a + ", " + b + " : " + type);
}

std::string RandomBody::constant() {
  static const char *const numbers[] = {"0.0", "1.0", "-2.0", "0.5"};
  return append(std::string("arith.constant ") + numbers[below(4)] + " : " +
                type);
}

std::string RandomBody::draw() {
  std::string a = someValue(), b = someValue();
  switch (below(14)) {
  case 0:
  case 1:
  case 2:
    return binary("arith.addf", a, b);
  case 3:
  case 4:
  case 5:
    return binary("arith.mulf", a, b);
  case 6:
    return binary("arith.subf", a, b);
  case 7:
    return binary(chance(50) ? "arith.maximumf" : "arith.minimumf", a, b);
  case 8: {
    static const char *const functions[] = {"math.exp", "math.tanh",
                                            "math.absf", "math.sqrt"};
    return append(functions[below(4)] + (" " + a + " : " + type));
  }
  case 9:
    return append("arith.negf " + a + " : " + type);
  case 10:
    return constant();
  case 11:
    return binary("arith.divf", a, b);
  case 12:
    return append("math.fma " + a + ", " + b + ", " + someValue() + " : " +
                  type);
  default: {
    std::string flag = "%f" + std::to_string(count);
    text += "      " + flag + " = arith.cmpf olt, " + a + ", " + b + " : " +
            type + "\n";
    return append("arith.select " + flag + ", " + someValue() + ", " +
                  someValue() + " : " + type);
  }
  }
}

} // namespace tp

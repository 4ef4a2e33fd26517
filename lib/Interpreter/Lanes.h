//===- Lanes.h - Bytecode on lanes of registers -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The register file of one run of a kernel and the function that executes its
// instructions on the first n lanes.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_INTERPRETER_LANES_H
#define TP_LIB_INTERPRETER_LANES_H

#include "Opcode.h"
#include "tp/Interpreter/Disturbance.h"
#include <cmath>

namespace tp::interp {

/// The maximum with NaN propagated and -0 below +0.
inline double maximum(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return std::nan("");
  if (x == y)
    return std::signbit(x) ? y : x;
  return x > y ? x : y;
}

struct Lanes {
  Lanes(unsigned numFloat, unsigned numInt)
      : floats(numFloat * kLanes), ints(numInt * kLanes) {}
  double *floatRegister(uint16_t index) { return &floats[index * kLanes]; }
  int64_t *intRegister(uint16_t index) { return &ints[index * kLanes]; }

  std::vector<double> floats;
  std::vector<int64_t> ints;
};

/// The values that instructions may read beside registers.
struct LaneContext {
  llvm::ArrayRef<Tensor> captured;
  llvm::ArrayRef<uint16_t> indices;
  /// The loops' current positions; lane i of `laneDim` is at its value + i.
  llvm::ArrayRef<int64_t> position;
  int64_t laneDim = -1;
  /// Null if every result is rounded as it should be.
  Disturber *disturber = nullptr;
};

/// Execute on lanes 0..n-1; false, with `error` set, on an index out of range
/// or a division by zero.
bool execute(llvm::ArrayRef<Instruction> instructions, Lanes &lanes, int64_t n,
             const LaneContext &context, std::string &error);

} // namespace tp::interp

#endif // TP_LIB_INTERPRETER_LANES_H

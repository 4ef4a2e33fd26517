//===- Epilogue.h - What a GEMM library does beside the product -*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library multiplies its f32 sums by a number and clips them at zero before
// it rounds them once to the result's type. These functions say which
// operations of a program mean that, so that the pass that forms GEMMs and the
// tables of the artifact agree.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SCHEDULE_EPILOGUE_H
#define TP_SCHEDULE_EPILOGUE_H

#include "mlir/IR/Operation.h"
#include "tp/Interfaces/LibraryInterface.h"
#include "llvm/ADT/APFloat.h"
#include <optional>

namespace tp {

/// A product or quotient by one number.
struct Scale {
  llvm::APFloat constant; ///< as the program has it
  bool isDivisor;
  float multiplier; ///< what the library multiplies by
};

/// `op` as a scale of the tensor `x`, if the library's result is no further
/// from the exact one than the program's: `multiplier` times the sum is then
/// rounded at most as often. So a divisor of f32 has to be a power of two (its
/// inverse is exact); one of a narrower type may be any number, since the
/// inverse is rounded to f32 where the program rounds x to that type. Factors
/// are normal f32 numbers: with zero a library does not read its operands, so
/// that their infinities are lost. `op` is element-wise arith on tensors, or
/// linalg of such a body.
std::optional<Scale> matchScale(mlir::Operation *op, mlir::Value x);

/// The activation that `op` applies to `x`, as the manifest names it: silu,
/// gelu_erf, gelu_tanh, or relu (see isRelu); empty if it is none.
llvm::StringRef matchActivation(mlir::Operation *op, mlir::Value x);

/// True if `op` is max(x, 0) element by element and says that there is no NaN
/// (`nnan`), for cuBLASLt keeps one in some of its kernels and not in others;
/// whatever the sign of a zero. It is a maximum, or a comparison and a select,
/// on tensors or in the body of linalg.
bool isRelu(mlir::Operation *op, mlir::Value x);

/// Reads what the function of a GEMM does to the results of its library's
/// operations, one operation after the other.
class EpilogueReader {
public:
  /// `known` is what the target's library does.
  EpilogueReader(LibraryOpInterface op, const EpilogueSet &known);
  /// Adds `next`, which reads what was computed last. Emits an error if it is
  /// not known there, or not in this place.
  mlir::LogicalResult add(mlir::Operation *next);

  Epilogue epilogue;
  /// The result of what was added last.
  mlir::Value last;

private:
  bool canScale, knowsScale;
  enum { Product, Scaled, Activated, Added } step = Product;
};

} // namespace tp

#endif // TP_SCHEDULE_EPILOGUE_H

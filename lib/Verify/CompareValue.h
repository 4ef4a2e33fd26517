//===- CompareValue.h - Parts of a value against the whole ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All comparisons treat one value like this, whoever made it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_VERIFY_COMPAREVALUE_H
#define TP_LIB_VERIFY_COMPAREVALUE_H

#include "tp/Verify/Verify.h"

namespace tp {

/// The ranks' parts of a value.
struct Observation {
  /// The value of the one-device program; none for a result of the function.
  std::optional<ValueKey> key;
  unsigned resultNumber = 0;
  interp::RankTensors locals;
  TensorSharding sharding;
  /// For messages: the operation, where it is, and which of its results
  /// ("result 1, ", or nothing if it has one).
  std::string what, location, which;
  /// True for an operation of the program: not of a collective, which has
  /// another part of the same value.
  bool isOriginal = true;
  /// The operation reads addends and an infinity, so that an addend of zero may
  /// make no number of an infinity.
  bool scalesParts = false;
  /// The sum of addends that are not seen here: infinities of both signs among
  /// them make no number of an infinity.
  bool addsUnseen = false;
};

/// The problem of the shape or type of the parts that the ranks hold of a
/// value, or an empty text.
std::string checkLayout(const interp::RankTensors &locals,
                        const Reference::Value &expected,
                        const TensorSharding &sharding, const Mesh &mesh);
/// For a partial value, the sum of the magnitudes of the ranks' addends, each
/// of which was rounded on its own.
std::optional<interp::Tensor> getMagnitudes(const interp::RankTensors &locals,
                                            llvm::ArrayRef<int64_t> shape,
                                            const TensorSharding &sharding,
                                            const Mesh &mesh);
/// The difference between the parts that the ranks hold and the global value,
/// or an empty text. If a number is too far off, the reference is refined and
/// asked again. `worst` is raised to the largest difference seen, as a part of
/// what is allowed.
std::string compareValue(const Observation &observation,
                         const Reference::Value &expected, const Mesh &mesh,
                         Reference &reference, double &worst);
/// Count what cannot be judged of a value that was compared.
void noteUnjudged(Comparison &comparison, const Reference::Value &expected,
                  llvm::StringRef what, llvm::StringRef location,
                  llvm::ArrayRef<int64_t> iterations, llvm::StringRef stop);
/// The location as messages give it: the name alone where it has one.
std::string formatLocation(mlir::Location loc);

} // namespace tp

#endif // TP_LIB_VERIFY_COMPAREVALUE_H

//===- Record.h - What kernels are called with ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scheduled program runs in the interpreter on random inputs, and every call
// of a row kernel and every operation that has kernels is recorded with its
// operands, what the reference makes of them and how far a correct kernel may
// be from it. So kernels are tested on values that their program gives them:
// ids within their range, masks, each rank's offsets.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_CHECK_RECORD_H
#define TP_TEST_EMULATOR_CHECK_RECORD_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Interpreter/Interpreter.h"
#include <vector>

namespace tp::emulator {

struct ExpectedResult {
  interp::Tensor tensor;
  /// The largest difference allowed; negative: nothing can be said.
  double tolerance = 0;
};

/// One call of a kernel by one rank.
struct KernelCall {
  std::string kernel;
  /// The operation that the kernel is for, if it is a library's.
  mutable LibraryOpInterface library;
  /// Its operands and results there, and what is done to its result: it may
  /// stand in a function with that.
  llvm::SmallVector<mlir::Value> operandValues, resultValues;
  LibraryUse use = {};
  /// The kernels that run behind it with the same arguments.
  llvm::SmallVector<std::string> then;
  bool launches(llvm::StringRef name) const {
    return kernel == name || llvm::is_contained(then, name);
  }
  /// Bytes of scratch.
  int64_t scratchBytes = 0;
  int64_t rank = 0;
  llvm::SmallVector<interp::Tensor> operands;
  /// Operands that are passed by value.
  llvm::SmallVector<bool> isScalar;
  /// The offsets of operands and results within what they are views of, in
  /// bytes.
  llvm::SmallVector<int64_t> operandOffsets, resultOffsets;
  /// The operand that each result of a row kernel replaces in its own memory,
  /// as the successor of a state does; -1: none.
  llvm::SmallVector<int64_t> replaced;
  llvm::SmallVector<ExpectedResult> results;
};

/// The results of `function` on `operands`, with the tolerances of tp-verify
/// widened by `relative` of the largest element.
mlir::FailureOr<llvm::SmallVector<ExpectedResult>>
evaluate(mlir::func::FuncOp function, llvm::ArrayRef<interp::Tensor> operands);

/// A private function of `module` that is `op` alone: attention with keys up to
/// `keyLength` and its log-sum-exp as second result. The caller erases it.
mlir::func::FuncOp makeAttentionFunction(mlir::ModuleOp module,
                                         nn::AttentionOp op, int64_t keyLength);

/// The shape of operand `operand` of the same attention of so many keys.
llvm::SmallVector<int64_t> cutKeys(nn::AttentionOp op, unsigned operand,
                                   int64_t keyLength);

/// The calls in `function` of the scheduled `module`: of each place that calls,
/// the first and last iteration on the first and last rank. `inputs` are global
/// values, distributed as the function's shardings say. If `isSampled`, matrix
/// products are not computed: their results are random, and of large
/// parameters rows are repeated. So a layer of any width takes seconds.
mlir::FailureOr<std::vector<KernelCall>>
recordCalls(mlir::ModuleOp module, mlir::func::FuncOp function,
            llvm::ArrayRef<interp::Tensor> inputs, uint64_t seed,
            bool isSampled);

} // namespace tp::emulator

#endif // TP_TEST_EMULATOR_CHECK_RECORD_H

//===- Interpreter.h - Evaluate programs of tensors op by op ----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference that every stage is compared with: no code of lower, no
// libraries, every operation by its definition (nn operations by their
// decompositions). A per-rank program is evaluated for all its ranks in
// lockstep in one thread: each value is N tensors, and a collective is a
// function of N tensors that sums in rank order. A program before partition is
// the same with N = 1.
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERPRETER_INTERPRETER_H
#define TP_INTERPRETER_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Interpreter/Disturbance.h"
#include "tp/Interpreter/Tensor.h"
#include <functional>

namespace tp::interp {

class ParameterProvider;

/// A value: one tensor per rank. Ranks that hold the same elements may share
/// the memory.
using RankTensors = llvm::SmallVector<Tensor, 1>;

/// The counts of a run so far.
struct InterpreterStatistics {
  /// Elements summed (or maximised) into one, and the coarsest rounding.
  int64_t longestReduction = 1;
  double coarsestEpsilon = 0;
  /// Elements of the iteration spaces that were run through.
  double work = 0;
};

struct InterpreterOptions {
  /// Ranks of the program: 1 for a program before partition.
  int64_t numRanks = 1;
  /// The source of tp.parameter's values; without one the operation is an
  /// error.
  ParameterProvider *parameters = nullptr;
  /// How to round otherwise than the definition does. What that does to a
  /// result is the noise that any two correct programs may differ by.
  Disturbance disturbance;
  /// Filled while running, if given.
  InterpreterStatistics *statistics = nullptr;
  /// Larger tensors are refused.
  int64_t maxElements = int64_t(1) << 31;
  /// Called for values as they come to be, in the function that is run (not in
  /// those it calls): its arguments, the carried values at the start of each
  /// iteration of a tp.repeat, and the results of each operation. `op` is the
  /// function or operation they belong to; `iterations` are the indices of the
  /// tp.repeat iterations around them, outermost first. Failure ends the run.
  /// What it makes of an operation's results is what the run goes on with.
  std::function<mlir::LogicalResult(mlir::Operation *op,
                                    mlir::ValueRange values,
                                    llvm::MutableArrayRef<RankTensors> tensors,
                                    llvm::ArrayRef<int64_t> iterations)>
      observer;
  /// Asked before each operation of the function that is run (not of those it
  /// calls). Where it gives values, one per result, these are taken and the
  /// operation is not run.
  std::function<std::optional<llvm::SmallVector<RankTensors>>(
      mlir::Operation *op)>
      substitute;
};

/// Fails, with an error at `op`, if `type` is a tensor of more elements than
/// `most`; their number may be more than an integer holds.
mlir::LogicalResult checkNumElements(mlir::Operation *op, mlir::Type type,
                                     int64_t most);

/// Run `function` on `arguments` (one entry per argument, each of numRanks
/// tensors of the argument's type). Errors (an operation that the interpreter
/// does not have, an index out of range, a tensor past the limit) are emitted
/// at the operation.
mlir::FailureOr<llvm::SmallVector<RankTensors>>
interpret(mlir::func::FuncOp function, llvm::ArrayRef<RankTensors> arguments,
          const InterpreterOptions &options);

/// The same for a program of one rank.
mlir::FailureOr<llvm::SmallVector<Tensor>>
interpretOneRank(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> arguments,
                 const InterpreterOptions &options = {});

/// The elements of a constant; nothing if it is not dense.
std::optional<Tensor> getConstantTensor(mlir::Attribute value, mlir::Type type);

} // namespace tp::interp

#endif // TP_INTERPRETER_INTERPRETER_H

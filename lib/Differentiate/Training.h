//===- Training.h - The parts of a training step ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of tp-make-training-step: the weights and the states that go with
// each, the functions that read them, and the function that updates them.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIFFERENTIATE_TRAINING_H
#define TP_LIB_DIFFERENTIATE_TRAINING_H

#include "Reverse.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp::differentiate {

/// The options that the module's `tp.training` asks for.
struct TrainingOptions {
  enum class Optimizer { AdamW, Sgd };
  Optimizer optimizer = Optimizer::AdamW;
  /// The most that the gradient's norm may be; 0: any.
  double clip = 0;
  /// True if SGD has momentum.
  bool hasMomentum = false;
};

/// A parameter, and the states that stand for it. Null are those that it needs
/// not.
struct TrainedWeight {
  ParameterKey key;
  mlir::RankedTensorType type;
  /// One that is written to round it to the weight's 16 bits.
  StateOp weight, master;
  StateOp gradient, expAvg, expAvgSq, momentum;
  bool decays = false;

  /// The state that the update begins with and ends in.
  StateOp getUpdated() { return master ? master : weight; }
  /// All but the weight, which are cut as it is.
  llvm::SmallVector<std::pair<llvm::StringRef, StateOp>> getCompanions();
};

/// All states of a training step.
struct TrainingStates {
  llvm::SmallVector<TrainedWeight, 0> weights;
  StateOp lossSum, tokens;
};

/// The states for the float parameters of `functions`, each declared at the
/// beginning of `module`. Fails, with an error, where a name is taken.
mlir::FailureOr<TrainingStates>
declareStates(mlir::ModuleOp module,
              llvm::ArrayRef<mlir::func::FuncOp> functions,
              const TrainingOptions &options);

/// An argument at the end of `function` that is the value of `state`.
mlir::Value addArgument(mlir::func::FuncOp function, StateOp state);
/// The function returns `values`, with an attribute of that name for each:
/// `tp.name` or `tp.state`.
struct NamedResult {
  mlir::Value value;
  llvm::StringRef attribute;
  mlir::Attribute given;
};
NamedResult makeResult(llvm::StringRef name, mlir::Value value);
NamedResult makeResult(StateOp state, mlir::Value value);
void setResults(mlir::func::FuncOp function,
                llvm::ArrayRef<NamedResult> results);

/// Let `function` read the states instead of parameters.
void readStates(mlir::func::FuncOp function, TrainingStates &states);
/// Let `forward`, whose derivative is made, drop no elements.
void dropNothing(mlir::func::FuncOp forward);
/// `total` + `value`, where `value` is made: layer by layer if a tp.repeat
/// stacks it and nothing else reads it.
mlir::Value accumulate(mlir::Value total, mlir::Value value);

/// The function @update, behind all others.
void buildUpdate(mlir::ModuleOp module, TrainingStates &states,
                 const TrainingOptions &options);

} // namespace tp::differentiate

#endif // TP_LIB_DIFFERENTIATE_TRAINING_H

//===- Engine.h - The interpreter's state -----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the files that evaluate operations: the environment of values,
// compiled kernels, and cached decompositions.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_INTERPRETER_ENGINE_H
#define TP_LIB_INTERPRETER_ENGINE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "tp/Interpreter/Interpreter.h"
#include "tp/Interpreter/Kernel.h"
#include "tp/Interpreter/Parameters.h"
#include "llvm/ADT/DenseMap.h"

namespace tp::interp {

using Results = llvm::SmallVector<Tensor>;

class Engine {
public:
  explicit Engine(const InterpreterOptions &options)
      : options(options), disturber(options.disturbance) {}

  mlir::FailureOr<llvm::SmallVector<RankTensors>>
  runFunction(mlir::func::FuncOp function,
              llvm::ArrayRef<RankTensors> arguments);

private:
  /// Values of one activation of a function or decomposition.
  using Frame = llvm::DenseMap<mlir::Value, RankTensors>;

  /// Run a block, whose arguments are set; returns the terminator's operands.
  mlir::FailureOr<llvm::SmallVector<RankTensors>> runBlock(mlir::Block &block,
                                                           Frame &frame);
  mlir::LogicalResult runOp(mlir::Operation *op, Frame &frame);
  mlir::LogicalResult runRepeat(RepeatOp op, Frame &frame);
  mlir::LogicalResult runParameter(ParameterOp op, Frame &frame);
  /// Collectives and other operations that know their rank.
  mlir::LogicalResult runRanked(mlir::Operation *op, Frame &frame);
  mlir::FailureOr<llvm::SmallVector<RankTensors>>
  runDecomposition(mlir::Operation *op, llvm::ArrayRef<RankTensors> operands);

  /// Operations that see one rank at a time; what several ranks do on the same
  /// elements is done once.
  mlir::FailureOr<llvm::SmallVector<RankTensors>>
  runOnRanks(mlir::Operation *op, llvm::ArrayRef<RankTensors> operands,
             Frame &frame);
  mlir::FailureOr<Results> runLocal(mlir::Operation *op,
                                    llvm::ArrayRef<Tensor> operands,
                                    llvm::ArrayRef<Tensor> captured);
  mlir::FailureOr<Results> runLinalg(mlir::linalg::LinalgOp op,
                                     llvm::ArrayRef<Tensor> operands,
                                     llvm::ArrayRef<Tensor> captured);
  mlir::FailureOr<Results> runPad(mlir::tensor::PadOp op,
                                  llvm::ArrayRef<Tensor> operands,
                                  llvm::ArrayRef<Tensor> captured);
  mlir::FailureOr<Results> runElementwise(mlir::Operation *op,
                                          llvm::ArrayRef<Tensor> operands);
  llvm::SmallVector<bool> getWideOutputs(mlir::linalg::LinalgOp op);
  /// The kernel of an operation, compiled at first use.
  mlir::FailureOr<Kernel *> getKernel(mlir::Operation *op);

  mlir::LogicalResult checkSizes(mlir::Operation *op);
  /// The 16-bit float that a value, or what is made of it, is rounded to next.
  std::optional<ElementType> findReader(mlir::Value value, unsigned depth = 0);
  /// Keep statistics of an operation that was run.
  void finish(const LoopNest &nest, const Results &results);
  /// Null if nothing is to be disturbed.
  Disturber *getDisturber() {
    return disturber.isActive() ? &disturber : nullptr;
  }
  /// Values of `block` that are dead after an operation in it.
  const llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 2>> &
  getLastUses(mlir::Block &block);
  /// The mesh of a per-rank operation; it must have as many ranks as we run.
  mlir::FailureOr<Mesh> getMesh(mlir::Operation *op,
                                mlir::FlatSymbolRefAttr symbol);

  const InterpreterOptions &options;
  Disturber disturber;
  llvm::SmallVector<int64_t> iterations;
  /// Depth of calls, and whether we are inside a decomposition.
  int64_t depth = 0;
  bool inDecomposition = false;
  /// The reader of the operation that is decomposed (findReader).
  std::optional<ElementType> decompositionReader;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Kernel>> kernels;
  llvm::DenseMap<
      mlir::Block *,
      llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 2>>>
      lastUses;
  llvm::DenseMap<mlir::Operation *, mlir::func::FuncOp> decompositions;
  mlir::OwningOpRef<mlir::ModuleOp> scratch;
};

/// tensor.* operations other than casts of the element type; null if `op` is
/// none of them.
std::optional<mlir::FailureOr<Results>>
runTensorOp(mlir::Operation *op, llvm::ArrayRef<Tensor> operands,
            llvm::ArrayRef<Tensor> captured);

/// Puts the operand of a pad in its place in `result`.
mlir::LogicalResult placePadded(mlir::tensor::PadOp op,
                                llvm::ArrayRef<Tensor> operands,
                                Tensor &result);

/// The tensors of a group of ranks combined element by element, in order; sums
/// of floats in double, rounded once.
Tensor combine(const RankTensors &input, llvm::ArrayRef<int64_t> group,
               ReductionKind kind);

} // namespace tp::interp

#endif // TP_LIB_INTERPRETER_ENGINE_H

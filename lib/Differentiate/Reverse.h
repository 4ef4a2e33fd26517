//===- Reverse.h - A program in reverse -------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks blocks backwards and hands the cotangents of each operation's results
// on to its operands. A repeated layer becomes a second one in reverse, which
// is built as if it stood inside the first: only then it is seen which of the
// first one's values it reads, and these are stacked by the one and read slice
// by slice by the other.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIFFERENTIATE_REVERSE_H
#define TP_LIB_DIFFERENTIATE_REVERSE_H

#include "Vjp.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Differentiate/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace tp::differentiate {

/// A parameter: all operations that read one tensor (of a template: one for
/// each layer) have the same key.
struct ParameterKey {
  mlir::StringAttr name;
  ParameterSourceAttr source;
  /// The layers, of a template; none has no layers.
  int64_t first = 0, count = 0;

  bool operator==(const ParameterKey &other) const = default;
};

/// The key of `op`, the type of its value, with a slice for each layer, and
/// that of its gradient, which is not rounded to 16 bits.
ParameterKey getKey(ParameterOp op);
mlir::RankedTensorType getValueType(ParameterOp op);
mlir::RankedTensorType getGradientType(ParameterOp op);
/// Each float parameter's first operation, in their order.
llvm::SmallVector<ParameterOp> collectParameters(mlir::func::FuncOp function);

/// Values by key, in the order in which they were added.
class ParameterGradients {
public:
  struct Entry {
    ParameterKey key;
    mlir::Value value;
  };
  void add(mlir::OpBuilder &builder, const ParameterKey &key,
           mlir::Value value);
  mlir::Value lookup(const ParameterKey &key) const;
  llvm::SmallVector<Entry> entries;
};

class Reverser {
public:
  Reverser(mlir::Block &program, Recompute recompute);

  /// Append to `builder` the derivative of `loss`, which the block has made.
  mlir::FailureOr<ParameterGradients> run(mlir::OpBuilder &builder,
                                          mlir::Value loss);
  int64_t getNumKept() const { return numKept; }
  ~Reverser();

private:
  /// The cotangents known in a block, by value: its own and those of values
  /// from above.
  using Cotangents = llvm::MapVector<mlir::Value, mlir::Value>;
  struct Layer;

  bool isActive(mlir::Value value) const { return active.contains(value); }
  void markActive(mlir::Block &program);
  void add(mlir::OpBuilder &builder, Cotangents &cotangents, mlir::Value value,
           mlir::Value contribution);
  mlir::LogicalResult reverseBlock(mlir::OpBuilder &builder, mlir::Block &block,
                                   Cotangents &cotangents,
                                   ParameterGradients &parameters);
  mlir::LogicalResult reverseOp(mlir::OpBuilder &builder, mlir::Operation *op,
                                Cotangents &cotangents);
  mlir::LogicalResult reverseRepeat(mlir::OpBuilder &builder, RepeatOp op,
                                    Cotangents &cotangents,
                                    ParameterGradients &parameters);
  /// The operation, when all that it yields is known.
  RepeatOp finishLayer(Layer &layer);
  void keep(Layer &layer);

  Recompute recompute;
  llvm::DenseSet<mlir::Value> active;
  /// Repeats that others with more results stand for.
  llvm::SmallVector<mlir::Operation *> replaced;
  int64_t numKept = 0;
};

} // namespace tp::differentiate

#endif // TP_LIB_DIFFERENTIATE_REVERSE_H

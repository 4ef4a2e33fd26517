//===- Needs.h - What the uses of values need -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The uses of values that need another sharding than the value has.
// tp-insert-reshards serves them; for tp-partition none may be left, because
// what a rank has would be taken for what its operation needs.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PARTITION_NEEDS_H
#define TP_LIB_PARTITION_NEEDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "llvm/ADT/MapVector.h"
#include <optional>

namespace tp {

/// One sharding that uses of a value need.
struct NeededSharding {
  TensorSharding sharding;
  llvm::SmallVector<mlir::OpOperand *> uses;
  /// The target that it is made from; none for the value itself.
  std::optional<unsigned> parent;
};

class Needs {
public:
  explicit Needs(const Mesh &mesh) : mesh(mesh) {}

  /// Collects the needs of all operations of the function; fails, after an
  /// error, where one has no sharding or another one than it gives.
  mlir::LogicalResult collect(mlir::func::FuncOp function);

  llvm::MapVector<mlir::Value, llvm::SmallVector<NeededSharding, 0>> values;
  /// Uses that need what another needs too.
  int64_t numShared = 0;

private:
  mlir::LogicalResult collect(mlir::Operation *op);
  mlir::LogicalResult collectRepeat(RepeatOp op);
  mlir::LogicalResult need(mlir::OpOperand &use,
                           const TensorSharding &sharding);

  const Mesh &mesh;
};

} // namespace tp

#endif // TP_LIB_PARTITION_NEEDS_H

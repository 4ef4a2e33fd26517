//===- OpAnalysis.h - One operation with its shardings ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the stage ask this about an operation on global types: its
// rule, the shardings around it, and how its factors are cut.
//
//===----------------------------------------------------------------------===//

#ifndef TP_PARTITION_OPANALYSIS_H
#define TP_PARTITION_OPANALYSIS_H

#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Resolve/Resolve.h"

namespace tp {

struct OpAnalysis {
  ShardingRule rule;
  llvm::SmallVector<TensorSharding, 0> operands, results;
  llvm::SmallVector<llvm::SmallVector<int64_t>> operandShapes, resultShapes;
  ResolvedOp resolved;

  /// The sharding that operand `index` must have.
  TensorSharding getRequired(unsigned index) const {
    return getRequiredOperandSharding(rule, index, resolved,
                                      operandShapes[index]);
  }
  /// The name of a factor for people.
  std::string getFactorName(unsigned factor) const {
    const std::string &name = rule.factors[factor].name;
    return name.empty() ? std::to_string(factor) : name;
  }
};

/// The mesh; null, after an error, if there is none or more than one.
MeshOp getMeshToPartition(mlir::ModuleOp module);
/// True if an operand or result is a tensor.
bool hasTensors(mlir::Operation *op);
/// The sharding of a tensor; an error at `op` if none is written.
mlir::FailureOr<TensorSharding>
getWrittenSharding(mlir::Operation *op, mlir::Value value, const Mesh &mesh);
/// The static shape of a tensor; empty for anything else.
llvm::ArrayRef<int64_t> getGlobalShape(mlir::Value value);
/// Fails, after an error on `op`, if it has no rule or a tensor around it has
/// no sharding.
mlir::FailureOr<OpAnalysis> analyzeOp(mlir::Operation *op, const Mesh &mesh);

/// The first half of a ledger entry: why `value` must go from `from` to `to`
/// for `uses`. Its id is left 0.
LedgerAttr explainReshard(mlir::Value value, const TensorSharding &from,
                          const TensorSharding &to,
                          llvm::ArrayRef<mlir::OpOperand *> uses,
                          const Mesh &mesh);

} // namespace tp

#endif // TP_PARTITION_OPANALYSIS_H

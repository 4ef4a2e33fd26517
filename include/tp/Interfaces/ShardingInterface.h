//===- ShardingInterface.h - Operations that can be sharded -----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interfaces by which an operation says how it is sharded, what it means
// and how it is differentiated, and what partition tells an operation when it
// asks for the per-rank form.
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERFACES_SHARDINGINTERFACE_H
#define TP_INTERFACES_SHARDINGINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "tp/Sharding/Padding.h"
#include "tp/Sharding/Rule.h"
#include "llvm/ADT/STLExtras.h"

namespace tp {

/// Answers an operation's questions while it builds its per-rank form.
class LocalContext {
public:
  LocalContext(const Mesh &mesh, mlir::FlatSymbolRefAttr meshSymbol,
               const ShardingRule &rule, const FactorShardings &factors,
               llvm::ArrayRef<unsigned> guarded = {})
      : mesh(mesh), meshSymbol(meshSymbol), rule(rule), factors(factors),
        guarded(guarded) {}

  const Mesh &getMesh() const { return mesh; }
  mlir::FlatSymbolRefAttr getMeshSymbol() const { return meshSymbol; }
  const ShardingRule &getRule() const { return rule; }
  const FactorShardings &getFactorShardings() const { return factors; }

  bool isSharded(unsigned factor) const {
    return getShardCount(factors.axes[factor]) > 1;
  }
  /// The per-rank form must leave the padding of the factor out of its
  /// body (PaddingGuard::inBody).
  bool isGuarded(unsigned factor) const {
    return llvm::is_contained(guarded, factor);
  }
  /// Positions of the factor on one rank, padding included.
  int64_t getLocalSize(unsigned factor) const;
  /// The logical size of the factor.
  int64_t getGlobalSize(unsigned factor) const {
    return rule.factors[factor].size;
  }
  /// An index value: the global position at which this rank's part of the
  /// factor begins (zero, as a constant, where it is not sharded).
  mlir::Value getOffset(mlir::OpBuilder &builder, mlir::Location loc,
                        unsigned factor) const;

private:
  const Mesh &mesh;
  mlir::FlatSymbolRefAttr meshSymbol;
  const ShardingRule &rule;
  const FactorShardings &factors;
  llvm::ArrayRef<unsigned> guarded;
};

/// The numbers that an operand of integers may hold.
struct IntegerRange {
  int64_t end; ///< they are at least 0 and less than this
  /// Each row is ones and then zeros.
  bool isMask = false;
};

/// Says that one device can compute an operation for the positions [begin, end)
/// of a factor as the same operation on that part of the operands that carry
/// it.
struct PartForm {
  /// A factor, not shorter, of which position i of the other one reads those
  /// up to i plus what this one is longer, and counts them from the end: the
  /// part reads [0, end + that). A causal attention's keys.
  std::optional<unsigned> prefix;
};

/// Clone `op` with local operands and result types. Regions are cloned too;
/// `tp.shardings` is dropped.
llvm::SmallVector<mlir::Value> cloneLocal(mlir::Operation *op,
                                          mlir::OpBuilder &builder,
                                          mlir::ValueRange operands,
                                          mlir::TypeRange resultTypes);

} // namespace tp

#include "tp/Interfaces/ShardingInterface.h.inc"

#endif // TP_INTERFACES_SHARDINGINTERFACE_H

//===- Rewrite.h - What the passes on collectives share ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions (all_reduce and reduce_scatter alike), the operations that keep a
// partial sum one, and moving the first past the second with shardings and
// ledger kept right.
//
//===----------------------------------------------------------------------===//

#ifndef TP_COLLECTIVES_REWRITE_H
#define TP_COLLECTIVES_REWRITE_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Partition/Derive.h"

namespace tp {

/// One function of a per-rank program with what its values are.
struct PerRankFunction {
  mlir::Operation *function = nullptr;
  Mesh mesh;
  mlir::FlatSymbolRefAttr symbol;
  LocalStates states;

  const LocalState *getState(mlir::Value value) const {
    auto found = states.find(value);
    return found == states.end() ? nullptr : &found->second;
  }
  ShardingAttr getAttr(const TensorSharding &sharding) const;
};

/// Run `rewrite` on every function of `module`. Fails, after an error, if the
/// module is no valid per-rank program or the rewrite fails.
mlir::LogicalResult forEachFunction(
    mlir::ModuleOp module,
    llvm::function_ref<mlir::LogicalResult(PerRankFunction &)> rewrite);

/// A collective that finishes a partial sum; null otherwise.
CollectiveOpInterface getSumReduction(mlir::Value value);
/// Both finish the same sums in the same way: kind, axes, dimension.
bool areAlike(CollectiveOpInterface a, CollectiveOpInterface b);
AxisList getStepAxes(ReshardStepOpInterface op, const Mesh &mesh);

/// True if `op`, which follows `rule`, does the same to an element wherever the
/// element is: each element of its result comes from that at the same place of
/// its operands, and it reads neither its position nor an offset nor names a
/// size. Only such an operation may be moved past a change of place
/// (reduce_scatter, all_gather, all_to_all, slice, permute).
bool isPlaceless(mlir::Operation *op, const ShardingRule &rule);

/// True if `op` has one result, a rule, and is the same on a partial sum over
/// `axes` as on a whole value in the operands `partial`: it is linear in them,
/// and whatever else it adds is zero or among them. To be moved past a
/// reduce_scatter (`isScatter`), it must be placeless besides and have no other
/// tensors but buffers that it overwrites.
bool isLinearIn(mlir::Operation *op, llvm::ArrayRef<unsigned> partial,
                llvm::ArrayRef<AxisRef> axes, bool isScatter,
                const PerRankFunction &function);

/// Make `op`, whose operands `partial` are results of reductions like
/// `reduction`, work on their partial inputs, and reduce its result instead.
/// The reductions must have no other use; they are erased.
mlir::Operation *reduceAfter(mlir::Operation *op,
                             llvm::ArrayRef<unsigned> partial,
                             LedgerAttr ledger, PerRankFunction &function);

/// `entry` with the pass that changed it.
LedgerAttr withPass(LedgerAttr entry, llvm::StringRef pass);
/// One entry for two: the id of the first, both causes and annotations.
LedgerAttr joinEntries(LedgerAttr a, LedgerAttr b, llvm::StringRef pass);

/// Bytes of a tensor as one rank holds it.
int64_t getLocalBytes(mlir::Value value);

} // namespace tp

#endif // TP_COLLECTIVES_REWRITE_H

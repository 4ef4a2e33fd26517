//===- Steps.h - Building reshards in the per-rank program ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations that carry out a reshard plan, and the choice of what each of
// several targets of one value is made from. Used by tp-partition, by the
// passes of collectives, which plan again, and by the ledger's bound.
//
//===----------------------------------------------------------------------===//

#ifndef TP_PARTITION_STEPS_H
#define TP_PARTITION_STEPS_H

#include "mlir/IR/Builders.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Sharding/Reshard.h"

namespace tp {

/// The operation of `step` on a local value of global `shape` that has sharding
/// `from`. `entry` goes on collectives as it is; slices and the like have none.
mlir::Value buildStep(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, llvm::ArrayRef<int64_t> shape,
                      const TensorSharding &from, const ReshardStep &step,
                      const Mesh &mesh, mlir::FlatSymbolRefAttr meshSymbol,
                      LedgerAttr entry);

/// The source of each of `targets`: another target or (none) the value itself,
/// so that the fewest elements are received in all, then with the fewest calls:
/// over all orders in which they can be served (all are tried for up to five
/// targets).
llvm::SmallVector<std::optional<unsigned>>
planReshardTree(llvm::ArrayRef<int64_t> shape, const TensorSharding &have,
                llvm::ArrayRef<TensorSharding> targets, const Mesh &mesh);

} // namespace tp

#endif // TP_PARTITION_STEPS_H

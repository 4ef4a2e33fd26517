//===- Weights.h - Parameters, and states that are weights ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A weight is a tp.parameter or, where it changes from step to step, a tp.state
// that begins with one. Plans say how one tensor of the checkpoint is cut; a
// state may be a stack of them, one for each layer, which is whole in that
// dimension.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_ANNOTATE_WEIGHTS_H
#define TP_LIB_ANNOTATE_WEIGHTS_H

#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

/// The state whose value, or layer, `value` is; null if it is none.
StateOp findState(mlir::Value value);
/// The weight that `value` is; null if it is none.
mlir::Operation *findWeight(mlir::Value value);

/// The type of the weight, of a stack's that of one layer.
mlir::RankedTensorType getWeightType(mlir::Operation *weight);

/// The operation that the parameter `weight` is a part of a quantised weight
/// for; null if it is none.
nn::DequantizeOp getDequantize(mlir::Operation *weight);

/// How one tensor of a weight is cut; null if nothing is said of it.
ShardingAttr getWeightSharding(mlir::Operation *weight);
void setWeightSharding(mlir::Operation *weight, ShardingAttr sharding);

/// States of `module` that a training step keeps beside its weights.
llvm::SmallVector<StateOp> getTrainingStates(mlir::ModuleOp module);
/// Cut what a training step keeps of a weight as the weight is, unless it says
/// otherwise itself, and what its optimizer keeps along one more axis, if the
/// step asks for that: the first dimension that this divides, else the first
/// that has elements enough, else none. An error if the mesh has no such axis.
mlir::LogicalResult shardTrainingStates(mlir::ModuleOp module, MeshOp mesh);

} // namespace tp

#endif // TP_LIB_ANNOTATE_WEIGHTS_H

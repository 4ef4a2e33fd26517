//===- InferWeights.cpp - Weights of a training step that nobody cut ------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter without an annotation follows from what is around it. One that
// training made a state cannot, for it has to be the same in all functions. So
// the loss alone is propagated once, on a copy in which such weights are plain
// arguments, and what they become there is what the states are.
//
//===----------------------------------------------------------------------===//

#include "Propagation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;

/// The function that computes the loss alone; null if there is none.
static func::FuncOp findLoss(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (function.getResultAttr(i, TPDialect::getLossAttrName()))
        return function;
  return {};
}

/// The weights of `training` of which nothing is said.
static SmallVector<DictionaryAttr> findOpenWeights(ModuleOp module,
                                                   DictionaryAttr training) {
  SmallVector<DictionaryAttr> open;
  auto weights = training ? training.getAs<ArrayAttr>("weights") : ArrayAttr();
  if (!weights)
    return open;
  for (auto fields : weights.getAsRange<DictionaryAttr>())
    if (!lookupState(module, fields.getAs<FlatSymbolRefAttr>("weight"))
             .getShardingAttr())
      open.push_back(fields);
  return open;
}

/// A weight is cut, never partial, and its layers are whole.
static ShardingAttr asWeight(StateOp state, ShardingAttr sharding) {
  SmallVector<DimShardingAttr> dims(sharding.getDims());
  if (state.isStack())
    dims.front() = DimShardingAttr::get(sharding.getContext(), {}, 1,
                                        /*isOpen=*/false);
  return ShardingAttr::get(sharding.getContext(), sharding.getMesh(), dims, {},
                           ReductionKind::Sum);
}

LogicalResult tp::inferWeights(ModuleOp module, MeshOp mesh) {
  SmallVector<DictionaryAttr> open = findOpenWeights(
      module,
      module->getAttrOfType<DictionaryAttr>(TPDialect::getTrainingAttrName()));
  if (open.empty())
    return success();
  OwningOpRef<ModuleOp> copy = module.clone();
  func::FuncOp loss = findLoss(*copy);
  if (!loss)
    return success();
  for (auto function : llvm::make_early_inc_range(copy->getOps<func::FuncOp>()))
    if (function != loss)
      function.erase();
  llvm::SmallSetVector<Attribute, 8> symbols;
  for (DictionaryAttr fields : open)
    symbols.insert(fields.get("weight"));
  llvm::SmallDenseMap<Attribute, unsigned> arguments;
  for (unsigned i = 0; i < loss.getNumArguments(); ++i)
    if (FlatSymbolRefAttr symbol = getArgState(loss, i);
        symbol && symbols.contains(symbol)) {
      arguments[symbol] = i;
      loss.removeArgAttr(i, TPDialect::getStateAttrName());
    }
  MeshOp copiedMesh = getUniqueMesh(*copy);
  Propagation propagation(copiedMesh);
  if (failed(propagate(propagation, *copy, copiedMesh)))
    return failure();
  for (DictionaryAttr fields : open) {
    auto found = arguments.find(fields.get("weight"));
    if (found == arguments.end())
      continue;
    ShardingAttr sharding = getSharding(loss.getArgument(found->second));
    for (NamedAttribute field : fields)
      if (auto symbol = dyn_cast<FlatSymbolRefAttr>(field.getValue()))
        if (StateOp state = lookupState(module, symbol);
            !state.getShardingAttr())
          state.setShardingAttr(asWeight(state, sharding));
  }
  return success();
}

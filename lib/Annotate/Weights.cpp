//===- Weights.cpp - Parameters, and states that are weights --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Weights.h.
//
//===----------------------------------------------------------------------===//

#include "Weights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Import/ModelAttributes.h"

using namespace mlir;
using namespace tp;

StateOp tp::findState(Value value) {
  auto argument = dyn_cast_or_null<BlockArgument>(value);
  while (argument) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto function = dyn_cast<func::FuncOp>(parent)) {
      FlatSymbolRefAttr symbol = getArgState(function, argument.getArgNumber());
      return symbol ? lookupState(function, symbol) : StateOp();
    }
    auto repeat = dyn_cast<RepeatOp>(parent);
    if (!repeat || !llvm::is_contained(repeat.getStackedArgs(), argument))
      return {};
    unsigned index =
        argument.getArgNumber() - 1 - unsigned(repeat.getInits().size());
    argument = dyn_cast<BlockArgument>(repeat.getStacked()[index]);
  }
  return {};
}

Operation *tp::findWeight(Value value) {
  if (!value)
    return nullptr;
  if (auto parameter = value.getDefiningOp<ParameterOp>())
    return parameter;
  StateOp state = findState(value);
  return state && state.getParameter() ? state.getOperation() : nullptr;
}

static ShardingAttr withDims(ShardingAttr sharding,
                             ArrayRef<DimShardingAttr> dims) {
  return ShardingAttr::get(sharding.getContext(), sharding.getMesh(), dims,
                           sharding.getPartial(), sharding.getReduction());
}

ShardingAttr tp::getWeightSharding(Operation *weight) {
  if (!weight)
    return {};
  if (auto parameter = dyn_cast<ParameterOp>(weight))
    return getSharding(parameter.getResult());
  auto state = cast<StateOp>(weight);
  ShardingAttr sharding = state.getShardingAttr();
  if (!sharding || !state.isStack())
    return sharding;
  return withDims(sharding, sharding.getDims().drop_front());
}

void tp::setWeightSharding(Operation *weight, ShardingAttr sharding) {
  if (auto parameter = dyn_cast<ParameterOp>(weight))
    return setSharding(parameter.getResult(), sharding);
  auto state = cast<StateOp>(weight);
  SmallVector<DimShardingAttr> dims(sharding.getDims());
  if (state.isStack())
    dims.insert(dims.begin(), DimShardingAttr::get(sharding.getContext(), {}, 1,
                                                   /*isOpen=*/false));
  state.setShardingAttr(withDims(sharding, dims));
}

/// Visit each weight of a training step with the states that belong to it.
static void
forEachWeight(ModuleOp module,
              llvm::function_ref<void(StateOp weight, StateOp state)> visit) {
  auto training =
      module->getAttrOfType<DictionaryAttr>(TPDialect::getTrainingAttrName());
  auto weights = training ? training.getAs<ArrayAttr>("weights") : ArrayAttr();
  if (!weights)
    return;
  for (auto fields : weights.getAsRange<DictionaryAttr>()) {
    StateOp weight =
        lookupState(module, fields.getAs<FlatSymbolRefAttr>("weight"));
    for (NamedAttribute field : fields)
      if (auto symbol = dyn_cast<FlatSymbolRefAttr>(field.getValue());
          symbol && field.getName() != "weight")
        visit(weight, lookupState(module, symbol));
  }
}

SmallVector<StateOp> tp::getTrainingStates(ModuleOp module) {
  SmallVector<StateOp> states;
  forEachWeight(module,
                [&](StateOp, StateOp state) { states.push_back(state); });
  return states;
}

void tp::shardTrainingStates(ModuleOp module) {
  forEachWeight(module, [](StateOp weight, StateOp state) {
    if (!state.getShardingAttr())
      if (ShardingAttr sharding = weight.getShardingAttr())
        state.setShardingAttr(sharding);
  });
}

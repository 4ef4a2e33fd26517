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
#include "tp/Dialect/TP/IR/ModelAttributes.h"

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
  if (auto quantized = value.getDefiningOp<nn::DequantizeOp>())
    return findWeight(quantized.getValues());
  if (auto parameter = value.getDefiningOp<ParameterOp>())
    return parameter;
  StateOp state = findState(value);
  return state && state.getParameter() ? state.getOperation() : nullptr;
}

RankedTensorType tp::getWeightType(Operation *weight) {
  if (auto parameter = dyn_cast<ParameterOp>(weight))
    return cast<RankedTensorType>(parameter.getType());
  return cast<StateOp>(weight).getParameterType();
}

nn::DequantizeOp tp::getDequantize(Operation *weight) {
  if (!isa<ParameterOp>(weight) || weight->use_empty())
    return {};
  return dyn_cast<nn::DequantizeOp>(*weight->user_begin());
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
static void forEachWeight(
    ModuleOp module,
    llvm::function_ref<void(StateOp weight, StringRef role, StateOp state)>
        visit) {
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
        visit(weight, field.getName(), lookupState(module, symbol));
  }
}

SmallVector<StateOp> tp::getTrainingStates(ModuleOp module) {
  SmallVector<StateOp> states;
  forEachWeight(module, [&](StateOp, StringRef, StateOp state) {
    states.push_back(state);
  });
  return states;
}

/// `sharding` with `axis` on one dimension more; as it is, if none takes it or
/// one has it.
static TensorSharding cutFurther(TensorSharding sharding, AxisRef axis,
                                 ArrayRef<int64_t> shape, unsigned firstDim) {
  for (const DimSharding &dim : sharding.dims)
    if (llvm::any_of(dim.axes, [&](AxisRef old) { return old.overlaps(axis); }))
      return sharding;
  std::optional<unsigned> best;
  for (unsigned d = firstDim; d < shape.size(); ++d) {
    const DimSharding &dim = sharding.dims[d];
    int64_t shards = getShardCount(dim.axes) * axis.size;
    // Blocks of several elements stay in one place.
    if (dim.grain != 1 || dim.hasBlocks() || shape[d] < shards)
      continue;
    bool divides = shape[d] % shards == 0;
    if (!best || divides)
      best = d;
    if (divides)
      break;
  }
  if (best)
    sharding.dims[*best].axes.push_back(axis);
  return sharding;
}

/// A function that reads `gradient` beside one of `kept`, which is the update,
/// works on the gradient cut as `sharding` says.
static void constrainUpdates(ModuleOp module, StateOp gradient,
                             const llvm::SmallDenseSet<Attribute> &kept,
                             ShardingAttr sharding) {
  auto symbol = FlatSymbolRefAttr::get(gradient.getSymNameAttr());
  for (auto function : module.getOps<func::FuncOp>()) {
    auto arguments = function.getArguments();
    auto stateOf = [&](BlockArgument argument) {
      return getArgState(function, argument.getArgNumber());
    };
    if (llvm::none_of(arguments, [&](BlockArgument argument) {
          return kept.contains(stateOf(argument));
        }))
      continue;
    for (BlockArgument argument : arguments) {
      if (stateOf(argument) != symbol)
        continue;
      OpBuilder builder = OpBuilder::atBlockBegin(argument.getOwner());
      auto part = ShardingConstraintOp::create(
          builder, gradient.getLoc(), argument.getType(), argument, sharding);
      argument.replaceAllUsesExcept(part, part);
    }
  }
}

LogicalResult tp::shardTrainingStates(ModuleOp module, MeshOp meshOp) {
  Mesh mesh = meshOp.getMesh().toMesh();
  auto training =
      module->getAttrOfType<DictionaryAttr>(TPDialect::getTrainingAttrName());
  auto further = training ? training.getAs<StringAttr>(shardOptimizerAttrName)
                          : StringAttr();
  std::optional<AxisRef> axis;
  if (further) {
    std::optional<unsigned> found = mesh.findAxis(further.getValue());
    if (!found)
      return meshOp.emitError()
             << "expected an axis \"" << further.getValue()
             << "\", over which the optimizer's states are to be divided "
                "(--shard-optimizer "
             << further.getValue() << "), got " << meshOp.getMesh();
    axis = AxisRef{*found, 1, mesh.getAxis(*found).size};
  }
  llvm::SmallDenseSet<Attribute> kept;
  llvm::SmallDenseMap<StringAttr, ShardingAttr> divided;
  forEachWeight(module, [&](StateOp weight, StringRef role, StateOp state) {
    bool isKept = role != "gradient";
    if (isKept)
      kept.insert(FlatSymbolRefAttr::get(state.getSymNameAttr()));
    if (state.getShardingAttr())
      return;
    ShardingAttr sharding = weight.getShardingAttr();
    auto type = cast<RankedTensorType>(state.getType());
    if (axis && axis->size > 1 && isKept) {
      TensorSharding old = sharding
                               ? sharding.toSharding(mesh)
                               : TensorSharding::replicated(type.getRank());
      sharding = ShardingAttr::get(
          module.getContext(), FlatSymbolRefAttr::get(meshOp.getSymNameAttr()),
          mesh, cutFurther(old, *axis, type.getShape(), weight.isStack()));
      divided[weight.getSymNameAttr()] = sharding;
    }
    if (sharding)
      state.setShardingAttr(sharding);
  });
  if (axis && kept.empty())
    return module.emitError()
           << "expected an optimizer that keeps something of each weight, for "
              "its states are to be divided (--shard-optimizer "
           << further.getValue()
           << "): adamw, or sgd with --momentum, or masters of 16-bit weights";
  // The update computes with its part of the gradient.
  forEachWeight(module, [&](StateOp weight, StringRef role, StateOp state) {
    ShardingAttr sharding = divided.lookup(weight.getSymNameAttr());
    if (role == "gradient" && sharding)
      constrainUpdates(module, state, kept, sharding);
  });
  // The states say it now.
  if (further) {
    NamedAttrList fields(training);
    fields.erase(shardOptimizerAttrName);
    module->setAttr(TPDialect::getTrainingAttrName(),
                    fields.getDictionary(module.getContext()));
  }
  return success();
}

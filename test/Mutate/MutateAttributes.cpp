//===- MutateAttributes.cpp - Shardings, types and rules changed ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes of what is written on the program beside its operations: the
// verifiers derive most of it again and take the rest (parameters, arguments)
// as given.
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "tp/Rules/Rules.h"

using namespace mlir;

namespace tp::mutate {

static AxisList changeAxesOnce(ArrayRef<AxisRef> axes, const Mesh &mesh,
                               Chance &chance) {
  AxisList changed(axes);
  AxisRef some = mesh.getWhole(chance.below(mesh.getNumAxes()));
  // The major or the minor part of an axis that can be cut.
  for (int64_t part = 2; part < some.size; ++part)
    if (some.size % part == 0 && chance.half()) {
      some = chance.half() ? AxisRef{some.axis, 1, part}
                           : AxisRef{some.axis, part, some.size / part};
      break;
    }
  switch (chance.below(4)) {
  case 0:
    if (!changed.empty()) {
      changed.erase(changed.begin() + chance.below(changed.size()));
      break;
    }
    [[fallthrough]];
  case 1:
    changed.push_back(some);
    break;
  case 2:
    if (changed.size() > 1) {
      std::swap(changed.front(), changed.back());
      break;
    }
    [[fallthrough]];
  default:
    if (changed.empty())
      changed.push_back(some);
    else
      changed[chance.below(changed.size())] = some;
  }
  return changed;
}

AxisList changeAxes(ArrayRef<AxisRef> axes, const Mesh &mesh, Chance &chance) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    AxisList changed = changeAxesOnce(axes, mesh, chance);
    if (canonicalize(changed) != canonicalize(axes))
      return changed;
  }
  return AxisList(axes);
}

static TensorSharding changeOnce(TensorSharding sharding, const Mesh &mesh,
                                 Chance &chance) {
  int64_t rank = sharding.getRank();
  if (rank == 0 || chance.below(4) == 0) {
    if (sharding.isPartial() && chance.half())
      sharding.reduction = sharding.reduction == ReductionKind::Sum
                               ? ReductionKind::Max
                               : ReductionKind::Sum;
    else
      sharding.partial = changeAxes(sharding.partial, mesh, chance);
    return sharding;
  }
  DimSharding &dim = sharding.dims[chance.below(rank)];
  DimSharding &other = sharding.dims[chance.below(rank)];
  if (chance.half() && dim.axes != other.axes)
    std::swap(dim.axes, other.axes);
  else
    dim.axes = changeAxes(dim.axes, mesh, chance);
  return sharding;
}

ShardingAttr changeSharding(ShardingAttr old, const Mesh &mesh,
                            Chance &chance) {
  TensorSharding sharding = old.toSharding(mesh);
  for (int attempt = 0; attempt < 8; ++attempt) {
    TensorSharding changed = changeOnce(sharding, mesh, chance);
    // The attribute itself refuses an axis that is used twice.
    SmallVector<int64_t> large(changed.getRank(), 1 << 20);
    for (DimSharding &dim : changed.dims)
      dim.grain = 1;
    if (changed != sharding && verifySharding(large, changed, mesh).empty())
      return ShardingAttr::get(old.getContext(), old.getMesh(), mesh, changed);
  }
  return ShardingAttr();
}

std::string describe(Operation *op) {
  if (!op)
    return "an argument";
  std::string text = op->getName().getStringRef().str();
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (LedgerAttr ledger = collective ? collective.getLedgerEntry() : nullptr)
    text += " " + std::to_string(ledger.getId());
  return text;
}

namespace {

SmallVector<Operation *> findOps(ModuleOp module,
                                 function_ref<bool(Operation *)> wanted) {
  SmallVector<Operation *> ops;
  module->walk([&](Operation *op) {
    if (wanted(op))
      ops.push_back(op);
  });
  return ops;
}

/// Changes what is written on the result of an operation that computes.
std::string changeResult(ModuleOp module, const Mesh &mesh, Chance &chance) {
  SmallVector<Operation *> ops = findOps(module, [](Operation *op) {
    return op->hasAttr(TPDialect::getShardingsAttrName()) &&
           !isa<ParameterOp>(op);
  });
  if (ops.empty())
    return "";
  Operation *op = chance.pick(ops);
  Value result = op->getResult(chance.below(op->getNumResults()));
  ShardingAttr old = getSharding(result);
  ShardingAttr changed = old ? changeSharding(old, mesh, chance) : old;
  if (!changed)
    return "";
  setSharding(result, changed);
  return describe(op);
}

/// Changes the sharding by which the loader or the caller cuts.
std::string changeSource(ModuleOp module, const Mesh &mesh, Chance &chance) {
  SmallVector<Value> values;
  module->walk([&](Operation *op) {
    if (auto function = dyn_cast<func::FuncOp>(op))
      for (BlockArgument arg : function.getArguments())
        values.push_back(arg);
    if (isa<ParameterOp>(op))
      values.push_back(op->getResult(0));
  });
  llvm::erase_if(values, [](Value value) {
    return !getSharding(value) || value.use_empty();
  });
  if (values.empty())
    return "";
  Value value = chance.pick(values);
  ShardingAttr changed = changeSharding(getSharding(value), mesh, chance);
  if (!changed)
    return "";
  std::string what = describe(value.getDefiningOp()) + " from " +
                     toString(getSharding(value).toSharding(mesh), mesh) +
                     " to " + toString(changed.toSharding(mesh), mesh);
  setSharding(value, changed);
  return what;
}

std::string changeFunctionResult(ModuleOp module, const Mesh &mesh,
                                 Chance &chance) {
  auto function = *module.getOps<func::FuncOp>().begin();
  unsigned index = chance.below(function.getNumResults());
  ShardingAttr old = getResultSharding(function, index);
  ShardingAttr changed = old ? changeSharding(old, mesh, chance) : old;
  if (!changed)
    return "";
  function.setResultAttr(index, TPDialect::getShardingAttrName(), changed);
  return "result " + std::to_string(index);
}

std::string changeGlobalType(ModuleOp module, const Mesh &, Chance &chance) {
  StringRef name = TPDialect::getGlobalTypeAttrName();
  auto grow = [&](Attribute attr) -> Attribute {
    auto type = cast<RankedTensorType>(cast<TypeAttr>(attr).getValue());
    if (type.getRank() == 0)
      return {};
    SmallVector<int64_t> shape(type.getShape());
    shape[chance.below(shape.size())] += chance.half() ? 1 : -1;
    if (llvm::is_contained(shape, 0))
      return {};
    return TypeAttr::get(type.clone(shape));
  };
  SmallVector<Operation *> parameters =
      findOps(module, [&](Operation *op) { return op->hasAttr(name); });
  if (!parameters.empty() && chance.half()) {
    Operation *op = chance.pick(parameters);
    Attribute type = grow(op->getAttr(name));
    if (!type)
      return "";
    op->setAttr(name, type);
    return describe(op);
  }
  auto function = *module.getOps<func::FuncOp>().begin();
  if (function.getNumArguments() == 0)
    return "";
  unsigned index = chance.below(function.getNumArguments());
  if (function.getArgument(index).use_empty())
    return "";
  Attribute old = function.getArgAttr(index, name);
  Attribute type = old ? grow(old) : Attribute();
  if (!type)
    return "";
  function.setArgAttr(index, name, type);
  return "argument " + std::to_string(index);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Apply `change` to the rule of some operation.
std::string
withRule(ModuleOp module, Chance &chance,
         llvm::function_ref<bool(Operation *, ShardingRule &)> change) {
  SmallVector<Operation *> ops = findOps(module, [](Operation *op) {
    return op->hasAttr(TPDialect::getRuleAttrName());
  });
  if (ops.empty())
    return "";
  Operation *op = chance.pick(ops);
  StringRef name = TPDialect::getRuleAttrName();
  ShardingRule rule = op->getAttrOfType<RuleAttr>(name).toRule();
  std::string what = describe(op) + " from " + toString(rule);
  if (!change(op, rule))
    return "";
  op->setAttr(name, RuleAttr::get(op->getContext(), rule));
  return what + " to " + toString(rule);
}

std::string changeLinearity(ModuleOp module, const Mesh &, Chance &chance) {
  return withRule(module, chance, [&](Operation *op, ShardingRule &rule) {
    SmallVector<unsigned> tensors;
    for (unsigned i = 0; i < rule.linearity.size(); ++i)
      if (isa<RankedTensorType>(op->getOperand(i).getType()))
        tensors.push_back(i);
    if (tensors.empty())
      return false;
    Linearity &linearity = rule.linearity[chance.pick(tensors)];
    linearity = Linearity((int(linearity) + 1 + chance.below(3)) % 4);
    return true;
  });
}

std::string changeFactor(ModuleOp module, const Mesh &, Chance &chance) {
  return withRule(module, chance, [&](Operation *, ShardingRule &rule) {
    if (rule.factors.empty())
      return false;
    Factor &factor = rule.factors[chance.below(rule.factors.size())];
    switch (chance.below(4)) {
    case 0:
      factor.kind = FactorKind((int(factor.kind) + 1 + chance.below(2)) % 3);
      return true;
    case 1:
      factor.size += chance.half() ? 1 : factor.size;
      return true;
    case 2:
      factor.readsIndex = !factor.readsIndex;
      return true;
    default:
      factor.reduction = ReductionKind((int(factor.reduction) + 1) % 3);
      return factor.kind == FactorKind::Reduction;
    }
  });
}

std::string changeMap(ModuleOp module, const Mesh &, Chance &chance) {
  return withRule(module, chance, [&](Operation *, ShardingRule &rule) {
    bool ofOperand = chance.half() && !rule.operands.empty();
    TensorFactors &tensor =
        ofOperand ? rule.operands[chance.below(rule.operands.size())]
                  : rule.results[chance.below(rule.results.size())];
    if (tensor.dims.size() < 2)
      return false;
    unsigned first = chance.below(tensor.dims.size());
    unsigned second = chance.below(tensor.dims.size());
    bool differ = tensor.dims[first] != tensor.dims[second];
    std::swap(tensor.dims[first], tensor.dims[second]);
    return differ;
  });
}

std::string dropRule(ModuleOp module, const Mesh &, Chance &chance) {
  SmallVector<Operation *> ops = findOps(module, [](Operation *op) {
    return op->hasAttr(TPDialect::getRuleAttrName());
  });
  if (ops.empty())
    return "";
  Operation *op = chance.pick(ops);
  op->removeAttr(TPDialect::getRuleAttrName());
  return describe(op);
}

constexpr StringLiteral sameWords =
    "the same layout in other words: axes of size one, a cut of a dimension of "
    "size one";
constexpr StringLiteral less =
    "a rule that claims less than the operation may (an index where nothing is "
    "cut, no rule where all ranks hold the same), or of factors of size one "
    "and "
    "buffers that are not read";

} // namespace

ArrayRef<Mutation> getAttributeMutations() {
  static const Mutation mutations[] = {
      {"result-sharding", changeResult, sameWords},
      {"source-sharding", changeSource, sameWords},
      {"function-result-sharding", changeFunctionResult, sameWords},
      {"global-type", changeGlobalType, "a parameter that nothing reads"},
      {"rule-linearity", changeLinearity, less},
      {"rule-factor", changeFactor, less},
      {"rule-map", changeMap, less},
      {"rule-missing", dropRule, less},
  };
  return mutations;
}

} // namespace tp::mutate

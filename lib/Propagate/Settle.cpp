//===- Settle.cpp - Every value's final sharding, partial sums included ---===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After the fixpoint a value's sharding is a wish: two wishes may meet in one
// operation. In program order, each operation is given its final cut, and its
// results exactly the sharding that this cut gives them. So everything that
// does not fit shows at a use, where partition puts the reshard.
//
// Partial sums. A cut reduction factor makes the results partial. A partial
// operand stays so through a linear operation (delayed: nothing is reduced
// until something needs it) if that moves no more bytes later than now and no
// other use needs the sum anyway; through an addition if all addends are
// partial. Otherwise the operation needs the sum, and takes the layout that the
// other operands have: the sum becomes a reduce-scatter there if that layout is
// split, an all-reduce if it is replicated. Arguments and results of functions
// are partial only where they carry a tp.state that is, and the successor of
// one stays so wherever it can, layer by layer if tp.repeat stacks it; values
// that tp.repeat carries, where layers only add to them (Accumulate.cpp).
//
// Example: x + linear(h [k {"tp"}], w [n, k {"tp"}]) with x split along s: the
// linear layer's result is partial, the sum is split along s like x.
//
//===----------------------------------------------------------------------===//

#include "Propagation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tp/Resolve/Resolve.h"

using namespace mlir;
using namespace tp;

/// Bytes of a value on one rank.
static int64_t getBytes(const ValueState &value) {
  int64_t count = value.elementBytes;
  for (int64_t size : value.shape)
    count *= size;
  return count;
}

AxisList Propagation::getPassedAxes(const Node &node,
                                    const FactorShardings &factors) const {
  const ShardingRule &rule = node.rule;
  // Axes that cut any operand are no candidates: the partial operand then
  // becomes split like the other one.
  AxisList taken = getPartialAxes(rule, factors);
  taken.append(getOwnPartialAxes(rule, factors));
  AxisList candidates;
  for (int index : node.operands) {
    if (index < 0)
      continue;
    for (const DimSharding &dim : states[index].sharding.dims)
      taken.append(dim.axes);
    if (states[index].sharding.isPartial() &&
        states[index].sharding.reduction == ReductionKind::Sum)
      candidates.append(
          subtractAxes(states[index].sharding.partial, candidates));
  }
  llvm::sort(candidates);
  candidates = canonicalize(subtractAxes(candidates, taken));
  for (auto [f, factor] : llvm::enumerate(rule.factors))
    if (factor.kind == FactorKind::Reduction && !factors.axes[f].empty() &&
        factor.reduction != ReductionKind::Sum)
      return {};

  int64_t resultBytes = 0;
  AxisList kept;
  for (int index : node.results)
    if (index >= 0) {
      resultBytes += ::getBytes(states[index]);
      kept.append(states[index].keptPartial);
    }

  AxisList passed;
  for (const AxisRef &axis : candidates) {
    bool isKept = containsAxes(kept, {axis});
    bool carried = false, allAdditive = true, anyAdditive = false;
    bool lastUse = false, hasMultilinear = false;
    for (auto [i, index] : llvm::enumerate(node.operands)) {
      if (index < 0)
        continue;
      const ValueState &value = states[index];
      bool isPartial = containsAxes(value.sharding.partial, {axis});
      bool single = value.users.size() == 1;
      switch (rule.linearity[i]) {
      case Linearity::Multilinear:
        hasMultilinear = true;
        carried |= isPartial &&
                   (isKept || (single && resultBytes <= ::getBytes(value)));
        break;
      case Linearity::Additive:
        anyAdditive = true;
        // An addend of a kept sum is the first rank's.
        allAdditive &= isPartial || isKept;
        lastUse |= isPartial && (single || isKept);
        break;
      case Linearity::None:
      case Linearity::Initial:
        break;
      }
    }
    if (carried || (!hasMultilinear && anyAdditive && allAdditive && lastUse))
      passed.push_back(axis);
  }
  return passed;
}

void Propagation::settleNode(int index) {
  Node &node = nodes[index];
  const ShardingRule &rule = node.rule;
  SmallVector<FactorWish, 4> wishes = collectWishes(node, numPriorities - 1);
  FactorShardings cut = getCut(node, wishes);
  AxisList passed = getPassedAxes(node, cut);
  for (AxisList &axes : cut.axes)
    axes = restrictToAvailable(axes, passed);

  SmallVector<TensorSharding, 2> operands, results;
  SmallVector<SmallVector<int64_t>> operandShapes, resultShapes;
  for (int state : node.operands) {
    operands.push_back(state < 0 ? TensorSharding() : states[state].sharding);
    operandShapes.push_back(state < 0 ? SmallVector<int64_t>()
                                      : states[state].shape);
  }
  for (int state : node.results)
    resultShapes.push_back(state < 0 ? SmallVector<int64_t>()
                                     : states[state].shape);
  makeExpressible(rule, operandShapes, resultShapes, cut);
  AxisList partial = getPartialAxes(rule, cut);
  partial.append(passed);
  llvm::sort(partial);
  partial = canonicalize(partial);
  ReductionKind kind = ReductionKind::Sum;
  for (auto [factor, axes] : llvm::zip_equal(rule.factors, cut.axes))
    if (factor.kind == FactorKind::Reduction && !axes.empty())
      kind = factor.reduction;
  for (auto [i, shape] : llvm::enumerate(resultShapes)) {
    TensorSharding sharding =
        *projectToTensor(rule, rule.results[i], shape, cut);
    sharding.partial = partial;
    sharding.partial.append(getOwnPartialAxes(rule, cut, i));
    llvm::sort(sharding.partial);
    sharding.reduction = kind;
    sharding.normalize(shape);
    results.push_back(std::move(sharding));
  }
  // Partition must derive from the shardings alone what is written; a second
  // look settles the rare cut that cannot be told apart.
  for (unsigned attempt = 0; attempt < 4; ++attempt) {
    ResolvedOp resolved =
        resolveFactors(rule, operands, results, operandShapes, resultShapes);
    bool same = true;
    for (auto [i, shape] : llvm::enumerate(resultShapes)) {
      TensorSharding made = getProducedSharding(rule, i, resolved, shape);
      same &= made.sameLayout(results[i]);
      results[i] = std::move(made);
    }
    cut = resolved.factors;
    if (same)
      break;
  }
  node.factors = cut;

  for (auto [i, state] : llvm::enumerate(node.results))
    if (state >= 0)
      states[state].sharding = results[i];
  setReasons(index, wishes);
}

/// Reasons: of dimensions through this node, of partial axes from the factor
/// reduced here or from the operand that they passed through.
void Propagation::setReasons(int index, ArrayRef<FactorWish> wishes) {
  const Node &node = nodes[index];
  const ShardingRule &rule = node.rule;
  const FactorShardings &cut = node.factors;
  auto reasonOf = [&](unsigned f, unsigned axis) {
    AxisReason reason{axis, -1, index, static_cast<int>(f)};
    if (wishes[f].state >= 0)
      if (const AxisReason *source =
              findReason(wishes[f].state, wishes[f].dim, axis))
        reason.seed = source->seed;
    return reason;
  };
  auto setPartial = [&](ValueState &value) {
    value.partialReasons.clear();
    for (const AxisRef &axis : value.sharding.partial) {
      std::optional<AxisReason> reason;
      for (auto [f, axes] : llvm::enumerate(cut.axes))
        if (isReduced(rule, f) && overlap(axes, axis))
          reason = reasonOf(f, axis.axis);
      for (int state : node.operands)
        if (!reason && state >= 0)
          for (const AxisReason &source : states[state].partialReasons)
            if (source.axis == axis.axis)
              reason = source;
      if (reason)
        value.partialReasons.push_back(*reason);
    }
  };
  for (auto [i, state] : llvm::enumerate(node.results)) {
    if (state < 0)
      continue;
    ValueState &value = states[state];
    SmallVector<SmallVector<AxisReason, 1>, 4> dimReasons(value.shape.size());
    for (auto [d, dim] : llvm::enumerate(value.sharding.dims))
      for (const AxisRef &axis : dim.axes)
        for (unsigned f : rule.results[i].dims[d])
          if (overlap(cut.axes[f], axis)) {
            dimReasons[d].push_back(reasonOf(f, axis.axis));
            break;
          }
    value.dimReasons = std::move(dimReasons);
    setPartial(value);
  }
}

int64_t Propagation::getRankDifference(const Node &node) const {
  return states[node.results[0]].sharding.getRank() -
         states[node.operands[0]].sharding.getRank();
}

void Propagation::settleLayers(const Node &node) {
  int64_t difference = getRankDifference(node);
  ValueState &from = states[node.operands[0]], &to = states[node.results[0]];
  if (difference == 0)
    return;
  // A layer of a partial stack, or the stack of which one is a layer. What the
  // stack's readers cut by an axis cannot be partial over it too; a layer is
  // partial as its stack is, whatever its readers asked for.
  AxisList partial = from.sharding.partial;
  if (difference > 0) {
    partial = to.keptPartial;
    if (partial.empty() || !containsAxes(from.sharding.partial, partial) ||
        llvm::any_of(to.sharding.dims, [&](const DimSharding &dim) {
          return overlap(dim.axes, partial);
        }))
      return;
  }
  for (DimSharding &dim : to.sharding.dims)
    dim.axes.erase(llvm::find_if(dim.axes,
                                 [&](const AxisRef &axis) {
                                   return overlap({axis}, partial);
                                 }),
                   dim.axes.end());
  to.sharding.partial = partial;
  to.sharding.reduction = from.sharding.reduction;
  to.sharding.normalize(to.shape);
}

/// Mark what the successors of partial states and carried values are made of by
/// linear operations.
void Propagation::keepStatesPartial() {
  for (const Node &node : llvm::reverse(nodes)) {
    int64_t difference = node.isTie ? getRankDifference(node) : 0;
    if (difference < 0)
      continue;
    // Returned states and carried values are what they are.
    bool isFixed = node.isTie && difference == 0;
    AxisList kept;
    for (int index : node.results)
      if (index >= 0)
        kept.append(isFixed ? states[index].sharding.partial
                            : states[index].keptPartial);
    for (auto [index, linearity] :
         llvm::zip_equal(node.operands, node.rule.linearity))
      if (index >= 0 && (node.isTie || linearity == Linearity::Multilinear ||
                         linearity == Linearity::Additive)) {
        AxisList &old = states[index].keptPartial;
        old.append(subtractAxes(kept, old));
      }
  }
}

void Propagation::settleAll() {
  keepStatesPartial();
  for (unsigned i = 0; i < nodes.size(); ++i)
    if (!nodes[i].isTie)
      settleNode(i);
    else
      settleLayers(nodes[i]);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string Propagation::describe(const AxisReason &reason,
                                  bool partial) const {
  if (reason.node < 0)
    return "";
  const Node &node = nodes[reason.node];
  std::string text = node.op->getName().getStringRef().str();
  if (reason.factor >= 0) {
    StringRef name = node.rule.factors[reason.factor].name;
    text += " over " + (name.empty() ? "factor " + std::to_string(reason.factor)
                                     : name.str());
  }
  std::string where = toString(node.op->getLoc());
  if (!where.empty())
    text += " at " + where;
  return text;
}

SmallVector<Because> Propagation::explain(int state) const {
  SmallVector<Because> entries;
  const ValueState &value = states[state];
  auto add = [&](const AxisReason &reason, std::optional<unsigned> dim) {
    entries.push_back({mesh.getAxis(reason.axis).name, dim,
                       reason.seed < 0 ? "" : seeds[reason.seed].text,
                       describe(reason, !dim)});
  };
  for (auto [d, dim] : llvm::enumerate(value.sharding.dims)) {
    llvm::SmallDenseSet<unsigned> seen;
    for (const AxisRef &axis : dim.axes)
      if (seen.insert(axis.axis).second)
        if (const AxisReason *reason = findReason(state, d, axis.axis))
          add(*reason, d);
  }
  for (const AxisReason &reason : value.partialReasons)
    add(reason, std::nullopt);
  return entries;
}

void Propagation::write(ModuleOp module) {
  MLIRContext *context = module.getContext();
  std::vector<std::pair<ShardingAttr, SmallVector<Because>>> attrs;
  attrs.reserve(states.size());
  for (unsigned i = 0; i < states.size(); ++i)
    attrs.push_back(
        {ShardingAttr::get(context, meshSymbol, mesh, states[i].sharding),
         explain(i)});
  auto writeValue = [&](Value value) {
    auto it = stateOf.find(value);
    if (it == stateOf.end() || it->second < 0)
      return;
    setSharding(value, attrs[it->second].first);
    setBecause(value, attrs[it->second].second);
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    for (auto [i, state] : llvm::enumerate(functionResults[function]))
      if (state >= 0) {
        function.setResultAttr(i, TPDialect::getShardingAttrName(),
                               attrs[state].first);
        setResultBecause(function, i, attrs[state].second);
      }
    if (function.isExternal())
      continue;
    for (BlockArgument arg : function.getArguments())
      writeValue(arg);
    function.getBody().walk([&](Operation *op) {
      for (OpResult result : op->getResults())
        writeValue(result);
      if (auto constraint = dyn_cast<ShardingConstraintOp>(op))
        constraint.setShardingAttr(getSharding(constraint.getResult()));
    });
  }
}

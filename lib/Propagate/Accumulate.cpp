//===- Accumulate.cpp - Sums that are finished when somebody reads them ---===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A state to which a function only adds, and a value that layers carry and only
// add to, need not be complete before they are read. Where what is added is a
// partial sum, they are partial over its axes: each rank adds up its own
// addends, and the sum over ranks is made by the function that reads it, or
// behind the layers.
//
// The partial values are known once all are settled, so they are settled twice:
// once to see what is added, and again with what follows from it.
//
// Example: @gradient returns old + dy x, where dp cuts the tokens; @update
// reads the state. It is partial over dp: one all-reduce a step, however many
// micro-batches are added.
//
//===----------------------------------------------------------------------===//

#include "Propagation.h"
#include "tp/Resolve/Resolve.h"
#include "tp/Rules/Rules.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace tp;

/// True if result `result` of the node may follow from operand `operand`.
static bool follows(const Node &node, unsigned result, unsigned operand) {
  return node.isTie || dependsOn(node.op->getResult(result), operand);
}

/// True if the operation hands on a partial sum in operand `index`: it adds, or
/// does something linear to that operand alone.
static bool passesSum(const Node &node, unsigned index) {
  if (node.isTie)
    return true;
  unsigned numFactors =
      llvm::count(node.rule.linearity, Linearity::Multilinear);
  Linearity linearity = node.rule.linearity[index];
  return linearity == Linearity::Multilinear
             ? numFactors == 1
             : linearity == Linearity::Additive && numFactors == 0;
}

Propagation::Terms Propagation::getTerms(int sum) const {
  Terms terms;
  terms.insert(sum);
  for (size_t i = 0; i < terms.size(); ++i)
    for (int index : states[terms[i]].nodes) {
      const Node &node = nodes[index];
      const int *made = llvm::find(node.results, terms[i]);
      if (made == node.results.end())
        continue;
      for (auto [position, operand] : llvm::enumerate(node.operands)) {
        // A value that somebody else reads too is complete anyway.
        bool isOwn = operand >= 0 && (states[operand].users.size() == 1 ||
                                      isAccumulator(operand));
        if (isOwn && passesSum(node, position) &&
            follows(node, made - node.results.begin(), position))
          terms.insert(operand);
      }
    }
  return terms;
}

bool Propagation::isAccumulator(int state) const {
  return llvm::any_of(carried,
                      [&](auto &one) { return one.second == state; }) ||
         llvm::any_of(stateUses, [&](const StateUse &use) {
           return use.argument == state;
         });
}

/// Everything that `result` follows from.
static llvm::SmallSet<int, 32> getSlice(int result,
                                        const std::vector<ValueState> &states,
                                        const std::vector<Node> &nodes) {
  llvm::SmallSet<int, 32> slice;
  SmallVector<int> work{result};
  while (!work.empty()) {
    int state = work.pop_back_val();
    if (state < 0 || !slice.insert(state).second)
      continue;
    for (int index : states[state].nodes) {
      const Node &node = nodes[index];
      for (auto [result, made] : llvm::enumerate(node.results))
        for (auto [position, operand] : llvm::enumerate(node.operands))
          if (made == state && follows(node, result, position))
            work.push_back(operand);
    }
  }
  return slice;
}

Propagation::Use Propagation::getUse(int old, const Terms &terms, int sum,
                                     Operation *scope) const {
  llvm::SmallSet<int, 32> slice = getSlice(sum, states, nodes);
  Use use = Use::Replaced;
  llvm::SmallSetVector<int, 8> work;
  work.insert(old);
  bool isRead = false;
  for (size_t i = 0; i < work.size(); ++i)
    for (int index : states[work[i]].users) {
      const Node &node = nodes[index];
      if (!scope->isProperAncestor(node.op))
        continue;
      for (auto [number, result] : llvm::enumerate(node.results)) {
        if (result < 0 || result == old)
          continue;
        for (auto [position, operand] : llvm::enumerate(node.operands)) {
          if (operand != work[i] || !follows(node, number, position))
            continue;
          if (!slice.contains(result)) {
            isRead = true;
            continue;
          }
          if (!terms.contains(result) || !passesSum(node, position))
            return Use::Needed;
          work.insert(result);
        }
      }
    }
  if (work.contains(sum) || sum == old)
    use = Use::Added;
  return isRead ? Use::Read : use;
}

void Propagation::addAxes(const Terms &terms, int sum, Sums &sums) const {
  AxisList axes;
  SmallVector<AxisReason, 1> reasons;
  for (int term : terms) {
    const ValueState &value = states[term];
    if (!value.sharding.isPartial() ||
        value.sharding.reduction != ReductionKind::Sum)
      continue;
    axes.append(subtractAxes(value.sharding.partial, axes));
    reasons.append(value.partialReasons);
  }
  for (const DimSharding &dim : states[sum].sharding.dims)
    axes = subtractAxes(axes, dim.axes);
  if (!axes.empty())
    sums.push_back({sum, axes, reasons});
}

Propagation::Sums Propagation::findSums() const {
  Sums sums;
  for (auto [repeat, state] : carried) {
    Terms terms = getTerms(state);
    if (getUse(state, terms, state, repeat) == Use::Added)
      addAxes(terms, state, sums);
  }
  llvm::SmallSetVector<Attribute, 4> symbols;
  for (const StateUse &use : stateUses)
    symbols.insert(use.symbol);
  for (Attribute symbol : symbols) {
    // Nothing may need it complete to replace it; one function only adds.
    bool isAdded = false, isNeeded = false;
    Sums found;
    for (const StateUse &use : stateUses) {
      if (use.symbol != symbol)
        continue;
      isNeeded |= states[use.result < 0 ? use.argument : use.result]
                      .sharding.isPartial();
      if (use.argument < 0 || use.result < 0)
        continue;
      Terms terms = getTerms(use.result);
      Use how = getUse(use.argument, terms, use.result, use.function);
      isNeeded |= how == Use::Needed;
      if (how != Use::Added)
        continue;
      isAdded = true;
      addAxes(terms, use.result, found);
    }
    if (!isAdded || isNeeded || found.empty())
      continue;
    AxisList axes;
    for (const Sum &one : found)
      axes.append(subtractAxes(one.axes, axes));
    for (const StateUse &use : stateUses)
      for (int state : {use.argument, use.result})
        if (use.symbol == symbol && state >= 0)
          sums.push_back({state, axes, found.front().reasons});
  }
  return sums;
}

void Propagation::settle() {
  for (ValueState &value : states) {
    value.sharding = value.sharding.closed();
    value.sharding.normalize(value.shape);
  }
  if (!carried.empty() || !stateUses.empty()) {
    std::vector<ValueState> before = states;
    settleAll();
    Sums sums = findSums();
    states = std::move(before);
    for (Sum &sum : sums) {
      ValueState &value = states[sum.state];
      llvm::sort(sum.axes);
      value.sharding.partial = canonicalize(sum.axes);
      value.sharding.reduction = ReductionKind::Sum;
      value.sharding.normalize(value.shape);
      llvm::SmallDenseSet<unsigned> seen;
      for (const AxisReason &reason : sum.reasons)
        if (seen.insert(reason.axis).second)
          value.partialReasons.push_back(reason);
    }
  }
  settleAll();
}

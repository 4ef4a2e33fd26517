//===- Propagation.cpp - The fixpoint -------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Visits nodes until nothing changes: what each tensor of a node says of the
// rule's factors is merged, conflicts are resolved, and the factors' cut is
// written back to every tensor that is open for it, in all directions at once.
// Parameters' annotations spread first and all others into what they left
// free, so that the order of visits cannot decide between the two. A value's
// axes only ever grow, which bounds the visits.
//
// Conflicts. (1) Closed dimensions never change. (2) Of two factors that want
// one axis, the one asked for by a parameter's annotation gets it; then the one
// that leaves fewer bytes to receive for bringing all tensors of the operation
// into place; then the factor with the lower number. The same order decides
// between two lists of axes for one factor.
//
// A split does not spread from a use back to a value by way of an annotation
// that is no parameter's if the operation that gives the value cannot give it
// so, or another use of it would have to gather it: slicing a whole value is
// free, gathering a split one is not.
//
// Example, sequence parallelism: x [b, s {"tp"}, k] and w [n {"tp"}, k] meet in
// a linear layer; n was asked for by the weight, so y is [b, s, n {"tp"}] and x
// is gathered there by partition.
//
//===----------------------------------------------------------------------===//

#include "Propagation.h"
#include "tp/Resolve/Resolve.h"
#include "tp/Sharding/Reshard.h"
#include <deque>

using namespace mlir;
using namespace tp;

const AxisReason *Propagation::findReason(int state, unsigned dim,
                                          unsigned axis) const {
  for (const AxisReason &reason : states[state].dimReasons[dim])
    if (reason.axis == axis)
      return &reason;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Wishes of the tensors of a node
//===----------------------------------------------------------------------===//

/// Factors in the order in which they take axes.
static SmallVector<unsigned> getOrder(ArrayRef<FactorWish> wishes) {
  SmallVector<unsigned> order;
  for (unsigned f = 0; f < wishes.size(); ++f)
    if (!wishes[f].axes.empty())
      order.push_back(f);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(wishes[a].priority, a) < std::pair(wishes[b].priority, b);
  });
  return order;
}

void Propagation::addWish(const Node &node, unsigned f, FactorWish wish,
                          FactorWish &old) const {
  if (old.axes.empty()) {
    old = std::move(wish);
    return;
  }
  if (mergeFactorAxes(old.axes, wish.axes)) {
    unsigned best = std::min(old.priority, wish.priority);
    int64_t mine = getShardCount(wish.axes);
    int64_t theirs = getShardCount(old.axes);
    // If wishes are equal, the annotated tensor's own explains best.
    auto isAnnotated = [&](const FactorWish &which) {
      const AxisReason *reason =
          findReason(which.state, which.dim, which.axes.front().axis);
      return reason && reason->node < 0;
    };
    if (mine > theirs ||
        (mine == theirs && (wish.priority < old.priority ||
                            (wish.priority == old.priority &&
                             isAnnotated(wish) && !isAnnotated(old)))))
      old = std::move(wish);
    old.priority = best;
    return;
  }
  // Two lists for one factor.
  bool better = wish.priority < old.priority;
  if (wish.priority == old.priority) {
    SmallVector<FactorWish, 4> mine(node.rule.factors.size()),
        theirs(node.rule.factors.size());
    mine[f] = wish;
    theirs[f] = old;
    better = getCost(node, mine) < getCost(node, theirs);
  }
  if (better)
    old = std::move(wish);
}

SmallVector<FactorWish, 4> Propagation::collectWishes(const Node &node,
                                                      unsigned priority) const {
  SmallVector<FactorWish, 4> wishes(node.rule.factors.size());
  auto collect = [&](int state, const TensorFactors &tensor) {
    if (state < 0)
      return;
    const ValueState &value = states[state];
    if (llvm::all_of(value.sharding.dims,
                     [](const DimSharding &dim) { return dim.axes.empty(); }))
      return;
    // The leading axes of each dimension that this round lets spread.
    TensorSharding visible = value.sharding;
    visible.partial.clear();
    SmallVector<unsigned, 4> priorities(visible.dims.size(), 0);
    for (auto [d, dim] : llvm::enumerate(visible.dims)) {
      unsigned count = 0;
      for (const AxisRef &ref : dim.axes) {
        const AxisReason *reason = findReason(state, d, ref.axis);
        unsigned own = reason && reason->seed >= 0
                           ? seeds[reason->seed].priority
                           : numPriorities - 1;
        if (own > priority)
          break;
        priorities[d] = std::max(priorities[d], own);
        ++count;
      }
      if (count < dim.axes.size()) {
        dim.axes.truncate(count);
        dim = {dim.axes, 1, dim.open};
      }
    }
    Projection projection =
        projectToFactors(node.rule, tensor, value.shape, visible);
    for (auto [d, dim] : llvm::enumerate(tensor.dims))
      for (unsigned f : dim) {
        FactorWish wish{projection.factors.axes[f], projection.factors.forms[f],
                        priorities[d], state, static_cast<unsigned>(d)};
        if (wish.axes.empty())
          continue;
        addWish(node, f, std::move(wish), wishes[f]);
      }
  };
  for (auto [state, tensor] :
       llvm::zip_equal(node.operands, node.rule.operands))
    collect(state, tensor);
  for (auto [state, tensor] : llvm::zip_equal(node.results, node.rule.results))
    collect(state, tensor);
  return wishes;
}

/// The cut when factors take axes in this order.
static FactorShardings takeInOrder(const Node &node,
                                   ArrayRef<FactorWish> wishes,
                                   ArrayRef<unsigned> order,
                                   const std::vector<ValueState> &states) {
  FactorShardings cut(wishes.size());
  AxisList used;
  for (unsigned f : order) {
    const Factor &factor = node.rule.factors[f];
    if (factor.kind == FactorKind::Whole)
      continue;
    AxisList axes = restrictToAvailable(wishes[f].axes, used);
    while (!axes.empty() && !canShard(factor, axes, wishes[f].form))
      axes.pop_back();
    used.append(axes.begin(), axes.end());
    cut.axes[f] = std::move(axes);
    cut.forms[f] = wishes[f].form;
  }
  // Partial values combine in one way: reductions of one kind only.
  std::optional<ReductionKind> kind;
  for (auto [f, factor] : llvm::enumerate(node.rule.factors)) {
    if (factor.kind != FactorKind::Reduction || cut.axes[f].empty())
      continue;
    if (kind && *kind != factor.reduction)
      cut.axes[f].clear();
    else
      kind = factor.reduction;
  }
  SmallVector<SmallVector<int64_t>> operandShapes, resultShapes;
  auto shapeOf = [&](int state) {
    return state < 0 ? SmallVector<int64_t>() : states[state].shape;
  };
  for (int state : node.operands)
    operandShapes.push_back(shapeOf(state));
  for (int state : node.results)
    resultShapes.push_back(shapeOf(state));
  makeExpressible(node.rule, operandShapes, resultShapes, cut);
  return cut;
}

/// Bytes that one rank receives to bring the operation's tensors from how they
/// are to what this cut needs, and its results to how they should be.
static int64_t getBytes(const Node &node, const FactorShardings &cut,
                        const std::vector<ValueState> &states,
                        const Mesh &mesh) {
  int64_t bytes = 0;
  AxisList partial = getPartialAxes(node.rule, cut);
  ReductionKind kind = ReductionKind::Sum;
  for (auto [factor, axes] : llvm::zip_equal(node.rule.factors, cut.axes))
    if (factor.kind == FactorKind::Reduction && !axes.empty())
      kind = factor.reduction;
  for (auto [index, state] : llvm::enumerate(node.operands)) {
    if (state < 0)
      continue;
    const ValueState &value = states[state];
    auto wanted =
        projectToTensor(node.rule, node.rule.operands[index], value.shape, cut);
    TensorSharding from = value.sharding.closed();
    bytes += value.elementBytes *
             planReshard(value.shape, from, *wanted, mesh).elementsReceived;
  }
  for (auto [index, state] : llvm::enumerate(node.results)) {
    if (state < 0)
      continue;
    const ValueState &value = states[state];
    auto made =
        projectToTensor(node.rule, node.rule.results[index], value.shape, cut);
    TensorSharding wanted = value.sharding.closed();
    wanted.partial.clear();
    if (wanted.isFullyReplicated() && value.sharding.isOpen())
      wanted = *made;
    made->partial = partial;
    made->partial.append(getOwnPartialAxes(node.rule, cut, index));
    llvm::sort(made->partial);
    made->reduction = kind;
    bytes += value.elementBytes *
             planReshard(value.shape, *made, wanted, mesh).elementsReceived;
  }
  return bytes;
}

int64_t Propagation::getCost(const Node &node,
                             ArrayRef<FactorWish> wishes) const {
  return getBytes(node, takeInOrder(node, wishes, getOrder(wishes), states),
                  states, mesh);
}

FactorShardings Propagation::getCut(const Node &node,
                                    ArrayRef<FactorWish> wishes) const {
  SmallVector<unsigned> order = getOrder(wishes);
  // If two of one priority want one axis, the cheaper goes first.
  for (unsigned i = 0; i < order.size(); ++i)
    for (unsigned j = i + 1; j < order.size(); ++j) {
      const FactorWish &a = wishes[order[i]], &b = wishes[order[j]];
      if (a.priority != b.priority || !overlap(a.axes, b.axes))
        continue;
      SmallVector<unsigned> other(order);
      std::rotate(other.begin() + i, other.begin() + j, other.begin() + j + 1);
      if (getBytes(node, takeInOrder(node, wishes, other, states), states,
                   mesh) < getBytes(node,
                                    takeInOrder(node, wishes, order, states),
                                    states, mesh))
        order = std::move(other);
    }
  return takeInOrder(node, wishes, order, states);
}

//===----------------------------------------------------------------------===//
// Writing back
//===----------------------------------------------------------------------===//

bool Propagation::accepts(int index, int state, unsigned dim,
                          const TensorSharding &candidate) const {
  const Node &node = nodes[index];
  auto check = [&](int own, const TensorFactors &tensor) {
    if (own != state)
      return true;
    TensorSharding only = TensorSharding::replicated(candidate.getRank());
    only.dims[dim] = candidate.dims[dim];
    Projection projection =
        projectToFactors(node.rule, tensor, states[state].shape, only);
    if (!projection.complete)
      return false;
    for (unsigned f : tensor.dims[dim])
      for (auto [g, axes] : llvm::enumerate(node.factors.axes))
        if (g != f && overlap(projection.factors.axes[f], axes) &&
            !llvm::is_contained(tensor.dims[dim], g))
          return false;
    return true;
  };
  for (auto [own, tensor] : llvm::zip_equal(node.operands, node.rule.operands))
    if (!check(own, tensor))
      return false;
  for (auto [own, tensor] : llvm::zip_equal(node.results, node.rule.results))
    if (!check(own, tensor))
      return false;
  return true;
}

bool Propagation::updateState(int index, const TensorSharding &wanted,
                              int nodeIndex, ArrayRef<FactorWish> wishes,
                              const TensorFactors &tensor, bool isOperand,
                              unsigned priority) {
  ValueState &value = states[index];
  const Node &node = nodes[nodeIndex];
  bool changed = false;
  for (auto [d, dim] : llvm::enumerate(value.sharding.dims)) {
    const AxisList &axes = wanted.dims[d].axes;
    if (!dim.open || getShardCount(axes) <= getShardCount(dim.axes) ||
        !isPrefix(dim.axes, axes))
      continue;
    bool free = true;
    for (auto [e, other] : llvm::enumerate(value.sharding.dims))
      free &= e == d || !overlap(other.axes, axes);
    if (!free)
      continue;
    if (isOperand) {
      bool accepted =
          value.producer < 0 || accepts(value.producer, index, d, wanted);
      if (priority > 0)
        for (int user : value.users)
          accepted &= user == nodeIndex || accepts(user, index, d, wanted);
      if (!accepted)
        continue;
    }
    // The reason of each axis that is new here.
    for (const AxisRef &ref : axes) {
      if (findReason(index, d, ref.axis))
        continue;
      AxisReason reason{ref.axis, -1, nodeIndex, -1};
      for (unsigned f : tensor.dims[d]) {
        if (!overlap(node.factors.axes[f], ref))
          continue;
        const AxisReason *source =
            findReason(wishes[f].state, wishes[f].dim, ref.axis);
        if (!source)
          continue;
        reason.seed = source->seed;
        reason.factor = f;
        if (node.isTie) {
          reason.node = source->node;
          reason.factor = source->factor;
        }
        break;
      }
      value.dimReasons[d].push_back(reason);
    }
    dim = wanted.dims[d];
    dim.open = true;
    changed = true;
  }
  return changed;
}

bool Propagation::visit(int index, unsigned priority) {
  ++numVisits;
  Node &node = nodes[index];
  SmallVector<FactorWish, 4> wishes = collectWishes(node, priority);
  if (llvm::all_of(wishes,
                   [](const FactorWish &wish) { return wish.axes.empty(); }))
    return false;
  node.factors = getCut(node, wishes);
  bool changed = false;
  auto update = [&](int state, const TensorFactors &tensor, bool isOperand) {
    if (state < 0 || !states[state].sharding.isOpen())
      return;
    auto wanted =
        projectToTensor(node.rule, tensor, states[state].shape, node.factors);
    changed |=
        updateState(state, *wanted, index, wishes, tensor, isOperand, priority);
  };
  for (auto [state, tensor] : llvm::zip_equal(node.results, node.rule.results))
    update(state, tensor, /*isOperand=*/false);
  for (auto [state, tensor] :
       llvm::zip_equal(node.operands, node.rule.operands))
    update(state, tensor, /*isOperand=*/true);
  return changed;
}

void Propagation::run() {
  for (unsigned priority = 0; priority < numPriorities; ++priority) {
    std::deque<int> queue;
    std::vector<bool> queued(nodes.size(), true);
    for (unsigned i = 0; i < nodes.size(); ++i)
      queue.push_back(i);
    while (!queue.empty()) {
      int index = queue.front();
      queue.pop_front();
      queued[index] = false;
      if (!visit(index, priority))
        continue;
      auto enqueue = [&](int state) {
        if (state < 0)
          return;
        for (int other : states[state].nodes)
          if (!queued[other]) {
            queued[other] = true;
            queue.push_back(other);
          }
      };
      for (int state : nodes[index].operands)
        enqueue(state);
      for (int state : nodes[index].results)
        enqueue(state);
    }
  }
}

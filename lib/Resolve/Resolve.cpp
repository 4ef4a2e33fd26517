//===- Resolve.cpp - What an operation needs of its operands --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pure algebra, without IR: from the shardings of an operation's operands and
// results to the cut of its factors and back. Partial axes of the results that
// no reduction factor explains passed through: one Multilinear operand had
// them, or all Additive ones.
//
//===----------------------------------------------------------------------===//

#include "tp/Resolve/Resolve.h"
#include "llvm/ADT/STLExtras.h"

using namespace tp;
using llvm::ArrayRef;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Sets of axes
//===----------------------------------------------------------------------===//

AxisList tp::subtractAxes(ArrayRef<AxisRef> list, ArrayRef<AxisRef> without) {
  AxisList rest(list.begin(), list.end());
  for (const AxisRef &cut : without) {
    AxisList next;
    for (const AxisRef &ref : rest) {
      if (!ref.overlaps(cut)) {
        next.push_back(ref);
        continue;
      }
      int64_t begin = ref.pre, end = ref.pre * ref.size;
      int64_t cutBegin = cut.pre, cutEnd = cut.pre * cut.size;
      // The parts on the major and on the minor side of the cut remain; if the
      // two do not nest, nothing of the axis can be kept.
      if (cutBegin > begin && cutBegin % begin == 0)
        next.push_back({ref.axis, begin, cutBegin / begin});
      if (cutEnd < end && end % cutEnd == 0)
        next.push_back({ref.axis, cutEnd, end / cutEnd});
    }
    rest = std::move(next);
  }
  return canonicalize(rest);
}

bool tp::containsAxes(ArrayRef<AxisRef> all, ArrayRef<AxisRef> list) {
  return subtractAxes(list, all).empty();
}

/// The leading part of `list` that lies in `allowed`.
static AxisList restrictToAxes(ArrayRef<AxisRef> list,
                               ArrayRef<AxisRef> allowed) {
  AxisList part;
  for (const AxisRef &ref : list) {
    if (containsAxes(allowed, {ref})) {
      part.push_back(ref);
      continue;
    }
    // The leading part of the axis itself, if that much is allowed.
    for (const AxisRef &other : allowed)
      if (other.axis == ref.axis && other.pre <= ref.pre &&
          ref.pre % other.pre == 0) {
        int64_t end = other.pre * other.size;
        if (end > ref.pre && end % ref.pre == 0 &&
            ref.size % (end / ref.pre) == 0) {
          part.push_back({ref.axis, ref.pre, end / ref.pre});
          break;
        }
      }
    break;
  }
  return canonicalize(part);
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

void tp::makeExpressible(const ShardingRule &rule,
                         ArrayRef<SmallVector<int64_t>> operandShapes,
                         ArrayRef<SmallVector<int64_t>> resultShapes,
                         FactorShardings &factors) {
  for (auto [f, factor] : llvm::enumerate(rule.factors))
    while (!factors.axes[f].empty() &&
           (!canShard(factor, factors.axes[f], factors.forms[f]) ||
            (factor.readsIndex && factors.forms[f].block != 0)))
      factors.axes[f].pop_back();
  // The most minor cut factor of a dimension that has no layout goes.
  auto repair = [&](const TensorFactors &tensor, ArrayRef<int64_t> shape) {
    bool changed = false;
    while (!projectToTensor(rule, tensor, shape, factors)) {
      bool dropped = false;
      for (const auto &dim : tensor.dims) {
        TensorFactors single;
        single.dims.push_back(dim);
        if (projectToTensor(rule, single, getRuleShape(rule, single), factors))
          continue;
        for (unsigned f : llvm::reverse(dim))
          if (!factors.axes[f].empty()) {
            factors.axes[f].clear();
            factors.forms[f] = {};
            dropped = true;
            break;
          }
      }
      if (!dropped)
        break;
      changed = true;
    }
    return changed;
  };
  bool changed = true;
  while (changed) {
    changed = false;
    for (auto [tensor, shape] : llvm::zip_equal(rule.operands, operandShapes))
      changed |= repair(tensor, shape);
    for (auto [tensor, shape] : llvm::zip_equal(rule.results, resultShapes))
      changed |= repair(tensor, shape);
  }
}

/// True if a dimension of `tensor` has `factor`.
static bool carries(const TensorFactors &tensor, unsigned factor) {
  return llvm::any_of(tensor.dims, [&](const auto &dim) {
    return llvm::is_contained(dim, factor);
  });
}

/// Take `axes` for a factor if they extend what it has and are not `used`.
static void take(FactorShardings &factors, AxisList &used, unsigned f,
                 ArrayRef<AxisRef> axes, const CutForm &form) {
  auto merged = mergeFactorAxes(factors.axes[f], axes);
  if (!merged)
    return;
  AxisList others = subtractAxes(used, factors.axes[f]);
  AxisList free = restrictToAvailable(*merged, others);
  if (getShardCount(free) <= getShardCount(factors.axes[f]))
    return;
  used = std::move(others);
  used.append(free.begin(), free.end());
  factors.axes[f] = std::move(free);
  factors.forms[f] = form;
}

/// Takes the one of the operands' cuts of a reduction factor that explains most
/// of what the results are partial over; the first of equals.
static void takeReduced(const ShardingRule &rule,
                        ArrayRef<TensorSharding> operandShardings,
                        ArrayRef<SmallVector<int64_t>> operandShapes,
                        ResolvedOp &resolved, AxisList &used) {
  SmallVector<FactorShardings, 4> projected;
  for (auto [index, sharding] : llvm::enumerate(operandShardings))
    projected.push_back(projectToFactors(rule, rule.operands[index],
                                         operandShapes[index], sharding)
                            .factors);
  for (auto [f, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != FactorKind::Reduction ||
        factor.reduction != resolved.reduction)
      continue;
    AxisList best;
    CutForm form;
    for (const FactorShardings &cut : projected) {
      AxisList axes = restrictToAvailable(
          restrictToAxes(cut.axes[f], resolved.partial), used);
      if (getShardCount(axes) > getShardCount(best)) {
        best = std::move(axes);
        form = cut.forms[f];
      }
    }
    take(resolved.factors, used, f, best, form);
  }
}

/// Finds the axes that operands must be partial over because the reduction
/// factors do not explain them; returns what is explained.
static AxisList passAxes(const ShardingRule &rule,
                         ArrayRef<TensorSharding> operandShardings,
                         ResolvedOp &resolved) {
  AxisList explained = getPartialAxes(rule, resolved.factors);
  AxisList passed = subtractAxes(resolved.partial, explained);
  unsigned numOperands = rule.operands.size();
  // An addend of a product is partial only if the product is.
  bool hasProduct = llvm::is_contained(rule.linearity, Linearity::Multilinear);
  for (const AxisRef &axis : passed) {
    // The first Multilinear operand that has it, else the Additive ones.
    unsigned carrier = numOperands;
    bool isAdded = false;
    for (unsigned i = numOperands; i-- > 0;) {
      if (!containsAxes(operandShardings[i].partial, {axis}))
        continue;
      if (rule.linearity[i] == Linearity::Multilinear)
        carrier = i;
      isAdded |= rule.linearity[i] == Linearity::Additive;
    }
    if (carrier == numOperands && (!isAdded || hasProduct))
      continue;
    explained.push_back(axis);
    if (carrier < numOperands)
      resolved.operandPartial[carrier].push_back(axis);
    for (unsigned i = 0; i < numOperands; ++i)
      if (rule.linearity[i] == Linearity::Additive)
        resolved.operandPartial[i].push_back(axis);
  }
  return explained;
}

ResolvedOp tp::resolveFactors(const ShardingRule &rule,
                              ArrayRef<TensorSharding> operandShardings,
                              ArrayRef<TensorSharding> resultShardings,
                              ArrayRef<SmallVector<int64_t>> operandShapes,
                              ArrayRef<SmallVector<int64_t>> resultShapes) {
  ResolvedOp resolved;
  FactorShardings &factors = resolved.factors;
  factors = FactorShardings(rule.factors.size());
  AxisList used;
  for (auto [index, sharding] : llvm::enumerate(resultShardings)) {
    Projection projection = projectToFactors(rule, rule.results[index],
                                             resultShapes[index], sharding);
    for (auto [f, factor] : llvm::enumerate(rule.factors))
      if (factor.kind == FactorKind::Parallel)
        take(factors, used, f, projection.factors.axes[f],
             projection.factors.forms[f]);
  }
  for (auto [index, sharding] : llvm::enumerate(resultShardings))
    if (sharding.isPartial() && resolved.partial.empty()) {
      // An axis that cuts a factor makes a result without it partial, and no
      // other.
      resolved.partial = subtractAxes(sharding.partial, used);
      resolved.reduction = sharding.reduction;
    }
  if (!resolved.partial.empty())
    takeReduced(rule, operandShardings, operandShapes, resolved, used);
  makeExpressible(rule, operandShapes, resultShapes, factors);

  unsigned numOperands = rule.operands.size();
  resolved.operandPartial.resize(numOperands);
  AxisList explained = passAxes(rule, operandShardings, resolved);
  // The operation does not give axes that nothing explains.
  llvm::sort(explained);
  resolved.partial = canonicalize(explained);
  for (unsigned i = 0; i < numOperands; ++i) {
    if (!countsOnce(rule.linearity[i]))
      continue;
    for (unsigned f = 0; f < rule.factors.size(); ++f)
      if (isReduced(rule, f) && !carries(rule.operands[i], f))
        resolved.operandPartial[i].append(factors.axes[f]);
  }
  for (AxisList &axes : resolved.operandPartial) {
    llvm::sort(axes);
    axes = canonicalize(axes);
  }
  return resolved;
}

TensorSharding tp::getRequiredOperandSharding(const ShardingRule &rule,
                                              unsigned index,
                                              const ResolvedOp &resolved,
                                              ArrayRef<int64_t> shape) {
  auto sharding =
      projectToTensor(rule, rule.operands[index], shape, resolved.factors);
  assert(sharding && "resolveFactors keeps every tensor expressible");
  sharding->partial = resolved.operandPartial[index];
  sharding->reduction = resolved.reduction;
  sharding->normalize(shape);
  return *sharding;
}

TensorSharding tp::getProducedSharding(const ShardingRule &rule, unsigned index,
                                       const ResolvedOp &resolved,
                                       ArrayRef<int64_t> shape) {
  auto sharding =
      projectToTensor(rule, rule.results[index], shape, resolved.factors);
  assert(sharding && "resolveFactors keeps every tensor expressible");
  sharding->partial = resolved.partial;
  sharding->partial.append(getOwnPartialAxes(rule, resolved.factors, index));
  llvm::sort(sharding->partial);
  sharding->reduction = resolved.reduction;
  sharding->normalize(shape);
  return *sharding;
}

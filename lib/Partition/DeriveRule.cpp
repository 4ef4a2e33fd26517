//===- DeriveRule.cpp - What follows from the rule of one operation -------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How its factors are cut, that the positions it reads are global,
// and over which axes its results are partial.
//
//===----------------------------------------------------------------------===//

#include "Deriver.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tp/Resolve/Resolve.h"
#include "llvm/Support/InterleavedRange.h"
#include <numeric>

using namespace mlir;
using namespace tp;

/// Returns true if both cut the factor at the same places, however the grain is
/// written.
static bool cutsAlike(const ShardingRule &rule, unsigned f,
                      const FactorShardings &a, const FactorShardings &b) {
  int64_t size = rule.factors[f].size;
  return a.axes[f] == b.axes[f] && a.forms[f].block == b.forms[f].block &&
         a.forms[f].outer == b.forms[f].outer &&
         getLocalSize(size, getFactorCut(rule, a, f)) ==
             getLocalSize(size, getFactorCut(rule, b, f));
}

LogicalResult Deriver::deriveFactors(Operation *op, const ShardingRule &rule,
                                     FactorShardings &factors) {
  // Factors, from the operands that carry them; all must agree.
  SmallVector<std::optional<unsigned>> decidedBy(rule.factors.size());
  auto take = [&](const TensorFactors &tensor, ArrayRef<int64_t> shape,
                  const TensorSharding &sharding,
                  unsigned index) -> LogicalResult {
    Projection projection = projectToFactors(rule, tensor, shape, sharding);
    if (!projection.complete)
      return errorAt(op, index)
             << "expected dimension " << *projection.misfit
             << " to be cut along its factors, got " << text(sharding);
    for (const auto &dim : tensor.dims)
      for (unsigned f : dim) {
        if (rule.factors[f].size == 1)
          continue;
        if (!decidedBy[f]) {
          factors.axes[f] = projection.factors.axes[f];
          factors.forms[f] = projection.factors.forms[f];
          decidedBy[f] = index;
        } else if (!cutsAlike(rule, f, factors, projection.factors)) {
          const std::string &name = rule.factors[f].name;
          return noteMade(
              errorAt(op, index)
                  << "expected factor "
                  << (name.empty() ? std::to_string(f) : name)
                  << " to be cut by {" << mesh.getName(factors.axes[f])
                  << "} as in operand " << *decidedBy[f] << ", got {"
                  << mesh.getName(projection.factors.axes[f]) << "}",
              "operand " + Twine(*decidedBy[f]), op->getOperand(*decidedBy[f]));
        }
      }
    return success();
  };
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (!isa<ShapedType>(operand.getType()))
      continue;
    auto found = states.find(operand);
    if (found == states.end())
      return errorAt(op, index) << "expected a value whose sharding is known";
    SmallVector<int64_t> shape = getRuleShape(rule, rule.operands[index]);
    if (shape != found->second.shape)
      return errorAt(op, index)
             << "expected a part of a tensor of [" << llvm::interleaved(shape)
             << "], got one of [" << llvm::interleaved(found->second.shape)
             << "]";
    if (failed(
            take(rule.operands[index], shape, found->second.sharding, index)))
      return failure();
  }
  // Factors of the results alone are as written (a fill, an iota).
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    const TensorFactors &tensor = rule.results[index];
    SmallVector<int64_t> shape = getRuleShape(rule, tensor);
    FailureOr<TensorSharding> sharding = written(
        op, getSharding(result), shape, "result " + std::to_string(index));
    if (failed(sharding))
      return failure();
    Projection projection = projectToFactors(rule, tensor, shape, *sharding);
    for (const auto &dim : tensor.dims)
      for (unsigned f : dim)
        if (!decidedBy[f]) {
          factors.axes[f] = projection.factors.axes[f];
          factors.forms[f] = projection.factors.forms[f];
        }
  }
  return success();
}

/// How the positions of each loop of a structured operation, or of each
/// dimension of the result of any other, are cut.
static SmallVector<LoopCut> getCuts(Operation *op, const ShardingRule &rule,
                                    const FactorShardings &factors) {
  auto cutOf = [&](unsigned f) {
    return LoopCut{
        factors.axes[f],
        getLocalSize(rule.factors[f].size, getFactorCut(rule, factors, f))};
  };
  SmallVector<LoopCut> cuts;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp) {
    for (const auto &dim : rule.results.front().dims)
      cuts.push_back(dim.size() == 1 ? cutOf(dim.front()) : LoopCut());
    return cuts;
  }
  cuts.resize(linalgOp.getNumLoops());
  for (OpOperand &operand : op->getOpOperands())
    for (auto [expr, dim] :
         llvm::zip(linalgOp.getMatchingIndexingMap(&operand).getResults(),
                   rule.operands[operand.getOperandNumber()].dims))
      if (auto loop = dyn_cast<AffineDimExpr>(expr); loop && dim.size() == 1)
        cuts[loop.getPosition()] = cutOf(dim.front());
  return cuts;
}

LogicalResult Deriver::checkPositions(Operation *op, const ShardingRule &rule,
                                      const FactorShardings &factors) {
  SmallVector<unsigned> scalars, indexed;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (!isa<ShapedType>(operand.getType()))
      scalars.push_back(index);
  if (op->getNumRegions() != 0) {
    std::string problem =
        positions.checkRegions(op, getCuts(op, rule, factors));
    if (!problem.empty())
      return op->emitOpError() << problem;
  } else {
    for (auto [f, factor] : llvm::enumerate(rule.factors))
      if (factor.readsIndex)
        indexed.push_back(f);
  }
  // An operation that reads positions takes them as its last index operands,
  // one for each indexed factor, or none where nothing is cut.
  unsigned numIndices = llvm::count_if(scalars, [&](unsigned index) {
    return op->getOperand(index).getType().isIndex();
  });
  bool hasOffsets = !indexed.empty() && numIndices >= indexed.size();
  for (auto [position, f] : llvm::enumerate(indexed)) {
    LoopCut cut{factors.axes[f], getLocalSize(rule.factors[f].size,
                                              getFactorCut(rule, factors, f))};
    Value offset;
    if (hasOffsets)
      offset =
          op->getOperand(scalars[scalars.size() - indexed.size() + position]);
    std::string problem = positions.checkOffset(offset, cut);
    const std::string &name = rule.factors[f].name;
    if (!problem.empty())
      return op->emitOpError()
             << "reads its position along factor "
             << (name.empty() ? std::to_string(f) : name) << ": " << problem;
  }
  if (hasOffsets)
    scalars.pop_back_n(indexed.size());
  for (unsigned index : scalars)
    if (failed(
            expectSame(op, "operand " + Twine(index), op->getOperand(index))))
      return failure();
  return success();
}

/// How the factors that are cut are reduced; a sum if none is.
static FailureOr<ReductionKind> getKind(Operation *op, const ShardingRule &rule,
                                        const FactorShardings &factors) {
  std::optional<ReductionKind> reduces;
  for (auto [f, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != FactorKind::Reduction || factors.axes[f].empty())
      continue;
    if (reduces && *reduces != factor.reduction)
      return op->emitOpError()
             << "expected the factors that are cut to be reduced alike, got a "
             << stringify(*reduces) << " and a " << stringify(factor.reduction);
    reduces = factor.reduction;
  }
  return reduces.value_or(ReductionKind::Sum);
}

/// The axes that are reduced, in some result at least, and that the operand
/// does not carry.
static AxisList getReducedWithout(const ShardingRule &rule,
                                  const FactorShardings &factors,
                                  const TensorFactors &operand) {
  AxisList own;
  for (unsigned f = 0; f < rule.factors.size(); ++f) {
    bool carried = llvm::any_of(operand.dims, [f](const auto &dim) {
      return llvm::is_contained(dim, f);
    });
    if (isReduced(rule, f) && !carried)
      own.append(factors.axes[f]);
  }
  return own;
}

LogicalResult Deriver::passFactors(Operation *op, const ShardingRule &rule,
                                   ArrayRef<AxisRef> reduced,
                                   PassedAxes &passed) {
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    auto found = states.find(operand);
    if (found == states.end() || !found->second.sharding.isPartial())
      continue;
    const TensorSharding &sharding = found->second.sharding;
    Linearity linearity = rule.linearity[index];
    if (linearity == Linearity::None)
      return errorAt(op, index)
             << "expected a complete value, because the operation is not "
                "linear in it, got "
             << text(sharding);
    if (linearity != Linearity::Multilinear)
      continue;
    if (sharding.reduction != ReductionKind::Sum)
      return errorAt(op, index)
             << "expected a partial sum, got " << text(sharding);
    // Over different axes both may be partial: the product of two sums is the
    // sum of all products.
    if (passed.operand && overlap(passed.axes, sharding.partial))
      return noteMade(
          errorAt(op, index)
              << "expected one partial factor of a product, got operand "
              << *passed.operand << " partial as well",
          "operand " + Twine(*passed.operand), op->getOperand(*passed.operand));
    if (overlap(reduced, sharding.partial))
      return errorAt(op, index)
             << "expected a complete factor of a sum that is cut by "
             << mesh.getName(reduced) << ", got " << text(sharding);
    passed.axes.append(sharding.partial.begin(), sharding.partial.end());
    passed.operand = index;
  }
  llvm::sort(passed.axes);
  passed.axes = canonicalize(passed.axes);
  return success();
}

LogicalResult Deriver::passOnce(Operation *op, const ShardingRule &rule,
                                const FactorShardings &factors,
                                ReductionKind kind, PassedAxes &passed) {
  bool hasFactors = llvm::is_contained(rule.linearity, Linearity::Multilinear);
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    auto found = states.find(operand);
    if (found == states.end() || !countsOnce(rule.linearity[index]))
      continue;
    const TensorSharding &sharding = found->second.sharding;
    AxisList own = getReducedWithout(rule, factors, rule.operands[index]);
    if (isImplicitlyPartial(operand, sharding, kind))
      continue;
    if (!containsAxes(sharding.partial, own))
      return errorAt(op, index)
             << "expected a partial " << stringify(kind) << " over "
             << mesh.getName(own)
             << " (tp.keep_first of a complete value), because it must count "
                "once, got "
             << text(sharding);
    if (!own.empty() && sharding.reduction != kind)
      return errorAt(op, index) << "expected a partial " << stringify(kind)
                                << ", got " << text(sharding);
    AxisList rest = subtractAxes(sharding.partial, own);
    if (rule.linearity[index] == Linearity::Initial) {
      if (!rest.empty())
        return errorAt(op, index)
               << "expected a complete value, because the operation is not "
                  "linear in it, got "
               << text(sharding);
      continue;
    }
    if (!rest.empty() && sharding.reduction != ReductionKind::Sum)
      return errorAt(op, index)
             << "expected a partial sum, got " << text(sharding);
    // A product beside it counts once per rank unless a factor is partial too.
    if (!passed.operand && !hasFactors)
      passed = {rest, index};
    else if (rest != canonicalize(passed.axes))
      return expectAlike(op, index, passed, sharding);
  }
  return success();
}

InFlightDiagnostic Deriver::expectAlike(Operation *op, unsigned index,
                                        const PassedAxes &passed,
                                        const TensorSharding &sharding) {
  InFlightDiagnostic diag = errorAt(op, index);
  diag << "expected "
       << (passed.axes.empty()
               ? std::string("a complete value")
               : "a partial sum over " + mesh.getName(passed.axes))
       << " as "
       << (passed.operand ? "operand " + std::to_string(*passed.operand) + " is"
                          : "the product is that it is added to")
       << ", because a complete value added to a partial one would count once "
          "per rank, got "
       << text(sharding);
  if (passed.operand)
    diag.attachNote(op->getOperand(*passed.operand).getLoc())
        << "operand " << *passed.operand << " is made here";
  return diag;
}

LogicalResult Deriver::derivePartial(Operation *op, const ShardingRule &rule,
                                     const FactorShardings &factors,
                                     AxisList &partial, ReductionKind &kind) {
  // The partial axes: the reduction factors, and what passes through.
  AxisList reduced = getPartialAxes(rule, factors);
  FailureOr<ReductionKind> reduces = getKind(op, rule, factors);
  if (failed(reduces))
    return failure();
  kind = *reduces;
  PassedAxes passed;
  AxisList summed = reduced;
  summed.append(getOwnPartialAxes(rule, factors));
  if (failed(passFactors(op, rule, summed, passed)) ||
      failed(passOnce(op, rule, factors, kind, passed)))
    return failure();
  if (!passed.axes.empty() && kind != ReductionKind::Sum)
    return errorAt(op, *passed.operand)
           << "expected a complete value, because its " << stringify(kind)
           << " is taken, got "
           << text(states.at(op->getOperand(*passed.operand)).sharding);
  partial = reduced;
  partial.append(passed.axes);
  return success();
}

LogicalResult Deriver::compute(Operation *op, RuleAttr attr) {
  ShardingRule rule = attr.toRule();
  // A per-rank form may take offsets that the global one does not have.
  unsigned numOperands = rule.operands.size();
  if (numOperands > op->getNumOperands() ||
      rule.results.size() != op->getNumResults() ||
      llvm::any_of(
          op->getOperands().drop_front(
              std::min<size_t>(numOperands, op->getNumOperands())),
          [](Value value) { return isa<RankedTensorType>(value.getType()); }))
    return op->emitOpError()
           << "expected tp.rule to have the " << op->getNumOperands()
           << " operands and " << op->getNumResults()
           << " results of the operation, got " << numOperands << " and "
           << rule.results.size();
  auto getShapes = [&](ArrayRef<TensorFactors> tensors) {
    return llvm::map_to_vector(tensors, [&](const TensorFactors &tensor) {
      return getRuleShape(rule, tensor);
    });
  };
  std::string problem =
      verifyRule(rule, getShapes(rule.operands), getShapes(rule.results));
  if (!problem.empty())
    return op->emitOpError() << "has an ill-formed tp.rule: " << problem;
  for (auto [index, value] : llvm::enumerate(op->getResults())) {
    int64_t rank = isa<RankedTensorType>(value.getType())
                       ? cast<RankedTensorType>(value.getType()).getRank()
                       : 0;
    int64_t dims = rule.results[index].dims.size();
    if (dims != rank)
      return op->emitOpError()
             << "has an ill-formed tp.rule: result " << index
             << ": expected factors of " << rank << " dimensions, got " << dims;
  }
  FactorShardings factors(rule.factors.size());
  AxisList partial;
  ReductionKind kind;
  if (failed(deriveFactors(op, rule, factors)) ||
      failed(checkPositions(op, rule, factors)) ||
      failed(derivePartial(op, rule, factors, partial, kind)))
    return failure();
  // A local operation computes parts of blocks from parts of blocks.
  for (CutForm &form : factors.forms)
    form.isInner = true;
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    SmallVector<int64_t> shape = getRuleShape(rule, rule.results[index]);
    std::optional<TensorSharding> derived =
        projectToTensor(rule, rule.results[index], shape, factors);
    if (!derived)
      return op->emitOpError()
             << "result " << index << ": its factors are not cut contiguously";
    derived->partial = partial;
    derived->partial.append(getOwnPartialAxes(rule, factors, index));
    derived->reduction = kind;
    derived->normalize(shape);
    std::string problem = verifySharding(shape, *derived, mesh);
    if (!problem.empty())
      return op->emitOpError() << "result " << index << ": " << problem;
    FailureOr<TensorSharding> sharding = written(
        op, getSharding(result), shape, "result " + std::to_string(index));
    if (failed(sharding))
      return failure();
    if (!sameLayout(shape, *derived, *sharding))
      return op->emitOpError()
             << "result " << index << ": expected what is derived, "
             << text(*derived) << ", got " << text(*sharding);
    if (failed(define(op, result, {shape, *derived})))
      return failure();
  }
  return success();
}

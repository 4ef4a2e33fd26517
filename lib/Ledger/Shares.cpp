//===- Shares.cpp - What each rank holds and computes ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameter bytes and floating point operations of one rank beside those of the
// model. What exceeds an even share is put down to what causes it: tensors that
// every rank holds, tensors that some ranks share, padding.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Interfaces/LibraryInterface.h"
#include "tp/Ledger/Ledger.h"
#include "tp/Sharding/Padding.h"
#include "tp/Support/Bytes.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace tp;

/// Put one tensor's (or operation's) local part down to its causes.
static void addShare(RankShare &share, int64_t local, int64_t model,
                     int64_t shards, int64_t ranks) {
  share.perRank += local;
  share.model += model;
  double even = static_cast<double>(model) / ranks;
  double cut = static_cast<double>(model) / shards;
  share.ideal += even;
  (shards == 1 ? share.replicated : share.copies) += cut - even;
  share.padding += local - cut;
}

RankShare &RankShare::operator+=(const RankShare &other) {
  perRank += other.perRank;
  model += other.model;
  ideal += other.ideal;
  replicated += other.replicated;
  copies += other.copies;
  padding += other.padding;
  return *this;
}

/// Multiplications and additions of an operation per element of its iteration
/// space; 0 for what is no contraction.
static double getFlopsPerPoint(Operation *op, const ShardingRule &rule) {
  if (auto library = dyn_cast<LibraryOpInterface>(op))
    return library.getFlopsPerPoint();
  if (!isa<linalg::LinalgOp>(op))
    return 0;
  // A sum of products of two tensors.
  bool hasSum = llvm::any_of(rule.factors, [](const Factor &factor) {
    return factor.kind == FactorKind::Reduction &&
           factor.reduction == ReductionKind::Sum;
  });
  return hasSum && llvm::count(rule.linearity, Linearity::Multilinear) >= 2 ? 2
                                                                            : 0;
}

/// How the factors of a per-rank operation are cut.
static FactorShardings getFactors(Operation *op, const ShardingRule &rule,
                                  const LocalStates &states) {
  FactorShardings factors(rule.factors.size());
  auto take = [&](Value value, const TensorFactors &tensor) {
    auto found = states.find(value);
    if (found == states.end())
      return;
    Projection projection = projectToFactors(rule, tensor, found->second.shape,
                                             found->second.sharding);
    for (unsigned f = 0; f < rule.factors.size(); ++f)
      if (factors.axes[f].empty()) {
        factors.axes[f] = projection.factors.axes[f];
        factors.forms[f] = projection.factors.forms[f];
      }
  };
  for (auto [index, tensor] : llvm::enumerate(rule.operands))
    take(op->getOperand(index), tensor);
  for (auto [index, tensor] : llvm::enumerate(rule.results))
    take(op->getResult(index), tensor);
  return factors;
}

/// Bytes of a parameter of this type: scales in blocks take an f16 for each
/// block and a byte for each group.
static int64_t getStoredBytes(ParameterOp op, RankedTensorType type) {
  auto packed = op->getAttrOfType<IntegerAttr>(packedGroupsAttrName);
  if (!packed || !type.getElementType().isF32())
    return getTensorBytes(type);
  int64_t groups = type.getNumElements();
  return groups + llvm::divideCeil(groups, packed.getInt()) * 2;
}

void tp::addShares(Operation *function, const Mesh &mesh,
                   const LocalStates &states,
                   llvm::StringMap<bool> &seenParameters,
                   LedgerReport &report) {
  int64_t ranks = mesh.getNumRanks();
  function->walk([&](Operation *op) {
    if (auto parameter = dyn_cast<ParameterOp>(op)) {
      // Each tensor once, whichever loops read it.
      std::string source;
      if (parameter.getSource())
        llvm::raw_string_ostream(source) << *parameter.getSource();
      NameRange names = getNames(parameter);
      int64_t copies = 0;
      for (int64_t i = names.first; i < names.first + names.count; ++i)
        copies += seenParameters
                      .try_emplace(instantiate(names.pattern, i) + source, true)
                      .second;
      if (copies == 0)
        return;
      const LocalState &state = states.find(parameter.getResult())->second;
      auto local = cast<RankedTensorType>(parameter.getType());
      int64_t shards = 1;
      for (const DimSharding &dim : state.sharding.dims)
        shards *= getShardCount(dim.axes);
      int64_t model =
          copies * getStoredBytes(parameter, local.clone(state.shape));
      addShare(report.parameters, copies * getStoredBytes(parameter, local),
               model, shards, ranks);
      if (shards == 1 && ranks > 1)
        report.replicatedParameters.push_back(
            {parameter.getName().str(), model});
      return;
    }
    auto attr = op->getAttrOfType<RuleAttr>(TPDialect::getRuleAttrName());
    if (!attr)
      return;
    ShardingRule rule = attr.toRule();
    double perPoint = getFlopsPerPoint(op, rule);
    if (perPoint == 0)
      return;
    FactorShardings factors = getFactors(op, rule, states);
    double local = getRunCount(op) * perPoint, model = local;
    int64_t shards = 1;
    for (auto [f, factor] : llvm::enumerate(rule.factors)) {
      if (!isIterated(rule, f))
        continue;
      DimSharding dim = getFactorCut(rule, factors, f);
      model *= factor.size;
      local *= getLocalSize(factor.size, dim);
      shards *= getShardCount(dim.axes);
    }
    addShare(report.functions.back().flops, std::llround(local),
             std::llround(model), shards, ranks);
  });
}

static void addState(RankShare &share, StateOp state, const Mesh &mesh) {
  auto local = cast<RankedTensorType>(state.getType());
  int64_t shards = 1;
  if (ShardingAttr attr = state.getShardingAttr())
    for (const DimSharding &dim : attr.toSharding(mesh).dims)
      shards *= getShardCount(dim.axes);
  addShare(share, getTensorBytes(local), getTensorBytes(state.getGlobalType()),
           shards, mesh.getNumRanks());
}

void tp::addShares(StateOp state, const Mesh &mesh, LedgerReport &report) {
  addState(report.states, state, mesh);
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

/// Visit what a layer in reverse reads of the forward one.
static void forEachKept(Operation *function, function_ref<void(Value)> visit) {
  llvm::SmallPtrSet<Value, 16> seen;
  function->walk([&](RepeatOp repeat) {
    if (!repeat.getReverse())
      return;
    for (Value stacked : repeat.getStacked()) {
      // Bringing it into another sharding would keep both.
      auto forward = stacked.getDefiningOp<RepeatOp>();
      if (forward && !forward.getReverse() && seen.insert(stacked).second)
        visit(stacked);
    }
  });
}

int64_t tp::getKeptBytes(Operation *function) {
  int64_t bytes = 0;
  forEachKept(function, [&](Value value) {
    bytes += getTensorBytes(cast<RankedTensorType>(value.getType()));
  });
  return bytes;
}

void tp::addKeptShares(Operation *function, const Mesh &mesh,
                       const LocalStates &states, LedgerReport &report) {
  RankShare kept;
  forEachKept(function, [&](Value value) {
    const LocalState &state = states.find(value)->second;
    auto local = cast<RankedTensorType>(value.getType());
    int64_t shards = 1;
    for (const DimSharding &dim : state.sharding.dims)
      shards *= getShardCount(dim.axes);
    addShare(kept, getTensorBytes(local),
             getTensorBytes(local.clone(state.shape)), shards,
             mesh.getNumRanks());
  });
  if (kept.model)
    report.memory.push_back({"kept values", kept});
}

void tp::addTrainingShares(ModuleOp module, const Mesh &mesh,
                           LedgerReport &report) {
  auto training =
      module->getAttrOfType<DictionaryAttr>(TPDialect::getTrainingAttrName());
  auto weights = training ? training.getAs<ArrayAttr>("weights") : ArrayAttr();
  if (!weights)
    return;
  RankShare parameters, gradients, moments;
  for (auto fields : weights.getAsRange<DictionaryAttr>())
    for (NamedAttribute field : fields) {
      auto symbol = dyn_cast<FlatSymbolRefAttr>(field.getValue());
      if (!symbol)
        continue;
      RankShare &share = field.getName() == "weight"     ? parameters
                         : field.getName() == "gradient" ? gradients
                                                         : moments;
      addState(share, lookupState(module, symbol), mesh);
    }
  std::pair<std::string, RankShare> kinds[] = {
      {"weights", parameters},
      {"gradients", gradients},
      {"moments and masters", moments}};
  report.memory.insert(report.memory.begin(), std::begin(kinds),
                       std::end(kinds));
  for (FunctionTotals &function : report.functions)
    if (function.name == "gradient")
      function.runsPer = "micro-batch";
    else if (function.name == "update")
      function.runsPer = "step";
}

//===- RowPlan.cpp - What of a block is computed in parts -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See RowPlan.h.
//
//===----------------------------------------------------------------------===//

#include "RowOrder.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tprt/units.h"

using namespace mlir;
using namespace tp;

/// A site is cut if that saves more than this part of what is computed in parts
/// for it and of its collectives.
static constexpr double leastGain = 0.03;

namespace {

/// Carries cuts through a block.
class Planner {
public:
  Planner(Block &block, unsigned chunks, const CostModel *model, RowPlan &plan)
      : block(block), chunks(chunks), model(model), plan(plan),
        loop(dyn_cast<RepeatOp>(block.getParentOp())) {}

  void run() {
    for (Operation &op : block)
      if (auto collective = dyn_cast<CollectiveOpInterface>(op))
        planSite(collective);
    for (Operation &op : block)
      if (auto inner = dyn_cast<RepeatOp>(op))
        followLoop(inner);
    finish();
  }

private:
  struct Trial {
    DenseMap<Operation *, OpParts> ops;
    /// Cuts that somebody wants; made are those of results of `ops`.
    DenseMap<Value, Cut> wanted;
    unsigned products = 0;
  };

  Block &block;
  unsigned chunks;
  const CostModel *model;
  RowPlan &plan;
  RepeatOp loop; ///< whose body the block is, or null
  Trial accepted;
  SmallVector<Value> work;

  /// The cut that a site begins with: rows are the first dimension of more
  /// than one position, and never the last one.
  std::optional<Cut> getSeed(Value side) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(side.getType()).getShape();
    for (auto [dim, size] : llvm::enumerate(shape.drop_back(!shape.empty())))
      if (size > 1)
        return getEvenCut(dim, size, std::min<int64_t>(chunks, size));
    return std::nullopt;
  }

  void planSite(CollectiveOpInterface op) {
    if (accepted.ops.contains(op))
      return;
    // The side that a rank has its own rows of.
    Value side = op.getRow().cuts() ? op->getResult(0) : op->getOperand(0);
    std::optional<Cut> seed = getSeed(side);
    if (!seed) {
      plan.reasons[op] = "it has one row";
      return;
    }
    Trial trial = accepted;
    trial.wanted[side] = *seed;
    work.assign({side});
    enter(trial, op, side, /*crossesProducts=*/true);
    if (!trial.ops.contains(op)) {
      work.clear();
      plan.reasons[op] = "its parts are no collectives of parts of its operand";
      return;
    }
    spread(trial, /*crossesProducts=*/true);
    if (trial.products == accepted.products) {
      plan.reasons[op] =
          "no product can be computed in parts before or after it";
      return;
    }
    if (std::optional<std::string> loss = findLoss(op, trial)) {
      plan.reasons[op] = *loss;
      return;
    }
    accepted = std::move(trial);
  }

  /// Why cutting this site as well does not save time by the model, if so.
  std::optional<std::string> findLoss(CollectiveOpInterface op,
                                      const Trial &trial) {
    if (!model)
      return std::nullopt;
    RowCosts costs(*model);
    RowPlan before = getPlan(accepted), after = getPlan(trial);
    RowTimes whole = getRowTimes(block, before, costs);
    RowTimes cut = getRowTimes(block, after, costs);
    double site = 0;
    for (Operation &added : block)
      if (auto found = trial.ops.find(&added);
          found != trial.ops.end() && !accepted.ops.contains(&added)) {
        PartCost cost = costs.get(&added, &found->second, 1);
        site += cost.work + cost.link;
      }
    if (whole.total - cut.total > leastGain * site)
      return std::nullopt;
    auto text = [](double seconds) { return tprt::formatSeconds(seconds); };
    return "in " +
           std::to_string(trial.ops.at(op).results.front().getNumParts()) +
           " parts it hides " +
           text(std::max(0.0, whole.getExposed() - cut.getExposed())) +
           " and costs " + text(std::max(0.0, cut.work - whole.work)) +
           " of work";
  }

  /// Outside of a loop whose carried values are in parts, what only passes over
  /// rows follows; products are as fast in one piece.
  void followLoop(RepeatOp inner) {
    RowPlan &body = *plan.loops.at(inner);
    for (auto [i, argument] : llvm::enumerate(inner.getCarriedArgs())) {
      auto found = body.values.find(argument);
      if (found == body.values.end())
        continue;
      plan.values[inner.getResult(i)] = found->second;
      want(accepted, inner.getResult(i), found->second);
      want(accepted, inner.getInits()[i], found->second);
    }
    spread(accepted, /*crossesProducts=*/false);
  }

  void want(Trial &trial, Value value, const Cut &cut) {
    Operation *op = value.getDefiningOp();
    bool isMade = op ? op->getBlock() == &block && op->getNumOperands() > 0
                     : loop && llvm::is_contained(loop.getCarriedArgs(), value);
    if (isMade && trial.wanted.try_emplace(value, cut).second)
      work.push_back(value);
  }

  void spread(Trial &trial, bool crossesProducts) {
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (Operation *op = value.getDefiningOp())
        enter(trial, op, value, crossesProducts);
      for (Operation *user : value.getUsers())
        if (user->getBlock() == &block)
          enter(trial, user, value, crossesProducts);
      if (loop)
        followCarried(trial, value);
    }
  }

  /// Cuts a carried value alike where an iteration yields it and where the next
  /// one reads it.
  void followCarried(Trial &trial, Value value) {
    Cut cut = trial.wanted.at(value);
    auto arguments = loop.getCarriedArgs();
    OperandRange yielded = loop.getYield().getOperands();
    for (auto [i, argument] : llvm::enumerate(arguments)) {
      if (argument == value)
        want(trial, yielded[i], cut);
      if (yielded[i] == value)
        want(trial, argument, cut);
    }
  }

  /// Computes `op` in parts if it can be.
  void enter(Trial &trial, Operation *op, Value value, bool crossesProducts) {
    bool isCrossed =
        crossesProducts || !(isProduct(op) || isa<CollectiveOpInterface>(op));
    if (!isCrossed || trial.ops.contains(op) || op->getNumOperands() == 0)
      return;
    std::optional<OpParts> parts =
        getOpParts(op, value, trial.wanted.at(value));
    if (!parts)
      return;
    for (auto [result, cut] : llvm::zip(op->getResults(), parts->results))
      if (auto found = trial.wanted.find(result);
          found != trial.wanted.end() && !(found->second == cut))
        return;
    for (auto [result, cut] : llvm::zip(op->getResults(), parts->results))
      want(trial, result, cut);
    for (auto [operand, part] : llvm::zip(op->getOperands(), parts->operands))
      if (part && !part->isPrefix)
        want(trial, operand, part->cut);
    trial.products += isProduct(op);
    trial.ops.try_emplace(op, std::move(*parts));
  }

  /// The plan that cuts what `trial` does.
  RowPlan getPlan(const Trial &trial) {
    RowPlan made;
    made.loops = plan.loops;
    made.ops = trial.ops;
    made.values = plan.values;
    for (auto &[op, parts] : made.ops)
      for (auto [result, cut] : llvm::zip(op->getResults(), parts.results))
        made.values[result] = cut;
    if (!loop)
      return made;
    for (auto [argument, yielded] :
         llvm::zip(loop.getCarriedArgs(), loop.getYield().getOperands())) {
      auto wanted = trial.wanted.find(argument);
      if (wanted != trial.wanted.end() && made.has(yielded, {wanted->second}))
        made.values[argument] = wanted->second;
    }
    return made;
  }

  void finish() {
    RowPlan made = getPlan(accepted);
    made.reasons = std::move(plan.reasons);
    plan = std::move(made);
  }
};

} // namespace

std::shared_ptr<RowPlan> tp::planRows(Block &block, unsigned chunks,
                                      const CostModel *model) {
  auto plan = std::make_shared<RowPlan>();
  for (Operation &op : block)
    if (auto inner = dyn_cast<RepeatOp>(op))
      plan->loops[inner] = planRows(*inner.getBodyBlock(), chunks, model);
  Planner(block, chunks, model, *plan).run();
  return plan;
}

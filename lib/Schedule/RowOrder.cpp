//===- RowOrder.cpp - The order of parts of rows --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See RowOrder.h.
//
//===----------------------------------------------------------------------===//

#include "RowOrder.h"

#include <queue>

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

bool RowOrder::startsSegment(Operation *op, const Segment &last) const {
  auto found = plan.ops.find(op);
  if (found == plan.ops.end() || !plan.ops.contains(last.ops.back()) ||
      isa<CollectiveOpInterface>(last.ops.back()))
    return true;
  const OpParts &cut = found->second;
  if (cut.results.front().getNumParts() != last.parts)
    return true;
  unsigned number = segments.size() - 1;
  for (auto [operand, part] : llvm::zip(op->getOperands(), cut.operands)) {
    Operation *producer = operand.getDefiningOp();
    auto made = segmentOf.find(producer);
    if (!producer || made == segmentOf.end() || made->second != number)
      continue;
    // All parts must be there, or a product that others could stand before.
    if (!part || !plan.has(operand, *part) ||
        (isProduct(op) && last.afterProduct.contains(producer)))
      return true;
  }
  return false;
}

PartCost RowOrder::getCost(Operation *op) const {
  if (auto loop = dyn_cast<RepeatOp>(op)) {
    const RowPlan &body = *plan.loops.at(op);
    return {double(loop.getCount()) *
                getRowTimes(*loop.getBodyBlock(), body, costs).total,
            0};
  }
  auto cut = plan.ops.find(op);
  if (cut == plan.ops.end())
    return costs.get(op, nullptr, 1);
  return costs.get(op, &cut->second, cut->second.results.front().getNumParts());
}

void RowOrder::add(Operation *op) {
  if (segments.empty() || startsSegment(op, segments.back())) {
    segments.emplace_back();
    if (auto cut = plan.ops.find(op); cut != plan.ops.end())
      segments.back().parts = cut->second.results.front().getNumParts();
  }
  Segment &segment = segments.back();
  bool isAfter = isProduct(op) || llvm::any_of(op->getOperands(), [&](Value v) {
                   return segment.afterProduct.contains(v.getDefiningOp());
                 });
  if (isAfter)
    segment.afterProduct.insert(op);
  segment.ops.push_back(op);
  segmentOf[op] = segments.size() - 1;
  PartCost cost = getCost(op);
  segment.cost.work += cost.work;
  segment.cost.link += cost.link;
}

bool RowOrder::isReadBy(Operation *op) const {
  WalkResult walk = op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && segmentOf.contains(producer))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return walk.wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

namespace {

/// One part of a segment.
struct Task {
  unsigned segment, part;
  /// Tasks that need this one, and those that it needs and that have not run.
  SmallVector<unsigned, 4> readers;
  unsigned missing = 0;
  /// The link's work once its operands are there.
  double ready = 0;
};

/// The tasks of some segments, which are added in order.
class Tasks {
public:
  /// Adds the parts of a segment, of which each runs after the one before it.
  void add(unsigned segment, unsigned parts) {
    first.push_back(tasks.size());
    for (unsigned part = 0; part < parts; ++part) {
      tasks.push_back({segment, part, {}});
      if (part > 0)
        addNeed(tasks.size() - 2, tasks.size() - 1);
    }
  }
  /// Says that part `part` of the last segment needs parts of another one: the
  /// same part, or all of them.
  void addNeeds(unsigned segment, unsigned parts, unsigned part, bool isSame) {
    unsigned task = first.back() + part;
    for (unsigned i = 0; i < parts; ++i)
      if (!isSame || i == part)
        addNeed(first[segment] + i, task);
  }
  /// Runs all tasks: `run(task)` returns the link's work once the results of
  /// one are there, and `getWork` what it has done.
  void run(function_ref<double(const Task &)> run,
           function_ref<double()> getWork);

private:
  std::vector<Task> tasks;
  /// The first task of each segment.
  std::vector<unsigned> first;

  void addNeed(unsigned needed, unsigned task) {
    tasks[needed].readers.push_back(task);
    ++tasks[task].missing;
  }
};

} // namespace

void Tasks::run(function_ref<double(const Task &)> run,
                function_ref<double()> getWork) {
  // The furthest task runs if several can; if none can, the first to be ready.
  auto isNearer = [&](unsigned a, unsigned b) {
    return tasks[a].segment < tasks[b].segment;
  };
  auto isLater = [&](unsigned a, unsigned b) {
    return tasks[a].ready != tasks[b].ready ? tasks[a].ready > tasks[b].ready
                                            : isNearer(a, b);
  };
  using Queue = std::vector<unsigned>;
  std::priority_queue<unsigned, Queue, decltype(isNearer)> runnable(isNearer);
  std::priority_queue<unsigned, Queue, decltype(isLater)> waiting(isLater);
  for (unsigned task = 0; task < tasks.size(); ++task)
    if (tasks[task].missing == 0)
      waiting.push(task);
  while (!runnable.empty() || !waiting.empty()) {
    while (!waiting.empty() &&
           (tasks[waiting.top()].ready <= getWork() || runnable.empty())) {
      bool isThere = tasks[waiting.top()].ready <= getWork();
      runnable.push(waiting.top());
      waiting.pop();
      if (!isThere)
        break;
    }
    unsigned next = runnable.top();
    runnable.pop();
    double done = run(tasks[next]);
    for (unsigned reader : tasks[next].readers) {
      Task &task = tasks[reader];
      bool isNextPart = task.segment == tasks[next].segment;
      if (!isNextPart)
        task.ready = std::max(task.ready, done);
      if (--task.missing == 0)
        waiting.push(reader);
    }
  }
}

void RowOrder::run(Visit visit) {
  Tasks tasks;
  for (auto [number, segment] : llvm::enumerate(segments)) {
    tasks.add(number, segment.parts);
    // Each producer once, with all parts if an operation needs all.
    llvm::MapVector<unsigned, bool> isSame;
    for (Operation *op : segment.ops) {
      auto cut = plan.ops.find(op);
      op->walk([&](Operation *inner) {
        for (OpOperand &use : inner->getOpOperands()) {
          auto made = segmentOf.find(use.get().getDefiningOp());
          if (made == segmentOf.end() || made->second == number)
            continue;
          const OperandPart *part = nullptr;
          if (inner == op && cut != plan.ops.end())
            if (const auto &wanted =
                    cut->second.operands[use.getOperandNumber()])
              part = &*wanted;
          bool isOnePart = part && plan.has(use.get(), *part);
          auto [entry, isNew] = isSame.try_emplace(made->second, isOnePart);
          entry->second &= isOnePart;
        }
      });
    }
    for (auto [producer, same] : isSame)
      for (unsigned part = 0; part < segment.parts; ++part)
        tasks.addNeeds(producer, segments[producer].parts, part, same);
  }
  tasks.run(
      [&](const Task &task) {
        const Segment &segment = segments[task.segment];
        clock.wait(task.ready);
        clock.run(segment.cost.work);
        work += segment.cost.work;
        double done = segment.cost.link > 0 ? clock.start(segment.cost.link)
                                            : clock.getLinkWork();
        visit(segment, task.part);
        return done;
      },
      [&] { return clock.getLinkWork(); });
  segments.clear();
  segmentOf.clear();
}

RowTimes tp::getRowTimes(Block &block, const RowPlan &plan,
                         const RowCosts &costs) {
  RowOrder order(plan, costs);
  for (Operation &op : block.without_terminator())
    if (op.getNumOperands() > 0 || isa<RepeatOp>(op))
      order.add(&op);
  order.run([](const RowOrder::Segment &, unsigned) {});
  return {order.getEnd(), order.getWork()};
}

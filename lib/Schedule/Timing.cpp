//===- Timing.cpp - The times of a scheduled program ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scheduled function is run on a clock, operation by operation: kernels take
// their time on the processor, collectives on the link, and an await waits for
// what is left of its collective. A loop is its body so many times.
//
//===----------------------------------------------------------------------===//

#include "Work.h"
#include "tp/Schedule/Describe.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Cost/CostModel.h"
#include "tp/Schedule/RowKernels.h"

using namespace mlir;
using namespace tp;

namespace {

/// Runs the operations of one function.
class Run {
public:
  explicit Run(const CostModel &model) : model(model) {}

  /// Returns the seconds of a block's operations, run once.
  FailureOr<double> run(Block &block);

  RunSeconds seconds;
  /// Seconds of calls, by the number of their ledger entry.
  std::map<int64_t, CallSeconds> calls;

private:
  const CostModel &model;

  LogicalResult runKernel(Operation *op, Clock &clock);
  CallSeconds &addCall(Operation *op, LedgerAttr entry, double time);
  void addWait(Operation *op, LedgerAttr entry, double waited);
};

} // namespace

/// The number of an entry; -1 where a collective has none.
static int64_t getId(LedgerAttr entry) { return entry ? entry.getId() : -1; }

CallSeconds &Run::addCall(Operation *op, LedgerAttr entry, double time) {
  time *= double(getRunCount(op));
  CallSeconds &call = calls[getId(entry)];
  call.total += time;
  seconds.communication += time;
  return call;
}

void Run::addWait(Operation *op, LedgerAttr entry, double waited) {
  waited *= double(getRunCount(op));
  calls[getId(entry)].exposed += waited;
  seconds.exposed += waited;
}

LogicalResult Run::runKernel(Operation *op, Clock &clock) {
  FailureOr<std::optional<KernelWork>> work = readWork(op);
  if (failed(work))
    return failure();
  if (!*work)
    return success();
  KernelSeconds one = model.getKernel(**work);
  clock.run(one.getTotal());
  double count = double((*work)->count);
  (one.arithmetic >= one.memory ? seconds.arithmetic : seconds.memory) +=
      count * std::max(one.arithmetic, one.memory);
  seconds.starts += count * one.start;
  return success();
}

FailureOr<double> Run::run(Block &block) {
  Clock clock(model.getProfile());
  DenseMap<Operation *, double> done;
  for (Operation &op : block) {
    if (auto loop = dyn_cast<RepeatOp>(op)) {
      FailureOr<double> body = run(*loop.getBodyBlock());
      if (failed(body))
        return failure();
      clock.run(*body * double(loop.getCount()));
    } else if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
      double time = model.getCollective(collective);
      done[&op] = clock.start(time);
      LedgerAttr entry = collective.getLedgerEntry();
      CallSeconds &call = addCall(&op, entry, time);
      Span span = model.getSpan(collective);
      call.ranks = span.ranks;
      call.nodes = span.nodes;
      if (!getAwait(&op))
        addWait(&op, entry, clock.wait(done.at(&op)));
    } else if (auto meet = dyn_cast<MeetOp>(op)) {
      double time = model.getMeeting(meet);
      addCall(meet, meet.getLedgerAttr(), time);
      addWait(meet, meet.getLedgerAttr(), clock.wait(clock.start(time)));
    } else if (auto await = dyn_cast<AwaitOp>(op)) {
      auto started = await.getStarted().getDefiningOp<CollectiveOpInterface>();
      addWait(started, started.getLedgerEntry(), clock.wait(done.at(started)));
    } else if (failed(runKernel(&op, clock))) {
      return failure();
    }
  }
  return clock.getNow();
}

/// Runs a function that is no kernel on a clock.
static LogicalResult runFunction(func::FuncOp function, const CostModel &model,
                                 Run &run) {
  FailureOr<double> total = run.run(function.getBody().front());
  if (failed(total))
    return failure();
  RunSeconds &seconds = run.seconds;
  seconds.total = *total;
  double slowed = *total - seconds.arithmetic - seconds.memory -
                  seconds.starts - seconds.exposed;
  // A kernel does not take longer for the rounding of the sums.
  seconds.slowed = slowed > 1e-9 * *total ? slowed : 0;
  return success();
}

static CostModel getModel(ModuleOp module, const Profile &profile) {
  MeshOp mesh = getUniqueMesh(module);
  return CostModel(profile, mesh ? mesh.getMesh().toMesh() : Mesh());
}

FailureOr<std::map<std::string, RunSeconds>>
tp::getRunSeconds(ModuleOp module, const Profile &profile) {
  CostModel model = getModel(module, profile);
  std::map<std::string, RunSeconds> times;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function->hasAttr(kernelAttrName) || !hasSizes(function))
      continue;
    Run run(model);
    if (failed(runFunction(function, model, run)))
      return failure();
    times[function.getSymName().str()] = run.seconds;
  }
  return times;
}

/// Why the profile does not say how long a program takes: it has no figure for
/// products in one of its types. Empty if it has.
static std::string findUntimed(const LedgerReport &report,
                               const Profile &profile) {
  for (const FunctionTotals &totals : report.functions)
    for (const KernelWork &work : totals.work) {
      if (!work.isProduct || profile.matrix.contains(work.type))
        continue;
      std::string text;
      llvm::raw_string_ostream os(text);
      os << "the profile '" << profile.name
         << "' has no figure for products in " << work.type
         << ": expected them to be in one of ";
      llvm::interleaveComma(llvm::make_first_range(profile.matrix), os);
      os << " (--dtype), or matrix." << work.type << " in the profile";
      return text;
    }
  return "";
}

LogicalResult tp::addSeconds(ModuleOp module, const Profile &profile,
                             LedgerReport &report) {
  report.untimed = findUntimed(report, profile);
  if (!report.untimed.empty())
    return success();
  report.profile = profile.name;
  CostModel model = getModel(module, profile);
  for (FunctionTotals &totals : report.functions) {
    auto function = module.lookupSymbol<func::FuncOp>(totals.name);
    if (!function || !totals.memory)
      continue;
    for (KernelWork &work : totals.work)
      work.seconds = model.getKernel(work);
    Run run(model);
    if (failed(runFunction(function, model, run)))
      return failure();
    totals.seconds = run.seconds;
    for (LedgerLine &line : report.lines)
      if (line.function == totals.name)
        line.seconds = run.calls[line.id];
  }
  return success();
}

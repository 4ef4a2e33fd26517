//===- Describe.cpp - What the scheduled program needs --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory and work of one rank, read from the program once its kernels are
// formed and every tensor has a place: the bytes that lower writes to the
// manifest, and of each kernel the arithmetic and the bytes that it reads and
// writes. Whoever predicts times needs no more of the program than this and
// the collectives.
//
//===----------------------------------------------------------------------===//

#include "tp/Schedule/Describe.h"

#include "Work.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Schedule/Buffers.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Support/Bytes.h"
#include "tprt/units.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The runtime aligns values, and parameters and states, so
/// (docs/RuntimeABI.md).
static constexpr int64_t valueAlignment = 64, heldAlignment = 256;

/// Bytes with the space up to where the next tensor may begin.
static int64_t getAlignedBytes(Type type, int64_t alignment) {
  return llvm::alignTo(getTensorBytes(cast<RankedTensorType>(type)), alignment);
}

int64_t tp::getHeldParameterBytes(ModuleOp module) {
  int64_t bytes = 0;
  llvm::StringMap<bool> held;
  module.walk([&](ParameterOp op) {
    int64_t runs = getRunCount(op);
    if (op->use_empty() || runs == 0)
      return;
    NameRange names = getNames(op);
    auto shardings =
        op->getAttrOfType<ArrayAttr>(TPDialect::getShardingsAttrName());
    std::string key;
    llvm::raw_string_ostream stream(key);
    for (const NameRange &name : getAllNames(op))
      stream << name.pattern << '|';
    stream << names.first << '|' << names.count << '|' << op.getSourceAttr()
           << '|' << op.getType() << '|' << op->getAttr("tp.global_type") << '|'
           << shardings << '|' << op->getAttr("tp.partial");
    if (held.try_emplace(key, true).second)
      bytes += names.count * getAlignedBytes(op.getType(), heldAlignment);
  });
  return bytes;
}

int64_t tp::getStateBytes(ModuleOp module) {
  int64_t bytes = 0;
  for (auto state : module.getOps<StateOp>())
    bytes += getAlignedBytes(state.getType(), heldAlignment);
  return bytes;
}

int64_t tp::getValueBytes(FunctionOpInterface function) {
  int64_t bytes = 0;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (!getArgState(function, i))
      bytes += getAlignedBytes(type, valueAlignment);
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (!getResultState(function, i))
      bytes += getAlignedBytes(type, valueAlignment);
  return bytes;
}

/// The dense constants that the steps read, each on a multiple of 64 bytes.
static int64_t getConstantBytes(ModuleOp module) {
  int64_t bytes = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function->hasAttr(kernelAttrName))
      continue;
    function.walk([&](arith::ConstantOp op) {
      if (isa<DenseElementsAttr>(op.getValue()) && !op->use_empty() &&
          getRunCount(op) > 0)
        bytes = llvm::alignTo(bytes, valueAlignment) +
                getTensorBytes(cast<RankedTensorType>(op.getType()));
    });
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// Kernels of one kind that do as much are one line.
static LogicalResult addWork(func::FuncOp function,
                             SmallVectorImpl<KernelWork> &lines) {
  llvm::StringMap<size_t> lineOf;
  WalkResult walk = function.walk([&](Operation *op) {
    FailureOr<std::optional<KernelWork>> work = readWork(op);
    if (failed(work))
      return WalkResult::interrupt();
    if (!*work || (*work)->count == 0)
      return WalkResult::advance();
    std::string key =
        llvm::formatv("{0} {1} {2} {3} {4}", (*work)->kernel, (*work)->type,
                      (*work)->flops, (*work)->bytes, (*work)->rows);
    auto [line, isNew] = lineOf.try_emplace(key, lines.size());
    if (isNew)
      lines.push_back(**work);
    else
      lines[line->second].count += (*work)->count;
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Collects the operations between the start of `op` and its await.
static FailureOr<CallOverlap> readOverlap(CollectiveOpInterface op,
                                          const TargetTraits &traits,
                                          Overlap choice) {
  CallOverlap overlap;
  AwaitOp await = getAwait(op);
  if (isa<PeersOp>(op)) {
    overlap.reason = "it is no call";
    return overlap;
  }
  if (!await) {
    overlap.reason =
        choice.isOff() ? "--overlap is off"
        : getCallBytes(op) < traits.leastStartedBytes
            ? "fewer than " + tprt::formatBytes(traits.leastStartedBytes)
            : "too little stands between it and what needs its result";
    return overlap;
  }
  overlap.isStarted = true;
  int64_t runs = std::max<int64_t>(1, getRunCount(op));
  for (Operation *between = op->getNextNode(); between != await;
       between = between->getNextNode()) {
    WalkResult walk = between->walk([&](Operation *inner) {
      FailureOr<std::optional<KernelWork>> work = readWork(inner);
      if (failed(work))
        return WalkResult::interrupt();
      if (*work) {
        int64_t count = (*work)->count / runs;
        overlap.kernels += count;
        overlap.flops += double(count) * (*work)->flops;
        overlap.bytes += count * (*work)->bytes;
      }
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return overlap;
}

/// Says of each line of the ledger what its call stands beside.
static LogicalResult addOverlaps(func::FuncOp function,
                                 const TargetTraits &traits, Overlap choice,
                                 LedgerReport &report) {
  WalkResult walk = function.walk([&](CollectiveOpInterface op) {
    LedgerAttr entry = op.getLedgerEntry();
    auto line = llvm::find_if(report.lines, [&](const LedgerLine &line) {
      return entry && line.id == entry.getId() &&
             line.function == function.getSymName();
    });
    if (line == report.lines.end())
      return WalkResult::advance();
    FailureOr<CallOverlap> overlap = readOverlap(op, traits, choice);
    if (failed(overlap))
      return WalkResult::interrupt();
    // The parts of one line.
    if (line->overlap) {
      overlap->isStarted |= line->overlap->isStarted;
      overlap->kernels += line->overlap->kernels;
      overlap->flops += line->overlap->flops;
      overlap->bytes += line->overlap->bytes;
    }
    overlap->readsPeers = isa<PeersOp>(op);
    if (auto reason = op->getAttrOfType<StringAttr>(libraryAttrName))
      overlap->library = reason.getValue().str();
    if (auto part = op->getAttrOfType<DenseI64ArrayAttr>(partAttrName))
      overlap->chunks = part[1];
    if (auto reason = op->getAttrOfType<StringAttr>(wholeAttrName))
      overlap->whole = reason.getValue().str();
    line->overlap = std::move(*overlap);
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// True if all that the function takes and gives has a size; lower refuses what
/// has none.
bool tp::hasSizes(FunctionOpInterface function) {
  return !function.isExternal() &&
         llvm::all_of(llvm::concat<const Type>(function.getArgumentTypes(),
                                               function.getResultTypes()),
                      [](Type type) {
                        auto tensor = dyn_cast<RankedTensorType>(type);
                        return tensor && tensor.getElementType().isIntOrFloat();
                      });
}

LogicalResult tp::addSchedule(ModuleOp module, const Target &target,
                              Overlap overlap, const ProfileHandle &profile,
                              LedgerReport &report) {
  MemoryPlan held;
  held.parameters = getHeldParameterBytes(module);
  held.states = getStateBytes(module);
  held.constants = getConstantBytes(module);
  for (FunctionTotals &totals : report.functions) {
    auto function = module.lookupSymbol<func::FuncOp>(totals.name);
    if (!function || !hasSizes(function))
      continue;
    auto bytes = [&](StringRef name) {
      auto attr = function->getAttrOfType<IntegerAttr>(name);
      return attr ? attr.getInt() : 0;
    };
    MemoryPlan plan = held;
    plan.values = getValueBytes(function);
    plan.kept = totals.keptBytes;
    plan.activations = bytes(arenaBytesAttrName) - plan.kept;
    plan.communication = bytes(commBytesAttrName);
    totals.memory = plan;
    if (failed(addWork(function, totals.work)) ||
        failed(addOverlaps(function, target.getTraits(), overlap, report)))
      return failure();
  }
  return profile ? addSeconds(module, *profile, report) : success();
}

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

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Interfaces/LibraryInterface.h"
#include "tp/Interfaces/ShardingInterface.h"
#include "tp/Schedule/Buffers.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Schedule/Views.h"
#include "tp/Support/Bytes.h"
#include "tp/Support/MathInstructions.h"
#include "tprt/units.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Where the runtime begins a value, and where a parameter or state
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

/// Arithmetic of an exponential and its like: about what the polynomials of
/// tp-expand-math have.
static constexpr int64_t functionFlops = 16;

/// Arithmetic of a loop nest: of each operation on numbers with a point.
static double getFlops(linalg::LinalgOp op) {
  int64_t perPoint = 0;
  for (Operation &inner : op.getBlock()->without_terminator()) {
    bool isArithmetic = isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
        inner.getDialect());
    if (!isArithmetic || inner.getNumResults() != 1 ||
        !isa<FloatType>(inner.getResult(0).getType()) ||
        isa<CastOpInterface, arith::SelectOp, arith::ConstantOp>(inner))
      continue;
    bool isInstruction = isa<arith::ArithDialect>(inner.getDialect()) ||
                         isa<math::FmaOp>(inner) || isMathInstruction(&inner);
    perPoint += isInstruction ? 1 : functionFlops;
  }
  double points = 1;
  for (int64_t size : op.getStaticLoopRanges())
    points *= size;
  return perPoint * points;
}

static FailureOr<double> getFlops(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return getFlops(linalgOp);
  auto library = dyn_cast<LibraryOpInterface>(op);
  double flops = library ? library.getFlopsPerPoint() : 0;
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (flops == 0 || !ruled)
    return flops;
  FailureOr<ShardingRule> rule = ruled.getShardingRule();
  if (failed(rule))
    return failure();
  for (auto [f, factor] : llvm::enumerate(rule->factors))
    if (isIterated(*rule, f))
      flops *= factor.size;
  return flops;
}

/// What a kernel reads of an argument: all of it, or as much as it looks up.
static int64_t getReadBytes(BlockArgument argument) {
  int64_t whole = getTensorBytes(cast<RankedTensorType>(argument.getType()));
  int64_t looked = 0;
  for (Operation *user : argument.getUsers()) {
    auto loops = user->getParentOfType<linalg::LinalgOp>();
    if (!isa<tensor::ExtractOp>(user) || !loops)
      return whole;
    int64_t points = 1;
    for (int64_t size : loops.getStaticLoopRanges())
      points *= size;
    looked += points * getElementBytes(user->getResult(0).getType());
  }
  return std::min(whole, looked);
}

/// What an operation moves between memory and the processor, each tensor once,
/// and of one of which values choose a part, as much as is expected.
/// What it replaces in its own memory it touches in part.
static int64_t getMovedBytes(Operation *op, func::FuncOp kernel) {
  int64_t bytes = 0;
  llvm::SmallPtrSet<Value, 8> seen;
  auto library = dyn_cast<LibraryOpInterface>(op);
  for (OpResult result : op->getResults()) {
    if (OpOperand *replaced =
            library ? library.getReplacedOperand(result.getResultNumber())
                    : nullptr)
      seen.insert(replaced->get());
    else
      bytes += getTensorBytes(cast<RankedTensorType>(result.getType()));
  }
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type || !seen.insert(operand.get()).second)
      continue;
    if (kernel)
      bytes += getReadBytes(kernel.getArgument(operand.getOperandNumber()));
    else
      bytes += std::llround((library ? library.getReadPart(operand) : 1) *
                            double(getTensorBytes(type)));
  }
  return bytes;
}

/// One call of a kernel; nothing where the operation is none.
static FailureOr<std::optional<KernelWork>> readWork(Operation *op) {
  auto call = dyn_cast<func::CallOp>(op);
  if (!call && !(isa<LibraryOpInterface>(op) && !isView(op)))
    return std::optional<KernelWork>();
  KernelWork work{op->getName().getStringRef().str(), "", getRunCount(op)};
  for (Type type : op->getOperandTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      llvm::raw_string_ostream(work.type) << tensor.getElementType();
      break;
    }
  func::FuncOp kernel;
  SmallVector<Operation *> parts{op};
  if (call) {
    kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    auto kind = kernel ? kernel->getAttrOfType<StringAttr>(kernelAttrName)
                       : StringAttr();
    if (!kind)
      return std::optional<KernelWork>();
    work.kernel = kind.getValue().str();
    parts.clear();
    for (Operation &part : kernel.getBody().front())
      parts.push_back(&part);
  }
  for (Operation *part : parts) {
    FailureOr<double> flops = getFlops(part);
    if (failed(flops))
      return failure();
    work.flops += *flops;
  }
  work.bytes = getMovedBytes(op, kernel);
  return std::optional(work);
}

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
        llvm::formatv("{0} {1} {2} {3}", (*work)->kernel, (*work)->type,
                      (*work)->flops, (*work)->bytes);
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
    if (auto part = op->getAttrOfType<DenseI64ArrayAttr>(partAttrName))
      overlap->chunks = part[1];
    if (auto reason = op->getAttrOfType<StringAttr>(wholeAttrName))
      overlap->whole = reason.getValue().str();
    line->overlap = std::move(*overlap);
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Whether all that the function takes and gives has a size; lower refuses what
/// has none.
static bool hasSizes(func::FuncOp function) {
  return llvm::all_of(llvm::concat<const Type>(function.getArgumentTypes(),
                                               function.getResultTypes()),
                      [](Type type) {
                        auto tensor = dyn_cast<RankedTensorType>(type);
                        return tensor && tensor.getElementType().isIntOrFloat();
                      });
}

LogicalResult tp::addSchedule(ModuleOp module, const Target &target,
                              Overlap overlap, LedgerReport &report) {
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
  return success();
}

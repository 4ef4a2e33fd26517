//===- Work.cpp - The arithmetic and the bytes of operations --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Work.h.
//
//===----------------------------------------------------------------------===//

#include "Work.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "tp/Interfaces/LibraryInterface.h"
#include "tp/Interfaces/ShardingInterface.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Schedule/Views.h"
#include "tp/Support/Bytes.h"
#include "tp/Support/MathInstructions.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace tp;

/// Arithmetic of an exponential and its like: about what the polynomials of
/// tp-expand-math have.
static constexpr int64_t functionFlops = 16;

/// Arithmetic of a loop nest: of each operation on numbers with a point.
static double getLoopFlops(linalg::LinalgOp op) {
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

FailureOr<double> tp::getFlops(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return getLoopFlops(linalgOp);
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

/// Returns the bytes that a kernel reads of an argument: all, or as many as it
/// looks up.
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

/// Returns the bytes that an operation moves between memory and the processor:
/// each tensor once, and the expected part of one that values choose from. A
/// tensor that is replaced in its own memory does not count.
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

/// True if a kernel of this kind multiplies matrices, as fast as a device does.
static bool multipliesMatrices(StringRef kernel) {
  return llvm::StringSwitch<bool>(kernel)
      .Cases({"gemm", "nn.linear", "nn.matmul", "nn.quantized_linear"}, true)
      .Cases({"nn.experts", "nn.quantized_experts", "nn.experts_backward"},
             true)
      .Default(false);
}

/// Rows of the first result: all its positions but those of the last dimension.
static int64_t getRows(Operation *op) {
  auto type = op->getNumResults()
                  ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                  : nullptr;
  if (!type || type.getRank() == 0)
    return 1;
  int64_t rows = 1;
  for (int64_t size : type.getShape().drop_back())
    rows *= size;
  return rows;
}

KernelWork tp::getLibraryWork(Operation *op) {
  KernelWork work;
  work.kernel = op->getName().getStringRef().str();
  work.count = getRunCount(op);
  for (Type type : op->getOperandTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      llvm::raw_string_ostream(work.type) << tensor.getElementType();
      break;
    }
  work.isProduct = multipliesMatrices(work.kernel);
  work.rows = getRows(op);
  return work;
}

FailureOr<std::optional<KernelWork>> tp::readWork(Operation *op) {
  auto call = dyn_cast<func::CallOp>(op);
  if (!call && !(isa<LibraryOpInterface>(op) && !isView(op)))
    return std::optional<KernelWork>();
  KernelWork work = getLibraryWork(op);
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
    work.isProduct = multipliesMatrices(work.kernel);
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

//===- KernelPlan.cpp - How a row kernel is cut into loops ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations are taken in program order and each joins the first loop that has
// its column sizes and comes late enough: a value made in a loop may be used in
// the same loop at the same position, a reduction's result only after it.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Rows/KernelPlan.h"
#include "tp/Conversion/Kernels/Kernels.h"
#include "tp/Support/Bytes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tp;

int64_t KernelPlan::getRowCount() const {
  int64_t count = 1;
  for (int64_t size : rowSizes)
    count *= size;
  return count;
}

AffineMap KernelOp::getCommonMap(AffineMap map) const {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> replacement(map.getNumDims(),
                                      getAffineConstantExpr(0, context));
  for (auto [position, dim] : llvm::enumerate(rows))
    replacement[dim] = getAffineDimExpr(position, context);
  for (auto [position, dim] : llvm::enumerate(columns))
    replacement[dim] = getAffineDimExpr(rows.size() + position, context);
  return map.replaceDimsAndSymbols(replacement, {},
                                   rows.size() + columns.size(), 0);
}

/// Splits the domain of `op`; null if its results do not share the rows.
static std::unique_ptr<KernelOp> analyseOp(linalg::GenericOp op,
                                           unsigned numRowDims) {
  FailureOr<SmallVector<unsigned>> rows = getRowDims(op, numRowDims);
  if (failed(rows))
    return nullptr;
  auto result = std::make_unique<KernelOp>();
  result->op = op;
  result->rows = *rows;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto iterators = op.getIteratorTypesArray();
  unsigned parallel = 0;
  for (unsigned dim = 0; dim < sizes.size(); ++dim) {
    if (llvm::is_contained(*rows, dim) || sizes[dim] == 1)
      continue;
    result->columns.push_back(dim);
    result->columnSizes.push_back(sizes[dim]);
    parallel += iterators[dim] == utils::IteratorType::parallel;
  }
  bool hasReduction =
      llvm::is_contained(iterators, utils::IteratorType::reduction);
  if (parallel == result->columns.size() && !hasReduction)
    result->kind = KernelOp::Kind::Map;
  else if (parallel == 0)
    result->kind = KernelOp::Kind::Reduce;
  else
    result->kind = KernelOp::Kind::Mixed;
  return result;
}

namespace {
struct Planner {
  KernelPlan &plan;
  func::FuncOp kernel;

  /// The first loop that may use `tensor` as `user` does.
  unsigned getEarliestLoop(KernelOp &user, OpOperand &operand, bool &inSame) {
    const KernelTensor &tensor = plan.tensors[operand.get()];
    inSame = false;
    if (!tensor.producer)
      return 0;
    KernelOp &producer = *tensor.producer;
    auto result = cast<OpResult>(operand.get());
    AffineMap made =
        producer.getCommonMap(producer.op.getIndexingMapMatchingResult(result));
    AffineMap used =
        user.getCommonMap(user.op.getMatchingIndexingMap(&operand));
    // The initial value of a reduction is read before its loop, or behind it.
    bool startsReduction =
        user.kind == KernelOp::Kind::Reduce && user.op.isDpsInit(&operand);
    inSame = producer.kind == KernelOp::Kind::Map && !startsReduction &&
             user.kind != KernelOp::Kind::Mixed &&
             producer.columnSizes == user.columnSizes && made == used;
    return inSame ? producer.loop : producer.loop + 1;
  }

  void place(KernelOp &op) {
    unsigned earliest = 0;
    for (OpOperand &operand : op.op->getOpOperands()) {
      bool inSame;
      if (isa<RankedTensorType>(operand.get().getType()))
        earliest = std::max(earliest, getEarliestLoop(op, operand, inSame));
    }
    op.loop = plan.loops.size();
    if (op.kind != KernelOp::Kind::Mixed)
      for (unsigned i = earliest; i < plan.loops.size(); ++i)
        if (plan.loops[i].kind != KernelOp::Kind::Mixed &&
            plan.loops[i].sizes == op.columnSizes) {
          op.loop = i;
          break;
        }
    if (op.loop == plan.loops.size())
      plan.loops.push_back({op.kind, op.columnSizes, {}});
    plan.loops[op.loop].ops.push_back(&op);
  }

  /// True if a use of the tensor reads memory (rather than a register).
  bool isReadFromMemory(Value value, const KernelTensor &tensor) {
    for (OpOperand &use : value.getUses()) {
      for (auto &user : plan.ops) {
        if (user->op.getOperation() != use.getOwner())
          continue;
        if (user->op.isDpsInit(&use) &&
            !user->op.payloadUsesValueFromOperand(&use))
          continue;
        bool inSame;
        getEarliestLoop(*user, use, inSame);
        if (!inSame || user->loop != tensor.producer->loop)
          return true;
      }
    }
    return false;
  }

  void assignBuffers() {
    for (auto &op : plan.ops)
      for (Value value : op->op->getResults()) {
        KernelTensor &tensor = plan.tensors[value];
        if (tensor.isRowScalar || !tensor.results.empty() ||
            !isReadFromMemory(value, tensor))
          continue;
        auto type = cast<RankedTensorType>(value.getType());
        int64_t bytes = getElementBytes(type.getElementType());
        for (int64_t size : type.getShape().drop_front(plan.numRowDims))
          bytes *= size;
        tensor.scratchOffset = plan.scratchBytes;
        plan.scratchBytes += llvm::alignTo(bytes, 64);
      }
  }
};
} // namespace

FailureOr<KernelPlan> KernelPlan::build(func::FuncOp kernel) {
  if (failed(verifyKernel(kernel)))
    return failure();
  KernelPlan plan;
  auto rowDims = kernel->getAttrOfType<IntegerAttr>(rowDimsAttrName);
  if (!rowDims)
    return kernel.emitOpError("expected the attribute ") << rowDimsAttrName;
  plan.numRowDims = rowDims.getInt();
  Planner planner{plan, kernel};
  for (BlockArgument argument : kernel.getArguments())
    plan.tensors[argument] = {};
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
      plan.tensors[empty].isEmpty = true;
      continue;
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (isa<RankedTensorType>(constant.getType()))
        plan.tensors[constant].splat = constant;
      continue;
    }
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic)
      return op.emitOpError("expected linalg.generic on tensors in a row "
                            "kernel");
    std::unique_ptr<KernelOp> analysed = analyseOp(generic, plan.numRowDims);
    if (!analysed)
      return op.emitOpError("expected results whose ")
             << plan.numRowDims << " leading dimensions are the kernel's rows";
    SmallVector<int64_t> sizes = generic.getStaticLoopRanges();
    if (llvm::any_of(sizes, [](int64_t size) { return size <= 0; }))
      return op.emitOpError("expected static sizes of at least one in a row "
                            "kernel");
    SmallVector<int64_t> rowSizes;
    for (unsigned dim : analysed->rows)
      rowSizes.push_back(sizes[dim]);
    if (plan.ops.empty())
      plan.rowSizes = rowSizes;
    else if (plan.rowSizes != rowSizes)
      return op.emitOpError("expected the same rows in the whole kernel");
    for (OpOperand &operand : generic->getOpOperands()) {
      auto found = plan.tensors.find(operand.get());
      if (found == plan.tensors.end() || !found->second.producer)
        continue;
      if (!isRowAligned(
              generic.getMatchingIndexingMap(&operand), analysed->rows,
              cast<RankedTensorType>(operand.get().getType()).getShape()))
        return op.emitOpError("reads a tensor of the same kernel across rows");
    }
    planner.place(*analysed);
    for (Value result : generic->getResults()) {
      KernelTensor &tensor = plan.tensors[result];
      tensor.producer = analysed.get();
      tensor.isRowScalar = true;
      for (int64_t size : cast<RankedTensorType>(result.getType())
                              .getShape()
                              .drop_front(plan.numRowDims))
        tensor.isRowScalar &= size == 1;
    }
    plan.ops.push_back(std::move(analysed));
  }
  for (OpOperand &operand :
       kernel.getBody().front().getTerminator()->getOpOperands()) {
    KernelTensor &tensor = plan.tensors[operand.get()];
    if (!tensor.producer)
      return kernel.emitOpError("expected result ")
             << operand.getOperandNumber() << " to be computed by the kernel";
    tensor.results.push_back(operand.getOperandNumber());
  }
  planner.assignBuffers();
  return plan;
}

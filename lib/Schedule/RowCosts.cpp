//===- RowCosts.cpp - What parts of rows cost -----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See RowCosts.h.
//
//===----------------------------------------------------------------------===//

#include "RowCosts.h"

#include "Work.h"
#include "tp/Interfaces/LibraryInterface.h"
#include "tp/Schedule/Views.h"
#include "tp/Support/Bytes.h"

using namespace mlir;
using namespace tp;

/// True if an operation is computed row by row in a kernel with its neighbours.
static bool isRowOperation(Operation *op) {
  return op && op->getNumOperands() > 0 && !isProduct(op) && !isView(op) &&
         !isa<CollectiveOpInterface, RepeatOp>(op) &&
         !op->hasTrait<OpTrait::IsTerminator>();
}

/// True if the value is in memory, rather than within one row kernel.
static bool isInMemory(Value value) {
  return !isRowOperation(value.getDefiningOp()) ||
         llvm::any_of(value.getUsers(),
                      [](Operation *user) { return !isRowOperation(user); });
}

/// Bytes that one part moves of a tensor, which is in parts or read whole.
static double getBytes(Value value, bool isCut, unsigned parts) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? double(getTensorBytes(type)) / (isCut ? parts : 1) : 0;
}

RowCosts::RowCosts(const RowPlan &plan) {
  double work = 0, bytes = 0;
  for (const auto &[op, cut] : plan.ops) {
    PartCost whole = get(op, &cut, 1);
    work += whole.work;
    bytes += whole.link;
  }
  rate = bytes > 0 ? work / bytes : 1;
}

double RowCosts::getKernelSeconds(Operation *op, const OpParts *cut,
                                  unsigned parts) const {
  bool isOfRows = isRowOperation(op);
  double bytes = 0;
  bool writes = false;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!isOfRows || isInMemory(operand))
      bytes += getBytes(operand, cut && cut->operands[i], parts);
  for (Value result : op->getResults())
    if (!isOfRows || isInMemory(result)) {
      bytes += getBytes(result, cut, parts);
      writes = true;
    }
  if (isOfRows && !writes)
    return 0;
  KernelWork work = getLibraryWork(op);
  work.bytes = int64_t(bytes);
  if (isProduct(op)) {
    FailureOr<double> flops = getFlops(op);
    work.flops = succeeded(flops) ? *flops / parts : 0;
    work.rows = std::max<int64_t>(1, work.rows / parts);
  }
  return model->getKernel(work).getTotal();
}

PartCost RowCosts::get(Operation *op, const OpParts *cut,
                       unsigned parts) const {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!model) {
    FailureOr<double> flops = isProduct(op) ? getFlops(op) : 0.0;
    return {succeeded(flops) ? *flops / parts : 0,
            collective ? rate * double(getCallBytes(collective)) / parts : 0};
  }
  if (collective)
    return {0, model->getCollective(collective, parts)};
  if (isView(op) || op->getNumOperands() == 0 ||
      op->hasTrait<OpTrait::IsTerminator>())
    return {};
  return {getKernelSeconds(op, cut, parts), 0};
}

//===- Views.cpp - Tensors that share memory ------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Views.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Schedule/Views.h"

#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Support/Bytes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp;

/// A box is contiguous in a row-major tensor if it is whole in all dimensions
/// after the first (from the left) of which it takes more than one element.
static bool isContiguous(tensor::ExtractSliceOp op) {
  auto source = op.getSourceType();
  if (!op.hasUnitStride() || !source.hasStaticShape() ||
      llvm::any_of(op.getStaticOffsets(), ShapedType::isDynamic) ||
      llvm::any_of(op.getStaticSizes(), ShapedType::isDynamic))
    return false;
  bool started = false;
  for (int64_t dim = 0; dim < source.getRank(); ++dim) {
    int64_t size = op.getStaticSizes()[dim];
    if (started && size != source.getDimSize(dim))
      return false;
    started |= size != 1;
  }
  return true;
}

bool tp::isView(Operation *op) {
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, AwaitOp>(op))
    return true;
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return isContiguous(slice);
  if (auto join = dyn_cast<JoinOp>(op))
    return join.getInPlace();
  if (!isa<CollectiveOpInterface>(op))
    return false;
  auto join = op->getOperand(0).getDefiningOp<JoinOp>();
  return join && join.getInPlace();
}

/// The offset at which a contiguous slice begins in its source.
static int64_t getByteOffset(tensor::ExtractSliceOp slice) {
  auto source = slice.getSourceType();
  int64_t stride = getElementBytes(source.getElementType()), offset = 0;
  for (int64_t dim = source.getRank() - 1; dim >= 0; --dim) {
    offset += slice.getStaticOffsets()[dim] * stride;
    stride *= source.getDimSize(dim);
  }
  return offset;
}

/// The offset of each tensor that is joined, and at last the join's end.
static SmallVector<int64_t> getByteOffsets(JoinOp join) {
  int64_t size = getElementBytes(join.getType().getElementType());
  return llvm::map_to_vector(join.getOffsets(),
                             [&](int64_t offset) { return offset * size; });
}

ViewedTensor tp::getViewedTensor(Value value) {
  ViewedTensor result{value, 0};
  while (Operation *op = result.root.getDefiningOp()) {
    if (!isView(op))
      break;
    unsigned operand = 0;
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      result.byteOffset += getByteOffset(slice);
    // The last of the joined tensors that begins before it.
    if (auto join = dyn_cast<JoinOp>(op)) {
      SmallVector<int64_t> offsets = getByteOffsets(join);
      while (operand + 1 < join->getNumOperands() &&
             offsets[operand + 1] <= result.byteOffset)
        ++operand;
      result.byteOffset -= offsets[operand];
    }
    result.root = op->getOperand(operand);
  }
  return result;
}

std::optional<Bytes> tp::getViewedBytes(OpOperand &use, Bytes bytes) {
  Operation *view = use.getOwner();
  if (auto join = dyn_cast<JoinOp>(view)) {
    int64_t offset = getByteOffsets(join)[use.getOperandNumber()];
    return Bytes{bytes.begin + offset, bytes.end + offset};
  }
  auto slice = dyn_cast<tensor::ExtractSliceOp>(view);
  if (!slice)
    return bytes;
  int64_t offset = getByteOffset(slice), size = getTensorBytes(slice.getType());
  Bytes part{std::max<int64_t>(0, bytes.begin - offset),
             std::min(size, bytes.end - offset)};
  return part.begin < part.end ? std::optional(part) : std::nullopt;
}

bool tp::liesBehind(StateOp state, StateOp before) {
  Operation *next = before->getNextNode();
  while (next && !isa<StateOp>(next))
    next = next->getNextNode();
  return next == state.getOperation();
}

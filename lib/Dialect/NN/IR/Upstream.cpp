//===- Upstream.cpp - What upstream's operations are in nn ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// linalg.softmax is nn.softmax, whose statistics are in f32, over its
// dimension as the last one.
//
//===----------------------------------------------------------------------===//

#include "tp/Dialect/NN/IR/Upstream.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "tp/Dialect/NN/IR/NNOps.h"

using namespace mlir;
using namespace tp;

/// `value` with its dimensions in another order.
static Value transpose(OpBuilder &builder, Location loc, Value value,
                       ArrayRef<int64_t> order) {
  auto type = cast<RankedTensorType>(value.getType());
  Value empty = tensor::EmptyOp::create(
      builder, loc, applyPermutation(type.getShape(), order),
      type.getElementType());
  return linalg::TransposeOp::create(builder, loc, value, empty, order)
      ->getResult(0);
}

namespace {
struct SoftmaxDecomposition
    : DecomposeOpInterface::ExternalModel<SoftmaxDecomposition,
                                          linalg::SoftmaxOp> {
  FailureOr<SmallVector<Value>> decompose(Operation *op,
                                          OpBuilder &builder) const {
    auto softmax = cast<linalg::SoftmaxOp>(op);
    auto type = dyn_cast<RankedTensorType>(softmax.getInput().getType());
    if (!type || op->getNumResults() != 1 ||
        op->getResult(0).getType() != type || !type.hasStaticShape())
      return op->emitOpError("expected a result of its input's static type");
    Location loc = op->getLoc();
    int64_t rank = type.getRank(), dimension = softmax.getDimension();
    // Its own inverse.
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(rank));
    std::swap(order[dimension], order[rank - 1]);
    bool isLast = dimension == rank - 1;
    Value x = softmax.getInput();
    x = isLast ? x : transpose(builder, loc, x, order);
    Value y = nn::SoftmaxOp::create(builder, loc, x.getType(), x);
    return SmallVector<Value>{isLast ? y : transpose(builder, loc, y, order)};
  }
};
} // namespace

void nn::registerUpstreamDecompositions(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    linalg::SoftmaxOp::attachInterface<SoftmaxDecomposition>(*context);
    context->loadDialect<NNDialect>();
  });
}

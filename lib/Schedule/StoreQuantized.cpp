//===- StoreQuantized.cpp - Quantised weights as bytes --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td.
//
//===----------------------------------------------------------------------===//

#include "tp/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/Quantized.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tprt/gguf.h"

namespace tp {
#define GEN_PASS_DEF_STOREQUANTIZED
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {
struct StoreQuantizedPass : tp::impl::StoreQuantizedBase<StoreQuantizedPass> {
  using StoreQuantizedBase::StoreQuantizedBase;
  void runOnOperation() override {
    SmallVector<nn::DequantizeOp> weights;
    getOperation().walk([&](nn::DequantizeOp op) { weights.push_back(op); });
    SmallVector<nn::ExpertsOp> experts;
    getOperation().walk([&](nn::ExpertsOp op) { experts.push_back(op); });
    for (nn::DequantizeOp op : weights)
      if (failed(storeScales(op)))
        return signalPassFailure();
    for (nn::ExpertsOp op : experts)
      if (failed(convert(op)))
        return signalPassFailure();
    // Layers find their weights as they were.
    SmallVector<nn::DequantizeOp> activations;
    llvm::erase_if(weights, [&](nn::DequantizeOp op) {
      bool isRounded = op.getValues().getDefiningOp<nn::QuantizeOp>();
      if (isRounded)
        activations.push_back(op);
      return isRounded;
    });
    for (nn::DequantizeOp op : activations)
      if (failed(round(op)))
        return signalPassFailure();
    for (nn::DequantizeOp op : weights)
      if (failed(convert(op)))
        return signalPassFailure();
    if (failed(checkTypes()))
      signalPassFailure();
  }

  LogicalResult storeScales(nn::DequantizeOp op);
  LogicalResult round(nn::DequantizeOp op);
  LogicalResult convert(nn::DequantizeOp op);
  LogicalResult convert(nn::ExpertsOp op);
  LogicalResult checkTypes();
};
} // namespace

static Value pack(Value numbers, int64_t packed);

/// The weight in bytes, in blocks of so many groups: the parameters change
/// their types.
static FailureOr<nn::StoredWeight> store(nn::DequantizeOp op, int64_t packed) {
  auto parameter = op.getValues().getDefiningOp<ParameterOp>();
  RankedTensorType type = typeOf(op.getValues());
  if (!parameter)
    return op.emitOpError("expected a parameter of this rank as values: bytes "
                          "that a step makes or moves are not supported");
  OpBuilder builder(parameter);
  auto stored = cast<ParameterOp>(builder.clone(*parameter));
  stored.getResult().setType(nn::getStorageType(type));
  stored->setAttr(storedTypeAttrName, TypeAttr::get(type));
  nn::StoredWeight weight{stored.getResult(), op.getScales(), op.getZeros(),
                          packed};
  if (!packed)
    return weight;
  weight.scales = pack(weight.scales, packed);
  if (weight.zeros)
    weight.zeros = pack(weight.zeros, packed);
  return weight;
}

/// The blocks of scales or zero points, if their groups may stay packed.
static Value pack(Value numbers, int64_t packed) {
  auto parameter = numbers.getDefiningOp<ParameterOp>();
  OpBuilder builder(parameter);
  auto inBytes = [&](RankedTensorType type) {
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = shape.back() / packed * (packed + 2);
    return RankedTensorType::get(shape, builder.getI8Type());
  };
  auto withEnd = [&](StringRef name) {
    return builder.getStringAttr(name + StringRef(tprt::kGgufBlocksEnd));
  };
  auto made = cast<ParameterOp>(builder.clone(*parameter));
  made.getResult().setType(inBytes(typeOf(numbers)));
  made.setNameAttr(withEnd(parameter.getName()));
  if (ArrayAttr others = parameter.getAlternativesAttr()) {
    SmallVector<Attribute> names;
    for (Attribute name : others)
      names.push_back(withEnd(cast<StringAttr>(name).getValue()));
    made.setAlternativesAttr(builder.getArrayAttr(names));
  }
  made.setStorageAttr(StorageAttr::get(
      builder.getContext(), builder.getStringAttr("I8"), 0, 0, {}, 0, {}));
  if (auto global = parameter->getAttrOfType<TypeAttr>("tp.global_type"))
    made->setAttr(
        "tp.global_type",
        TypeAttr::get(inBytes(cast<RankedTensorType>(global.getValue()))));
  return made.getResult();
}

/// Scales that are powers of two lie in memory as the bytes of their exponents.
LogicalResult StoreQuantizedPass::storeScales(nn::DequantizeOp op) {
  RankedTensorType type = typeOf(op.getScales());
  if (!isa<Float8E8M0FNUType>(type.getElementType()))
    return success();
  auto parameter = op.getScales().getDefiningOp<ParameterOp>();
  if (!parameter)
    return op.emitOpError("expected a parameter of this rank as scales of type "
                          "f8E8M0FNU: bytes that a step makes or moves are not "
                          "supported");
  OpBuilder builder(parameter);
  auto stored = cast<ParameterOp>(builder.clone(*parameter));
  stored.getResult().setType(type.clone(builder.getI8Type()));
  op.getScalesMutable().assign(stored.getResult());
  if (parameter->use_empty())
    parameter.erase();
  return success();
}

/// True if both have zero points of one type, or neither has.
static bool haveZerosAlike(nn::DequantizeOp a, nn::DequantizeOp b) {
  if (!a.getZeros() || !b.getZeros())
    return !a.getZeros() == !b.getZeros();
  return typeOf(a.getZeros()).getElementType() ==
         typeOf(b.getZeros()).getElementType();
}

/// True if one call can compute with these matrices: of one kind, but for their
/// groups.
static bool areAlike(ArrayRef<nn::DequantizeOp> matrices) {
  nn::DequantizeOp gate = matrices[0], up = matrices[1];
  if (!llvm::all_of(matrices, [](Operation *op) { return op; }))
    return false;
  return llvm::all_of(matrices,
                      [&](nn::DequantizeOp op) {
                        return !op.getGroups() && haveZerosAlike(op, gate) &&
                               typeOf(op.getValues()).getElementType() ==
                                   typeOf(gate.getValues()).getElementType() &&
                               op.getGroup()[0] == 1 &&
                               typeOf(op.getScales()).getElementType() ==
                                   typeOf(gate.getScales()).getElementType();
                      }) &&
         up.getGroup() == gate.getGroup();
}

LogicalResult StoreQuantizedPass::convert(nn::ExpertsOp op) {
  SmallVector<nn::DequantizeOp> matrices;
  for (Value matrix : {op.getGate(), op.getUp(), op.getDown()})
    matrices.push_back(matrix.getDefiningOp<nn::DequantizeOp>());
  if (!matrices[0] || !areAlike(matrices))
    return success();
  SmallVector<Value> values, scales, zeros;
  // It is the same of all three.
  int64_t packed = packGroups ? nn::getPackedGroups(matrices[0]) : 0;
  for (nn::DequantizeOp matrix : matrices) {
    FailureOr<nn::StoredWeight> stored = store(matrix, packed);
    if (failed(stored))
      return failure();
    values.push_back(stored->values);
    scales.push_back(stored->scales);
    if (stored->zeros)
      zeros.push_back(stored->zeros);
  }
  OpBuilder builder(op);
  auto product = nn::QuantizedExpertsOp::create(
      builder, op.getLoc(), op.getResult().getType(), op.getInput(),
      op.getRouting(), values, scales, zeros, op.getBiases(), op.getInside(),
      op.getActivationAttr(), op.getActiveAttr(), op.getTopKAttr(),
      op.getAlphaAttr(), op.getLimitAttr(), op.getUpOffsetAttr(),
      op.getScalesInputAttr(),
      TypeAttr::get(typeOf(matrices[0].getValues()).getElementType()),
      matrices[0].getGroupAttr(), matrices[2].getGroupAttr(),
      builder.getI64IntegerAttr(packed));
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    product->setAttr(attribute.getName(), attribute.getValue());
  op.getResult().replaceAllUsesWith(product.getResult());
  op.erase();
  ++numProducts;
  return success();
}

/// True if each output of a layer, or all of them, have one scale.
static bool hasRowScales(nn::LinearOp op) {
  auto weight = op.getWeight().getDefiningOp<nn::DequantizeOp>();
  return weight && !weight.getGroups() && weight.getGroup().back() == 0;
}

/// Activations are rounded to their elements and remain numbers.
LogicalResult StoreQuantizedPass::round(nn::DequantizeOp op) {
  auto quantize = op.getValues().getDefiningOp<nn::QuantizeOp>();
  if (op.getScales() != quantize.getScales() || op.getZeros() ||
      op.getGroups() || op.getGroup() != quantize.getGroup())
    return op.emitOpError("expected the scales and groups of the nn.quantize "
                          "that makes its values");
  for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
    auto linear = dyn_cast<nn::LinearOp>(user);
    if (!linear || !nn::hasTokenScales(quantize) || !hasRowScales(linear))
      continue;
    OpBuilder builder(linear);
    linear.getResult().replaceAllUsesWith(
        nn::multiplyElements(builder, linear, quantize));
    linear.erase();
  }
  if (!op->use_empty()) {
    OpBuilder builder(op);
    op.getResult().replaceAllUsesWith(nn::round(builder, quantize));
  }
  op.erase();
  if (quantize->use_empty())
    quantize->erase();
  return success();
}

/// Erases the operation, and parameters that nothing else reads.
static void erase(nn::DequantizeOp op) {
  SmallVector<Operation *> operands;
  for (Value operand : {op.getValues(), op.getScales(), op.getZeros()})
    if (operand && operand.getDefiningOp())
      operands.push_back(operand.getDefiningOp());
  op.erase();
  for (Operation *operand : operands)
    if (operand->use_empty())
      operand->erase();
}

LogicalResult StoreQuantizedPass::convert(nn::DequantizeOp op) {
  // A weight that experts have taken is theirs.
  if (op->use_empty()) {
    erase(op);
    return success();
  }
  FailureOr<nn::StoredWeight> stored =
      store(op, packGroups ? nn::getPackedGroups(op) : 0);
  if (failed(stored))
    return failure();
  // The loader checks the numbers of groups.
  if (Value groups = op.getGroups())
    if (auto parameter = groups.getDefiningOp<ParameterOp>())
      parameter->setAttr(integerEndAttrName,
                         OpBuilder(op).getI64IntegerAttr(
                             typeOf(op.getScales()).getShape().back()));
  Type element = typeOf(op.getValues()).getElementType();
  for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
    if (auto embedding = dyn_cast<nn::EmbeddingOp>(user)) {
      OpBuilder builder(embedding);
      embedding.getResult().replaceAllUsesWith(
          nn::lookUp(builder, embedding, op, *stored));
      embedding.erase();
      continue;
    }
    auto linear = dyn_cast<nn::LinearOp>(user);
    if (!linear || linear.getWeight() != op.getResult() ||
        linear.getInput() == op.getResult())
      continue;
    OpBuilder builder(linear);
    auto product = nn::QuantizedLinearOp::create(
        builder, linear.getLoc(), linear.getResult().getType(),
        linear.getInput(), stored->values, stored->scales, stored->zeros,
        op.getGroups(), linear.getBias(), TypeAttr::get(element),
        op.getGroupAttr(), builder.getI64IntegerAttr(stored->packed));
    for (NamedAttribute attribute : linear->getDiscardableAttrs())
      product->setAttr(attribute.getName(), attribute.getValue());
    linear.getResult().replaceAllUsesWith(product.getResult());
    linear.erase();
    ++numProducts;
  }
  if (!op->use_empty()) {
    op.emitWarning("unpacks all of the weight in each step: expected nothing "
                   "but linear layers and look-ups to read it")
            .attachNote(op->user_begin()->getLoc())
        << "it is read here";
    OpBuilder builder(op);
    op.getResult().replaceAllUsesWith(nn::unpack(builder, op, *stored));
  }
  erase(op);
  return success();
}

LogicalResult StoreQuantizedPass::checkTypes() {
  WalkResult walk = getOperation().walk([](Operation *op) {
    auto isNarrow = [](Type type) {
      return nn::isStoredInBytes(getElementTypeOrSelf(type));
    };
    auto types =
        llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()),
                                 llvm::to_vector(op->getResultTypes()));
    for (Type type : types)
      if (isa<RankedTensorType>(type) && isNarrow(type) && !op->use_empty())
        return op->emitOpError("expected elements of at least eight bits, or "
                               "floats of more, once quantised weights are "
                               "stored, got ")
                   << type,
               WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

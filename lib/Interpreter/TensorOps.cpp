//===- TensorOps.cpp - tensor.* and constants -----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that move elements without computing. tensor.empty is filled with
// NaN (floats) or a conspicuous number (integers), so that a program that reads
// what nobody wrote shows.
//
//===----------------------------------------------------------------------===//

#include "Engine.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace tp::interp {

std::optional<Tensor> getConstantTensor(Attribute value, Type type) {
  std::optional<ElementType> element = getElementType(type);
  if (!element)
    return std::nullopt;
  if (auto number = dyn_cast<FloatAttr>(value))
    return Tensor::scalarFloat(number.getValueAsDouble(), *element);
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return Tensor::scalarInt(integer.getValue().getSExtValue(), *element);
  auto shaped = dyn_cast<RankedTensorType>(type);
  if (!shaped)
    return std::nullopt;
  Tensor tensor(shaped.getShape(), *element);
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements)
    return std::nullopt;
  if (element->isFloat()) {
    if (auto range = elements.tryGetValues<APFloat>()) {
      int64_t i = 0;
      for (const APFloat &number : *range) {
        APFloat wide = number;
        bool losesInfo;
        wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
        tensor.setFloat(i++, wide.convertToDouble());
      }
      return tensor;
    }
  } else if (auto range = elements.tryGetValues<APInt>()) {
    int64_t i = 0;
    for (const APInt &integer : *range)
      tensor.setInt(i++, integer.getSExtValue());
    return tensor;
  }
  // Resources: raw little-endian elements.
  auto resource = dyn_cast<DenseResourceElementsAttr>(value);
  if (!resource || !resource.getRawHandle().getBlob())
    return std::nullopt;
  ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
  bool isSplat = false;
  auto dense = DenseElementsAttr::isValidRawBuffer(shaped, data, isSplat)
                   ? DenseElementsAttr::getFromRawBuffer(shaped, data)
                   : DenseElementsAttr();
  return dense ? getConstantTensor(dense, type) : std::nullopt;
}

namespace {
/// Evaluates one operation; the methods are one per operation.
struct TensorOps {
  ArrayRef<Tensor> operands;
  ArrayRef<Tensor> captured;

  static Tensor makeResult(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return Tensor(type.getShape(), *getElementType(type));
  }
  static void fill(Tensor &tensor, const Tensor &scalar) {
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      tensor.copyElement(i, scalar, 0);
  }
  static SmallVector<int64_t> zeros(const Tensor &tensor) {
    return SmallVector<int64_t>(tensor.getRank(), 0);
  }
  /// Constants mixed with operands from `first` on.
  SmallVector<int64_t> resolve(ArrayRef<int64_t> constants, unsigned first) {
    SmallVector<int64_t> values(constants);
    for (int64_t &value : values)
      if (ShapedType::isDynamic(value))
        value = operands[first++].getInt(0);
    return values;
  }
  /// Fails if the strided box leaves `shape`.
  static LogicalResult checkBox(Operation *op, ArrayRef<int64_t> shape,
                                ArrayRef<int64_t> offsets,
                                ArrayRef<int64_t> sizes,
                                ArrayRef<int64_t> steps) {
    for (auto [dim, size] : llvm::enumerate(shape)) {
      int64_t last = offsets[dim] + (sizes[dim] - 1) * steps[dim];
      if (sizes[dim] > 0 && (offsets[dim] < 0 || last < 0 || last >= size ||
                             offsets[dim] >= size))
        return op->emitError()
               << "slice out of range: expected it within dimension " << dim
               << " of size " << size << ", got offset " << offsets[dim]
               << ", size " << sizes[dim] << ", stride " << steps[dim];
    }
    return success();
  }
  /// Address of the element at operands first...; fails if out of range.
  FailureOr<int64_t> getAddress(Operation *op, const Tensor &tensor,
                                unsigned first) {
    SmallVector<int64_t> strides = tensor.getStrides();
    int64_t address = 0;
    for (int64_t dim = 0; dim < tensor.getRank(); ++dim) {
      int64_t index = operands[first + dim].getInt(0);
      if (index < 0 || index >= tensor.getShape()[dim])
        return op->emitError() << "index out of range: expected 0 <= index < "
                               << tensor.getShape()[dim] << " in dimension "
                               << dim << ", got " << index;
      address += index * strides[dim];
    }
    return address;
  }

  /// A tensor that nobody wrote.
  static Tensor makeEmpty(Value value) {
    Tensor result = makeResult(value);
    for (int64_t i = 0; i < result.getNumElements(); ++i) {
      if (result.getElementType().isFloat())
        result.setFloat(i, std::nan(""));
      else
        result.setInt(i, 0x5A5A5A5A);
    }
    return result;
  }
  FailureOr<Results> run(tensor::EmptyOp op) { return Results{makeEmpty(op)}; }
  FailureOr<Results> run(JoinOp op) {
    Tensor result = makeEmpty(op);
    for (auto [operand, offset] : llvm::zip(operands, op.getOffsets()))
      for (int64_t i = 0; i < operand.getNumElements(); ++i)
        result.copyElement(offset + i, operand, i);
    return Results{result};
  }
  FailureOr<Results> run(tensor::SplatOp op) {
    Tensor result = makeResult(op);
    fill(result, operands[0]);
    return Results{result};
  }
  FailureOr<Results> run(tensor::FromElementsOp op) {
    Tensor result = makeResult(op);
    for (auto [i, element] : llvm::enumerate(operands))
      result.copyElement(i, element, 0);
    return Results{result};
  }
  FailureOr<Results> run(tensor::ExtractOp op) {
    FailureOr<int64_t> address = getAddress(op, operands[0], 1);
    if (failed(address))
      return failure();
    Tensor result(ArrayRef<int64_t>(), operands[0].getElementType());
    result.copyElement(0, operands[0], *address);
    return Results{result};
  }
  FailureOr<Results> run(tensor::InsertOp op) {
    FailureOr<int64_t> address = getAddress(op, operands[1], 2);
    if (failed(address))
      return failure();
    Tensor result = operands[1].clone();
    result.copyElement(*address, operands[0], 0);
    return Results{result};
  }
  FailureOr<Results> run(tensor::DimOp op) {
    int64_t dim = operands[1].getInt(0);
    if (dim < 0 || dim >= operands[0].getRank())
      return op.emitError() << "expected a dimension below "
                            << operands[0].getRank() << ", got " << dim;
    return Results{Tensor::scalarInt(operands[0].getShape()[dim])};
  }
  FailureOr<Results> reshape(Operation *op) {
    return Results{operands[0].reshaped(
        cast<RankedTensorType>(op->getResult(0).getType()).getShape())};
  }
  FailureOr<Results> run(tensor::ExpandShapeOp op) { return reshape(op); }
  FailureOr<Results> run(tensor::CollapseShapeOp op) { return reshape(op); }
  FailureOr<Results> run(tensor::ReshapeOp op) { return reshape(op); }
  FailureOr<Results> run(tensor::CastOp op) { return reshape(op); }

  FailureOr<Results> run(tensor::ExtractSliceOp op) {
    unsigned first = 1;
    auto offsets = resolve(op.getStaticOffsets(), first);
    auto sizes = resolve(op.getStaticSizes(), first += op.getOffsets().size());
    auto steps = resolve(op.getStaticStrides(), first += op.getSizes().size());
    if (failed(checkBox(op, operands[0].getShape(), offsets, sizes, steps)))
      return failure();
    Tensor box(sizes, operands[0].getElementType());
    box.copyBox(operands[0], offsets, zeros(box), sizes, steps);
    return Results{box.reshaped(op.getType().getShape())};
  }
  FailureOr<Results> run(tensor::InsertSliceOp op) {
    unsigned first = 2;
    auto offsets = resolve(op.getStaticOffsets(), first);
    auto sizes = resolve(op.getStaticSizes(), first += op.getOffsets().size());
    auto steps = resolve(op.getStaticStrides(), first += op.getSizes().size());
    if (failed(checkBox(op, operands[1].getShape(), offsets, sizes, steps)))
      return failure();
    Tensor result = operands[1].clone();
    Tensor box = operands[0].reshaped(sizes);
    result.copyBox(box, zeros(box), offsets, sizes, {}, steps);
    return Results{result};
  }
  FailureOr<Results> run(tensor::ConcatOp op) {
    Tensor result = makeResult(op);
    SmallVector<int64_t> offsets = zeros(result);
    for (const Tensor &operand : operands) {
      result.copyBox(operand, zeros(operand), offsets, operand.getShape());
      offsets[op.getDim()] += operand.getShape()[op.getDim()];
    }
    return Results{result};
  }
  FailureOr<Results> run(tensor::GatherOp op) {
    const Tensor &source = operands[0], &indices = operands[1];
    Tensor result = makeResult(op);
    ArrayRef<int64_t> dims = op.getGatherDims();
    int64_t width = indices.getShape().back();
    int64_t count = indices.getNumElements() / std::max<int64_t>(width, 1);
    SmallVector<int64_t> sizes(source.getShape());
    for (int64_t dim : dims)
      sizes[dim] = 1;
    int64_t chunk = 1;
    for (int64_t size : sizes)
      chunk *= size;
    for (int64_t i = 0; i < count; ++i) {
      SmallVector<int64_t> from = zeros(source);
      for (auto [position, dim] : llvm::enumerate(dims)) {
        from[dim] = indices.getInt(i * width + position);
        if (from[dim] < 0 || from[dim] >= source.getShape()[dim])
          return op.emitError() << "index out of range: expected 0 <= index < "
                                << source.getShape()[dim] << " in dimension "
                                << dim << ", got " << from[dim];
      }
      Tensor box(sizes, source.getElementType());
      box.copyBox(source, from, zeros(box), sizes);
      for (int64_t j = 0; j < chunk; ++j)
        result.copyElement(i * chunk + j, box, j);
    }
    return Results{result};
  }
};
} // namespace

LogicalResult placePadded(tensor::PadOp op, ArrayRef<Tensor> operands,
                          Tensor &result) {
  SmallVector<int64_t> low =
      TensorOps{operands, {}}.resolve(op.getStaticLow(), /*first=*/1);
  for (auto [dim, before] : llvm::enumerate(low)) {
    int64_t after =
        result.getShape()[dim] - operands[0].getShape()[dim] - before;
    if (before < 0 || after < 0)
      return op.emitError()
             << "the interpreter has no negative padding, got " << before
             << " before and " << after << " after dimension " << dim;
  }
  result.copyBox(operands[0], TensorOps::zeros(result), low,
                 operands[0].getShape());
  return success();
}

std::optional<FailureOr<Results>> runTensorOp(Operation *op,
                                              ArrayRef<Tensor> operands,
                                              ArrayRef<Tensor> captured) {
  TensorOps ops{operands, captured};
  return TypeSwitch<Operation *, std::optional<FailureOr<Results>>>(op)
      .Case<tensor::EmptyOp, tensor::SplatOp, tensor::FromElementsOp,
            tensor::ExtractOp, tensor::InsertOp, tensor::DimOp,
            tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ReshapeOp,
            tensor::CastOp, tensor::ExtractSliceOp, tensor::InsertSliceOp,
            tensor::ConcatOp, tensor::GatherOp, JoinOp>(
          [&](auto typed) { return ops.run(typed); })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace tp::interp

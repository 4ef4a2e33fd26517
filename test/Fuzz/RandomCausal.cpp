//===- RandomCausal.cpp - Causal programs by seed -------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs `ids [B, S] -> logits [B, S, V]`, of which steps of generation are
// derived and held against them. Positions are read in all ways that there are.
// Some programs combine them otherwise, by a chance of shapes: then an error
// has to say so.
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"

using namespace mlir;

namespace tp::fuzz {

/// Adds `table`, one row for each of a dimension's positions, and whatever
/// dimension of size one it has.
static Value addRows(OpBuilder &builder, Location loc, Value value, Value table,
                     int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  unsigned rank = type.getRank();
  AffineMap all = builder.getMultiDimIdentityMap(rank);
  SmallVector<AffineExpr> rows{builder.getAffineDimExpr(dim)};
  if (cast<RankedTensorType>(table.getType()).getRank() == 2)
    rows.push_back(builder.getAffineDimExpr(rank - 1));
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::GenericOp::create(
             builder, loc, type, ValueRange{value, table}, empty,
             ArrayRef<AffineMap>{
                 all, AffineMap::get(rank, 0, rows, builder.getContext()), all},
             SmallVector<utils::IteratorType>(rank,
                                              utils::IteratorType::parallel),
             [](OpBuilder &b, Location l, ValueRange args) {
               linalg::YieldOp::create(
                   b, l,
                   arith::AddFOp::create(b, l, args[0], args[1]).getResult());
             })
      .getResult(0);
}

/// Rows of a parameter, of constants, or of numbers in even steps, added to the
/// positions of a sequence.
Value ProgramMaker::rowsOfPositions(Value value) {
  Shape shape = shapeOf(value);
  if (shape.size() != 3)
    return Value();
  int64_t length = shape[1], width = shape[2];
  Value table;
  if (chance(40)) {
    int64_t first = below(3);
    table = parameter({length + first + below(4), width}, "table");
    table = tensor::ExtractSliceOp::create(
        builder, loc, table,
        ArrayRef<OpFoldResult>{builder.getIndexAttr(first),
                               builder.getIndexAttr(0)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(length),
                               builder.getIndexAttr(width)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(1),
                               builder.getIndexAttr(1)});
  } else {
    bool isSeries = chance(50);
    SmallVector<Attribute> numbers;
    for (int64_t i = 0; i < length; ++i)
      for (int64_t j = 0; j < width; ++j)
        numbers.push_back(builder.getFloatAttr(
            element, isSeries ? 0.125 * double((j + 1) * i)
                              : 0.25 * double(below(9)) - 1));
    table = arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(tensor({length, width}), numbers));
  }
  return addRows(builder, loc, value, table, /*dim=*/1);
}

Value ProgramMaker::convolution(Value value) {
  Shape shape = shapeOf(value);
  if (shape.size() != 3)
    return Value();
  Value taps = parameter({shape[2], 1, pick({2, 3, 4})}, "conv.weight");
  Value bias = chance(40) ? parameter({shape[2]}, "bias") : Value();
  return nn::CausalConvOp::create(builder, loc, value.getType(), value, taps,
                                  bias, /*reversed=*/UnitAttr());
}

/// [heads, positions, positions]: a multiple of the key's position, or of its
/// distance.
Value ProgramMaker::slopes(int64_t heads, int64_t length) {
  if (chance(50)) {
    SmallVector<Attribute> distances;
    for (int64_t i = 0; i < heads; ++i)
      for (int64_t query = 0; query < length; ++query)
        for (int64_t key = 0; key < length; ++key)
          distances.push_back(builder.getFloatAttr(
              element, double(key - query) / double(2 << i)));
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(tensor({heads, length, length}), distances));
  }
  SmallVector<Attribute> numbers;
  for (int64_t i = 0; i < heads; ++i)
    for (int64_t j = 0; j < length; ++j)
      numbers.push_back(
          builder.getFloatAttr(element, double(j) / double(2 << i)));
  Value keys = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(tensor({heads, length}), numbers));
  Value empty = tensor::EmptyOp::create(
      builder, loc, ArrayRef<int64_t>{heads, length, length}, element);
  return linalg::BroadcastOp::create(builder, loc, keys, empty,
                                     ArrayRef<int64_t>{1})
      ->getResult(0);
}

void ProgramMaker::addCausal() {
  Value value = someValue();
  switch (below(16)) {
  case 0:
  case 1:
    return keep(linear(value, someWidth()));
  case 2:
  case 3:
  case 4:
    return keep(attention());
  case 5:
    return keep(rowsOfPositions(value));
  case 6:
    return keep(convolution(value));
  case 7:
    return keep(positions(value));
  case 8:
    return keep(merge(value));
  case 9:
    return keep(transpose(value));
  case 10:
    return keep(repeat(value));
  case 11:
    return keep(split(value));
  case 12:
    return keep(chance(50) ? fused(value) : experts(value));
  default:
    return keep(shapePreserving(value));
  }
}

OwningOpRef<ModuleOp> ProgramMaker::makeCausal() {
  isCausal = true;
  module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  element = builder.getF32Type();
  makeMesh();
  function = func::FuncOp::create(builder, loc, "main",
                                  builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  int64_t batch = pick({1, 1, 2, 3}), sequence = pick({3, 4, 6, 8});
  int64_t hidden = someWidth(), words = pick({7, 10, 16});
  (void)function.insertArgument(
      0, RankedTensorType::get({batch, sequence}, builder.getI64Type()),
      builder.getDictionaryAttr(
          {builder.getNamedAttr(TPDialect::getNameAttrName(),
                                builder.getStringAttr("input_ids")),
           builder.getNamedAttr(rangeAttrName,
                                builder.getDenseI64ArrayAttr({0, words}))}),
      loc);
  keep(nn::EmbeddingOp::create(builder, loc, tensor({batch, sequence, hidden}),
                               function.getArgument(0),
                               parameter({words, hidden}, "weight"),
                               /*offset=*/Value(), IntegerAttr())
           .getResult());
  for (int64_t count = 3 + below(9); count > 0; --count)
    addCausal();
  Value last = pool.front();
  for (Value value : pool) {
    Shape shape = shapeOf(value);
    if (shape.size() == 3 && shape[0] == batch && shape[1] == sequence)
      last = value;
  }
  Value logits = linear(last, words);
  func::ReturnOp::create(builder, loc, logits);
  function->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), logits.getType()));
  function.setResultAttr(0, TPDialect::getNameAttrName(),
                         builder.getStringAttr("logits"));
  return std::move(module);
}

OwningOpRef<ModuleOp> makeCausalProgram(MLIRContext *context, uint64_t seed) {
  return ProgramMaker(context, seed).makeCausal();
}

} // namespace tp::fuzz

//===- RandomOps.cpp - The operations of random programs ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function adds an operation (or the few that belong together) and returns
// its value, or null if it does not apply to the operand.
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include <cmath>

using namespace mlir;

namespace tp::fuzz {

void ProgramMaker::addOperation() {
  Value value = someValue();
  switch (below(30)) {
  case 0:
  case 1:
  case 2:
    return keep(linear(value, someWidth()));
  case 3:
    return keep(reduce(value));
  case 4:
    return keep(contract(value));
  case 5:
    return keep(transpose(value));
  case 6:
    return keep(split(value));
  case 7:
    return keep(merge(value));
  case 8:
    return keep(slice(value));
  case 9:
    return keep(concat(value));
  case 10:
    return keep(pad(value));
  case 11:
    return keep(gather(value));
  case 12:
    return keep(embedding());
  case 13:
    return keep(crossEntropy(value));
  case 14:
  case 15:
    return keep(attention());
  case 16:
    return keep(repeat(value));
  case 17:
  case 18:
    return keep(constraint(value));
  case 19:
    return keep(product(value));
  case 20:
    return keep(insert(value));
  case 21:
    return keep(fused(value));
  case 22:
    return keep(withStatistics(value));
  case 23:
    return keep(experts(value));
  case 24:
    return keep(quantizedLinear(value));
  default:
    return keep(shapePreserving(value));
  }
}

Value ProgramMaker::shapePreserving(Value value) {
  switch (below(10)) {
  case 0:
    return norm(value);
  case 1:
    return feedForward(value);
  case 2:
    return constraint(value);
  case 3:
    return positions(value);
  case 4:
    return dropout(value);
  case 5:
    return binary(value);
  case 6:
    return narrow(value);
  case 7:
    return addVector(value);
  default:
    return activation(value);
  }
}

Value ProgramMaker::linear(Value value, int64_t width) {
  Shape shape = shapeOf(value);
  Value weight = parameter({width, shape.back()}, "weight");
  Value bias = chance(40) ? parameter({width}, "bias") : Value();
  // A bias may be computed, and then partial.
  for (Value other : pool)
    if (other.getType() == tensor({width}) && chance(50))
      bias = other;
  shape.back() = width;
  return nn::LinearOp::create(builder, loc, tensor(shape), value, weight, bias)
      .getResult();
}

Value ProgramMaker::activation(Value value) {
  switch (below(6)) {
  case 0:
    return nn::GeluOp::create(
        builder, loc, value.getType(),
        chance(50) ? nn::GeluKind::Erf : nn::GeluKind::Tanh, value);
  case 1:
    return nn::SiluOp::create(builder, loc, value.getType(), value);
  case 2:
    return nn::SoftmaxOp::create(builder, loc, value.getType(), value);
  case 3:
    return arith::NegFOp::create(builder, loc, value);
  default:
    return math::TanhOp::create(builder, loc, value);
  }
}

Value ProgramMaker::norm(Value value) {
  int64_t width = shapeOf(value).back();
  Value weight = parameter({width}, "norm.weight");
  if (chance(50))
    return nn::RMSNormOp::create(builder, loc, value.getType(), Type(), value,
                                 weight, APFloat(1e-5))
        .getResult();
  Value bias = chance(70) ? parameter({width}, "norm.bias") : Value();
  return nn::LayerNormOp::create(builder, loc, value.getType(), TypeRange(),
                                 value, weight, bias, APFloat(1e-5))
      .getResult();
}

/// Two projections around an activation, and the residual.
Value ProgramMaker::feedForward(Value value) {
  int64_t width = shapeOf(value).back();
  Value inner = linear(value, someWidth());
  inner = nn::SiluOp::create(builder, loc, inner.getType(), inner);
  return arith::AddFOp::create(builder, loc, value, linear(inner, width));
}

/// A mixture of experts that all rows use, sometimes with its derivative.
Value ProgramMaker::experts(Value value) {
  if (!element.isF32())
    return Value();
  Shape shape = shapeOf(value);
  int64_t count = 1 + below(6), width = pick({3, 5, 6, 7, 8, 11}),
          inner = shape.back();
  Value routing = linear(value, count);
  shape.back() = someWidth();
  Value gate = parameter({count, width, inner}, "gate.weight"),
        up = parameter({count, width, inner}, "up.weight"),
        down = parameter({count, shape.back(), width}, "down.weight");
  StringAttr silu = builder.getStringAttr("silu");
  auto number = [&](double value) { return builder.getF64FloatAttr(value); };
  FloatAttr active = number(1), alpha = number(chance(30) ? 1.702 : 1),
            limit = chance(30) ? number(0.5) : FloatAttr(),
            offset = number(chance(30) ? 1 : 0);
  SmallVector<Value> biases;
  if (chance(30))
    biases = {parameter({count, width}, "gate.bias"),
              parameter({count, width}, "up.bias")};
  UnitAttr scalesInput = chance(20) ? builder.getUnitAttr() : UnitAttr();
  Value result = nn::ExpertsOp::create(
      builder, loc, tensor(shape), value, routing, gate, up, down, biases,
      /*inside=*/Value(), silu, active, /*top_k=*/IntegerAttr(), alpha, limit,
      offset, scalesInput);
  if (chance(40)) {
    auto backward = nn::ExpertsBackwardOp::create(
        builder, loc, value.getType(), routing.getType(), gate.getType(),
        up.getType(), down.getType(), ValueRange(biases).getTypes(), result,
        value, routing, gate, up, down, biases, /*inside=*/Value(), silu,
        active, /*top_k=*/IntegerAttr(), alpha, limit, offset);
    llvm::for_each(backward.getResults(), [&](Value each) { keep(each); });
  }
  return result;
}

/// A quantised weight [rows, columns] of any elements, scales and groups.
Value ProgramMaker::dequantized(int64_t rows, int64_t columns) {
  Type elements[] = {builder.getIntegerType(4), builder.getI8Type(),
                     Float8E4M3FNType::get(context),
                     Float8E5M2Type::get(context),
                     Float4E2M1FNType::get(context)};
  Type types[] = {builder.getF32Type(), builder.getF16Type(),
                  builder.getBF16Type(), Float8E8M0FNUType::get(context)};
  StringRef names[] = {"F32", "F16", "BF16", "U8"};
  int64_t kind = below(5), scale = below(4);
  auto storage = [&](StringRef file, int64_t bits, int64_t offset) {
    return StorageAttr::get(context, builder.getStringAttr(file), bits,
                            bits ? 1 : 0, {}, offset, {});
  };
  StorageAttr how = kind == 0   ? storage("I32", 4, 8)
                    : kind == 1 ? storage("I8", 0, 0)
                    : kind == 4 ? storage("U8", 4, 0)
                    : kind == 2 ? storage("F8_E4M3", 0, 0)
                                : storage("F8_E5M2", 0, 0);
  SmallVector<int64_t> group, shape;
  for (int64_t size : {rows, columns}) {
    group.push_back(chance(40) ? 1 : chance(50) ? 0 : pick({2, 3, 4, 8}));
    shape.push_back(group.back() ? (size + group.back() - 1) / group.back()
                                 : 1);
  }
  Value values = parameter(
      RankedTensorType::get({rows, columns}, elements[kind]), "weight", how);
  Value scales = parameter(RankedTensorType::get(shape, types[scale]),
                           "weight_scale", storage(names[scale], 0, 0));
  Value zeros;
  if (kind < 2 && chance(40))
    zeros = chance(50)
                ? parameter(RankedTensorType::get(shape, builder.getI8Type()),
                            "weight_zero_point", storage("I8", 0, 0))
                : parameter(RankedTensorType::get(shape, builder.getF32Type()),
                            "weight_zero_point", storage("F32", 0, 0));
  return nn::DequantizeOp::create(builder, loc, tensor({rows, columns}), values,
                                  scales, zeros, /*groups=*/Value(), group);
}

/// Activations that are rounded by a scale of each row, or of each group in it.
Value ProgramMaker::rounded(Value value) {
  Shape shape = shapeOf(value), scaled = shape;
  int64_t size = shape.back(), group = chance(50) ? 0 : pick({2, 4, 8});
  scaled.back() = group ? (size + group - 1) / group : 1;
  Type element = chance(50) ? Type(Float8E4M3FNType::get(context))
                            : Type(builder.getI8Type());
  SmallVector<int64_t> groups(shape.size(), 1);
  groups.back() = group;
  Value scales = nn::ActivationScalesOp::create(
      builder, loc, tensor(scaled), value, element, group, FloatAttr());
  Value values = nn::QuantizeOp::create(
      builder, loc, RankedTensorType::get(shape, element), value, scales,
      builder.getDenseI64ArrayAttr(groups));
  return nn::DequantizeOp::create(builder, loc, tensor(shape), values, scales,
                                  Value(), Value(),
                                  builder.getDenseI64ArrayAttr(groups));
}

/// A linear layer of a quantised weight, perhaps of inputs that are rounded.
Value ProgramMaker::quantizedLinear(Value value) {
  if (!element.isF32())
    return Value();
  Shape shape = shapeOf(value);
  int64_t width = someWidth();
  Value weight = dequantized(width, shape.back());
  if (chance(30))
    value = rounded(value);
  Value bias = chance(40) ? parameter({width}, "bias") : Value();
  shape.back() = width;
  return nn::LinearOp::create(builder, loc, tensor(shape), value, weight, bias)
      .getResult();
}

Value ProgramMaker::constraint(Value value) {
  ShardingAttr sharding = someSharding(shapeOf(value));
  if (!sharding)
    return Value();
  return ShardingConstraintOp::create(builder, loc, value.getType(), value,
                                      sharding);
}

/// An operation that reads its own position: add it, or mask by it.
Value ProgramMaker::positions(Value value) {
  Shape shape = shapeOf(value);
  int64_t dim = below(shape.size()), limit = 1 + below(shape[dim]);
  bool mask = chance(50);
  AffineMap identity = AffineMap::getMultiDimIdentityMap(shape.size(), context);
  Value empty = tensor::EmptyOp::create(builder, loc, shape, element);
  Value low = scalar(-2);
  SmallVector<utils::IteratorType> kinds(shape.size(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, value.getType(), value, empty,
             ArrayRef<AffineMap>{identity, identity}, kinds,
             [&](OpBuilder &b, Location l, ValueRange args) {
               Value index = linalg::IndexOp::create(b, l, dim);
               Value result;
               if (mask) {
                 Value end = arith::ConstantIndexOp::create(b, l, limit);
                 Value inside = arith::CmpIOp::create(
                     b, l, arith::CmpIPredicate::slt, index, end);
                 result = arith::SelectOp::create(b, l, inside, args[0], low);
               } else {
                 Value number =
                     arith::IndexCastOp::create(b, l, b.getI32Type(), index);
                 number = arith::SIToFPOp::create(b, l, element, number);
                 result = arith::AddFOp::create(b, l, args[0], number);
               }
               linalg::YieldOp::create(b, l, result);
             })
      .getResult(0);
}

Value ProgramMaker::dropout(Value value) {
  if (inRepeat)
    return Value();
  auto number = [&](int64_t value) -> Value {
    auto type = RankedTensorType::get({}, builder.getI64Type());
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, value));
  };
  Value seed = number(7), step = number(1);
  return nn::DropoutOp::create(builder, loc, value.getType(), value, seed, step,
                               Value(), ValueRange(), APFloat(0.3),
                               uint64_t(numDropouts++), DenseI64ArrayAttr())
      .getResult();
}

/// Combines `value` with another one of the same type, or with itself.
Value ProgramMaker::binary(Value value) {
  SmallVector<Value> others{value};
  for (Value other : pool)
    if (other.getType() == value.getType())
      others.push_back(other);
  Value other = others[below(others.size())];
  switch (below(4)) {
  case 0:
    return arith::MulFOp::create(builder, loc, value, other);
  case 1:
    return arith::MaximumFOp::create(builder, loc, value, other);
  case 2:
    return arith::SubFOp::create(builder, loc, value, other);
  default:
    return arith::AddFOp::create(builder, loc, value, other);
  }
}

/// To a narrower type and back.
Value ProgramMaker::narrow(Value value) {
  if (!element.isF32())
    return Value();
  auto type = cast<RankedTensorType>(value.getType());
  Value half = arith::TruncFOp::create(
      builder, loc, type.clone(builder.getBF16Type()), value);
  return arith::ExtFOp::create(builder, loc, type, half);
}

/// Add a vector along the last dimension, in linalg.
Value ProgramMaker::addVector(Value value) {
  Shape shape = shapeOf(value);
  Value vector = parameter({shape.back()}, "bias");
  unsigned rank = shape.size();
  AffineMap identity = AffineMap::getMultiDimIdentityMap(rank, context);
  AffineMap last = AffineMap::get(rank, 0, builder.getAffineDimExpr(rank - 1));
  Value empty = tensor::EmptyOp::create(builder, loc, shape, element);
  return linalg::GenericOp::create(
             builder, loc, value.getType(), ValueRange{value, vector}, empty,
             ArrayRef<AffineMap>{identity, last, identity},
             SmallVector<utils::IteratorType>(rank,
                                              utils::IteratorType::parallel),
             [](OpBuilder &b, Location l, ValueRange args) {
               Value sum = arith::AddFOp::create(b, l, args[0], args[1]);
               linalg::YieldOp::create(b, l, sum);
             })
      .getResult(0);
}

/// Sum or maximum along one dimension, from an initial value that is neutral, a
/// number, or a tensor.
Value ProgramMaker::reduce(Value value) {
  Shape shape = shapeOf(value);
  if (shape.size() < 2)
    return Value();
  int64_t dim = below(shape.size());
  shape.erase(shape.begin() + dim);
  bool isSum = chance(65);
  Value init = chance(40)   ? filled(shape, isSum ? 0 : -INFINITY)
               : chance(50) ? filled(shape, 0.5)
                            : argument(tensor(shape));
  return linalg::ReduceOp::create(
             builder, loc, value, init, ArrayRef<int64_t>{dim},
             [&](OpBuilder &b, Location l, ValueRange args) {
               Value result =
                   isSum ? arith::AddFOp::create(b, l, args[0], args[1])
                               .getResult()
                         : arith::MaximumFOp::create(b, l, args[0], args[1])
                               .getResult();
               linalg::YieldOp::create(b, l, result);
             })
      .getResult(0);
}

/// The last dimension with a matrix stored [k, n], in linalg.
Value ProgramMaker::contract(Value value) {
  Shape shape = shapeOf(value);
  int64_t width = someWidth();
  unsigned rank = shape.size();
  Value weight = parameter({shape.back(), width}, "weight");
  SmallVector<AffineExpr> x, y;
  for (unsigned i = 0; i + 1 < rank; ++i) {
    x.push_back(builder.getAffineDimExpr(i));
    y.push_back(builder.getAffineDimExpr(i));
  }
  AffineExpr n = builder.getAffineDimExpr(rank - 1);
  AffineExpr k = builder.getAffineDimExpr(rank);
  x.push_back(k);
  y.push_back(n);
  SmallVector<AffineMap> maps{AffineMap::get(rank + 1, 0, x, context),
                              AffineMap::get(rank + 1, 0, {k, n}, context),
                              AffineMap::get(rank + 1, 0, y, context)};
  SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
  kinds.push_back(utils::IteratorType::reduction);
  shape.back() = width;
  Value init = filled(shape, chance(60) ? 0 : 0.25);
  return linalg::GenericOp::create(
             builder, loc, tensor(shape), ValueRange{value, weight}, init, maps,
             kinds,
             [](OpBuilder &b, Location l, ValueRange args) {
               Value product = arith::MulFOp::create(b, l, args[0], args[1]);
               Value sum = arith::AddFOp::create(b, l, args[2], product);
               linalg::YieldOp::create(b, l, sum);
             })
      .getResult(0);
}

Value ProgramMaker::transpose(Value value) {
  Shape shape = shapeOf(value), permuted;
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < int64_t(shape.size()); ++i)
    order.insert(order.begin() + below(i + 1), i);
  for (int64_t dim : order)
    permuted.push_back(shape[dim]);
  Value empty = tensor::EmptyOp::create(builder, loc, permuted, element);
  return linalg::TransposeOp::create(builder, loc, value, empty, order)
      ->getResult(0);
}

/// One dimension into two.
Value ProgramMaker::split(Value value) {
  Shape shape = shapeOf(value);
  if (shape.size() > 3)
    return Value();
  int64_t dim = below(shape.size());
  for (int64_t factor : {4, 3, 2}) {
    if (shape[dim] % factor || shape[dim] == factor)
      continue;
    SmallVector<ReassociationIndices> groups;
    int64_t at = 0;
    for (int64_t i = 0; i < int64_t(shape.size()); ++i) {
      groups.push_back({at++});
      if (i == dim)
        groups.back().push_back(at++);
    }
    Shape result = shape;
    result[dim] = shape[dim] / factor;
    result.insert(result.begin() + dim + 1, factor);
    return tensor::ExpandShapeOp::create(builder, loc, tensor(result), value,
                                         groups);
  }
  return Value();
}

/// Two neighbouring dimensions into one.
Value ProgramMaker::merge(Value value) {
  Shape shape = shapeOf(value);
  if (shape.size() < 2)
    return Value();
  int64_t dim = below(shape.size() - 1);
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < int64_t(shape.size()); ++i) {
    if (i == dim + 1)
      groups.back().push_back(i);
    else
      groups.push_back({i});
  }
  return tensor::CollapseShapeOp::create(builder, loc, value, groups);
}

Value ProgramMaker::slice(Value value) {
  Shape shape = shapeOf(value);
  int64_t dim = below(shape.size());
  if (shape[dim] < 2)
    return Value();
  SmallVector<OpFoldResult> offsets, sizes, steps;
  for (int64_t size : shape) {
    offsets.push_back(builder.getIndexAttr(0));
    sizes.push_back(builder.getIndexAttr(size));
    steps.push_back(builder.getIndexAttr(1));
  }
  int64_t size = 1 + below(shape[dim] - 1);
  offsets[dim] = builder.getIndexAttr(below(shape[dim] - size + 1));
  sizes[dim] = builder.getIndexAttr(size);
  return tensor::ExtractSliceOp::create(builder, loc, value, offsets, sizes,
                                        steps);
}

Value ProgramMaker::concat(Value value) {
  SmallVector<Value> parts{value};
  for (Value other : pool)
    if (other.getType() == value.getType() && parts.size() < 3 && chance(50))
      parts.push_back(other);
  if (parts.size() == 1)
    parts.push_back(value);
  return tensor::ConcatOp::create(builder, loc, below(shapeOf(value).size()),
                                  parts);
}

Value ProgramMaker::pad(Value value) {
  Shape shape = shapeOf(value);
  SmallVector<OpFoldResult> low(shape.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> high = low;
  int64_t dim = below(shape.size()), before = below(3), after = below(3);
  low[dim] = builder.getIndexAttr(before);
  high[dim] = builder.getIndexAttr(after);
  shape[dim] += before + after;
  return tensor::PadOp::create(builder, loc, tensor(shape), value, low, high,
                               scalar(chance(50) ? 0 : 1.5));
}

/// Rows of a value, by constant indices.
Value ProgramMaker::gather(Value value) {
  Shape shape = shapeOf(value);
  SmallVector<int64_t> rows;
  for (int64_t count = 1 + below(4); count > 0; --count)
    rows.push_back(below(shape[0]));
  auto type =
      RankedTensorType::get({int64_t(rows.size()), 1}, builder.getI64Type());
  Value indices = arith::ConstantOp::create(
      builder, loc, DenseIntElementsAttr::get(type, rows));
  shape[0] = rows.size();
  return tensor::GatherOp::create(builder, loc, tensor(shape), value, indices,
                                  ArrayRef<int64_t>{0});
}

Value ProgramMaker::embedding() {
  Shape shape{pick({1, 2}), pick({4, 6})};
  Value ids = argument(RankedTensorType::get(shape, builder.getI64Type()));
  int64_t width = someWidth();
  int64_t rows = pick({7, 10, 16});
  Value table = parameter({rows, width}, "weight");
  shape.push_back(width);
  IntegerAttr padding;
  if (chance(30))
    padding = builder.getI64IntegerAttr(pick({int64_t(0), rows / 2, rows - 1}));
  return nn::EmbeddingOp::create(builder, loc, tensor(shape), ids, table,
                                 /*offset=*/Value(), padding)
      .getResult();
}

Value ProgramMaker::crossEntropy(Value value) {
  Shape shape = shapeOf(value);
  if (shape.size() < 2)
    return Value();
  shape.pop_back();
  Value labels = argument(RankedTensorType::get(shape, builder.getI64Type()));
  Value loss =
      nn::CrossEntropyOp::create(
          builder, loc, RankedTensorType::get(shape, builder.getF32Type()),
          Type(), value, labels)
          .getLoss();
  if (element.isF32())
    return loss;
  return arith::TruncFOp::create(builder, loc, tensor(shape), loss);
}

/// Projections, heads, rotation, attention, projection.
Value ProgramMaker::attention() {
  Value value = someValue(3);
  if (!value || shapeOf(value).size() != 3)
    return Value();
  Shape shape = shapeOf(value);
  int64_t queryHeads = pick({2, 4, 4, 6, 8}), kvHeads = queryHeads;
  while (kvHeads % 2 == 0 && chance(50))
    kvHeads /= 2;
  int64_t size = pick({2, 4});
  auto project = [&](int64_t heads) {
    Value flat = linear(value, heads * size);
    return tensor::ExpandShapeOp::create(
               builder, loc, tensor({shape[0], shape[1], heads, size}), flat,
               SmallVector<ReassociationIndices>{{0}, {1}, {2, 3}})
        .getResult();
  };
  Value query = project(queryHeads), key = project(kvHeads);
  Value values = project(kvHeads);
  if (chance(40)) {
    auto type =
        RankedTensorType::get({shape[1], size / 2}, builder.getF32Type());
    SmallVector<float> frequencies;
    for (int64_t i = 0; i < size / 2; ++i)
      frequencies.push_back(1.0f / float(1 + i));
    auto table = nn::RotaryTableOp::create(
        builder, loc, type, type, /*offset=*/Value(), /*positions=*/Value(),
        DenseElementsAttr::get(
            RankedTensorType::get({size / 2}, builder.getF32Type()),
            ArrayRef<float>(frequencies)),
        APFloat(1.0));
    for (Value *rotated : {&query, &key})
      *rotated = nn::RotaryOp::create(builder, loc, rotated->getType(),
                                      *rotated, table.getCos(), table.getSin());
  }
  Value mask;
  if (chance(30) && !inRepeat && !isCausal)
    mask = argument(
        RankedTensorType::get({shape[0], shape[1]}, builder.getI64Type()));
  bool causal = chance(60) || isCausal;
  IntegerAttr window =
      chance(30) ? builder.getI64IntegerAttr(3) : IntegerAttr();
  FloatAttr softCap = chance(20) ? builder.getF64FloatAttr(2.5) : FloatAttr();
  Value bias, sinks;
  if (isCausal && chance(25))
    bias = slopes(queryHeads, shape[1]);
  if (isCausal && !bias && chance(20))
    sinks = parameter({queryHeads}, "sinks");
  Value mixed =
      nn::AttentionOp::create(
          builder, loc, query.getType(), Type(), query, key, values, mask, bias,
          sinks, builder.getF64FloatAttr(0.7),
          causal ? builder.getUnitAttr() : UnitAttr(), window, softCap)
          .getResult();
  Value flat = tensor::CollapseShapeOp::create(
      builder, loc, mixed, SmallVector<ReassociationIndices>{{0}, {1}, {2, 3}});
  return linear(flat, shape[2]);
}

/// x yᵀ over the last dimension with another value, both computed.
Value ProgramMaker::product(Value value) {
  Shape shape = shapeOf(value);
  if (shape.size() != 3)
    return Value();
  Value other = value;
  for (Value candidate : pool) {
    Shape there = shapeOf(candidate);
    if (there.size() == 3 && there[0] == shape[0] && there[2] == shape[2] &&
        chance(60))
      other = candidate;
  }
  int64_t columns = shapeOf(other)[1];
  AffineExpr b, m, n, k;
  bindDims(context, b, m, n, k);
  using Kind = utils::IteratorType;
  Shape result{shape[0], shape[1], columns};
  return linalg::GenericOp::create(
             builder, loc, tensor(result), ValueRange{value, other},
             filled(result, 0),
             ArrayRef<AffineMap>{AffineMap::get(4, 0, {b, m, k}, context),
                                 AffineMap::get(4, 0, {b, n, k}, context),
                                 AffineMap::get(4, 0, {b, m, n}, context)},
             ArrayRef<Kind>{Kind::parallel, Kind::parallel, Kind::parallel,
                            Kind::reduction},
             [](OpBuilder &inner, Location at, ValueRange args) {
               Value product =
                   arith::MulFOp::create(inner, at, args[0], args[1]);
               Value sum = arith::AddFOp::create(inner, at, args[2], product);
               linalg::YieldOp::create(inner, at, sum);
             })
      .getResult(0);
}

/// A part of a value, scaled, back into it.
Value ProgramMaker::insert(Value value) {
  Value part = slice(value);
  if (!part)
    return Value();
  auto from = part.getDefiningOp<tensor::ExtractSliceOp>();
  Value changed = math::TanhOp::create(builder, loc, part);
  return tensor::InsertSliceOp::create(
      builder, loc, changed, value, from.getMixedOffsets(),
      from.getMixedSizes(), from.getMixedStrides());
}

/// Three layers whose weights are one tensor of the checkpoint, stored [k, n].
Value ProgramMaker::fused(Value value) {
  Shape shape = shapeOf(value);
  int64_t width = someWidth(), inner = shape.back();
  std::string name = "p" + std::to_string(numParameters++) + ".fused.weight";
  SmallVector<Value> parts;
  shape.back() = width;
  for (int64_t i = 0; i < 3; ++i) {
    auto source = ParameterSourceAttr::get(context, {inner, 3 * width},
                                           {0, i * width}, {1, 0});
    Value weight = ParameterOp::create(builder, loc, tensor({width, inner}),
                                       name, source, ArrayAttr());
    if (chance(70))
      if (ShardingAttr sharding = someSharding({width, inner}))
        setSharding(weight, sharding);
    parts.push_back(nn::LinearOp::create(builder, loc, tensor(shape), value,
                                         weight, Value())
                        .getResult());
  }
  Value sum = arith::AddFOp::create(builder, loc, parts[0], parts[1]);
  return arith::MulFOp::create(builder, loc, sum, parts[2]);
}

/// A norm that hands its statistics out.
Value ProgramMaker::withStatistics(Value value) {
  if (!element.isF32() || shapeOf(value).size() < 2)
    return Value();
  Shape shape = shapeOf(value);
  int64_t width = shape.pop_back_val();
  Value weight = parameter({width}, "norm.weight");
  auto norm =
      nn::RMSNormOp::create(builder, loc, value.getType(), tensor(shape), value,
                            weight, APFloat(1e-5));
  keep(norm.getRstd());
  return norm.getResult();
}

/// Two or three layers; sometimes with a slice of a stacked value per layer,
/// and one handed out per layer.
Value ProgramMaker::repeat(Value value) {
  if (inRepeat)
    return Value();
  int64_t count = 2 + below(2);
  Shape stackedShape = shapeOf(value);
  stackedShape.insert(stackedShape.begin(), count);
  bool takes = chance(25) && stackedShape.size() <= 4 && !isCausal,
       gives = chance(25) && !isCausal;
  SmallVector<Value> stacked;
  SmallVector<Type> results;
  if (takes)
    stacked.push_back(argument(tensor(stackedShape)));
  if (gives)
    results.push_back(tensor(stackedShape));
  auto op = RepeatOp::create(builder, loc, count, ValueRange(value), stacked,
                             results);
  SmallVector<Value> outer = std::exchange(pool, {});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.getBodyBlock());
  inRepeat = true;
  Value carried = op.getCarriedArgs()[0];
  // A value from above may be used in every layer.
  for (Value other : outer)
    if (other.getType() == value.getType() && chance(30))
      keep(other);
  keep(carried);
  for (int64_t steps = 1 + below(3); steps > 0; --steps)
    if (Value next =
            isCausal && chance(50) ? attention() : shapePreserving(carried))
      if (next.getType() == carried.getType())
        keep(carried = next);
  if (takes)
    keep(carried = arith::AddFOp::create(builder, loc, carried,
                                         op.getStackedArgs()[0]));
  SmallVector<Value> yielded{carried};
  if (gives)
    yielded.push_back(chance(50) ? pool.back() : pool.front());
  inRepeat = false;
  pool = outer;
  builder.setInsertionPointToEnd(op.getBodyBlock());
  YieldOp::create(builder, loc, yielded);
  if (gives)
    keep(op.getStackedResults()[0]);
  return op.getCarriedResults()[0];
}

} // namespace tp::fuzz

//===- BuildBias.cpp - What positions add to the scores -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bias of attention's scores, for each head, query and key, that all layers
// have in common and is computed once, before them. It is cut by heads, as the
// projections are: a table of relative positions by its columns.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace tp {

/// Distances at which T5's buckets begin that have more than one: half of the
/// buckets of a direction are one distance each, the others are equally long
/// in the logarithm, up to 128. An end that is a whole number is computed
/// without error.
static SmallVector<int64_t> getBucketStarts() {
  constexpr int64_t farthest = 128, each = numRelativeBuckets / 2,
                    exact = each / 2;
  SmallVector<int64_t> starts;
  for (int64_t i = 1; i < each - exact; ++i) {
    double part = double(i) / double(each - exact);
    double start = exact * std::exp2(std::log2(farthest / exact) * part);
    starts.push_back(std::llround(std::ceil(start)));
  }
  return starts;
}

/// The bucket of a key at `there` for a query at `here`: those behind the
/// query are of the second half.
static Value findBucket(OpBuilder &b, Location l, Value here, Value there) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, l, value, 64);
  };
  auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, l, predicate, x, y);
  };
  constexpr int64_t each = numRelativeBuckets / 2, exact = each / 2;
  Value behind = arith::SubIOp::create(b, l, there, here),
        before = arith::SubIOp::create(b, l, here, there);
  Value distance = arith::MaxSIOp::create(b, l, behind, before);
  Value bucket = number(exact);
  for (int64_t start : getBucketStarts()) {
    Value reached = compare(arith::CmpIPredicate::sge, distance, number(start));
    Value one = arith::ExtUIOp::create(b, l, b.getI64Type(), reached);
    bucket = arith::AddIOp::create(b, l, bucket, one);
  }
  Value isExact = compare(arith::CmpIPredicate::slt, distance, number(exact));
  bucket = arith::SelectOp::create(b, l, isExact, distance, bucket);
  Value isBehind = compare(arith::CmpIPredicate::sgt, behind, number(0));
  Value second = arith::AddIOp::create(b, l, bucket, number(each));
  return arith::SelectOp::create(b, l, isBehind, second, bucket);
}

/// The position of a loop.
static Value getPosition(OpBuilder &b, Location l, unsigned loop) {
  Value index = linalg::IndexOp::create(b, l, loop);
  return arith::IndexCastOp::create(b, l, b.getI64Type(), index);
}

static Value buildRelativeBias(ModelBuilder &m) {
  const ModelConfig &c = m.config;
  OpBuilder &b = m.builder;
  std::string place = m.placeOf(c.layout.relativeBias);
  Location loc = m.at(place);
  Value table = m.parameter(m.namesOf(c.layout.relativeBias + ".weight"),
                            {c.relativeRows, c.numHeads});
  Value empty = tensor::EmptyOp::create(b, loc, {m.seq, m.seq}, b.getI64Type());
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  Value buckets =
      linalg::GenericOp::create(b, loc, empty.getType(), ValueRange(), empty,
                                b.getMultiDimIdentityMap(2), loops,
                                [](OpBuilder &b, Location l, ValueRange) {
                                  Value bucket =
                                      findBucket(b, l, getPosition(b, l, 0),
                                                 getPosition(b, l, 1));
                                  linalg::YieldOp::create(b, l, bucket);
                                })
          .getResult(0);
  auto flat = RankedTensorType::get({m.seq * m.seq}, b.getI64Type());
  buckets = tensor::CollapseShapeOp::create(
      b, loc, flat, buckets, SmallVector<ReassociationIndices>{{0, 1}});
  Value rows = m.embedding(place, buckets, table);
  Value heads = tensor::EmptyOp::create(b, loc, {c.numHeads, m.seq * m.seq},
                                        m.type({}).getElementType());
  heads =
      linalg::TransposeOp::create(b, loc, rows, heads, ArrayRef<int64_t>{1, 0})
          ->getResult(0);
  return m.splitLast(place, heads, {m.seq, m.seq});
}

//===----------------------------------------------------------------------===//
// ALiBi
//===----------------------------------------------------------------------===//

/// Powers of 2 with exponents in equal steps down to -8, for as many heads as
/// the greatest power of 2 among their numbers; those of the others are between
/// them, from the first on.
static SmallVector<float> getSlopes(int64_t heads) {
  int64_t regular = int64_t(1) << llvm::Log2_64(heads);
  SmallVector<float> slopes;
  for (int64_t i = 0; i < heads; ++i) {
    double step = i < regular ? double(i + 1) : double(i - regular) + 0.5;
    slopes.push_back(float(std::exp2(-8 * step / double(regular))));
  }
  return slopes;
}

static Value roundToBF16(OpBuilder &b, Location l, Value x) {
  Value narrow = arith::TruncFOp::create(b, l, b.getBF16Type(), x);
  return arith::ExtFOp::create(b, l, b.getF32Type(), narrow);
}

/// In f32, of `shape`, whose first dimension are heads and whose last are the
/// keys' positions. What the query's position would add is the same for all
/// keys, and changes no weight.
static Value buildAlibi(ModelBuilder &m, const AlibiConfig &alibi,
                        ArrayRef<int64_t> shape) {
  const ModelConfig &c = m.config;
  OpBuilder &b = m.builder;
  Location loc = m.at(m.placeOf("alibi"));
  Type f32 = b.getF32Type();
  Value slopes = arith::ConstantOp::create(
      b, loc,
      DenseElementsAttr::get(RankedTensorType::get({c.numHeads}, f32),
                             ArrayRef<float>(getSlopes(c.numHeads))));
  unsigned rank = shape.size();
  Value empty = tensor::EmptyOp::create(b, loc, shape, f32);
  AffineMap head = AffineMap::get(rank, 0, b.getAffineDimExpr(0));
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  auto round = [&](OpBuilder &b, Location l, Value x) {
    return alibi.isBF16 ? roundToBF16(b, l, x) : x;
  };
  return linalg::GenericOp::create(
             b, loc, empty.getType(), slopes, empty,
             {head, b.getMultiDimIdentityMap(rank)}, loops,
             [&](OpBuilder &b, Location l, ValueRange args) {
               Value position = arith::SIToFPOp::create(
                   b, l, f32, getPosition(b, l, rank - 1));
               Value product = arith::MulFOp::create(b, l, round(b, l, args[0]),
                                                     round(b, l, position));
               Value scale = arith::ConstantOp::create(
                   b, l, b.getF32FloatAttr(float(alibi.scale)));
               product =
                   arith::MulFOp::create(b, l, round(b, l, product), scale);
               linalg::YieldOp::create(b, l, product);
             })
      .getResult(0);
}

Value buildScoreBias(ModelBuilder &m) {
  if (m.config.alibi)
    return buildAlibi(m, *m.config.alibi, {m.config.numHeads, m.seq, m.seq});
  return m.config.layout.relativeBias.empty() ? Value() : buildRelativeBias(m);
}

} // namespace tp

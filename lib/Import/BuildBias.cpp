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
#include "tp/Dialect/NN/IR/Emitter.h"
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
static Value findBucket(nn::Scalar &e, Value here, Value there) {
  constexpr int64_t each = numRelativeBuckets / 2, exact = each / 2;
  Type i64 = e.b.getI64Type();
  Value behind = e.sub(there, here),
        distance = e.max(behind, e.sub(here, there));
  Value bucket = e.integer(exact, i64);
  for (int64_t start : getBucketStarts())
    bucket =
        e.add(bucket, e.cast(e.compare(nn::CmpI::sge, distance, start), i64));
  Value isExact = e.compare(nn::CmpI::slt, distance, exact);
  bucket = e.select(isExact, distance, bucket);
  Value isBehind = e.compare(nn::CmpI::sgt, behind, 0);
  return e.select(isBehind, e.add(bucket, each), bucket);
}

/// The position of a loop.
static Value getPosition(nn::Scalar &e, unsigned loop) {
  return e.cast(e.index(loop), e.b.getI64Type());
}

static Value buildRelativeBias(ModelBuilder &m) {
  const ModelConfig &c = m.config;
  OpBuilder &b = m.builder;
  std::string place = m.placeOf(c.layout.relativeBias);
  Location loc = m.at(place);
  Value table = m.parameter(m.namesOf(c.layout.relativeBias + ".weight"),
                            {c.relativeRows, c.numHeads});
  nn::Emitter emitter(b, loc, b.getF32Type());
  Value buckets =
      emitter.map(RankedTensorType::get({m.seq, m.seq}, b.getI64Type()), {},
                  [](nn::Scalar &e, ValueRange) {
                    return findBucket(e, getPosition(e, 0), getPosition(e, 1));
                  });
  buckets = emitter.join(buckets, 0, 2);
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
  nn::Emitter emitter(b, loc, f32);
  auto round = [&](nn::Scalar &e, Value x) {
    return alibi.isBF16 ? e.convert(e.convert(x, e.b.getBF16Type()), f32) : x;
  };
  return emitter.map(emitter.wideType(shape), {{slopes, emitter.loops(1)}},
                     [&](nn::Scalar &e, ValueRange v) {
                       Value position =
                           e.toFloat(getPosition(e, shape.size() - 1));
                       Value product =
                           e.mul(round(e, v[0]), round(e, position));
                       return e.mul(round(e, product), alibi.scale);
                     });
}

Value buildScoreBias(ModelBuilder &m) {
  if (m.config.alibi)
    return buildAlibi(m, *m.config.alibi, {m.config.numHeads, m.seq, m.seq});
  return m.config.layout.relativeBias.empty() ? Value() : buildRelativeBias(m);
}

} // namespace tp

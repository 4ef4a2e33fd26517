//===- AttentionSoftmax.cpp - Softmax over keys that arrive in tiles ------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See AttentionSoftmax.h.
//
//===----------------------------------------------------------------------===//

#include "AttentionSoftmax.h"

#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace tp;

static constexpr double infinity = std::numeric_limits<double>::infinity();
/// How far scores may rise, as powers of 2, before what was summed is scaled
/// anew. Powers up to 2^8 are rounded no worse than those below 1 in any type
/// (f16 ends at 2^16), and their sums are f32.
static constexpr double powersAbove = 8;

SmallVector<Value> SoftmaxState::flatten() const {
  SmallVector<Value> values(greatest);
  llvm::append_range(values, sum);
  for (const Fragment &fragment : outputs)
    for (const auto &tile : fragment)
      llvm::append_range(values, tile);
  return values;
}

void SoftmaxState::assign(ValueRange values) {
  size_t next = 0;
  for (Value &value : greatest)
    value = values[next++];
  for (Value &value : sum)
    value = values[next++];
  for (Fragment &fragment : outputs)
    for (auto &tile : fragment)
      for (Value &value : tile)
        value = values[next++];
}

AttentionSoftmax::AttentionSoftmax(KernelEmitter &emitter,
                                   const AttentionShape &shape,
                                   const AttentionTiles &tiles)
    : e(emitter), tiles(tiles), multiplier(shape.scale * llvm::numbers::log2e),
      cap(shape.softCap), ofCap(cap != 0 ? shape.scale / cap : 0),
      scalesScores(!(shape.scale > 0) || cap != 0 || shape.biasType ||
                   shape.sinksType) {}

SoftmaxState AttentionSoftmax::getInitial() {
  SoftmaxState state;
  Value zero = e.float32(0);
  state.greatest.assign(2 * tiles.fragments, e.float32(-infinity));
  state.sum.assign(2 * tiles.fragments, zero);
  state.outputs.assign(tiles.fragments, Fragment(tiles.value.padded / 8,
                                                 {zero, zero, zero, zero}));
  return state;
}

void AttentionSoftmax::scale(Fragments &scores) {
  if (!scalesScores)
    return;
  for (Fragment &fragment : scores)
    for (auto &tile : fragment)
      for (Value &value : tile)
        value = cap == 0 ? e.mulf(value, e.float32(multiplier))
                         : e.mulf(e.tanh(e.mulf(value, e.float32(ofCap))),
                                  e.float32(cap * llvm::numbers::log2e));
}

void AttentionSoftmax::addBias(Fragments &scores, Type type,
                               function_ref<Value(int64_t)> findLine,
                               function_ref<Value(int64_t)> findSkip) {
  int64_t bytes = AttentionShape::getBytes(type);
  for (auto [fragment, tilesOf] : llvm::enumerate(scores))
    for (int64_t half = 0; half < 2; ++half) {
      Value line = findLine(16 * int64_t(fragment) + 8 * half);
      for (auto [tile, values] : llvm::enumerate(tilesOf))
        for (int64_t side = 0; side < 2; ++side) {
          Value skip = findSkip(8 * int64_t(tile) + side);
          Value bias = e.load(type, e.offset(line, skip), bytes);
          if (!type.isF32())
            bias = arith::ExtFOp::create(e.builder, e.loc, e.f32, bias);
          Value &score = values[2 * half + side];
          score = e.fma(bias, e.float32(llvm::numbers::log2e), score);
        }
    }
}

Fragments AttentionSoftmax::getSlopes(const Fragments &scaled) {
  Fragments slopes = scaled;
  for (Fragment &fragment : slopes)
    for (auto &tile : fragment)
      for (Value &value : tile) {
        Value bend = e.mulf(value, e.float32(1 / (cap * llvm::numbers::log2e)));
        value = e.fma(e.negate(bend), bend, e.float32(1));
      }
  return slopes;
}

Value AttentionSoftmax::getShift(Value greatest) {
  Value isNone =
      e.compare(arith::CmpFPredicate::OEQ, greatest, e.float32(-infinity));
  Value product =
      scalesScores ? greatest : e.mulf(greatest, e.float32(multiplier));
  return e.select(isNone, e.float32(0), product);
}

Value AttentionSoftmax::getPower(Value value, Value shift) {
  return e.exp2(
      e.fma(value, e.float32(scalesScores ? 1 : multiplier), e.negate(shift)));
}

void AttentionSoftmax::rescale(SoftmaxState &state, size_t row, Value by) {
  state.sum[row] = e.mulf(state.sum[row], by);
  for (auto &tile : state.outputs[row / 2])
    for (size_t side = 0; side < 2; ++side) {
      Value &value = tile[row % 2 * 2 + side];
      value = e.mulf(value, by);
    }
}

/// Multiplying all outputs costs a tenth of a tile, so a warp does it only if
/// one of its rows has a score far above what the row's powers are of.
void AttentionSoftmax::followGreatest(SoftmaxState &state,
                                      const Fragments &scores) {
  double room = scalesScores ? powersAbove : powersAbove / multiplier;
  SmallVector<Value> greatest;
  Value isHigher;
  for (size_t row = 0; row < state.greatest.size(); ++row) {
    size_t first = row % 2 * 2;
    const Fragment &own = scores[row / 2];
    Value score = own[0][first];
    for (const auto &tile : own)
      for (size_t side = 0; side < 2; ++side)
        score = e.maxf(score, tile[first + side]);
    greatest.push_back(e.maxOfQuad(score));
    Value isFar = e.compare(arith::CmpFPredicate::OGT, greatest.back(),
                            e.addf(state.greatest[row], e.float32(room)));
    isHigher = isHigher ? e.bitOr(isHigher, isFar) : isFar;
  }
  Value isAny =
      e.compare(arith::CmpIPredicate::ne, e.ballot(isHigher), int64_t(0));
  state.assign(e.ifElse(
      isAny,
      [&] {
        SoftmaxState scaled = state;
        for (auto [row, score] : llvm::enumerate(greatest)) {
          Value before = state.greatest[row];
          scaled.greatest[row] = e.maxf(before, score);
          Value shift = getShift(scaled.greatest[row]);
          rescale(scaled, row, getPower(before, shift));
        }
        return KernelEmitter::Values(scaled.flatten());
      },
      [&] { return KernelEmitter::Values(state.flatten()); }));
}

Fragments AttentionSoftmax::update(SoftmaxState &state,
                                   const Fragments &scores) {
  followGreatest(state, scores);
  Fragments result = scores;
  for (size_t row = 0; row < state.greatest.size(); ++row) {
    size_t first = row % 2 * 2;
    Value shift = getShift(state.greatest[row]);
    for (auto &tile : result[row / 2])
      for (size_t side = 0; side < 2; ++side) {
        Value &value = tile[first + side];
        value = getPower(value, shift);
        state.sum[row] = e.addf(state.sum[row], value);
      }
  }
  return result;
}

void AttentionSoftmax::finish(SoftmaxState &state) {
  for (Value &sum : state.sum)
    sum = e.sumOfQuad(sum);
}

void AttentionSoftmax::merge(SoftmaxState &state,
                             function_ref<Value(int64_t)> other) {
  int64_t rows = state.greatest.size(), next = 0;
  SmallVector<Value> multipliers;
  for (int64_t row = 0; row < rows; ++row) {
    Value before = state.greatest[row], theirs = other(next++);
    state.greatest[row] = e.maxf(before, theirs);
    Value shift = getShift(state.greatest[row]);
    multipliers.push_back(getPower(theirs, shift));
    rescale(state, row, getPower(before, shift));
  }
  for (int64_t row = 0; row < rows; ++row)
    state.sum[row] = e.fma(other(next++), multipliers[row], state.sum[row]);
  for (auto [fragment, tiles] : llvm::enumerate(state.outputs))
    for (auto &tile : tiles)
      for (int64_t i = 0; i < 4; ++i)
        tile[i] =
            e.fma(other(next++), multipliers[2 * fragment + i / 2], tile[i]);
}

Value AttentionSoftmax::readSink(Value sinks, Type type, Value head) {
  int64_t bytes = AttentionShape::getBytes(type);
  Value sink =
      e.load(type, e.offset(sinks, e.mul(e.toInt64(head), bytes)), bytes);
  if (!type.isF32())
    sink = arith::ExtFOp::create(e.builder, e.loc, e.f32, sink);
  return e.mulf(sink, e.float32(llvm::numbers::log2e));
}

void AttentionSoftmax::addSinks(SoftmaxState &state, ArrayRef<Value> sinks) {
  for (auto [row, sink] : llvm::enumerate(sinks)) {
    Value before = state.greatest[row];
    state.greatest[row] = e.maxf(before, sink);
    Value shift = getShift(state.greatest[row]);
    rescale(state, row, getPower(before, shift));
    state.sum[row] = e.addf(state.sum[row], getPower(sink, shift));
  }
}

Value AttentionSoftmax::getInverse(Value sum) {
  Value zero = e.float32(0);
  Value isNone = e.compare(arith::CmpFPredicate::OEQ, sum, zero);
  return e.select(isNone, zero, e.reciprocal(sum));
}

Value AttentionSoftmax::getLogarithm(Value sum, Value shift) {
  Value isNone = e.compare(arith::CmpFPredicate::OEQ, sum, e.float32(0));
  Value power = e.addf(shift, e.log2(sum));
  return e.select(isNone, e.float32(-infinity),
                  e.mulf(power, e.float32(llvm::numbers::ln2)));
}

SmallVector<Value> AttentionSoftmax::normalise(SoftmaxState &state) {
  SmallVector<Value> logarithms;
  for (size_t row = 0; row < state.greatest.size(); ++row) {
    Value sum = state.sum[row];
    logarithms.push_back(getLogarithm(sum, getShift(state.greatest[row])));
    rescale(state, row, getInverse(sum));
  }
  return logarithms;
}

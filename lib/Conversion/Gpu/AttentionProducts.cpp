//===- AttentionProducts.cpp - The two products of attention --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor cores for bf16 and f16, fused multiply-adds for f32. See
// AttentionProducts.h for which lane holds what.
//
//===----------------------------------------------------------------------===//

#include "AttentionProducts.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

namespace {

class TensorCoreProducts : public AttentionProducts {
public:
  TensorCoreProducts(KernelEmitter &emitter, const AttentionShape &shape,
                     const AttentionTiles &tiles, const RowLayout &inner,
                     const RowLayout &outer, Value lane);
  void setQueries(Value queries) override;
  Fragments multiplyKeys(Value keys) override;
  void multiplyValues(Fragments &outputs, const Fragments &probabilities,
                      Value values) override;
  void storeOutputs(const Fragment &outputs, Value row) override;
  void visitColumns(const Fragment &outputs, int64_t half,
                    Visit visit) override;

private:
  using Registers = TensorCores::Registers;

  /// The left operand of step `step` (16 columns of the head).
  Registers getQueries(int64_t fragment, int64_t step);

  TensorCores cores;
  int64_t steps; ///< of 16 columns of the head
  /// This lane's addition to a matrix's first element to find its row: of a
  /// 16x16 block by rows then columns, and of one by columns then rows; of
  /// values by rows.
  Value byRows, byColumns, ofValues;
  Value queries;
  SmallVector<Registers> held; ///< queries in registers
};

} // namespace

TensorCoreProducts::TensorCoreProducts(KernelEmitter &emitter,
                                       const AttentionShape &shape,
                                       const AttentionTiles &tiles,
                                       const RowLayout &inner,
                                       const RowLayout &outer, Value lane)
    : AttentionProducts(emitter, shape, tiles, inner, outer, lane),
      cores(emitter, shape.type), steps(inner.padded / 16),
      byRows(cores.getPlaceByRows(lane, inner.pitch)),
      byColumns(cores.getPlaceByColumns(lane, inner.pitch)),
      ofValues(cores.getPlaceByRows(lane, outer.pitch)) {}

void TensorCoreProducts::setQueries(Value pointer) {
  queries = e.offset(pointer, byRows);
  if (!tiles.queriesInRegisters)
    return;
  for (int64_t fragment = 0; fragment < tiles.fragments; ++fragment)
    for (int64_t step = 0; step < steps; ++step)
      held.push_back(cores.load(
          e.offset(queries, 16 * fragment * inner.pitch + 32 * step), false));
}

TensorCoreProducts::Registers TensorCoreProducts::getQueries(int64_t fragment,
                                                             int64_t step) {
  if (tiles.queriesInRegisters)
    return held[fragment * steps + step];
  return cores.load(e.offset(queries, 16 * fragment * inner.pitch + 32 * step),
                    false);
}

Fragments TensorCoreProducts::multiplyKeys(Value keys) {
  int64_t keyTiles = tiles.getWarpKeys() / 8;
  Fragments scores(tiles.fragments, makeZeros(e, keyTiles));
  Value rows = e.offset(keys, byColumns);
  for (int64_t step = 0; step < steps; ++step) {
    SmallVector<Registers> left;
    for (int64_t fragment = 0; fragment < tiles.fragments; ++fragment)
      left.push_back(getQueries(fragment, step));
    for (int64_t tile = 0; tile < keyTiles; tile += 2) {
      Registers right =
          cores.load(e.offset(rows, 8 * tile * inner.pitch + 32 * step),
                     /*isTransposed=*/false);
      for (int64_t fragment = 0; fragment < tiles.fragments; ++fragment) {
        Fragment &sums = scores[fragment];
        cores.multiply(sums[tile], left[fragment], right[0], right[1]);
        cores.multiply(sums[tile + 1], left[fragment], right[2], right[3]);
      }
    }
  }
  return scores;
}

void TensorCoreProducts::multiplyValues(Fragments &outputs,
                                        const Fragments &probabilities,
                                        Value values) {
  Value rows = e.offset(values, ofValues);
  for (int64_t step = 0; step < tiles.getWarpKeys() / 16; ++step) {
    SmallVector<Registers> left;
    for (const Fragment &fragment : probabilities) {
      const auto &first = fragment[2 * step], &second = fragment[2 * step + 1];
      left.push_back({e.pack(first[0], first[1], shape.type),
                      e.pack(first[2], first[3], shape.type),
                      e.pack(second[0], second[1], shape.type),
                      e.pack(second[2], second[3], shape.type)});
    }
    for (int64_t column = 0; column < outer.padded / 16; ++column) {
      Registers right =
          cores.load(e.offset(rows, 16 * step * outer.pitch + 32 * column),
                     /*isTransposed=*/true);
      for (auto [sums, operand] : llvm::zip_equal(outputs, left)) {
        cores.multiply(sums[2 * column], operand, right[0], right[1]);
        cores.multiply(sums[2 * column + 1], operand, right[2], right[3]);
      }
    }
  }
}

void TensorCoreProducts::storeOutputs(const Fragment &outputs, Value row) {
  Value place = e.offset(
      row, e.add(e.mul(e.div(lane, 4), outer.pitch), e.mul(e.rem(lane, 4), 4)));
  for (auto [tile, values] : llvm::enumerate(outputs))
    for (int64_t half = 0; half < 2; ++half)
      e.store(e.pack(values[2 * half], values[2 * half + 1], shape.type),
              e.offset(place, 8 * half * outer.pitch + 16 * int64_t(tile)), 4);
}

void TensorCoreProducts::visitColumns(const Fragment &outputs, int64_t half,
                                      Visit visit) {
  Value own = e.mul(e.rem(lane, 4), 2);
  for (auto [tile, values] : llvm::enumerate(outputs))
    visit(own, 8 * int64_t(tile), {values[2 * half], values[2 * half + 1]});
}

//===----------------------------------------------------------------------===//
// Fused multiply-adds
//===----------------------------------------------------------------------===//

namespace {

/// Scores lie in lanes as above. Of the outputs, two tiles together are 16
/// columns, of which lane t of a quad has the four from 4t on: what one read of
/// 16 bytes brings.
class FusedProducts : public AttentionProducts {
public:
  using AttentionProducts::AttentionProducts;
  void setQueries(Value pointer) override {
    Value row = e.div(lane, 4);
    queries = e.offset(pointer, e.mul(row, inner.pitch));
  }
  Fragments multiplyKeys(Value keys) override;
  void multiplyValues(Fragments &outputs, const Fragments &probabilities,
                      Value values) override;
  void storeOutputs(const Fragment &outputs, Value row) override;
  void visitColumns(const Fragment &outputs, int64_t half,
                    Visit visit) override;

private:
  Value queries;
};

} // namespace

Fragments FusedProducts::multiplyKeys(Value keys) {
  int64_t keyTiles = tiles.getWarpKeys() / 8;
  Value own = e.offset(keys, e.mul(e.rem(lane, 4), 2 * inner.pitch));
  // A loop over 16 columns at a time: written out, it would not fit the
  // instruction cache.
  Value zero = e.float32(0);
  SmallVector<Value> zeros(tiles.fragments * keyTiles * 4, zero);
  auto index = [&](int64_t fragment, int64_t tile, int64_t value) {
    return (fragment * keyTiles + tile) * 4 + value;
  };
  KernelEmitter::Values sums = e.loop(
      e.int32(0), e.int32(inner.padded * 4), 64, zeros,
      [&](Value skip, ValueRange carried) {
        KernelEmitter::Values sums(carried);
        Value left = e.offset(queries, skip), right = e.offset(own, skip);
        for (int64_t part = 0; part < 64; part += 16) {
          SmallVector<std::array<Value, 4>> rows;
          for (int64_t half = 0; half < 2 * tiles.fragments; ++half)
            rows.push_back(
                loadFour(e, e.offset(left, 8 * half * inner.pitch + part)));
          for (int64_t tile = 0; tile < keyTiles; ++tile)
            for (int64_t side = 0; side < 2; ++side) {
              auto key = loadFour(
                  e, e.offset(right, (8 * tile + side) * inner.pitch + part));
              for (auto [half, row] : llvm::enumerate(rows)) {
                Value &sum = sums[index(half / 2, tile, half % 2 * 2 + side)];
                for (auto [a, b] : llvm::zip_equal(row, key))
                  sum = e.fma(a, b, sum);
              }
            }
        }
        return sums;
      });
  Fragments scores(tiles.fragments, makeZeros(e, keyTiles));
  for (int64_t fragment = 0; fragment < tiles.fragments; ++fragment)
    for (int64_t tile = 0; tile < keyTiles; ++tile)
      for (int64_t value = 0; value < 4; ++value)
        scores[fragment][tile][value] = sums[index(fragment, tile, value)];
  return scores;
}

void FusedProducts::multiplyValues(Fragments &outputs,
                                   const Fragments &probabilities,
                                   Value values) {
  Value own = e.offset(values, e.mul(e.rem(lane, 4), 16));
  for (int64_t key = 0; key < tiles.getWarpKeys(); ++key) {
    // The lane of the quad that holds this key's probabilities gives them to
    // the others.
    int64_t source = key % 8 / 2, side = key % 2;
    SmallVector<Value> rows;
    for (const Fragment &fragment : probabilities)
      for (int64_t half = 0; half < 2; ++half)
        rows.push_back(
            e.shuffleInQuad(fragment[key / 8][2 * half + side], source));
    for (int64_t step = 0; step < outer.padded / 16; ++step) {
      auto value = loadFour(e, e.offset(own, key * outer.pitch + 64 * step));
      for (auto [half, probability] : llvm::enumerate(rows))
        for (int64_t i = 0; i < 4; ++i) {
          Value &sum =
              outputs[half / 2][2 * step + i / 2][half % 2 * 2 + i % 2];
          sum = e.fma(probability, value[i], sum);
        }
    }
  }
}

void FusedProducts::storeOutputs(const Fragment &outputs, Value row) {
  Value place = e.offset(row, e.add(e.mul(e.div(lane, 4), outer.pitch),
                                    e.mul(e.rem(lane, 4), 16)));
  for (size_t tile = 0; tile < outputs.size(); tile += 2)
    for (int64_t half = 0; half < 2; ++half) {
      SmallVector<Value> four;
      for (int64_t i = 0; i < 4; ++i)
        four.push_back(outputs[tile + i / 2][2 * half + i % 2]);
      e.store(e.makeVector(four),
              e.offset(place, 8 * half * outer.pitch + 32 * int64_t(tile)), 16);
    }
}

void FusedProducts::visitColumns(const Fragment &outputs, int64_t half,
                                 Visit visit) {
  Value own = e.mul(e.rem(lane, 4), 4);
  for (size_t tile = 0; tile < outputs.size(); tile += 2) {
    SmallVector<Value> four;
    for (int64_t i = 0; i < 4; ++i)
      four.push_back(outputs[tile + i / 2][2 * half + i % 2]);
    visit(own, 8 * int64_t(tile), four);
  }
}

void AttentionProducts::storeSums(const Fragment &outputs, int64_t half,
                                  Value row) {
  visitColumns(outputs, half,
               [&](Value own, int64_t first, ArrayRef<Value> values) {
                 Value place = e.offset(row, e.toInt64(e.mul(own, 4)));
                 e.store(e.makeVector(values), e.offset(place, 4 * first),
                         4 * values.size());
               });
}

std::unique_ptr<AttentionProducts>
AttentionProducts::create(KernelEmitter &emitter, const AttentionShape &shape,
                          const AttentionTiles &tiles, const RowLayout &inner,
                          const RowLayout &outer, Value lane) {
  if (shape.type.isF32())
    return std::make_unique<FusedProducts>(emitter, shape, tiles, inner, outer,
                                           lane);
  return std::make_unique<TensorCoreProducts>(emitter, shape, tiles, inner,
                                              outer, lane);
}

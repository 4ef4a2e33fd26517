//===- AttentionProducts.h - The two products of attention ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores = queries * keys^T and outputs += probabilities * values, for the rows
// and keys of one warp, between shared memory and the registers of its lanes.
// 16-bit types use tensor cores, f32 fused multiply-adds; both keep their
// results in the same lanes, so that all that lies between the products is
// written once.
//
// A warp's scores are cut into fragments of 16 rows, and those into tiles of 8
// keys. Lane l = 4 * g + t holds four numbers of each tile: rows g and g + 8,
// columns 2t and 2t + 1. For example, lane 6 (g = 1, t = 2) holds
//
//                  column 4    column 5
//        row 1     value 0     value 1
//        row 9     value 2     value 3
//
// so a row lies in the four lanes of one g ("a quad"): sums over a row are sums
// of a lane's own numbers, then two shuffles. This is how mma.sync.m16n8k16
// returns its result (PTX ISA, "Matrix Fragments for mma.m16n8k16"), and two
// neighbouring tiles of it, rounded to 16 bits, are just what the next product
// takes as its left operand of 16 rows by 16 keys:
//
//        operand 0: rows g,     keys 2t, 2t + 1          tile 0, values 0, 1
//        operand 1: rows g + 8, keys 2t, 2t + 1          tile 0, values 2, 3
//        operand 2: rows g,     keys 2t + 8, 2t + 9      tile 1, values 0, 1
//        operand 3: rows g + 8, keys 2t + 8, 2t + 9      tile 1, values 2, 3
//
// which is why probabilities never leave the registers.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ATTENTIONPRODUCTS_H
#define TP_LIB_CONVERSION_GPU_ATTENTIONPRODUCTS_H

#include "AttentionTiles.h"
#include "TensorCores.h"
#include <memory>

namespace tp {

class AttentionProducts {
public:
  using Value = mlir::Value;

  /// `lane` is 0 to 31; the products are written by `emitter`. Queries and
  /// keys lie in shared memory as `inner` says, values and outputs as `outer`.
  static std::unique_ptr<AttentionProducts>
  create(KernelEmitter &emitter, const AttentionShape &shape,
         const AttentionTiles &tiles, const RowLayout &inner,
         const RowLayout &outer, Value lane);
  AttentionProducts(KernelEmitter &emitter, const AttentionShape &shape,
                    const AttentionTiles &tiles, const RowLayout &inner,
                    const RowLayout &outer, Value lane)
      : e(emitter), shape(shape), tiles(tiles), inner(inner), outer(outer),
        lane(lane) {}
  virtual ~AttentionProducts() = default;

  /// Sets where the warp's first query row lies in shared memory. Queries that
  /// are kept in registers are read here.
  virtual void setQueries(Value queries) = 0;
  /// The scores of the warp's rows and of its keys, which begin at `keys`.
  virtual Fragments multiplyKeys(Value keys) = 0;
  /// outputs += probabilities * the values that begin at `values`.
  virtual void multiplyValues(Fragments &outputs,
                              const Fragments &probabilities, Value values) = 0;
  /// Writes a fragment of outputs, rounded to the element type, to the row in
  /// shared memory of its first row.
  virtual void storeOutputs(const Fragment &outputs, Value row) = 0;
  /// Calls `visit` with what this lane has of the outputs of row g + 8 * half:
  /// values of neighbouring columns, of which the first is column `own` +
  /// `first`.
  using Visit = llvm::function_ref<void(Value own, int64_t first,
                                        llvm::ArrayRef<Value> values)>;
  virtual void visitColumns(const Fragment &outputs, int64_t half,
                            Visit visit) = 0;
  /// Writes them, in f32, to global memory; `row` is where that row begins, and
  /// has room for a padded head.
  void storeSums(const Fragment &outputs, int64_t half, Value row);

protected:
  KernelEmitter &e;
  const AttentionShape &shape;
  const AttentionTiles &tiles;
  RowLayout inner, outer;
  Value lane;
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ATTENTIONPRODUCTS_H

//===- TensorCores.h - Products of 16 bits in one warp ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mma.sync.m16n8k16 and what it takes its operands with. Lane 4 * g + t holds
// four numbers of each result of 16 rows and 8 columns: rows g and g + 8,
// columns 2t and 2t + 1 (AttentionProducts.h shows which).
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_TENSORCORES_H
#define TP_LIB_CONVERSION_GPU_TENSORCORES_H

#include "KernelEmitter.h"
#include <array>

namespace tp {

/// One lane's numbers of a fragment of 16 rows: tiles of four values.
using Fragment = llvm::SmallVector<std::array<mlir::Value, 4>>;
/// The fragments of a warp, one for each 16 of its rows.
using Fragments = llvm::SmallVector<Fragment>;

Fragment makeZeros(KernelEmitter &e, int64_t tiles);
/// A loop that carries `sums`, which `body` changes.
void carryingLoop(KernelEmitter &e, Fragments &sums, mlir::Value from,
                  mlir::Value to, int64_t step,
                  llvm::function_ref<void(mlir::Value)> body);

/// Rows of shared memory at a distance of `pitch` bytes, for a product of
/// `type` (bf16 or f16).
class TensorCores {
public:
  using Value = mlir::Value;
  using Registers = std::array<Value, 4>;

  TensorCores(KernelEmitter &emitter, mlir::Type type)
      : e(emitter), type(type) {}

  /// A lane's addition to the address of a block of 16 rows and 16 columns to
  /// find its row: of a left operand, or of right operands that are read
  /// transposed; and of right operands whose columns are rows in memory.
  Value getPlaceByRows(Value lane, int64_t pitch);
  Value getPlaceByColumns(Value lane, int64_t pitch);
  /// Four 8x8 matrices, one register each: lanes 8i to 8i + 7 give the
  /// addresses of the rows of matrix i.
  Registers load(Value pointer, bool isTransposed = false);
  /// sum += left * right, of two registers.
  void multiply(Registers &sum, llvm::ArrayRef<Value> left, Value right0,
                Value right1);

private:
  KernelEmitter &e;
  mlir::Type type;
};

/// Four f32 of shared memory.
std::array<mlir::Value, 4> loadFour(KernelEmitter &e, mlir::Value pointer);

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_TENSORCORES_H

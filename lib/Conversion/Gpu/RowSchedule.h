//===- RowSchedule.h - Threads for the rows of a kernel ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides, from static shapes alone, how a planned row kernel is shared among
// the threads of a GPU: how many threads make a row, how many rows a block,
// how wide vectors are, and where a value waits that a later loop needs.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ROWSCHEDULE_H
#define TP_LIB_CONVERSION_GPU_ROWSCHEDULE_H

#include "tp/Conversion/Rows/KernelPlan.h"
#include "llvm/ADT/SetVector.h"

namespace tp {

/// A tensor as it is read or written at a position of rows and columns.
using TensorAccess = std::pair<mlir::Value, mlir::AffineMap>;

/// How the columns of one loop are shared among the threads of a row: thread t
/// of G takes the vectors t, t + G, t + 2 G, ...
struct LoopShape {
  /// Dimensions (rows, then columns) that `vectors` counts through, the one of
  /// the lanes last, and their sizes; neighbours that every access walks
  /// through as one are merged. Other column dimensions stay at 0.
  llvm::SmallVector<unsigned> dims;
  llvm::SmallVector<int64_t> sizes;
  /// Lanes of a vector; divides the last size, except in a flat kernel of one
  /// dimension, which has a remainder.
  int64_t width = 1;
  /// Whole vectors in all, and lanes left over.
  int64_t vectors = 1;
  int64_t remainder = 0;
  /// Set where rows begin anywhere in a line of 16 bytes: how many elements
  /// before a row most tensors have (of rows; in a flat kernel, of all but the
  /// lanes' dimension). Vectors then begin where this and the column together
  /// are a multiple of the width, so that accesses are aligned. E.g. for width
  /// 4 and rows of 9, row 1 has 9 elements before it:
  ///
  ///     memory   8 . . . | 12 . . . | 16 . . .
  ///     row 1      0 1 2 | 3  4 5 6 | 7  8         `head` 3, one vector
  ///
  /// Rows have `leastVectors` to `vectors`, and fewer than twice the width of
  /// other elements, one for each of the first threads. A flat kernel has a
  /// thread for every line that a row touches.
  mlir::AffineExpr phase;
  int64_t leastVectors = 1;
  /// Vectors of one thread, at most.
  int64_t slots = 1;
  /// Straight code for all slots (rather than a loop).
  bool unrolled = true;
  /// A reduction without a combiner: each thread does the whole row, in order.
  bool sequential = false;
  /// Accesses kept in registers for later loops that are available first here.
  llvm::SmallVector<TensorAccess> keeps;
  /// Reads of later loops that are kept from here on, so that they do not wait
  /// behind a reduction.
  llvm::SmallVector<std::pair<KernelOp *, mlir::OpOperand *>> preloads;

  /// The dimension of the lanes; -1: none.
  int64_t getLaneDim() const { return dims.empty() ? -1 : dims.back(); }
  /// True if both give each thread the same positions.
  bool sharesLike(const LoopShape &other) const {
    return !sequential && !other.sequential && dims == other.dims &&
           sizes == other.sizes && width == other.width && phase == other.phase;
  }
};

/// In a flat kernel with a phase: lines of `width` elements that a row touches
/// at most.
int64_t getLines(const LoopShape &shape);

struct RowSchedule {
  /// One thread per vector of the whole kernel; else threads share rows.
  bool flat = false;
  /// A power of two up to 32, or else all threads of a block.
  int64_t threadsPerRow = 1;
  int64_t rowsPerBlock = 1;
  int64_t blockThreads = 32;
  int64_t gridBlocks = 1;
  llvm::SmallVector<LoopShape, 0> loops;
  llvm::SetVector<TensorAccess> kept;

  /// Memory of a tensor for the rows of one block.
  struct Buffer {
    bool isShared;
    int64_t offset;
    int64_t rowBytes;
  };
  llvm::MapVector<mlir::Value, Buffer> buffers;
  /// Shared memory of a block: reductions across warps, then buffers.
  int64_t sharedBytes = 0;
  int64_t scratchBytesPerBlock = 0;

  int64_t getWarps() const { return blockThreads / 32; }
  static RowSchedule build(const KernelPlan &plan);
};

/// Uses of tensors made in an earlier loop, or of arguments: calls `visit` with
/// each operand of `op` that its body reads and that is neither a constant nor
/// a scalar of the row.
void forEachRead(const KernelPlan &plan, KernelOp &op,
                 llvm::function_ref<void(mlir::OpOperand &, TensorAccess)>);

/// The access by which `op` writes its result `index`.
TensorAccess getWrite(KernelOp &op, unsigned index);

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ROWSCHEDULE_H

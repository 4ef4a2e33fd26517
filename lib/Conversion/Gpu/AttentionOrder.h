//===- AttentionOrder.h - Order of attention's blocks -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A card starts blocks by their numbers, each as soon as one before it ends.
// Blocks of a causal attention differ: the last rows see all keys, the first
// ones few. If the longest of all heads come first, all end nearly together; if
// one head's come after the other's, those of the last head begin when little
// else is left. 8 heads of 64 blocks of 1 to 64 tiles, on 264 places:
//
//        head by head                103 times a tile
//        the longest of all heads     64, and 63 is the mean
//
// But then the keys of all heads are read at once, and should stay in the
// second-level cache. So heads, of all batch entries, go together in groups
// whose keys and values do. With 3 heads of 2 blocks, two heads in a group:
//
//        number    0  1  2  3 | 4  5
//        head      0  1  0  1 | 2  2
//        block     0  0  1  1 | 0  1
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ATTENTIONORDER_H
#define TP_LIB_CONVERSION_GPU_ATTENTIONORDER_H

#include "KernelEmitter.h"

namespace tp {

/// The blocks of `heads` heads of `batch` entries, `blocks` for the rows of
/// each, and of every block `splits`.
class AttentionOrder {
public:
  using Value = mlir::Value;
  /// This block's coordinates, all i32.
  struct Place {
    Value split, block, head, batch;
  };

  /// Blocks of a head that `differ` are numbered from the longest on;
  /// `headBytes` is what those of one head read again and again.
  AttentionOrder(int64_t splits, int64_t blocks, int64_t heads, int64_t batch,
                 bool differ, int64_t headBytes);

  /// The extent of the grid, which has one dimension.
  int64_t getBlocks() const { return splits * blocks * heads * batch; }
  /// The place of block `number` of the grid.
  Place locate(KernelEmitter &e, Value number) const;

private:
  int64_t splits, blocks, heads, batch;
  int64_t together; ///< heads of a group
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ATTENTIONORDER_H

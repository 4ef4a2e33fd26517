//===- Sharding.h - How one tensor is spread over a mesh --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sharding of a rank-r tensor: for each dimension an ordered list of axes
// or sub-axes, major first, plus the axes over which the value is partial (each
// rank holds an addend; the value is their sum). Over all other axes it is
// replicated. A dimension of size n over S shards, cut in grains of g, has the
// local size ceil(n / g / S) * g; shard i holds [i * local, (i + 1) * local) of
// the logical dimension, and what is past n is padding.
//
// A dimension may be cut in two levels: its blocks of `block` elements by the
// first `outer` shards, and each block by the rest. Both may be uneven, and
// every block has padding of its own: 28 query heads of 4 KV heads are blocks
// of 7, which 8 ranks cut 4 ways and each block in 4 and 3.
//
// Open and closed: propagation may append axes to an open dimension and never
// touches a closed one. What the user wrote is closed unless marked `?`.
//
// Example, mesh ["tp"=4]: a [50257, 768] table sharded [{"tp"}, {}] has the
// local shape [12565, 768]; rank 3 has 3 padding rows.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_SHARDING_H
#define TP_SHARDING_SHARDING_H

#include "tp/Sharding/Mesh.h"

namespace tp {

/// How the addends of a partial value combine, and what a reduction computes.
enum class ReductionKind : uint32_t { Sum, Max, Min };
llvm::StringRef stringify(ReductionKind kind);
std::optional<ReductionKind> symbolizeReductionKind(llvm::StringRef text);

struct DimSharding {
  AxisList axes;
  /// Only multiples of this many elements may be cut apart (a head). Stated
  /// only where it changes the layout; see TensorSharding::normalize.
  int64_t grain = 1;
  bool open = false;
  /// Elements of a block that is cut on its own; 0 where the dimension is cut
  /// as a whole. The grain is one within a block.
  int64_t block = 0;
  /// Number of shards that the blocks are cut into, a product of leading axes.
  int64_t outer = 1;

  bool operator==(const DimSharding &other) const = default;
  bool hasBlocks() const { return block != 0; }
  /// Number of shards of each block.
  int64_t getInner() const { return getShardCount(axes) / outer; }
};

struct TensorSharding {
  llvm::SmallVector<DimSharding, 4> dims;
  AxisList partial;
  ReductionKind reduction = ReductionKind::Sum;

  /// Replicated over everything; `open` says whether propagation may change it.
  static TensorSharding replicated(unsigned rank, bool open = false);

  unsigned getRank() const { return dims.size(); }
  bool isPartial() const { return !partial.empty(); }
  bool isFullyReplicated() const;
  bool isOpen() const;
  /// Every axis used, by dimensions and partial.
  AxisList getUsedAxes() const;
  /// The same layout with every dimension closed.
  TensorSharding closed() const;
  /// Same layout, whatever is open.
  bool sameLayout(const TensorSharding &other) const;
  /// Canonical axis lists, `partial` in the mesh's order; grain 1 where a grain
  /// changes no local size; the reduction `Sum` where nothing is partial.
  void normalize(llvm::ArrayRef<int64_t> shape);

  bool operator==(const TensorSharding &other) const = default;
};

llvm::hash_code hash_value(const DimSharding &dim);
llvm::hash_code hash_value(const TensorSharding &sharding);

/// Size of a dimension on one rank, padding included.
int64_t getLocalSize(int64_t size, const DimSharding &dim);
/// The per-rank shape, padding included (the same on every rank).
llvm::SmallVector<int64_t> getLocalShape(llvm::ArrayRef<int64_t> shape,
                                         const TensorSharding &sharding);
/// Elements of padding that the dimension has over all its shards.
int64_t getPadding(int64_t size, const DimSharding &dim);

/// A run of elements of a dimension: [begin, end) of the logical dimension
/// stands from `local` on in the shard.
struct ShardRange {
  int64_t begin, end, local;

  bool operator==(const ShardRange &other) const = default;
};
/// Returns the runs that shard number `index` of the dimension holds, in order:
/// one, or one for each of its blocks. Runs are not empty; the rest is padding.
llvm::SmallVector<ShardRange, 1>
getShardRanges(int64_t size, const DimSharding &dim, int64_t index);
/// The shard that `rank` has of the dimension.
llvm::SmallVector<ShardRange, 1> getShardRanges(int64_t size,
                                                const DimSharding &dim,
                                                int64_t rank, const Mesh &mesh);
/// The logical position of element `local` of shard `index`; nothing for
/// padding.
std::optional<int64_t> getLogicalPosition(int64_t size, const DimSharding &dim,
                                          int64_t index, int64_t local);
/// True if both put the same elements at the same places of the same ranks:
/// canonical axes and local sizes agree, however the grain is written.
bool sameLayout(llvm::ArrayRef<int64_t> shape, const TensorSharding &a,
                const TensorSharding &b);

/// Why `sharding` cannot be one of a tensor of `shape` on `mesh`: rank, an axis
/// not in the mesh, a factor used twice, a grain that does not divide. Empty if
/// it can.
std::string verifySharding(llvm::ArrayRef<int64_t> shape,
                           const TensorSharding &sharding, const Mesh &mesh);

/// As written in IR: [{"tp"}, {?}, {"dp", "tp":(1)2 grain 64}, {"tp" block 7 by
/// 4}], partial sum {"x"}.
std::string toString(const TensorSharding &sharding, const Mesh &mesh);

} // namespace tp

#endif // TP_SHARDING_SHARDING_H

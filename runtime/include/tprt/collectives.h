//===- tprt/collectives.h - the table of collectives ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every way of changing what the ranks of a group hold of a value, one row
// each: the reshard table, which the compiler and the runtime share. What can
// be derived from a row is derived: the planner's steps and their price,
// shapes, the operation's attributes, checks, the simulation, the ledger, the
// fields of the manifest, and how the runtime carries it out. docs/Adding.md
// says what a new row needs beside its line.
//
// Example: all_to_all takes the group's axes from one dimension (from: Split)
// and gives them to another (to: Split); every rank gets one piece from each
// of the N-1 others (Once), a piece being 1/N^2 of the group's tensor.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_H
#define TPRT_COLLECTIVES_H

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace tprt {

/// The form in which the ranks of a group hold a value, along the axes of the
/// group.
enum class Holding : uint8_t {
  Replicated, ///< all the same
  Partial,    ///< an addend each (of a sum; or a maximum, a minimum)
  Split,      ///< a part each: the axes are the minor ones of a dimension
  Permuted,   ///< any of these, each rank in the place of another: by pairs
};

/// How a ring of N ranks moves it.
enum class Ring : uint8_t {
  None,   ///< not at all: each rank makes its result from what it has
  Once,   ///< a piece from each of the others
  Twice,  ///< the same there, and back again
  Direct, ///< all that a rank holds, to one other
};

/// X(kind, operation, row, from, to, ring, in place). `operation` is the name
/// in the IR (tp.all_reduce, class AllReduceOp), the ledger and the manifest,
/// `row` the id in docs/Sharding.md and in messages. Of plans of one price the
/// planner takes the one with the earlier rows. In place: the operand's memory
/// may be the result's.
#define TPRT_COLLECTIVES(X)                                                    \
  X(KeepFirst, keep_first, "keep-first", Replicated, Partial, None, false)     \
  X(Slice, slice, "slice", Replicated, Split, None, false)                     \
  X(AllReduce, all_reduce, "all-reduce", Partial, Replicated, Twice, true)     \
  X(ReduceScatter, reduce_scatter, "reduce-scatter", Partial, Split, Once,     \
    false)                                                                     \
  X(AllGather, all_gather, "all-gather", Split, Replicated, Once, false)       \
  X(AllToAll, all_to_all, "all-to-all", Split, Split, Once, false)             \
  X(CollectivePermute, collective_permute, "permute", Permuted, Permuted,      \
    Direct, false)

enum class CollectiveKind : uint8_t {
#define TPRT_KIND(kind, ...) kind,
  TPRT_COLLECTIVES(TPRT_KIND)
#undef TPRT_KIND
};

struct CollectiveRow {
  CollectiveKind kind;
  std::string_view operation, id;
  Holding from, to;
  Ring ring;
  bool inPlace;

  /// Nothing moves between ranks; such a row is in no manifest.
  constexpr bool isLocal() const { return ring == Ring::None; }
  /// Combines addends, and so has a reduction: sum, max or min.
  constexpr bool reduces() const { return from == Holding::Partial; }
  /// Puts the parts of a dimension together.
  constexpr bool gathers() const { return from == Holding::Split; }
  /// Leaves each rank a part of a dimension.
  constexpr bool cuts() const { return to == Holding::Split; }
  /// Is told by a list of pairs who sends to whom.
  constexpr bool permutes() const { return from == Holding::Permuted; }

  /// Steps and manifests name one dimension, `dim`, or, of a row that gathers
  /// one and cuts another, that as `splitDim`. -1: there is none.
  template <typename Int>
  constexpr Int gatheredDim(Int dim) const {
    return gathers() ? dim : Int(-1);
  }
  template <typename Int>
  constexpr Int cutDim(Int dim, Int splitDim) const {
    return cuts() ? (gathers() ? splitDim : dim) : Int(-1);
  }

  /// Messages that a rank sends one after the other.
  constexpr int64_t hops(int64_t ranks) const {
    switch (ring) {
    case Ring::None:
      return 0;
    case Ring::Once:
      return ranks - 1;
    case Ring::Twice:
      return 2 * (ranks - 1);
    case Ring::Direct:
      return ranks > 1 ? 1 : 0;
    }
    return 0;
  }
  /// The number of pieces, one a message, of the tensor of the whole group: the
  /// ring cuts it unless the row cuts or gathers itself.
  constexpr int64_t pieces(int64_t ranks) const {
    if (ring == Ring::Direct)
      return 1;
    return gathers() && cuts() ? ranks * ranks : ranks;
  }
};

inline constexpr CollectiveRow collectiveRows[] = {
#define TPRT_ROW(kind, operation, id, from, to, ring, inPlace)                 \
  {CollectiveKind::kind, #operation, id,     Holding::from,                    \
   Holding::to,          Ring::ring, inPlace},
    TPRT_COLLECTIVES(TPRT_ROW)
#undef TPRT_ROW
};
inline constexpr size_t numCollectiveKinds = std::size(collectiveRows);

constexpr const CollectiveRow &rowOf(CollectiveKind kind) {
  return collectiveRows[size_t(kind)];
}

/// The first row that leads from one to the other; null if there is none.
constexpr const CollectiveRow *findRow(Holding from, Holding to) {
  for (const CollectiveRow &row : collectiveRows)
    if (row.from == from && row.to == to)
      return &row;
  return nullptr;
}

/// True if the planner, the checks and the runtime can derive from `row` what
/// they do.
constexpr bool isSound(const CollectiveRow &row) {
  if (row.permutes() || row.to == Holding::Permuted)
    return row.from == row.to && row.ring == Ring::Direct;
  if (row.isLocal())
    return row.from == Holding::Replicated && row.to != row.from;
  return (row.reduces() || row.gathers()) &&
         (row.cuts() || row.to == Holding::Replicated) &&
         row.ring != Ring::Direct;
}
#define TPRT_CHECK(kind, ...)                                                  \
  static_assert(isSound(rowOf(CollectiveKind::kind)),                          \
                "nothing can be derived from this row: see isSound");
TPRT_COLLECTIVES(TPRT_CHECK)
#undef TPRT_CHECK

} // namespace tprt

#endif // TPRT_COLLECTIVES_H

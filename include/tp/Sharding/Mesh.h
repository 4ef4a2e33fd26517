//===- Mesh.h - Logical meshes and references to their axes -----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mesh arranges W ranks in a grid with named axes, outermost first; the last
// axis varies fastest, so its groups are contiguous ranks. A sub-axis is a
// factor of an axis: of "tp" = 32, "tp":(1)8 is the major 8 and "tp":(8)4 the
// minor 4 that remains within one position of it. A rank with coordinate c
// along an axis of size T stands at (c / (T / (pre * size))) % size along the
// sub-axis (pre)size.
//
// Example: mesh ["dp"=2, "tp"=4], rank 6 = coordinates (1, 2). Along "tp":(1)2
// it stands at 1, along "tp":(2)2 at 0.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_MESH_H
#define TP_SHARDING_MESH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace tp {

/// A mesh axis or a factor of one: `axis` is its position in the mesh, `pre`
/// the product of the sizes of the sub-axes major to it within the axis,
/// `size` its own size. A whole axis has pre == 1 and size == the axis's size.
struct AxisRef {
  unsigned axis = 0;
  int64_t pre = 1;
  int64_t size = 1;

  bool operator==(const AxisRef &other) const = default;
  /// Order by axis, then by place within it, then by size.
  bool operator<(const AxisRef &other) const;
  /// True if no tensor may use both: they share a factor of one axis, or cut
  /// it at places that do not nest (the halves and the thirds of 6).
  bool overlaps(const AxisRef &other) const;
};

inline llvm::hash_code hash_value(const AxisRef &ref) {
  return llvm::hash_combine(ref.axis, ref.pre, ref.size);
}

/// Axes in order, major first.
using AxisList = llvm::SmallVector<AxisRef, 2>;

/// A grid of ranks with named axes and, optionally, an explicit order of the
/// devices: deviceOrder[i] is the rank at linear grid position i.
class Mesh {
public:
  struct Axis {
    std::string name;
    int64_t size;
    bool operator==(const Axis &other) const = default;
  };

  Mesh() = default;
  /// Sizes must be positive, names distinct, and deviceOrder empty or a
  /// permutation of 0..W-1 (the mesh op's verifier guarantees it).
  explicit Mesh(llvm::ArrayRef<Axis> axes,
                llvm::ArrayRef<int64_t> deviceOrder = {});

  unsigned getNumAxes() const { return axes.size(); }
  const Axis &getAxis(unsigned i) const { return axes[i]; }
  llvm::ArrayRef<Axis> getAxes() const { return axes; }
  llvm::ArrayRef<int64_t> getDeviceOrder() const { return deviceOrder; }
  std::optional<unsigned> findAxis(llvm::StringRef name) const;
  /// The whole axis as a reference.
  AxisRef getWhole(unsigned axis) const { return {axis, 1, axes[axis].size}; }
  /// W, the product of all axis sizes (1 for a mesh without axes).
  int64_t getNumRanks() const;

  /// The rank's coordinate along each whole axis.
  llvm::SmallVector<int64_t> getCoordinates(int64_t rank) const;
  int64_t getRank(llvm::ArrayRef<int64_t> coordinates) const;
  /// The rank's position along a list of (sub-)axes, mixed radix, major first.
  int64_t getIndexAlong(int64_t rank, llvm::ArrayRef<AxisRef> list) const;
  /// The groups of ranks that differ only along `list`, each ordered by
  /// position along it; groups are ordered by their smallest grid position.
  llvm::SmallVector<llvm::SmallVector<int64_t>>
  getGroups(llvm::ArrayRef<AxisRef> list) const;

  /// Name as written in IR: "tp", or "tp":(1)8 for a sub-axis.
  std::string getName(const AxisRef &ref) const;
  std::string getName(llvm::ArrayRef<AxisRef> list) const;

  bool operator==(const Mesh &other) const = default;

private:
  llvm::SmallVector<Axis, 2> axes;
  llvm::SmallVector<int64_t, 0> deviceOrder;
  /// The inverse of deviceOrder.
  llvm::SmallVector<int64_t, 0> gridPosition;
};

/// The number of shards that a list of axes makes: the product of the sizes.
int64_t getShardCount(llvm::ArrayRef<AxisRef> list);
/// Merge neighbouring sub-axes of one axis where minor follows major
/// ("tp":(1)2, "tp":(2)2 of 4 is "tp"); drop axes of size 1.
AxisList canonicalize(llvm::ArrayRef<AxisRef> list);
/// True if any of `a` shares a factor with any of `b`.
bool overlap(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b);
/// Split the leading part of product `count` off `list`, cutting one axis into
/// sub-axes if need be; fails if a cut does not divide.
std::optional<std::pair<AxisList, AxisList>>
splitLeading(llvm::ArrayRef<AxisRef> list, int64_t count);
/// True if `prefix`, canonicalised, is a leading part of `list`.
bool isPrefix(llvm::ArrayRef<AxisRef> prefix, llvm::ArrayRef<AxisRef> list);

} // namespace tp

#endif // TP_SHARDING_MESH_H

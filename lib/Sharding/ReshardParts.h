//===- ReshardParts.h - Axes of a reshard in parts of prime size *- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The (sub-)axes of two shardings in parts of prime size, private to the
// library. "tp" = 12 against "tp":(1)4 is (1)2, (2)2 and (4)3 at both ends.
// Where the ends cut an axis at places that do not nest (halves and thirds of
// 6), each has parts of its own that make up the whole axis, (1)2 and (2)3
// against (1)3 and (3)2: as many of each size.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SHARDING_RESHARDPARTS_H
#define TP_LIB_SHARDING_RESHARDPARTS_H

#include "tp/Sharding/Sharding.h"

namespace tp::detail {

class AxisParts {
public:
  AxisParts(const TensorSharding &from, const TensorSharding &to,
            const Mesh &mesh);
  /// `list`, which one end has, in parts.
  AxisList split(llvm::ArrayRef<AxisRef> list, bool isTarget) const;
  /// All parts as one end names them, ordered by axis and place.
  llvm::ArrayRef<AxisRef> getAll(bool isTarget) const {
    return isTarget ? target : source;
  }

private:
  AxisList source, target;
};

} // namespace tp::detail

#endif // TP_LIB_SHARDING_RESHARDPARTS_H

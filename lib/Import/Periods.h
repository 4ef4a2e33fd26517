//===- Periods.h - Layers that repeat with a period -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a sequence of layers is cut into loops, for the importer, which knows
// what kind each layer is, and for tp-roll-layers, which compares operations.
// The law: as few layers are written as can be, in as few pieces as can be, and
// these begin as late as can be. A loop of period p writes p layers, a layer in
// no loop is one, and a loop is as long as the layers allow.
//
// Example: window, full, window, full, window is a loop of period 2, twice, and
// one layer: 3 written. Five window and one full, ten times over, is a loop of
// period 6, and not twenty loops of period 1.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_PERIODS_H
#define TP_LIB_IMPORT_PERIODS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace tp {

/// `count` times `period` layers from `first` on; of a layer by itself both
/// are 1.
struct Period {
  int64_t first, period, count;

  int64_t end() const { return first + period * count; }
};

/// The pieces of `layers` layers, in order. `getCount(first, period)` says how
/// often the `period` layers from `first` on are there in a row, at least 1; it
/// is asked for no more than there can be twice.
llvm::SmallVector<Period>
findPeriods(int64_t layers,
            llvm::function_ref<int64_t(int64_t, int64_t)> getCount);

} // namespace tp

#endif // TP_LIB_IMPORT_PERIODS_H

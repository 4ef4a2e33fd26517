//===- Cost.cpp - What collectives cost on a ring -------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ring formulae in whole bytes.
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Cost.h"

using namespace tp;

int64_t tp::getTraffic(CollectiveKind kind, int64_t bytes, int64_t ranks) {
  const tprt::CollectiveRow &row = tprt::rowOf(kind);
  int64_t pieces = row.pieces(ranks);
  return (row.hops(ranks) * bytes + pieces - 1) / pieces;
}

int64_t tp::getRingHops(CollectiveKind kind, int64_t ranks) {
  return tprt::rowOf(kind).hops(ranks);
}

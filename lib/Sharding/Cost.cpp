//===- Cost.cpp - What collectives cost on a ring -------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ring formulae in whole bytes.
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Cost.h"
#include "llvm/Support/ErrorHandling.h"

using namespace tp;

int64_t tp::getTraffic(CollectiveKind kind, int64_t bytes, int64_t ranks) {
  if (ranks <= 1)
    return 0;
  auto part = [](int64_t amount, int64_t over) {
    return (amount + over - 1) / over;
  };
  switch (kind) {
  case CollectiveKind::AllReduce:
    return part(2 * (ranks - 1) * bytes, ranks);
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return part((ranks - 1) * bytes, ranks);
  case CollectiveKind::AllToAll:
    return part((ranks - 1) * bytes, ranks * ranks);
  case CollectiveKind::Broadcast:
  case CollectiveKind::CollectivePermute:
    return bytes;
  }
  llvm_unreachable("unknown collective");
}

int64_t tp::getRingHops(CollectiveKind kind, int64_t ranks) {
  if (ranks <= 1)
    return 0;
  switch (kind) {
  case CollectiveKind::AllReduce:
    return 2 * (ranks - 1);
  case CollectiveKind::CollectivePermute:
    return 1;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
  case CollectiveKind::Broadcast:
    return ranks - 1;
  }
  llvm_unreachable("unknown collective");
}

double tp::getRingSeconds(CollectiveKind kind, int64_t bytes, int64_t ranks,
                          double latency, double bandwidth) {
  return getRingHops(kind, ranks) * latency +
         getTraffic(kind, bytes, ranks) / bandwidth;
}

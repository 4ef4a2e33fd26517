//===- HopperMaps.cpp - Tensor maps ---------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A map is made field by field in shared memory, published to global memory by
// a warp, and acquired by each thread that uses it. What the copy engine asks
// of its fields is checked when a copy begins.
//
//===----------------------------------------------------------------------===//

#include "Intrinsics.h"

using namespace tp::emulator;

static constexpr uint32_t mapAlignment = 128;

static void begin(uint64_t *in, Site site) {
  char *place = get<char *>(in[0]);
  current->access(place, TensorMap::bytes, mapAlignment, Access::Read,
                  Space::Shared, site);
  uint32_t rank = get<uint32_t>(in[2]);
  if (rank < 1 || rank > TensorMap::maxRank) {
    current->find("tensor map of an impossible rank", site,
                  "%u, expected 1 to %u", rank, TensorMap::maxRank);
    current->giveUp();
  }
  bool isZero = std::all_of(place, place + TensorMap::bytes,
                            [](char byte) { return byte == 0; });
  if (!isZero)
    current->find("tensor map in memory that is not zero", site, "%u bytes",
                  TensorMap::bytes);
  current->access(place, TensorMap::bytes, mapAlignment, Access::Write,
                  Space::Shared, site);
  TensorMap map = {};
  map.mark = TensorMap::madeHere;
  map.base = get<const char *>(in[1]);
  map.rank = rank;
  memcpy(place, &map, sizeof map);
}
TP_EMULATE(tp_tensor_map_begin_bf16) { begin(in, site); }
TP_EMULATE(tp_tensor_map_begin_f16) { begin(in, site); }

/// Operands: map, size, box, stride.
static void describe(uint64_t *in, uint32_t dimension, Site site) {
  char *place = get<char *>(in[0]);
  current->access(place, TensorMap::bytes, mapAlignment, Access::Write,
                  Space::Shared, site);
  TensorMap map;
  memcpy(&map, place, sizeof map);
  if (map.mark != TensorMap::madeHere || dimension >= map.rank) {
    current->find("tensor map", site,
                  "dimension %u, expected tp_tensor_map_begin with a larger "
                  "rank before it",
                  dimension);
    current->giveUp();
  }
  map.described |= 1u << dimension;
  map.size[dimension] = get<int32_t>(in[1]);
  map.box[dimension] = get<int32_t>(in[2]);
  map.stride[dimension] = get<int64_t>(in[3]);
  memcpy(place, &map, sizeof map);
}
#define TP_DIMENSION(n)                                                        \
  TP_EMULATE(tp_tensor_map_dimension_##n) { describe(in, n, site); }
TP_DIMENSION(0)
TP_DIMENSION(1)
TP_DIMENSION(2)
TP_DIMENSION(3)
TP_DIMENSION(4)

void Launch::publishTensorMap(char *global, const char *map, Site site) {
  access(map, TensorMap::bytes, mapAlignment, Access::Read, Space::Shared,
         site);
  access(global, TensorMap::bytes, mapAlignment, Access::Write, Space::Any,
         site);
  memcpy(global, map, TensorMap::bytes);
  uint64_t mark;
  memcpy(&mark, map, sizeof mark);
  if (mark != TensorMap::madeHere)
    find("tensor map", site, "expected tp_tensor_map_begin before it");
  ++hopper.tensorMaps[global];
}

void Launch::acquireTensorMap(const char *global, Site site) {
  auto published = hopper.tensorMaps.find(global);
  if (published == hopper.tensorMaps.end()) {
    find("no tensor map", site, "nothing was published at %p",
         static_cast<const void *>(global));
    giveUp();
  }
  thread().tensorMaps[global] = published->second;
}

/// Operands: where to, map.
TP_EMULATE(tp_tensor_map_publish) {
  current->meet("tensormap.cp_fenceproxy", ~0u, in, out, site,
                /*aligned=*/true,
                [](Launch &launch, Meeting &meeting, uint32_t lane, Site site) {
                  if (lane != 0)
                    return;
                  launch.publishTensorMap(get<char *>(meeting.in[0][0]),
                                          get<const char *>(meeting.in[0][1]),
                                          site);
                  launch.orderLanes(meeting.present);
                });
}
TP_EMULATE(tp_tensor_map_acquire) {
  current->acquireTensorMap(get<const char *>(in[0]), site);
}

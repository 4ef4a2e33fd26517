//===- Lanes.cpp - Shuffles, votes, reductions of a warp ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that go from lane to lane. None of these orders memory.
//
//===----------------------------------------------------------------------===//

#include "Intrinsics.h"
#include <algorithm>
#include <bit>

using namespace tp::emulator;

namespace {
enum class Mode { Up, Down, Butterfly, Index };
} // namespace

/// Operands: mask, value, lane or distance, clamp and segments.
template <Mode mode, bool withPredicate>
static void shuffle(Launch &launch, Meeting &meeting, uint32_t lane,
                    Site site) {
  const uint64_t *in = meeting.in[lane];
  uint32_t distance = get<uint32_t>(in[2]) & 31;
  uint32_t clamp = get<uint32_t>(in[3]) & 31;
  uint32_t segments = get<uint32_t>(in[3]) >> 8 & 31;
  uint32_t first = lane & segments;
  int32_t last = first | (clamp & ~segments);
  int32_t source = 0;
  switch (mode) {
  case Mode::Up:
    source = int32_t(lane) - int32_t(distance);
    break;
  case Mode::Down:
    source = lane + distance;
    break;
  case Mode::Butterfly:
    source = lane ^ distance;
    break;
  case Mode::Index:
    source = first | (distance & ~segments);
    break;
  }
  bool valid = mode == Mode::Up ? source >= last : source <= last;
  if (!valid)
    source = lane;
  if (!(meeting.present >> source & 1)) {
    launch.find("shuffle from a lane that is not there", site,
                "lane %u reads lane %d, present 0x%08x", lane, source,
                meeting.present);
    source = lane;
  }
  put(meeting.out[lane][0], get<uint32_t>(meeting.in[source][1]));
  if (withPredicate)
    put(meeting.out[lane][1], valid);
}

#define TP_SHUFFLE_OF(name, mode, type, withPredicate)                         \
  TP_EMULATE(shfl_sync_##name##_##type) {                                      \
    current->meet("shfl.sync." #name "." #type, get<uint32_t>(in[0]), in, out, \
                  site, false, shuffle<Mode::mode, withPredicate>);            \
  }
#define TP_SHUFFLE(name, mode)                                                 \
  TP_SHUFFLE_OF(name, mode, f32, false)                                        \
  TP_SHUFFLE_OF(name, mode, i32, false)                                        \
  TP_SHUFFLE_OF(name, mode, f32p, true)                                        \
  TP_SHUFFLE_OF(name, mode, i32p, true)
TP_SHUFFLE(up, Up)
TP_SHUFFLE(down, Down)
TP_SHUFFLE(bfly, Butterfly)
TP_SHUFFLE(idx, Index)

/// The lanes present whose predicate (operand 1) is true.
static uint32_t collect(const Meeting &meeting) {
  uint32_t lanes = 0;
  for (uint32_t left = meeting.present; left; left &= left - 1) {
    uint32_t lane = std::countr_zero(left);
    if (get<uint8_t>(meeting.in[lane][1]) & 1)
      lanes |= 1u << lane;
  }
  return lanes;
}

#define TP_VOTE(name, value)                                                   \
  TP_EMULATE(vote_##name##_sync) {                                             \
    current->meet("vote.sync." #name, get<uint32_t>(in[0]), in, out, site,     \
                  false, [](Launch &, Meeting &meeting, uint32_t lane, Site) { \
                    uint32_t present = meeting.present;                        \
                    uint32_t votes = collect(meeting);                         \
                    (void)present;                                             \
                    put(meeting.out[lane][0], value);                          \
                  });                                                          \
  }
TP_VOTE(all, votes == present)
TP_VOTE(any, votes != 0)
TP_VOTE(uni, votes == 0 || votes == present)
TP_VOTE(ballot, votes)

/// Operands: value, mask.
template <typename T, T (*combine)(T, T)>
static void reduce(Launch &, Meeting &meeting, uint32_t lane, Site) {
  uint32_t left = meeting.present;
  T result = get<T>(meeting.in[std::countr_zero(left)][0]);
  for (left &= left - 1; left; left &= left - 1)
    result = combine(result, get<T>(meeting.in[std::countr_zero(left)][0]));
  put(meeting.out[lane][0], result);
}

#define TP_REDUCE(name, T, expression)                                         \
  TP_EMULATE(redux_sync_##name) {                                              \
    current->meet("redux.sync." #name, get<uint32_t>(in[1]), in, out, site,    \
                  false, reduce<T, [](T a, T b) -> T { return expression; }>); \
  }
TP_REDUCE(add, uint32_t, a + b)
TP_REDUCE(umin, uint32_t, std::min(a, b))
TP_REDUCE(umax, uint32_t, std::max(a, b))
TP_REDUCE(min, int32_t, std::min(a, b))
TP_REDUCE(max, int32_t, std::max(a, b))
TP_REDUCE(and, uint32_t, a &b)
TP_REDUCE(or, uint32_t, a | b)
TP_REDUCE(xor, uint32_t, a ^ b)

//===- MpiCollective.cpp - collectives by messages ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// all_reduce gives each member a slice: it receives that slice of every input,
// sums and sends the sum to all. Short ones take one exchange instead of two:
// everybody sums everything. The bits are the same. The others follow the plan
// that devices follow, with messages for NCCL's calls.
//
//===----------------------------------------------------------------------===//

#include "MpiCollective.h"

#include "../../support/Parallel.h"
#include "../../support/Region.h"
#include "../../support/Simd.h"

#include <cstring>

using namespace tprt;

namespace {

/// Bytes of an all_reduce up to which one exchange is faster than two.
constexpr int64_t kShort = 8 << 10;

void *writable(const void *p) { return const_cast<void *>(p); }

void copyBytes(const char *in, char *out, int64_t bytes) {
  if (in != out)
    std::memcpy(out, in, size_t(bytes));
}

} // namespace

int32_t tprt::tagOf(CallSite site, int32_t largest) {
  uint32_t mixed =
      uint32_t(site.id) * 0x9e3779b1u + uint32_t(site.layer) * 0x85ebca6bu;
  return 1 + int32_t((mixed >> 1) % uint32_t(largest));
}

Status MessageCollective::run(const Collective &c, const void *in, void *out) {
  receives.clear();
  sends.clear();
  if (c.row().reduces() && !c.row().cuts())
    return allReduce(c, static_cast<const char *>(in),
                     static_cast<char *>(out));
  auto [plan, isNew] = plans.try_emplace(&c);
  if (isNew)
    plan->second = planTransfer(c, self, members);
  TPRT_TRY(staging.reserve(plan->second.stagingBytes));
  for (const TransferStep &step : plan->second.steps)
    TPRT_TRY(run(step, c, static_cast<char *>(writable(in)),
                 static_cast<char *>(out)));
  return {};
}

/// One step of a plan; messages of a group go at its end.
Status MessageCollective::run(const TransferStep &step, const Collective &c,
                              char *in, char *out) {
  using Kind = TransferStep::Kind;
  auto address = [&](const TransferStep::Operand &operand) {
    return reinterpret_cast<char *>(operand.address(in, out, staging.data()));
  };
  char *from = address(step.from), *to = address(step.to);
  int64_t bytes = step.count * typeBytes(c.type);
  switch (step.kind) {
  case Kind::Copy:
    copyBox(1,
            {{{step.rows, step.from.pitch, step.to.pitch}, {step.width, 1, 1}}},
            from, to);
    return {};
  case Kind::Zero:
    std::memset(to, 0, size_t(step.width));
    return {};
  case Kind::Group:
    return {};
  case Kind::Send:
    sends.push_back({step.peer, from, bytes});
    return {};
  case Kind::Receive:
    receives.push_back({step.peer, to, bytes});
    return {};
  case Kind::EndGroup:
    break;
  case Kind::AllGather:
    copyBytes(from, to + self * bytes, bytes);
    withOthers([&](int64_t j) {
      receives.push_back({j, to + j * bytes, bytes});
      sends.push_back({j, from, bytes});
    });
    break;
  case Kind::ReduceScatter:
    return reduceScatter(c, from, to, step.count);
  case Kind::AllReduce:
    return internalError("a sum among the steps of another collective");
  }
  return exchange(receives, sends);
}

Status MessageCollective::allReduce(const Collective &c, const char *in,
                                    char *out) {
  int64_t size = typeBytes(c.type), count = elementCount(c.inputShape);
  // The slice of member j begins at start(j).
  bool whole = count * size <= kShort;
  int64_t slice = (count + members - 1) / members;
  slice = (slice + 63) / 64 * 64;
  auto start = [&](int64_t j) { return std::min(count, slice * j); };
  int64_t first = whole ? 0 : start(self);
  int64_t mine = (whole ? count : start(self + 1)) - first;
  TPRT_TRY(incoming.reserve(members * std::max<int64_t>(mine, 1) * size));
  sources.assign(size_t(members), in + first * size);
  withOthers([&](int64_t j) {
    char *place = incoming.data() + j * mine * size;
    sources[size_t(j)] = place;
    receives.push_back({j, place, mine * size});
    int64_t from = whole ? 0 : start(j), to = whole ? count : start(j + 1);
    sends.push_back({j, writable(in + from * size), (to - from) * size});
  });
  TPRT_TRY(exchange(receives, sends));
  sum(c, mine, out + first * size);
  if (whole)
    return {};
  receives.clear();
  sends.clear();
  withOthers([&](int64_t j) {
    receives.push_back(
        {j, out + start(j) * size, (start(j + 1) - start(j)) * size});
    sends.push_back({j, out + first * size, mine * size});
  });
  return exchange(receives, sends);
}

/// The blocks lie one after the other.
Status MessageCollective::reduceScatter(const Collective &c, char *in,
                                        char *out, int64_t count) {
  int64_t bytes = count * typeBytes(c.type);
  TPRT_TRY(incoming.reserve(members * bytes));
  sources.assign(size_t(members), in + self * bytes);
  withOthers([&](int64_t j) {
    sources[size_t(j)] = incoming.data() + j * bytes;
    receives.push_back({j, incoming.data() + j * bytes, bytes});
    sends.push_back({j, in + j * bytes, bytes});
  });
  TPRT_TRY(exchange(receives, sends));
  sum(c, count, out);
  return {};
}

/// The sources' elements, in the order of the group.
void MessageCollective::sum(const Collective &c, int64_t count, char *out) {
  int64_t size = typeBytes(c.type);
  parallelFor(count, kLeastElements, [&](int64_t begin, int64_t end, int64_t) {
    std::vector<const void *> parts(sources);
    for (const void *&part : parts)
      part = static_cast<const char *>(part) + begin * size;
    simd().reduce(c.type, c.reduction, parts.data(), members,
                  out + begin * size, end - begin);
  });
}

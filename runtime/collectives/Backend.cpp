//===- Backend.cpp - what the ranks of one program share ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of a backend that is the same for all transports.
//
//===----------------------------------------------------------------------===//

#include "Backend.h"

#include "SideChannel.h"

#include "tprt/abi.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace tprt;

/// Writes `count` elements that leave whatever they are added to as it is: -0,
/// as +0 would make +0 of a sum that is -0.
static void fillNeutral(char *data, int64_t count, tprt_type type) {
  int64_t width = typeBytes(type);
  std::memset(data, 0, size_t(count * width));
  if (type == TPRT_F32 || type == TPRT_BF16 || type == TPRT_F16)
    for (int64_t i = 1; i <= count; ++i)
      data[i * width - 1] = char(0x80);
}

Status Communicator::peers(const Collective &entry, CallSite site,
                           const void *in, const void **addends) {
  // Nobody reads this member's memory: it need not wait.
  if (!in)
    return {};
  int64_t count = elementCount(entry.inputShape);
  int64_t stride = alignUp(count * typeBytes(entry.type), TPRT_ALIGNMENT);
  Buffer &buffer = sums[site.id];
  if (buffer.size() == 0) {
    TPRT_ASSIGN(buffer, Buffer::allocate(2 * stride));
    fillNeutral(buffer.data() + stride, count, entry.type);
  }
  TPRT_TRY(run(entry, site, in, buffer.data()));
  addends[0] = buffer.data();
  std::fill_n(addends + 1, shardCount(entry.axes) - 1, buffer.data() + stride);
  return {};
}

int64_t Communicator::scratchBytes() const {
  int64_t bytes = 0;
  for (const auto &[id, buffer] : sums)
    bytes += buffer.size();
  return bytes;
}

Expected<std::unique_ptr<Communicator>>
Backend::communicator(int64_t rank, const std::vector<int64_t> &members) {
  auto self = std::find(members.begin(), members.end(), rank);
  if (self == members.end())
    return internalError("rank ", rank, " is not in its own group");
  return join(members, self - members.begin());
}

Status Backend::failure() const {
  // The channel keeps it itself.
  if (SideChannel *side = channel())
    return side->failure();
  std::lock_guard lock(mutex);
  return first;
}

void Backend::abort(const Status &status) {
  if (SideChannel *side = channel())
    return void(side->abort(status));
  std::lock_guard lock(mutex);
  if (first.ok())
    first = status;
}

void Backend::limitWaits(double seconds) {
  if (SideChannel *side = channel())
    side->limitWaits(seconds);
}

bool Backend::quiet() const {
  SideChannel *side = channel();
  return !side || side->quiet();
}

Expected<Backend::Gathered> Backend::gather(const void *data, int64_t bytes) {
  TPRT_ASSIGN(auto all, channel()->gather(std::string(
                            static_cast<const char *>(data), size_t(bytes))));
  Gathered result;
  result.copies = std::move(all);
  for (const std::string &copy : result.copies)
    result.data.push_back(copy.data());
  return result;
}

Status tprt::lateError(int64_t waiting, const std::string &where,
                       const std::vector<int64_t> &late, double seconds,
                       const std::function<std::string(int64_t)> &lastSeen) {
  std::string text;
  for (int64_t rank : late)
    text += detail::join(text.empty() ? "rank " : "; rank ", rank,
                         " did not arrive within ", seconds, " s, last seen ",
                         lastSeen(rank));
  return lostError("rank ", waiting, " waited in ", where, ": ", text);
}

Status tprt::compareValues(const std::vector<uint64_t> &values,
                           const char *what) {
  // The value that most ranks bring counts as right, the first of equals.
  std::map<uint64_t, int64_t> votes;
  for (uint64_t value : values)
    ++votes[value];
  if (votes.size() < 2)
    return {};
  uint64_t right = values[0];
  for (uint64_t value : values)
    if (votes[value] > votes[right])
      right = value;
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != right)
      text += (text.empty() ? "rank " : ", rank ") + std::to_string(i);
  return lostError("the ranks do not agree on ", what, ": ", text,
                   " differs from the other ", votes[right]);
}

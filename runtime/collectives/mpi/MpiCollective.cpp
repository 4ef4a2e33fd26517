//===- MpiCollective.cpp - collectives by messages ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// all_reduce gives each member a slice: it receives that slice of every input,
// sums and sends the sum to all. Short ones take one exchange instead of two:
// everybody sums everything. The bits are the same.
//
//===----------------------------------------------------------------------===//

#include "MpiCollective.h"

#include "../../core/Parallel.h"
#include "../../kernels/Simd.h"
#include "../Region.h"

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

Status MessageCollective::reserve(Buffer &buffer, int64_t bytes) {
  if (bytes <= buffer.size())
    return {};
  auto larger = Buffer::allocate(bytes);
  if (!larger)
    return larger.status();
  buffer = std::move(*larger);
  return {};
}

Status MessageCollective::run(const Collective &c, const void *input,
                              void *output) {
  auto *in = static_cast<const char *>(input);
  auto *out = static_cast<char *>(output);
  receives.clear();
  sends.clear();
  switch (c.kind) {
  case CollectiveKind::AllReduce:
    return allReduce(c, in, out);
  case CollectiveKind::ReduceScatter:
    return reduceScatter(c, in, out);
  case CollectiveKind::AllGather:
    return allGather(c, in, out);
  case CollectiveKind::AllToAll:
    return allToAll(c, in, out);
  case CollectiveKind::Broadcast:
    return broadcast(c, in, out);
  case CollectiveKind::CollectivePermute:
    return permute(c, in, out);
  }
  return internalError("unknown kind of collective");
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
  TPRT_TRY(reserve(incoming, members * std::max<int64_t>(mine, 1) * size));
  sources.assign(size_t(members), in + first * size);
  for (int64_t j = 0; j < members; ++j) {
    if (j == self)
      continue;
    char *place = incoming.data() + j * mine * size;
    sources[size_t(j)] = place;
    receives.push_back({j, place, mine * size});
    int64_t from = whole ? 0 : start(j), to = whole ? count : start(j + 1);
    sends.push_back({j, writable(in + from * size), (to - from) * size});
  }
  TPRT_TRY(exchange(receives, sends));
  parallelFor(mine, kGrain, [&](int64_t begin, int64_t end, int64_t) {
    std::vector<const void *> parts(sources);
    for (const void *&part : parts)
      part = static_cast<const char *>(part) + begin * size;
    simd().reduce(c.type, c.reduction, parts.data(), members,
                  out + (first + begin) * size, end - begin);
  });
  if (whole)
    return {};
  receives.clear();
  sends.clear();
  for (int64_t j = 0; j < members; ++j) {
    if (j == self)
      continue;
    receives.push_back(
        {j, out + start(j) * size, (start(j + 1) - start(j)) * size});
    sends.push_back({j, out + first * size, mine * size});
  }
  return exchange(receives, sends);
}

Status MessageCollective::reduceScatter(const Collective &c, const char *in,
                                        char *out) {
  int64_t size = typeBytes(c.type), count = elementCount(c.outputShape);
  int64_t bytes = count * size, block = c.outputShape[c.dim];
  TPRT_TRY(reserve(outgoing, members * bytes));
  TPRT_TRY(reserve(incoming, members * bytes));
  sources.resize(size_t(members));
  for (int64_t j = 0; j < members; ++j) {
    Region region{c.outputShape, Shape(c.inputShape.size()),
                  Shape(c.inputShape.size())};
    int64_t start = j * block;
    int64_t valid = std::clamp<int64_t>(c.inputShape[c.dim] - start, 0, block);
    region.extents[c.dim] = valid;
    region.fromStart[c.dim] = start;
    char *packed = outgoing.data() + j * bytes;
    // Lanes past the end of the input are zero, also in the sum.
    if (valid < block)
      std::memset(packed, 0, size_t(bytes));
    copyRegion(size, c.inputShape, c.outputShape, region, in, packed);
    sources[size_t(j)] = j == self ? packed : incoming.data() + j * bytes;
    if (j == self)
      continue;
    receives.push_back({j, incoming.data() + j * bytes, bytes});
    sends.push_back({j, packed, bytes});
  }
  TPRT_TRY(exchange(receives, sends));
  parallelFor(count, kGrain, [&](int64_t begin, int64_t end, int64_t) {
    std::vector<const void *> parts(sources);
    for (const void *&part : parts)
      part = static_cast<const char *>(part) + begin * size;
    simd().reduce(c.type, c.reduction, parts.data(), members,
                  out + begin * size, end - begin);
  });
  return {};
}

Status MessageCollective::allGather(const Collective &c, const char *in,
                                    char *out) {
  int64_t size = typeBytes(c.type), bytes = elementCount(c.inputShape) * size;
  TPRT_TRY(reserve(incoming, members * bytes));
  // Whole blocks along the outermost dimension arrive where they belong.
  int64_t outer = 1;
  for (int64_t d = 0; d < c.dim; ++d)
    outer *= c.inputShape[size_t(d)];
  auto direct = [&](int64_t j) {
    return outer == 1 && (j + 1) * c.inputShape[c.dim] <= c.outputShape[c.dim];
  };
  for (int64_t j = 0; j < members; ++j) {
    if (j == self)
      continue;
    receives.push_back(
        {j, direct(j) ? out + j * bytes : incoming.data() + j * bytes, bytes});
    sends.push_back({j, writable(in), bytes});
  }
  TPRT_TRY(exchange(receives, sends));
  for (int64_t j = 0; j < members; ++j) {
    if (j != self && direct(j))
      continue;
    Region region{c.inputShape, Shape(c.inputShape.size()),
                  Shape(c.inputShape.size())};
    int64_t start = j * c.inputShape[c.dim];
    region.extents[c.dim] =
        std::min(c.inputShape[c.dim], c.outputShape[c.dim] - start);
    region.toStart[c.dim] = start;
    copyRegion(size, c.inputShape, c.outputShape, region,
               j == self ? in : incoming.data() + j * bytes, out);
  }
  return {};
}

Status MessageCollective::allToAll(const Collective &c, const char *in,
                                   char *out) {
  int64_t size = typeBytes(c.type), block = c.outputShape[c.splitDim];
  // What one member sends to another: its input, cut along splitDim.
  Shape shape = c.inputShape;
  shape[c.splitDim] = block;
  int64_t bytes = elementCount(shape) * size;
  TPRT_TRY(reserve(outgoing, members * bytes));
  TPRT_TRY(reserve(incoming, members * bytes));
  for (int64_t j = 0; j < members; ++j) {
    Region region{shape, Shape(shape.size()), Shape(shape.size())};
    int64_t start = j * block;
    int64_t valid =
        std::clamp<int64_t>(c.inputShape[c.splitDim] - start, 0, block);
    region.extents[c.splitDim] = valid;
    region.fromStart[c.splitDim] = start;
    char *packed = outgoing.data() + j * bytes;
    if (valid < block)
      std::memset(packed, 0, size_t(bytes));
    copyRegion(size, c.inputShape, shape, region, in, packed);
    if (j == self)
      continue;
    receives.push_back({j, incoming.data() + j * bytes, bytes});
    sends.push_back({j, packed, bytes});
  }
  TPRT_TRY(exchange(receives, sends));
  for (int64_t j = 0; j < members; ++j) {
    Region region{shape, Shape(shape.size()), Shape(shape.size())};
    int64_t place = j * shape[c.dim];
    region.extents[c.dim] =
        std::min(shape[c.dim], c.outputShape[c.dim] - place);
    region.toStart[c.dim] = place;
    copyRegion(size, shape, c.outputShape, region,
               (j == self ? outgoing : incoming).data() + j * bytes, out);
  }
  return {};
}

Status MessageCollective::broadcast(const Collective &c, const char *in,
                                    char *out) {
  int64_t bytes = elementCount(c.inputShape) * typeBytes(c.type);
  if (self != c.root) {
    receives.push_back({c.root, out, bytes});
    return exchange(receives, sends);
  }
  for (int64_t j = 0; j < members; ++j)
    if (j != self)
      sends.push_back({j, writable(in), bytes});
  TPRT_TRY(exchange(receives, sends));
  copyBytes(in, out, bytes);
  return {};
}

Status MessageCollective::permute(const Collective &c, const char *in,
                                  char *out) {
  int64_t bytes = elementCount(c.inputShape) * typeBytes(c.type);
  bool gets = false, keeps = false;
  for (auto [from, to] : c.pairs) {
    if (from == self && to != self)
      sends.push_back({to, writable(in), bytes});
    if (to == self && from != self)
      receives.push_back({from, out, bytes});
    gets |= to == self;
    keeps |= to == self && from == self;
  }
  TPRT_TRY(exchange(receives, sends));
  if (keeps)
    copyBytes(in, out, bytes);
  if (!gets)
    std::memset(out, 0,
                size_t(elementCount(c.outputShape) * typeBytes(c.type)));
  return {};
}

//===- Transfer.cpp - a collective as calls and copies --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor cut along dimension d is [outer, d, inner]: each piece is `outer`
// rows, `d * inner` apart. Staging memory holds one contiguous block per
// member. A group of one makes copies alone.
//
//===----------------------------------------------------------------------===//

#include "Transfer.h"

#include <algorithm>

using namespace tprt;

namespace {

using Kind = TransferStep::Kind;
using Memory = TransferStep::Memory;
using Operand = TransferStep::Operand;

/// A tensor as seen from one of its dimensions.
struct Cut {
  int64_t outer = 1, size, inner = 1; ///< inner in bytes

  Cut(const Shape &shape, int64_t dim, int64_t elementBytes)
      : size(shape[dim]), inner(elementBytes) {
    for (int64_t d = 0; d < int64_t(shape.size()); ++d)
      if (d < dim)
        outer *= shape[d];
      else if (d > dim)
        inner *= shape[d];
  }
  int64_t pitch() const { return size * inner; }
};

/// The most that CUDA allows between rows of a copy
/// (CU_DEVICE_ATTRIBUTE_MAX_PITCH).
constexpr int64_t kMostPitch = (int64_t(1) << 31) - 1;

class Planner {
public:
  Planner(const Collective &entry, int64_t self, int64_t members)
      : c(entry), self(self), members(members), size(typeBytes(entry.type)),
        inBytes(elementCount(entry.inputShape) * size),
        outBytes(elementCount(entry.outputShape) * size) {}

  Transfer plan() {
    const CollectiveRow &row = c.row();
    if (row.permutes())
      permute();
    else if (row.gathers())
      row.cuts() ? allToAll() : allGather();
    else
      row.cuts() ? reduceScatter() : allReduce();
    return std::move(result);
  }

private:
  bool alone() const { return members == 1; }

  void add(TransferStep step) { result.steps.push_back(step); }
  void call(Kind kind, Operand from, Operand to, int64_t bytes,
            int64_t peer = 0) {
    add({kind, from, to, 0, 1, bytes / size, peer});
  }
  void mark(Kind kind) { add({kind, {}, {}}); }
  void copy(Operand from, Operand to, int64_t width, int64_t rows = 1) {
    if (width <= 0 || rows <= 0)
      return;
    if (rows > 1 && from.pitch == width && to.pitch == width) {
      width *= rows;
      rows = 1;
    }
    if (rows > 1 && std::max(from.pitch, to.pitch) > kMostPitch) {
      for (int64_t row = 0; row < rows; ++row)
        add({Kind::Copy, at(from, row * from.pitch), at(to, row * to.pitch),
             width});
      return;
    }
    add({Kind::Copy, from, to, width, rows});
  }
  void zero(Operand to, int64_t bytes) { add({Kind::Zero, {}, to, bytes}); }
  void copyAll() { copy({Memory::In}, {Memory::Out}, inBytes); }

  /// `bytes` more of staging memory.
  Operand stage(int64_t bytes) {
    Operand operand{Memory::Staging, result.stagingBytes};
    result.stagingBytes +=
        (bytes + TPRT_ALIGNMENT - 1) / TPRT_ALIGNMENT * TPRT_ALIGNMENT;
    return operand;
  }
  static Operand at(Operand operand, int64_t offset, int64_t pitch = 0) {
    operand.offset += offset;
    operand.pitch = pitch;
    return operand;
  }
  /// How many of the `block` positions of block i lie below `end`.
  static int64_t valid(int64_t i, int64_t block, int64_t end) {
    return std::clamp<int64_t>(end - i * block, 0, block);
  }

  /// Block i of `length` positions of the input becomes contiguous at `to`;
  /// those past the input's end are zero.
  void pack(const Cut &in, int64_t i, int64_t length, Operand to) {
    int64_t row = length * in.inner, there = valid(i, length, in.size);
    if (there < length)
      zero(at(to, 0), in.outer * row);
    copy(at({Memory::In}, i * row, in.pitch()), at(to, 0, row),
         there * in.inner, in.outer);
  }
  /// The block of `length` positions at `from` becomes block i of the output;
  /// those past the output's end are dropped.
  void unpack(Operand from, int64_t i, int64_t length, const Cut &out) {
    int64_t row = length * out.inner;
    copy(at(from, 0, row), at({Memory::Out}, i * row, out.pitch()),
         valid(i, length, out.size) * out.inner, out.outer);
  }

  void allReduce() {
    if (alone())
      copyAll();
    else
      call(Kind::AllReduce, {Memory::In}, {Memory::Out}, inBytes);
  }

  void permute() {
    int64_t source = -1;
    for (auto [from, to] : c.pairs)
      if (to == self)
        source = from;
    if (source < 0)
      zero({Memory::Out}, outBytes);
    else if (source == self)
      copyAll();
    bool sends = false;
    for (auto [from, to] : c.pairs)
      sends |= from == self && to != self;
    if (!sends && (source < 0 || source == self))
      return;
    mark(Kind::Group);
    for (auto [from, to] : c.pairs)
      if (from == self && to != self)
        call(Kind::Send, {Memory::In}, {}, inBytes, to);
    if (source >= 0 && source != self)
      call(Kind::Receive, {}, {Memory::Out}, outBytes, source);
    mark(Kind::EndGroup);
  }

  void allGather() {
    Cut out(c.outputShape, c.dim, size);
    int64_t length = c.inputShape[c.dim];
    if (alone())
      return unpack({Memory::In}, 0, length, out);
    if (out.outer == 1 && out.size == length * members)
      return call(Kind::AllGather, {Memory::In}, {Memory::Out}, inBytes);
    Operand blocks = stage(members * inBytes);
    call(Kind::AllGather, {Memory::In}, blocks, inBytes);
    for (int64_t i = 0; i < members; ++i)
      unpack(at(blocks, i * inBytes), i, length, out);
  }

  void reduceScatter() {
    Cut in(c.inputShape, c.dim, size);
    int64_t length = c.outputShape[c.dim];
    if (alone())
      return pack(in, 0, length, {Memory::Out});
    if (in.outer == 1 && in.size == length * members)
      return call(Kind::ReduceScatter, {Memory::In}, {Memory::Out}, outBytes);
    Operand blocks = stage(members * outBytes);
    for (int64_t i = 0; i < members; ++i)
      pack(in, i, length, at(blocks, i * outBytes));
    call(Kind::ReduceScatter, blocks, {Memory::Out}, outBytes);
  }

  /// Member j gets block j of the split dimension; what arrives is put together
  /// along the other. Blocks have the input's shape but for the split.
  void allToAll() {
    Cut in(c.inputShape, c.splitDim, size);
    int64_t split = c.outputShape[c.splitDim], length = c.inputShape[c.dim];
    Cut out(c.outputShape, c.dim, size);
    int64_t block = in.outer * split * in.inner;
    bool sendPlain = in.outer == 1 && in.size == split * members;
    bool takePlain = out.outer == 1 && out.size == length * members;

    Operand sent = sendPlain ? Operand{Memory::In} : stage(members * block);
    if (!sendPlain)
      for (int64_t i = 0; i < members; ++i)
        pack(in, i, split, at(sent, i * block));
    Operand taken = takePlain ? Operand{Memory::Out} : stage(members * block);
    if (!alone()) {
      mark(Kind::Group);
      for (int64_t i = 0; i < members; ++i)
        if (i != self) {
          call(Kind::Send, at(sent, i * block), {}, block, i);
          call(Kind::Receive, {}, at(taken, i * block), block, i);
        }
      mark(Kind::EndGroup);
    }
    if (takePlain) {
      copy(at(sent, self * block), at(taken, self * block), block);
      return;
    }
    for (int64_t i = 0; i < members; ++i)
      unpack(at(i == self ? sent : taken, i * block), i, length, out);
  }

  const Collective &c;
  int64_t self, members, size, inBytes, outBytes;
  Transfer result;
};

} // namespace

Transfer tprt::planTransfer(const Collective &entry, int64_t self,
                            int64_t members) {
  return Planner(entry, self, members).plan();
}

int64_t tprt::stagingBytes(const Manifest &manifest, int64_t rank) {
  int64_t most = 0;
  for (const Collective &entry : manifest.collectives) {
    int64_t self =
        manifest.mesh.index(entry.axes, manifest.mesh.coordinates(rank));
    most = std::max(
        most, planTransfer(entry, self, shardCount(entry.axes)).stagingBytes);
  }
  return most;
}

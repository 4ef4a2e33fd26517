//===- Attention.h - tiled attention ----------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rank's attention: keys and values are packed to f32 tiles once per KV
// head, then blocks of query rows run over them with an online softmax. Memory
// grows with the sequence, never with its square.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_HOST_ATTENTION_H
#define TPRT_HOST_ATTENTION_H

#include "HostRank.h"

namespace tprt {

/// A task of simd() with what all of a description have in common.
template <typename Task, typename Description>
Task taskOf(const Description &a) {
  Task task;
  task.type = a.type;
  task.headSize = a.headSize;
  task.valueSize = a.valueSize;
  task.window = a.window;
  task.scale = float(a.scale);
  task.softCap = float(a.softCap);
  return task;
}

/// The arguments of tprt_api::attention.
struct AttentionCall {
  const void *q;
  int64_t qStride;
  const void *k;
  int64_t kStride;
  const void *v;
  int64_t vStride;
  const void *mask = nullptr, *bias = nullptr, *sinks = nullptr;
  int64_t kvLen;
  int64_t qOffset = 0;
  void *out;
  int64_t outStride;
  float *lse = nullptr;
};

/// The arguments of tprt_api::attention_backward.
struct AttentionBackwardCall {
  const void *q, *k, *v, *mask, *bias, *cotangent;
  const float *lse, *delta;
  void *dq;
  float *dk, *dv, *dbias;
};

class AttentionEngine final : public Engine {
public:
  explicit AttentionEngine(const Manifest &manifest)
      : AttentionEngine(manifest.attentions) {}
  explicit AttentionEngine(const std::vector<Attention> &attentions)
      : attentions(attentions) {}

  Status run(int64_t id, const AttentionCall &call);
  Status runBackward(int64_t id, const AttentionBackwardCall &call);
  int64_t scratchBytes() const override { return scratch.size(); }

private:
  Status check(int64_t id, int64_t kvLen, const void *mask,
               const void *bias) const;

  const std::vector<Attention> &attentions;
  Buffer scratch;
};

} // namespace tprt

#endif // TPRT_HOST_ATTENTION_H

//===- Experts.cpp - a mixture of experts on the host ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Experts one after the other, each with the rows that have a weight for it;
// the others' weights are not read. A row's sum is in the order of the experts,
// so that neither workers nor other rows change its terms.
//
//===----------------------------------------------------------------------===//

#include "Experts.h"

#include "../support/Parallel.h"
#include "../support/Simd.h"

#include <cstring>

using namespace tprt;

namespace {

/// The products of each description: gate, up and down.
std::vector<Gemm> describeProducts(const std::vector<Experts> &list) {
  std::vector<Gemm> gemms;
  for (const Experts &e : list) {
    Gemm in{};
    in.m = kExpertRowsAtOnce;
    in.n = e.f;
    in.k = e.k;
    in.xType = in.wType = e.type;
    in.yType = in.biasType = TPRT_F32;
    Gemm down = in;
    down.n = e.n;
    down.k = e.f;
    gemms.insert(gemms.end(), {in, in, down});
  }
  return gemms;
}

/// The scratch of a number of rows, beside arguments and result.
struct Rows {
  char *x, *inner;
  float *gate, *up, *out;

  Rows(ScratchParts &parts, const Experts &e, int64_t rows) {
    int64_t bytes = typeBytes(e.type);
    x = parts.take(rows * e.k * bytes);
    inner = parts.take(rows * e.f * bytes);
    gate = parts.takeFloats(rows * e.f);
    up = parts.takeFloats(rows * e.f);
    out = parts.takeFloats(rows * e.n);
  }
};

} // namespace

ExpertsEngine::ExpertsEngine(const std::vector<Experts> &list)
    : descriptions(list), gemm(describeProducts(list)) {}

Status ExpertsEngine::multiply(int64_t id, const ExpertsCall &call,
                               int64_t expert, int matrix,
                               const tprt_gemm_call &product) {
  const Experts &e = descriptions[size_t(id)];
  const QuantizedGemm &q = matrix < 2 ? *e.quantized : *e.quantizedDown;
  QuantizedWeight weight;
  weight.type = q.type;
  weight.n = matrix < 2 ? e.f : e.n;
  weight.k = matrix < 2 ? e.k : e.f;
  weight.scaleType = q.scaleType;
  weight.groupN = q.groupN;
  weight.groupK = q.groupK;
  int64_t rows = q.groupN ? (weight.n + q.groupN - 1) / q.groupN : 1;
  int64_t scales = rows * weight.columns();
  auto at = [&](const void *all, int64_t bytes) {
    return all ? static_cast<const char *>(all) + expert * bytes : nullptr;
  };
  const char *values[] = {call.gate, call.up, call.down};
  weight.values = at(values[matrix], weight.n * weight.rowBytes());
  weight.packed = q.packed;
  int64_t blocks = q.packed ? rows * weight.packedBytes() : 0;
  weight.scales = at(call.quantized[matrix].scales,
                     q.packed ? blocks : scales * scaleBytes(q.scaleType));
  const char *zeros =
      at(call.quantized[matrix].zeros,
         q.packed ? blocks : scales * (q.hasFloatZeros ? 4 : 1));
  if (q.packed)
    weight.zeroBlocks = zeros;
  else if (q.hasFloatZeros)
    weight.floatZeros = reinterpret_cast<const float *>(zeros);
  else
    weight.zeros = reinterpret_cast<const int8_t *>(zeros);
  return gemm.run(product, weight);
}

/// Adds what an expert makes of `count` rows to their sums.
Status ExpertsEngine::runExpert(int64_t id, const ExpertsCall &call,
                                int64_t expert, const int32_t *list,
                                int64_t count, float *sums) {
  const Experts &e = descriptions[size_t(id)];
  int64_t bytes = typeBytes(e.type), padded = roundRows(count);
  ScratchParts parts(scratch.data());
  Rows rows(parts, e, mostRows(e));
  gatherRows(call.x, e.k * bytes, {list, size_t(count)}, padded, rows.x);
  int64_t matrix = expert * e.f * e.k * bytes;
  const tprt_gemm_call in[] = {{id * 3, padded, rows.x, e.k, call.gate + matrix,
                                nullptr, nullptr, rows.gate, e.f},
                               {id * 3 + 1, padded, rows.x, e.k,
                                call.up + matrix, nullptr, nullptr, rows.up,
                                e.f}};
  // Experts without a gate of their own have one matrix for both.
  bool isShared = call.gate == call.up;
  int numProducts = isShared ? 1 : 2;
  if (e.quantized)
    for (int matrix = 0; matrix < numProducts; ++matrix)
      TPRT_TRY(multiply(id, call, expert, matrix, in[matrix]));
  else
    TPRT_TRY(gemm.run(in, numProducts));
  parallelFor(padded, leastRows(e.f), [&](int64_t begin, int64_t end, int64_t) {
    for (int64_t r = begin; r < end; ++r) {
      float *gate = rows.gate + r * e.f, *up = rows.up + r * e.f;
      if (isShared)
        std::memcpy(up, gate, size_t(e.f * 4));
      if (e.scalesInput && r < count) {
        float weight = call.routing[list[r] * e.experts + expert];
        for (float *side : {gate, up})
          for (int64_t c = 0; c < e.f; ++c)
            side[c] *= weight;
      }
      addExpertBias(call.gateBias, expert, gate, e.f);
      addExpertBias(call.upBias, expert, up, e.f);
      activateGate(e, gate, e.f);
      for (int64_t c = 0; c < e.f; ++c)
        gate[c] *= shiftUp(e, up[c]);
      leaveOut(call.inside, gate, e.f);
      simd().narrow(e.type, gate, rows.inner + r * e.f * bytes, e.f);
    }
  });
  tprt_gemm_call down{id * 3 + 2,
                      padded,
                      rows.inner,
                      e.f,
                      call.down + expert * e.n * e.f * bytes,
                      nullptr,
                      nullptr,
                      rows.out,
                      e.n};
  TPRT_TRY(e.quantized ? multiply(id, call, expert, 2, down) : gemm.run(down));
  parallelFor(count, leastRows(e.n), [&](int64_t begin, int64_t end, int64_t) {
    for (int64_t r = begin; r < end; ++r) {
      float weight =
          e.scalesInput ? 1 : call.routing[list[r] * e.experts + expert];
      const float *from = rows.out + r * e.n;
      float *to = sums + list[r] * e.n;
      for (int64_t c = 0; c < e.n; ++c)
        to[c] += weight * from[c];
    }
  });
  return {};
}

Status ExpertsEngine::run(int64_t id, const ExpertsCall &call) {
  TPRT_TRY(checkCall(descriptions, id, call.rows));
  const Experts &e = descriptions[size_t(id)];
  // The largest call that there is, so that only the first one asks for memory.
  ScratchParts parts(nullptr);
  Rows(parts, e, mostRows(e));
  int64_t beside = parts.bytes();
  bool direct = e.type == TPRT_F32;
  TPRT_TRY(scratch.reserve(beside + (direct ? 0 : e.rows * e.n * 4)));
  chosen.find(e, call.rows, call.routing);
  auto *sums =
      reinterpret_cast<float *>(direct ? call.out : scratch.data() + beside);
  std::memset(sums, 0, size_t(call.rows * e.n * 4));
  for (int64_t expert = 0; expert < e.experts; ++expert)
    for (std::span<const int32_t> rows : chosen.blocksOf(expert))
      TPRT_TRY(
          runExpert(id, call, expert, rows.data(), int64_t(rows.size()), sums));
  if (!direct)
    parallelFor(call.rows * e.n, kLeastExpertElements,
                [&](int64_t begin, int64_t end, int64_t) {
                  simd().narrow(e.type, sums + begin,
                                call.out + begin * typeBytes(e.type),
                                end - begin);
                });
  return {};
}

int32_t HostFunctions::experts(tprt_rank *rank, int32_t id, int64_t rows,
                               const void *x, const void *routing,
                               const void *gate, const void *up,
                               const void *down, const void *gateBias,
                               const void *upBias, const void *inside,
                               void *out) {
  auto &host = *static_cast<HostRank *>(rank);
  auto bytes = [](const void *p) { return static_cast<const char *>(p); };
  auto floats = [](const void *p) { return static_cast<const float *>(p); };
  return host.traced(Timeline::Kind::Experts, id, host.layer, [&] {
    return host.engine<ExpertsEngine>(TPRT_SLOT_experts)
        .run(id, {rows, bytes(x), floats(routing), bytes(gate), bytes(up),
                  bytes(down), static_cast<const int32_t *>(inside),
                  static_cast<char *>(out), floats(gateBias), floats(upBias)});
  });
}

int32_t HostFunctions::quantized_experts(
    tprt_rank *rank, int32_t id, int64_t rows, const void *x,
    const void *routing, const void *gate, const void *gateScales,
    const void *gateZeros, const void *up, const void *upScales,
    const void *upZeros, const void *down, const void *downScales,
    const void *downZeros, const void *gateBias, const void *upBias,
    const void *inside, void *out) {
  auto &host = *static_cast<HostRank *>(rank);
  auto bytes = [](const void *p) { return static_cast<const char *>(p); };
  auto floats = [](const void *p) { return static_cast<const float *>(p); };
  return host.traced(Timeline::Kind::Experts, id, host.layer, [&]() -> Status {
    if (id < 0 || id >= int64_t(host.manifest.experts.size()) ||
        !host.manifest.experts[size_t(id)].quantized)
      return internalError("experts ", id, " have no quantised matrices");
    return host.engine<ExpertsEngine>(TPRT_SLOT_experts)
        .run(id, {rows,
                  bytes(x),
                  floats(routing),
                  bytes(gate),
                  bytes(up),
                  bytes(down),
                  static_cast<const int32_t *>(inside),
                  static_cast<char *>(out),
                  floats(gateBias),
                  floats(upBias),
                  {{gateScales, gateZeros},
                   {upScales, upZeros},
                   {downScales, downZeros}}});
  });
}

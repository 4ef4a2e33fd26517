//===- Experts.h - a mixture of experts on the host -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows that an expert has are brought together and go through its three
// matrices as one product each.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_HOST_EXPERTS_H
#define TPRT_HOST_EXPERTS_H

#include "ExpertRows.h"
#include "Gemm.h"

namespace tprt {

/// The arguments of tprt_api::experts.
struct ExpertsCall {
  int64_t rows;
  const char *x;
  const float *routing;
  const char *gate, *up, *down;
  const int32_t *inside; ///< null: all of the width
  char *out;
  const float *gateBias = nullptr, *upBias = nullptr; ///< or null: none
  /// Gate, up and down have these where they are quantised; zeros may be null.
  struct {
    const void *scales = nullptr, *zeros = nullptr;
  } quantized[3] = {};
};

class ExpertsEngine final : public Engine {
public:
  explicit ExpertsEngine(const Manifest &manifest)
      : ExpertsEngine(manifest.experts) {}
  explicit ExpertsEngine(const std::vector<Experts> &list);

  Status run(int64_t id, const ExpertsCall &call);
  int64_t scratchBytes() const override {
    return scratch.size() + gemm.scratchBytes();
  }

private:
  /// The product number `matrix` of an expert: gate, up or down.
  Status multiply(int64_t id, const ExpertsCall &call, int64_t expert,
                  int matrix, const tprt_gemm_call &product);
  Status runExpert(int64_t id, const ExpertsCall &call, int64_t expert,
                   const int32_t *rows, int64_t count, float *sums);

  const std::vector<Experts> &descriptions;
  GemmEngine gemm;
  Buffer scratch;
  ExpertRows chosen;
};

/// The arguments of tprt_api::experts_backward.
struct ExpertsBackwardCall {
  int64_t rows;
  const char *cotangent, *x;
  const float *routing;
  const char *gate, *up, *down;
  const int32_t *inside; ///< null: all of the width
  char *dx;
  float *drouting, *dgate, *dup, *ddown;
  const float *gateBias = nullptr, *upBias = nullptr; ///< or null: none
  float *dgateBias = nullptr, *dupBias = nullptr;     ///< null where they are
};

class ExpertsBackwardEngine final : public Engine {
public:
  explicit ExpertsBackwardEngine(const Manifest &manifest)
      : ExpertsBackwardEngine(manifest.experts) {}
  explicit ExpertsBackwardEngine(const std::vector<Experts> &list);

  Status run(int64_t id, const ExpertsBackwardCall &call);
  int64_t scratchBytes() const override {
    return scratch.size() + gemm.scratchBytes();
  }

private:
  struct Block;
  Status computeSides(const Block &block);
  void addToBiases(const Block &block);
  Status addToMatrices(const Block &block);
  Status addToInput(const Block &block, float *sums);

  const std::vector<Experts> &descriptions;
  GemmEngine gemm;
  Buffer scratch;
  ExpertRows chosen;
};

} // namespace tprt

#endif // TPRT_HOST_EXPERTS_H

//===- StepModel.h - a program as a generator sees it -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that the scheduler knows of what it drives: a session, or a model that a
// test makes up.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_GENERATION_STEPMODEL_H
#define TPRT_GENERATION_STEPMODEL_H

#include "../format/Manifest.h"

namespace tprt::generation {

/// The inputs of one step, as docs/Generation.md has them, and the tokens that
/// it chooses: row r owns the tokens [starts[r], starts[r + 1]), at positions
/// context[r] and on. A step of fewer tokens than rows takes as many of the
/// first rows.
struct Batch {
  explicit Batch(const Generation &program)
      : ids(size_t(program.chunk)), starts(size_t(program.rows + 1)),
        context(size_t(program.rows)),
        table(size_t(program.rows * program.tablePages())), positions(context),
        topK(context), chosen(context), seeds(size_t(program.rows)),
        temperatures(size_t(program.rows)), topP(temperatures),
        minP(temperatures), logprobs(temperatures) {}

  int64_t tokens = 0, rows = 0; ///< in use
  std::vector<int32_t> ids;     ///< of a whole chunk; 0 past the tokens
  std::vector<int32_t> starts, context, table;
  std::vector<int32_t> positions; ///< of the token to choose; -1: none
  std::vector<int32_t> topK;
  std::vector<int32_t> chosen; ///< -1: none, or none that the step can tell
  std::vector<int64_t> seeds;
  std::vector<float> temperatures, topP, minP, logprobs;
};

class StepModel {
public:
  virtual ~StepModel() = default;
  /// Computes the tokens, and chooses those that follow.
  virtual Status step(Batch &batch) = 0;
  /// The logits of the last token of the `wanted` rows of the last step: in an
  /// array [rows, vocabulary], of which the other rows hold anything; valid
  /// until the next step.
  virtual Expected<const float *> logits(const std::vector<bool> &wanted) = 0;
  /// Names the weights that are no numbers, where logits are none; empty if
  /// they all are.
  virtual std::string notFiniteWeights() { return ""; }
  /// No step comes any more.
  virtual void end() {}
  /// No step comes any more, as this went wrong here alone.
  virtual void abort(const Status &status) {}
  /// Why no step can succeed any more, also between steps. Any thread.
  virtual Status failure() { return {}; }
};

} // namespace tprt::generation

#endif // TPRT_GENERATION_STEPMODEL_H

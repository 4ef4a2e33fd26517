//===- SessionModel.h - the steps of a session ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the entries `step_T` of a program. Where ranks are processes, rank 0
// alone knows the requests and leads the session; the others follow it.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_GENERATION_SESSIONMODEL_H
#define TPRT_GENERATION_SESSIONMODEL_H

#include "../session/Session.h"
#include "StepModel.h"

namespace tprt::generation {

/// The sizes of the program's steps; an error tells how to compile one that has
/// some.
Expected<Generation> generationOf(const Manifest &manifest);

/// Rank 0's. The session, whose weights are loaded, must outlive it.
class SessionModel final : public StepModel {
public:
  static Expected<std::unique_ptr<StepModel>> make(Session &session);
  Status step(Batch &batch) override;
  Expected<const float *> logits(const std::vector<bool> &wanted) override;
  std::string notFiniteWeights() override { return session.notFiniteWeights(); }
  /// After a failure the others know already.
  void end() override { (void)session.endLead(); }
  void abort(const Status &status) override { session.abort(status); }
  Status failure() override { return session.failure(); }

  /// An entry that computes a step of so many tokens, of so many rows.
  struct Entry {
    int64_t index, tokens, rows;
  };

private:
  SessionModel(Session &session, Generation program, std::vector<Entry> entries)
      : session(session), program(std::move(program)),
        entries(std::move(entries)),
        values(size_t(this->program.rows * this->program.vocabulary)) {
    session.lead();
  }

  Session &session;
  const Generation program;
  std::vector<Entry> entries; ///< the shortest first
  std::vector<float> values;  ///< logits
  Entry last{};               ///< the last one that ran
};

/// Follows rank 0 until its model ends. An error if the program has no steps.
Status follow(Session &session);

} // namespace tprt::generation

#endif // TPRT_GENERATION_SESSIONMODEL_H

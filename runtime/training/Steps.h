//===- Steps.h - the calls that a training loop makes -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of a program that trains, by what they compute. Where ranks are
// processes, rank 0 alone knows the data: its Steps lead the session, which the
// others follow.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TRAINING_STEPS_H
#define TPRT_TRAINING_STEPS_H

#include "../session/Session.h"

namespace tprt::training {

/// The training tables of the program; an error tells how to compile one that
/// trains.
Expected<Training> trainingOf(const Manifest &manifest);

/// Leads the session, which must outlive it, from lead() to end().
class Steps {
public:
  /// Sums of the micro-batches since the last update, and the norm of the
  /// mean's gradient.
  struct Result {
    float lossSum, tokens, gradNorm;
  };

  static Expected<Steps> make(Session &session);

  /// True if micro-batches are token ids and the classes at their positions. A
  /// program with other inputs is trained by its caller, who runs the entries;
  /// gradient(), evaluate(), batch() and length() are not for it.
  Status expectTokens() const;
  int64_t batch() const { return shape[0]; }
  int64_t length() const { return shape[1]; }
  /// Ids are below it.
  int64_t vocabulary() const { return ids; }
  const Manifest &manifest() const { return session.manifest(); }
  const Weights *checkpoint() const { return session.checkpoint(); }
  /// See Session::notFiniteWeights.
  const std::string &notFiniteWeights() { return session.notFiniteWeights(); }

  /// Tokens and the classes at their positions, [batch, length] of each.
  /// `seed` and the micro-batch's number say what dropout drops.
  Status gradient(std::vector<int32_t> &tokens, std::vector<int32_t> &targets,
                  int64_t seed, int64_t microstep);
  /// The loss of a batch alone; `gradNorm` is 0.
  Expected<Result> evaluate(std::vector<int32_t> &tokens,
                            std::vector<int32_t> &targets);
  /// A step of the optimizer, whose inputs are among these.
  Expected<Result> update(std::map<std::string, float> inputs);
  /// See Session::state.
  Expected<HostTensor> state(int64_t index, int64_t first = 0,
                             int64_t rows = -1);
  Expected<int64_t> peakBytes() { return session.peakBytes(); }
  /// True if the system told the process of some rank to end.
  bool isToldToEnd() const { return session.isToldToEnd(); }
  void lead() { session.lead(); }
  Status end() { return session.endLead(); }

private:
  explicit Steps(Session &session) : session(session) {}

  Session &session;
  int64_t gradientEntry, updateEntry;
  bool drops = false;
  Shape shape;
  int64_t ids;
  std::vector<std::string> updateNames;
};

} // namespace tprt::training

#endif // TPRT_TRAINING_STEPS_H

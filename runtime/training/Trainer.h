//===- Trainer.h - the loop of training -------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Micro-batches, an update, a line of the log, and now and then a checkpoint,
// until all steps are done or somebody interrupts it. A step whose numbers are
// not finite and a checkpoint that cannot be written do not end it.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TRAINING_TRAINER_H
#define TPRT_TRAINING_TRAINER_H

#include "Checkpoint.h"

namespace tprt::training {

struct Options {
  std::string data;    ///< token ids; empty: nothing is trained
  bool checks = false; ///< whether the run is checked alone, without its data
  int64_t steps = 0;   ///< in all, those of a run that goes on among them
  /// Hyperparameters by the names of their options.
  nlohmann::json recipe = nlohmann::json::object();
  std::string save, resume, log, config;
  int64_t saveEvery = 0;  ///< 0: at the end alone
  int64_t keep = 2;       ///< checkpoints, the last one among them
  bool overwrite = false; ///< whether `save` may replace those of another run
  /// Steps in a row that may be skipped as their loss or norm is not finite.
  int64_t maxSkips = 10;
  std::string evaluation;    ///< other data; empty: none
  int64_t evaluateEvery = 0; ///< steps; 0: after the last alone
  /// Evaluations in a row that may be no better than the best; 0: any number.
  int64_t patience = 0;
  std::function<bool()> isInterrupted = [] { return false; };
};

/// The weights of a run: its own checkpoint, or what it begins with.
struct Source {
  std::string weights, states; ///< of Session::loadWeights
  std::string folder;          ///< of the small files; empty: unknown
  Progress progress;
  std::string
      passedOver; ///< why a newer checkpoint is not what it goes on from
};
Expected<Source> sourceOf(const Options &options, const std::string &weights);

/// A usage error that says which option of the recipe the program cannot do.
Status checkRecipe(const Manifest &manifest, const Options &options,
                   const Source &source);

/// Refuses what can be refused before weights are loaded; on rank 0. The data
/// need not be there yet where the options say that the run is checked alone.
Status check(Session &session, const Options &options, const Source &source);

/// Called by all ranks, the weights being loaded.
Status train(Session &session, const Options &options, Source source);

/// Writes the loss of the last step of the entry `gradient`, the only one, and
/// its gradients by the weights: both of the mean over the tokens that count,
/// in the checkpoint's names and layout, as f32. Called by all ranks.
Status writeGradients(Session &session, const std::string &path);

} // namespace tprt::training

#endif // TPRT_TRAINING_TRAINER_H

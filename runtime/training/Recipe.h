//===- Recipe.h - how a program is trained ----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hyperparameters of a run and what the step `update` is given of them. As
// JSON they have the names of tp-run's options: a checkpoint keeps them.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TRAINING_RECIPE_H
#define TPRT_TRAINING_RECIPE_H

#include "../format/Json.h"
#include "../format/Manifest.h"

#include <map>

namespace tprt::training {

struct Recipe {
  /// The learning rate of each step.
  struct Schedule {
    enum class Kind { Constant, Cosine, Linear } kind = Kind::Constant;
    int64_t warmup = 0;
    double least = 0;
  };
  int64_t accumulate; ///< micro-batches of a step
  double rate, weightDecay;
  double beta1 = 0, beta2 = 0, eps = 0, momentum = 0;
  Schedule schedule;
  bool isShuffled;
  uint64_t seed;

  /// `given` on the command line, before what a run that goes on had, before
  /// what is usual for the program's optimizer. `all` receives the three
  /// together.
  static Expected<Recipe> make(const Training &program,
                               const nlohmann::json &given,
                               const nlohmann::json &before,
                               nlohmann::json &all);

  /// The learning rate of step `step` of `steps`, the first being 1.
  double rateOf(int64_t step, int64_t steps) const;
  /// The inputs of `update` by name, computed in f64.
  std::map<std::string, float> updateInputs(int64_t step, int64_t steps) const;
};

} // namespace tprt::training

#endif // TPRT_TRAINING_RECIPE_H

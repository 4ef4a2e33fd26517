//===- Evaluation.h - the loss of tokens that are not trained on -*- C++
//-*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Now and then a run asks for the loss of other data. The least so far, and how
// many were no less since, are part of a run's progress, so that one which goes
// on has them.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TRAINING_EVALUATION_H
#define TPRT_TRAINING_EVALUATION_H

#include "Checkpoint.h"
#include "Tokens.h"

namespace tprt::training {

class Evaluation {
public:
  /// The data, as TokenFile takes it, every row of which counts. An error if
  /// none of its tokens is to be predicted.
  static Expected<Evaluation> open(const Steps &steps, const std::string &path);

  struct Loss {
    double mean;
    int64_t tokens; ///< that count
  };
  /// The loss of all rows by the weights as they are. Nothing is changed.
  Expected<Loss> run(Steps &steps);

private:
  std::string path;
  std::optional<TokenFile> data;
};

/// Notes a loss. Whether it is the least so far; one that is no number is not.
bool noteLoss(Progress &progress, double loss);
/// Notes of a run: how many evaluations in a row were not the least.
int64_t countWorse(const Progress &progress);

} // namespace tprt::training

#endif // TPRT_TRAINING_EVALUATION_H

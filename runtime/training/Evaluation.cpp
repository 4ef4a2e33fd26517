//===- Evaluation.cpp - the loss of tokens that are not trained on --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

#include <algorithm>
#include <cmath>

using namespace tprt;
using namespace tprt::training;

constexpr int32_t kIgnored = -100;

Expected<Evaluation> Evaluation::open(const Steps &steps,
                                      const std::string &path) {
  Evaluation made;
  made.path = path;
  TPRT_ASSIGN(made.data,
              TokenFile::open(path, steps.length(), steps.vocabulary()));
  return made;
}

Expected<Evaluation::Loss> Evaluation::run(Steps &steps) {
  int64_t batch = steps.batch(), length = steps.length(), rows = data->rows();
  std::vector<int32_t> ids(size_t(batch * length)), targets(ids.size());
  double sum = 0, tokens = 0;
  for (int64_t first = 0; first < rows; first += batch) {
    // Rows of the last batch that are not there do not count.
    std::fill(ids.begin(), ids.end(), 0);
    std::fill(targets.begin(), targets.end(), kIgnored);
    for (int64_t row = first; row < std::min(first + batch, rows); ++row)
      TPRT_TRY(data->read(row, ids.data() + (row - first) * length,
                          targets.data() + (row - first) * length));
    TPRT_ASSIGN(auto part, steps.evaluate(ids, targets));
    sum += double(part.lossSum), tokens += double(part.tokens);
  }
  if (tokens == 0)
    return userError("'", path, "': all labels are -100, of all ", rows,
                     " rows: expected tokens to predict");
  return Loss{sum / tokens, int64_t(tokens)};
}

bool training::noteLoss(Progress &progress, double loss) {
  nlohmann::json &noted = progress.evaluation;
  bool isLeast = std::isfinite(loss) &&
                 (!noted.contains("best_loss") || loss < noted["best_loss"]);
  if (isLeast)
    noted = {{"best_loss", loss}, {"best_step", progress.step}, {"worse", 0}};
  else
    noted["worse"] = countWorse(progress) + 1;
  return isLeast;
}

int64_t training::countWorse(const Progress &progress) {
  return progress.evaluation.value("worse", int64_t(0));
}

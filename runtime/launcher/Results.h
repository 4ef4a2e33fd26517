//===- Results.h - what a run says of itself --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_LAUNCHER_RESULTS_H
#define TPRT_LAUNCHER_RESULTS_H

#include "../generation/Statistics.h"
#include "../session/Session.h"

#include <string>
#include <vector>

namespace tprt {

/// Results for people, a line each: name, type, shape, least, mean and largest
/// value, and the first and last elements, or all if they are few.
std::string describeResults(const std::vector<HostTensor> &results);

/// An error if a result is not finite because the weights are not.
Status explainNotFinite(Session &session,
                        const std::vector<HostTensor> &results);

/// "ran main once on 2 ranks: weights in 3.1 ms, step 412 us".
std::string describeRun(const Session &session,
                        const std::vector<int64_t> &entries, int64_t repeat);

/// "answered 3 prompts on 2 ranks: weights in 3.1 ms, answers in 1.2 s; 90
/// tokens of prompts in 400 ms, then 50 tokens in 800 ms (62.5 tokens/s)". The
/// last are those of decode steps.
std::string describeAnswers(const Session &session, size_t prompts,
                            double seconds,
                            const generation::Statistics &statistics);

} // namespace tprt

#endif // TPRT_LAUNCHER_RESULTS_H

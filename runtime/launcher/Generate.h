//===- Generate.h - tp-run --generate ---------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_LAUNCHER_GENERATE_H
#define TPRT_LAUNCHER_GENERATE_H

#include "../generation/Request.h"
#include "../generation/Statistics.h"
#include "../session/Session.h"

namespace tprt {

struct GenerateOptions {
  std::string prompts; ///< file; empty: nothing is generated
  std::string output;  ///< file
  /// Parameters of makeRequest, for all prompts.
  nlohmann::json parameters = nlohmann::json::object();
  uint64_t seed = 0;
  std::vector<int32_t> stopIds;
  int64_t logProbabilities = -1;
};

/// A usage error that says which option the program cannot do, whatever the
/// prompts are.
Status checkOptions(const Manifest &manifest, const GenerateOptions &options);

/// The prompts of the file, a JSON list of lists of ids, as requests that the
/// program can answer.
Expected<std::vector<generation::Request>>
readPrompts(const Manifest &manifest, const GenerateOptions &options);

/// Says on standard error which defaults of the checkpoint hold.
void noteDefaults(const Manifest &manifest, const GenerateOptions &options);

/// Answers all prompts together and writes the answers; called by all ranks,
/// `requests` on rank 0 alone, which gets the `statistics`.
Status generate(Session &session, const GenerateOptions &options,
                std::vector<generation::Request> requests,
                generation::Statistics &statistics);

} // namespace tprt

#endif // TPRT_LAUNCHER_GENERATE_H

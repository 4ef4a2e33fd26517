//===- Log.h - what a run of training says of its steps ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line of JSON for each step, in the file as soon as the step is done, and
// now and then a line for people on standard error. A log that cannot be
// written does not end the run: its lines wait until they can.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TRAINING_LOG_H
#define TPRT_TRAINING_LOG_H

#include "Checkpoint.h"

#include <chrono>

namespace tprt::training {

/// A line on standard error, with the program's name in front.
template <typename... Parts>
void say(Parts &&...parts) {
  std::fprintf(stderr, "tp-run: %s\n", detail::join(parts...).c_str());
}

class Log {
public:
  /// The log at `path` (empty: none) of a run of `steps` steps in all. A run
  /// that goes on keeps the lines up to where it is; others begin anew.
  static Expected<Log> open(const std::string &path, const Progress &from,
                            int64_t steps);

  /// Appends the line of a step that was done, and of one that was skipped.
  void add(const nlohmann::json &line);
  void addSkipped(const nlohmann::json &line) { write(line); }
  void addEvaluation(const nlohmann::json &line) { write(line); }
  /// Ends the line on a terminal, before something else is said.
  void pause();
  /// Opens the file again if another one has its name: a checkpoint took a copy
  /// along where the file system has no links.
  void reopen();
  /// An error if some lines could not be written to the end.
  Status close();

private:
  void write(const nlohmann::json &line);
  void flush();

  Descriptor file;
  std::string path, pending; ///< that is not in the file yet
  int64_t first = 0, steps = 0;
  int failure = 0; ///< errno of the last attempt to write
  bool isTerminal = false, isOpen = false;
  /// End of the first step; of the last line for people.
  std::chrono::steady_clock::time_point begun, told;
};

} // namespace tprt::training

#endif // TPRT_TRAINING_LOG_H

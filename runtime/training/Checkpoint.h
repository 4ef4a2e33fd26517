//===- Checkpoint.h - what training leaves behind ---------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Hugging Face directory as the input was: names, layout and types of its
// tensors, and its small files; beside them the optimizer's states and where
// the run is.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TRAINING_CHECKPOINT_H
#define TPRT_TRAINING_CHECKPOINT_H

#include "../format/Json.h"
#include "Steps.h"

#include <filesystem>

namespace tprt::training {

/// Where a run is.
struct Progress {
  int64_t step = 0;     ///< of the optimizer, that are done
  int64_t position = 0; ///< rows of the data that were taken
  int64_t rows = 0;     ///< that the data has
  std::string optimizer;
  nlohmann::json recipe = nlohmann::json::object();
};

/// A checkpoint of a run, by its directory.
class Checkpoint {
public:
  /// An error if `path` is something else than a free name or a checkpoint of a
  /// run.
  static Expected<Checkpoint> at(const std::string &path);

  /// The directory of the last complete one: the name, or another beside it
  /// where a run was killed as it renamed them; none.
  std::optional<std::string> find() const;
  /// An early error for a place where none could be written: its directory is
  /// made and removed.
  Status checkWritable() const;
  /// Written aside, and renamed when all of it is on the disk: until then the
  /// one before is there. `source` is a directory with the small files.
  Status save(Steps &steps, const Progress &progress,
              const std::string &source) const;
  std::string name() const { return path.string(); }

private:
  Status write(Steps &steps, const Progress &progress,
               const std::string &source) const;
  Status rename() const;

  std::filesystem::path path, aside, before;
};

/// Of a checkpoint's directory.
Expected<Progress> readProgress(const std::string &folder);
inline std::string statesFile(const std::string &folder) {
  return folder + "/optimizer.safetensors";
}

} // namespace tprt::training

#endif // TPRT_TRAINING_CHECKPOINT_H

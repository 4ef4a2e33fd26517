//===- Checkpoint.h - what training leaves behind ---------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Hugging Face directory as the input was: names, layout and types of its
// tensors, and its small files; beside them the optimizer's states and where
// the run is. Checkpoint.cpp writes and reads the files, Kept.cpp sees to the
// names under which the last ones are found.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TRAINING_CHECKPOINT_H
#define TPRT_TRAINING_CHECKPOINT_H

#include "../format/Json.h"
#include "Steps.h"

#include <filesystem>

namespace tprt::training {

/// The progress of a run.
struct Progress {
  int64_t step = 0;     ///< of the optimizer, that are done
  int64_t position = 0; ///< rows of the data that were taken
  int64_t rows = 0;     ///< that the data has
  int64_t length = 0;   ///< tokens of a row that are predicted; 0: unknown
  int64_t skipped = 0;  ///< steps whose loss or norm was not finite
  std::string optimizer;
  nlohmann::json recipe = nlohmann::json::object();
  /// The losses of other data (Evaluation.h): best_loss, best_step, worse.
  nlohmann::json evaluation = nlohmann::json::object();
};

/// The checkpoints of a run. The last one is the directory that the user names,
/// OUT; those before it are OUT.step-N beside it. All have the same files.
class Checkpoint {
public:
  /// An error if `path` is something else than a free name or a checkpoint of a
  /// run. A `log` that lies in that directory may be there before the first
  /// checkpoint, and moves from each to the next.
  static Expected<Checkpoint> at(const std::string &path,
                                 const std::string &log = "");

  struct Found {
    std::string folder;
    std::string passedOver; ///< why newer ones were not taken, if any
  };
  /// The newest checkpoint that is whole: under the name, or another beside it
  /// where a run was killed as it renamed them, or one that was kept. None if
  /// there is no checkpoint; an error if there is none but damaged ones.
  Expected<std::optional<Found>> find() const;
  /// A checkpoint that save() would replace, whole or not.
  std::optional<std::string> occupant() const;
  bool isSameAs(const Checkpoint &other) const { return path == other.path; }
  bool holdsLog() const { return !log.empty(); }

  /// An early error for a place where none could be written: its directory is
  /// made and removed.
  Status checkWritable() const;
  /// Before the first save: how many are kept, and whether those that are there
  /// belong to another run, which the first save ends. Finishes what a killed
  /// run began, and makes the directory of a log that lies in it.
  Status begin(int64_t count, bool replaces);
  /// Written aside, and renamed when all of it is on the disk: until then the
  /// one before is there. `source` is a directory with the small files.
  Status save(Steps &steps, const Progress &progress,
              const std::string &source);
  /// The same as OUT.step-N, for weights that may be ruined: OUT stays. Returns
  /// the name.
  Expected<std::string> saveBeside(Steps &steps, const Progress &progress,
                                   const std::string &source);
  /// For a last checkpoint, of step `step`, whose weights are ruined: the one
  /// before takes its place, and it becomes OUT.step-N. Returns the step of the
  /// one that is there now; none if there was no other.
  std::optional<int64_t> withdraw(int64_t step);
  std::string name() const { return path.string(); }
  std::string nameOf(int64_t step) const { return kept(step).string(); }

private:
  /// One that was kept.
  struct Kept {
    std::filesystem::path path;
    int64_t step;
    std::filesystem::file_time_type written;
  };

  Status write(Steps &steps, const Progress &progress,
               const std::string &source) const;
  Status writeInTheRoom(Steps &steps, const Progress &progress,
                        const std::string &source) const;
  Status rename(std::filesystem::path &old) const;
  Status takeLog(const std::filesystem::path &to) const;
  void dropLog(const std::filesystem::path &from) const;
  std::filesystem::path kept(int64_t step) const;
  std::vector<Kept> allKept() const;
  void retire(const std::filesystem::path &old, int64_t step);
  void discard(const std::filesystem::path &folder) const;

  std::filesystem::path path, aside, before, removed, log;
  int64_t keep = 1;
  bool isOthers = false; ///< what is at `path` is another run's
  std::vector<std::filesystem::path> others;
};

/// The name of the file that says where a run is.
inline constexpr const char *kProgress = "trainer.json";
/// Reads the progress in a checkpoint's directory.
Expected<Progress> readProgress(const std::string &folder);
/// The same of such a text, which is called `name`.
Expected<Progress> parseProgress(std::string_view text,
                                 const std::string &name);
/// True if a run that goes on has what its optimizer needs in the file of
/// states.
Status checkStates(const Manifest &manifest, const std::string &path);
/// Puts a file or directory on the disk.
Status sync(const std::filesystem::path &path);
inline std::string statesFile(const std::string &folder) {
  return folder + "/optimizer.safetensors";
}

} // namespace tprt::training

#endif // TPRT_TRAINING_CHECKPOINT_H

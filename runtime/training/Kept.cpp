//===- Kept.cpp - the last checkpoints of a run, by their names -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// However a run ends, under the name that the user gave lies the last complete
// checkpoint, and beside it those before. A directory gets its name when all of
// it is on the disk, and loses it before anything is removed.
//
//===----------------------------------------------------------------------===//

#include "Log.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>

using namespace tprt;
using namespace tprt::training;
namespace fs = std::filesystem;

static Status cannot(const fs::path &path, const std::string &why) {
  return userError("cannot write '", path.string(), "': ", why);
}

static bool isCheckpoint(const fs::path &folder) {
  std::error_code ignored;
  return fs::exists(folder / kProgress, ignored);
}

static bool exchange(const fs::path &a, const fs::path &b) {
  return renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) ==
         0;
}

Expected<Checkpoint> Checkpoint::at(const std::string &name,
                                    const std::string &log) {
  Checkpoint result;
  std::error_code error;
  fs::path path = fs::absolute(name, error).lexically_normal();
  if (!path.has_filename())
    path = path.parent_path();
  result.path = path;
  // Hidden, as they are nobody's but ours.
  std::string hidden = "." + path.filename().string();
  result.aside = path.parent_path() / (hidden + ".saving");
  result.before = path.parent_path() / (hidden + ".previous");
  result.removed = path.parent_path() / (hidden + ".removing");
  fs::path given = fs::absolute(log, error).lexically_normal();
  if (!log.empty() && given.parent_path() == path)
    result.log = given;
  if (!fs::exists(path, error) || isCheckpoint(path))
    return result;
  bool isFree = fs::is_directory(path, error);
  if (isFree)
    for (const auto &entry : fs::directory_iterator(path, error))
      isFree &= !result.log.empty() && entry.path() == result.log;
  if (!isFree)
    return userError("'", name,
                     "': expected a free name or the checkpoint of "
                     "a run, got something without ",
                     kProgress);
  return result;
}

//===----------------------------------------------------------------------===//
// Finding checkpoints
//===----------------------------------------------------------------------===//

fs::path Checkpoint::kept(int64_t step) const {
  return path.string() + ".step-" + std::to_string(step);
}

/// The one that was written last first.
std::vector<Checkpoint::Kept> Checkpoint::allKept() const {
  std::vector<Kept> found;
  std::error_code error;
  std::string prefix = path.filename().string() + ".step-";
  for (const auto &entry : fs::directory_iterator(path.parent_path(), error)) {
    std::string name = entry.path().filename().string();
    int64_t step = 0;
    const char *end = name.data() + name.size();
    if (!name.starts_with(prefix) ||
        std::from_chars(name.data() + prefix.size(), end, step).ptr != end ||
        name != kept(step).filename() || !isCheckpoint(entry.path()))
      continue;
    found.push_back({entry.path(), step,
                     fs::last_write_time(entry.path() / kProgress, error)});
  }
  std::sort(found.begin(), found.end(), [](const Kept &a, const Kept &b) {
    return std::tie(a.written, a.step) > std::tie(b.written, b.step);
  });
  return found;
}

/// True if all files of a checkpoint are there, of their full length.
static Status checkWhole(const fs::path &folder) {
  TPRT_TRY(readProgress(folder.string()).status());
  for (const std::string &path :
       {(folder / "model.safetensors").string(), statesFile(folder.string())}) {
    TPRT_ASSIGN(auto file, InputFile::open(path));
    TPRT_TRY(readSafetensorsHeader(file, path).status());
  }
  return {};
}

Expected<std::optional<Checkpoint::Found>> Checkpoint::find() const {
  std::vector<fs::path> folders{path, before};
  for (const Kept &one : allKept())
    folders.push_back(one.path);
  Status first;
  std::string passedOver;
  for (const fs::path &folder : folders) {
    if (!isCheckpoint(folder))
      continue;
    Status status = checkWhole(folder);
    if (status.ok())
      return std::optional(Found{folder.string(), passedOver});
    first = first.ok() ? status : first;
    passedOver += (passedOver.empty() ? "" : "; ") + status.message();
  }
  if (!first.ok())
    return first;
  return std::optional<Found>();
}

std::optional<std::string> Checkpoint::occupant() const {
  for (const fs::path &folder : {path, before})
    if (isCheckpoint(folder))
      return folder.string();
  std::vector<Kept> others = allKept();
  return others.empty() ? std::nullopt
                        : std::optional(others.front().path.string());
}

//===----------------------------------------------------------------------===//
// Names that change
//===----------------------------------------------------------------------===//

Status Checkpoint::checkWritable() const {
  std::error_code error;
  bool isNew = fs::create_directory(aside, error);
  if (error)
    return userError("cannot write in '", path.parent_path().string(),
                     "': ", error.message());
  if (isNew)
    fs::remove(aside, error);
  return {};
}

Status Checkpoint::begin(int64_t count, bool replaces) {
  std::error_code error;
  keep = count;
  if (!fs::exists(path, error) && isCheckpoint(before))
    fs::rename(before, path, error);
  isOthers = replaces;
  if (replaces)
    for (const Kept &one : allKept())
      others.push_back(one.path);
  if (!log.empty() && !fs::exists(path, error) &&
      !fs::create_directory(path, error))
    return cannot(path, error.message());
  return {};
}

/// The log, into a directory that will have the name. One file has both names,
/// so that lines that come meanwhile are in both.
Status Checkpoint::takeLog(const fs::path &to) const {
  std::error_code error;
  if (log.empty() || !fs::exists(log, error))
    return {};
  fs::create_hard_link(log, to / log.filename(), error);
  if (error && !fs::copy_file(log, to / log.filename(), error))
    return cannot(to / log.filename(), error.message());
  return {};
}

/// Out of a directory that has the name no longer.
void Checkpoint::dropLog(const fs::path &from) const {
  std::error_code ignored;
  if (!log.empty())
    fs::remove(from / log.filename(), ignored);
}

/// Gives what was written aside its name; `old` is where the one before is now.
Status Checkpoint::rename(fs::path &old) const {
  std::error_code error;
  old = aside;
  if (!exchange(aside, path)) {
    // There is nothing to exchange with, or the file system cannot.
    if (fs::exists(path, error)) {
      fs::remove_all(before, error);
      fs::rename(path, before, error);
      old = before;
    }
    fs::rename(aside, path, error);
    if (error) {
      Status status = cannot(path, error.message());
      if (old == before)
        fs::rename(before, path, error);
      return status;
    }
  }
  return sync(path.parent_path());
}

/// Removes a directory, which has no name of a checkpoint meanwhile.
void Checkpoint::discard(const fs::path &folder) const {
  std::error_code ignored;
  fs::remove_all(removed, ignored);
  fs::rename(folder, removed, ignored);
  fs::remove_all(removed, ignored);
}

/// Keeps the checkpoint before the new one, of step `step`, and of all that
/// were kept as many as there may be.
void Checkpoint::retire(const fs::path &old, int64_t step) {
  std::error_code error;
  auto progress = readProgress(old.string());
  bool isKept = keep > 1 && !isOthers && progress && progress->step != step &&
                checkWhole(old).ok();
  if (isKept) {
    dropLog(old);
    discard(kept(progress->step));
    fs::rename(old, kept(progress->step), error);
  }
  if (!isKept || error)
    fs::remove_all(old, error);
  for (const fs::path &other : others)
    discard(other);
  others.clear();
  isOthers = false;
  std::vector<Kept> all = allKept();
  for (size_t i = size_t(keep - 1); i < all.size(); ++i)
    discard(all[i].path);
}

/// One whose weights may be ruined is the last to be resumed and the first to
/// go.
static void makeOldest(const fs::path &folder) {
  std::error_code ignored;
  fs::last_write_time(folder / kProgress,
                      fs::file_time_type::clock::from_sys(
                          std::chrono::system_clock::time_point{}),
                      ignored);
}

/// True if a file could not be written for want of room.
static bool isFull(const Status &status) {
  return status.code() == Code::User &&
         (status.message().ends_with(std::strerror(ENOSPC)) ||
          status.message().ends_with(std::strerror(EDQUOT)));
}

/// The disk has to hold one more than are kept: where it does not, the oldest
/// one goes before the new one does not come.
Status Checkpoint::writeInTheRoom(Steps &steps, const Progress &progress,
                                  const std::string &source) const {
  Status status = write(steps, progress, source);
  for (std::vector<Kept> all = allKept(); isFull(status) && !all.empty();
       all.pop_back()) {
    std::error_code ignored;
    fs::remove_all(aside, ignored);
    // Checkpoints of another run, which is to be replaced, and the last one
    // stay.
    if (isOthers)
      break;
    discard(all.back().path);
    say("warning: '", all.back().path.string(),
        "' was removed, as there is no room for it and the checkpoint of step ",
        progress.step);
    status = write(steps, progress, source);
  }
  return status;
}

Status Checkpoint::save(Steps &steps, const Progress &progress,
                        const std::string &source) {
  fs::path old;
  Status status = writeInTheRoom(steps, progress, source);
  if (status.ok())
    status = rename(old);
  if (!status.ok()) {
    std::error_code ignored;
    fs::remove_all(aside, ignored);
    return status;
  }
  retire(old, progress.step);
  return {};
}

Expected<std::string> Checkpoint::saveBeside(Steps &steps,
                                             const Progress &progress,
                                             const std::string &source) {
  std::error_code error;
  Status status = write(steps, progress, source);
  fs::path to = kept(progress.step);
  if (status.ok()) {
    dropLog(aside);
    discard(to);
    fs::rename(aside, to, error);
    if (error)
      status = cannot(to, error.message());
    makeOldest(to);
  }
  if (!status.ok()) {
    fs::remove_all(aside, error);
    return status;
  }
  return to.string();
}

std::optional<int64_t> Checkpoint::withdraw(int64_t step) {
  for (const Kept &one : allKept()) {
    std::error_code error;
    if (isOthers || one.step >= step || !checkWhole(one.path).ok() ||
        !takeLog(one.path).ok())
      continue;
    discard(kept(step));
    if (exchange(one.path, path)) {
      fs::rename(one.path, kept(step), error);
    } else {
      fs::rename(path, kept(step), error);
      if (!error)
        fs::rename(one.path, path, error);
    }
    if (error)
      return std::nullopt;
    dropLog(kept(step));
    makeOldest(kept(step));
    return one.step;
  }
  return std::nullopt;
}

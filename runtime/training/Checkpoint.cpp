//===- Checkpoint.cpp - what training leaves behind -----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checkpoint.h"

#include "../format/Cursor.h"
#include "Layout.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace tprt;
using namespace tprt::training;
namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char *kProgress = "trainer.json";
/// Larger ones are no configuration and no tokenizer.
constexpr uintmax_t kSmallFile = 64 << 20;

static Status cannot(const fs::path &path, const std::string &why) {
  return userError("cannot write '", path.string(), "': ", why);
}

Expected<Checkpoint> Checkpoint::at(const std::string &name) {
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
  if (!fs::exists(path, error))
    return result;
  if (!fs::exists(path / kProgress, error) &&
      !(fs::is_directory(path, error) && fs::is_empty(path, error)))
    return userError("'", name,
                     "': expected a free name or the checkpoint of "
                     "a run, got something without ",
                     kProgress);
  return result;
}

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

std::optional<std::string> Checkpoint::find() const {
  std::error_code error;
  for (const fs::path &folder : {path, before})
    if (fs::exists(folder / kProgress, error))
      return folder.string();
  return std::nullopt;
}

Expected<Progress> training::readProgress(const std::string &folder) {
  std::string path = folder + "/" + kProgress;
  TPRT_ASSIGN(auto file, LoadedFile::open(path));
  TPRT_ASSIGN(auto text, parseJson(file.bytes(), 8).in("'" + path + "'"));
  try {
    Cursor top(text, "'" + path + "'");
    Progress progress{top["step"].integer(0),
                      top["position"].integer(0),
                      top["rows"].integer(1),
                      top["optimizer"].string(),
                      {}};
    (void)top["recipe"].has("lr"); // an object
    top.end();
    progress.recipe = text["recipe"];
    return progress;
  } catch (const SchemaError &error) {
    return userError(error.message);
  }
}

/// What is no weights: configuration, tokenizer.
static Status copySmallFiles(const fs::path &from, const fs::path &to) {
  constexpr std::string_view kWeights[] = {
      ".safetensors", ".safetensors.index.json",
      ".bin",         ".bin.index.json",
      ".pt",          ".pth",
      ".gguf",        ".h5",
      ".msgpack",     ".onnx",
      kProgress};
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(from, error)) {
    std::string name = entry.path().filename().string();
    bool isWeights =
        std::any_of(std::begin(kWeights), std::end(kWeights),
                    [&](std::string_view end) { return name.ends_with(end); });
    if (isWeights || !entry.is_regular_file(error) ||
        entry.file_size(error) > kSmallFile)
      continue;
    if (!fs::copy_file(entry.path(), to / name, error))
      return cannot(to / name, error.message());
  }
  return error ? cannot(to, error.message()) : Status();
}

/// Says in config.json what the program has changed, such as a head that is no
/// longer tied: readers of the checkpoint build the model that it tells of.
static Status changeConfig(const std::map<std::string, bool> &changes,
                           const fs::path &folder) {
  std::string path = (folder / "config.json").string();
  if (changes.empty())
    return {};
  TPRT_ASSIGN(auto file, LoadedFile::open(path));
  TPRT_ASSIGN(auto config, parseJson(file.bytes(), 64).in("'" + path + "'"));
  if (!config.is_object())
    return userError("'", path, "': expected an object");
  for (const auto &[key, value] : changes) {
    config[key] = value;
    // Of a model of text and more the text has some keys too.
    if (config.contains("text_config") && config["text_config"].is_object() &&
        config["text_config"].contains(key))
      config["text_config"][key] = value;
  }
  return writeFile(path, config.dump(2) + "\n");
}

/// Puts a file or directory on the disk.
static Status sync(const fs::path &path) {
  Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.open() || fsync(fd) != 0)
    return cannot(path, std::strerror(errno));
  return {};
}

Status Checkpoint::write(Steps &steps, const Progress &progress,
                         const std::string &source) const {
  std::error_code error;
  fs::remove_all(aside, error);
  if (!fs::create_directory(aside, error))
    return cannot(aside, error.message());
  TPRT_TRY(copySmallFiles(source, aside));
  TPRT_TRY(changeConfig(steps.manifest().changedConfig, aside));
  TPRT_ASSIGN(auto layout, weightLayout(steps));
  std::vector<std::pair<std::string, TensorPlace>> places;
  for (const LaidOut &tensor : layout)
    places.push_back({tensor.name, tensor.place});
  TPRT_ASSIGN(auto model,
              createSafetensors((aside / "model.safetensors").string(), places,
                                /*isCheckpoint=*/true));
  TPRT_TRY(training::write(steps, layout, 1, model));
  TPRT_TRY(model.commit());
  TPRT_TRY(writeStates(steps, statesToKeep(steps, layout),
                       statesFile(aside.string())));
  json text = {{"step", progress.step},
               {"position", progress.position},
               {"rows", progress.rows},
               {"optimizer", progress.optimizer},
               {"recipe", progress.recipe}};
  TPRT_TRY(writeFile((aside / kProgress).string(), text.dump(2) + "\n"));
  for (const auto &entry : fs::directory_iterator(aside, error))
    TPRT_TRY(sync(entry.path()));
  return sync(aside);
}

/// Gives what was written aside its name.
Status Checkpoint::rename() const {
  std::error_code error;
  if (renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, path.c_str(),
                RENAME_EXCHANGE) != 0) {
    // There is nothing to exchange with, or the file system cannot.
    if (fs::exists(path, error)) {
      fs::remove_all(before, error);
      fs::rename(path, before, error);
    }
    fs::rename(aside, path, error);
    if (error)
      return cannot(path, error.message());
  }
  TPRT_TRY(sync(path.parent_path()));
  fs::remove_all(aside, error);
  fs::remove_all(before, error);
  return {};
}

Status Checkpoint::save(Steps &steps, const Progress &progress,
                        const std::string &source) const {
  Status status = write(steps, progress, source);
  if (status.ok())
    status = rename();
  if (!status.ok()) {
    std::error_code ignored;
    fs::remove_all(aside, ignored);
  }
  return status;
}

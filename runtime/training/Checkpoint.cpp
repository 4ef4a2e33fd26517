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

/// Larger ones are no configuration and no tokenizer.
constexpr uintmax_t kSmallFile = 64 << 20;

static Status cannot(const fs::path &path, const std::string &why) {
  return userError("cannot write '", path.string(), "': ", why);
}

Expected<Progress> training::readProgress(const std::string &folder) {
  std::string path = folder + "/" + kProgress;
  TPRT_ASSIGN(auto file, LoadedFile::open(path));
  return parseProgress(file.bytes(), "'" + path + "'");
}

Expected<Progress> training::parseProgress(std::string_view bytes,
                                           const std::string &name) {
  TPRT_ASSIGN(auto text, parseJson(bytes, 8).in(name));
  try {
    Cursor top(text, name);
    Progress progress{top["step"].integer(0),
                      top["position"].integer(0),
                      top["rows"].integer(1),
                      top.has("seq") ? top["seq"].integer(1) : 0,
                      top.has("skipped") ? top["skipped"].integer(0) : 0,
                      top["optimizer"].string(),
                      {},
                      nlohmann::json::object()};
    (void)top["recipe"].has("lr"); // an object
    if (top.has("evaluation")) {
      Cursor noted = top["evaluation"];
      (void)noted["worse"].integer(0);
      if (noted.has("best_loss")) {
        (void)noted["best_loss"].number();
        (void)noted["best_step"].integer(0);
      }
      noted.end();
      progress.evaluation = text["evaluation"];
    }
    top.end();
    progress.recipe = text["recipe"];
    return progress;
  } catch (const SchemaError &error) {
    return userError(error.message);
  }
}

/// Files other than weights: configuration, tokenizer.
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
    // The run's own log is there already.
    if (isWeights || fs::exists(to / name, error) ||
        !entry.is_regular_file(error) || entry.file_size(error) > kSmallFile)
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
    // The text part of a multimodal model has some keys too.
    if (config.contains("text_config") && config["text_config"].is_object() &&
        config["text_config"].contains(key))
      config["text_config"][key] = value;
  }
  return writeFile(path, config.dump(2) + "\n");
}

Status training::sync(const fs::path &path) {
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
  TPRT_TRY(takeLog(aside));
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
  json text = {
      {"step", progress.step},           {"position", progress.position},
      {"rows", progress.rows},           {"skipped", progress.skipped},
      {"optimizer", progress.optimizer}, {"recipe", progress.recipe}};
  if (progress.length > 0)
    text["seq"] = progress.length;
  if (!progress.evaluation.empty())
    text["evaluation"] = progress.evaluation;
  TPRT_TRY(writeFile((aside / kProgress).string(), text.dump(2) + "\n"));
  for (const auto &entry : fs::directory_iterator(aside, error))
    TPRT_TRY(sync(entry.path()));
  return sync(aside);
}

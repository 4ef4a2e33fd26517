//===- CheckpointFiles.cpp - the tensors of a checkpoint ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckpointFiles.h"

#include "../format/Cursor.h"
#include "GgufReading.h"
#include "tprt/foreign.h"
#include "tprt/gguf.h"

#include <filesystem>
#include <set>

using namespace tprt;

Status LocatedTensor::read(int64_t offset, void *data, int64_t bytes) const {
  if (computed)
    return computed->read(offset, data, bytes);
  return file->read(place.offset + offset, data, bytes)
      .in("tensor '" + name + "'");
}

std::string tprt::nameSome(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < 5; ++i)
    text += (i ? ", '" : "'") + names[i] + "'";
  if (names.size() > 5)
    text += " and " + std::to_string(names.size() - 5) + " more";
  return text;
}

Status CheckpointFiles::add(const std::string &path) {
  TPRT_ASSIGN(auto opened, InputFile::open(path));
  auto file = std::make_shared<const InputFile>(std::move(opened));
  TPRT_ASSIGN(auto places, readSafetensorsHeader(*file, path));
  for (auto &[name, place] : places) {
    // They come in order.
    size_t before = tensors.size();
    auto found = tensors.emplace_hint(
        tensors.end(), name, LocatedTensor{std::move(place), name, path, file});
    if (tensors.size() == before)
      return userError("tensor '", name, "' is in '", found->second.path,
                       "' and in '", path, "'");
  }
  return {};
}

namespace {

/// The tensors that an index lists, by the files that it says them to be in.
std::map<std::string, std::set<std::string>> parseIndex(const Cursor &index) {
  std::map<std::string, std::set<std::string>> files;
  for (const auto &[tensor, item] : index["weight_map"].items("tensor")) {
    std::string name = item.string();
    if (name.empty() || name.find('/') != std::string::npos || name == "..")
      item.fail("expected the name of a file beside the index, got '", name,
                "'");
    files[name].insert(tensor);
  }
  return files;
}

Expected<CheckpointFiles> openOne(const std::string &path) {
  CheckpointFiles files;
  TPRT_TRY(files.add(path));
  return files;
}

Expected<CheckpointFiles> openBlocks(const std::string &path) {
  CheckpointFiles files;
  TPRT_ASSIGN(files.tensors, openGguf(path));
  return files;
}

Expected<CheckpointFiles> openIndex(const std::filesystem::path &path) {
  std::string where = "'" + path.string() + "'";
  TPRT_ASSIGN(auto text, LoadedFile::open(path.string()));
  TPRT_ASSIGN(auto index, parseJson(text.bytes(), 8).in(where));
  TPRT_ASSIGN(auto listed, readJson(index, where, parseIndex));
  CheckpointFiles all;
  std::vector<std::string> unread;
  for (const auto &[name, names] : listed) {
    TPRT_ASSIGN(auto one, openOne((path.parent_path() / name).string()));
    for (const std::string &tensor : names)
      if (!one.tensors.count(tensor))
        return userError(where, ": tensor '", tensor, "' is not in '", name,
                         "'");
    for (auto &[tensor, located] : one.tensors) {
      if (names.count(tensor))
        all.tensors[tensor] = std::move(located);
      else
        unread.push_back(tensor);
    }
  }
  if (!unread.empty())
    all.note = detail::join(where,
                            " does not list tensors where the files "
                            "have them, which are not read there: ",
                            nameSome(unread));
  return all;
}

/// Says that model.safetensors wins over an index that names other files.
std::string noteIndexBeside(const std::filesystem::path &single,
                            const std::filesystem::path &index) {
  auto listed =
      [&]() -> Expected<std::map<std::string, std::set<std::string>>> {
    TPRT_ASSIGN(auto text, LoadedFile::open(index.string()));
    TPRT_ASSIGN(auto parsed, parseJson(text.bytes(), 8));
    return readJson(parsed, index.string(), parseIndex);
  }();
  if (listed && listed->size() == 1 &&
      listed->begin()->first == single.filename())
    return "";
  return detail::join("'", single.string(),
                      "' is read, and not the files that ",
                      index.filename().string(), " beside it names");
}

} // namespace

Expected<CheckpointFiles> CheckpointFiles::open(const std::string &spec) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path path(spec);
  if (fs::is_regular_file(path, ignored) && path.extension() == ".json")
    return userError("weights '", spec,
                     "' is a file of a checkpoint: expected its directory, '",
                     path.parent_path().string(), "'");
  if (fs::is_regular_file(path, ignored))
    return path.extension() == ".gguf" ? openBlocks(spec) : openOne(spec);
  bool isThere = fs::is_directory(path, ignored);
  if (!isThere && looksLikeHubName(spec) &&
      !fs::is_directory(path.parent_path(), ignored))
    return userError("weights '", spec, "' ", kHubAdvice,
                     "; random:SEED makes weights up");
  if (!isThere)
    return userError("weights '", spec,
                     "': no such directory or .safetensors file (random "
                     "weights: random:SEED)");
  // As PEFT saves it: transformers would load the model that the file names,
  // not the one beside it, and add the adapter.
  if (fs::exists(path / "adapter_config.json", ignored))
    return userError("weights '", spec,
                     "': adapter_config.json says that an adapter is to be "
                     "added to another model: expected a whole model; merge it "
                     "with PeftModel.from_pretrained(...).merge_and_unload(), "
                     "then save_pretrained, and use what that writes");
  fs::path single = path / "model.safetensors",
           index = path / "model.safetensors.index.json";
  bool hasIndex = fs::exists(index, ignored);
  // As transformers does.
  if (fs::exists(single, ignored)) {
    auto files = openOne(single.string());
    if (files && hasIndex)
      files->note = noteIndexBeside(single, index);
    return files;
  }
  if (hasIndex)
    return openIndex(index);
  if (fs::exists(path / kGgufFile, ignored))
    return openBlocks((path / kGgufFile).string());
  for (std::string_view name : kPickledWeights)
    if (fs::exists(path / name, ignored))
      return userError("weights '", spec, "': ", name,
                       " is in PyTorch's own format, which is not read because "
                       "it can hold code: save the model again with "
                       "save_pretrained, which writes safetensors");
  return userError("weights '", spec,
                   "': expected model.safetensors or "
                   "model.safetensors.index.json in the directory");
}

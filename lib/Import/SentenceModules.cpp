//===- SentenceModules.cpp - What follows an encoder ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// modules.json is an array; it is wrapped in an object here, so that one reader
// serves all files. A module's kind is the last part of its dotted type.
//
//===----------------------------------------------------------------------===//

#include "tp/Import/SentenceModules.h"
#include "JsonFile.h"
#include "SideFiles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
namespace json = llvm::json;

namespace tp {

static constexpr size_t maxBytes = 1 << 20;

namespace {
/// A way of pooling, by the flag of older files and by name.
struct PoolingMode {
  StringRef flag, name;
  Pooling pooling;
};
constexpr PoolingMode poolingModes[] = {
    {"pooling_mode_mean_tokens", "mean", Pooling::Mean},
    {"pooling_mode_cls_token", "cls", Pooling::First},
    {"pooling_mode_lasttoken", "lasttoken", Pooling::Last}};
} // namespace

/// The one mode that the file asks for.
static Pooling choosePooling(ObjectReader &reader, const json::Object &object) {
  SmallVector<Pooling> asked;
  for (const auto &entry : object) {
    StringRef key = entry.first;
    if (!key.starts_with("pooling_mode_") || !reader.getBool(key, false))
      continue;
    const auto *mode =
        llvm::find_if(poolingModes, [&](const PoolingMode &mode) {
          return mode.flag == key;
        });
    if (mode == std::end(poolingModes))
      reader.error(key) << "unsupported " << key
                        << ": expected the mean, the first or the last token";
    else
      asked.push_back(mode->pooling);
  }
  if (std::optional<std::string> name = reader.getString("pooling_mode")) {
    const auto *mode =
        llvm::find_if(poolingModes, [&](const PoolingMode &mode) {
          return mode.name == *name;
        });
    if (mode == std::end(poolingModes))
      reader.error("pooling_mode")
          << "unsupported pooling_mode " << quoted(*name)
          << "; expected \"mean\", \"cls\" or \"lasttoken\"";
    else if (!llvm::is_contained(asked, mode->pooling))
      asked.push_back(mode->pooling);
  }
  if (asked.size() != 1 && !reader.failed())
    reader.error() << "expected one pooling mode, got " << asked.size();
  return asked.empty() ? Pooling::None : asked.front();
}

static FailureOr<Pooling> readPooling(MLIRContext *context, StringRef directory,
                                      StringRef subdirectory,
                                      int64_t hiddenSize) {
  SmallString<128> path(directory);
  llvm::sys::path::append(path, subdirectory, "config.json");
  std::optional<JsonFile> file = JsonFile::read(context, path, maxBytes);
  if (!file)
    return failure();
  ObjectReader reader(*file, file->getRoot());
  Pooling pooling = choosePooling(reader, file->getRoot());
  for (StringRef key : {"word_embedding_dimension", "embedding_dimension"}) {
    int64_t size = reader.getInt(key, hiddenSize, 1, INT32_MAX);
    if (!reader.failed() && size != hiddenSize)
      reader.error(key) << "expected " << key
                        << " to be the encoder's hidden size " << hiddenSize
                        << ", got " << size;
  }
  // Instructions in front of a sentence: the tokeniser's affair.
  reader.ignore({"include_prompt"});
  reader.finish();
  if (reader.failed())
    return failure();
  return pooling;
}

FailureOr<SentenceModules> readSentenceModules(MLIRContext *context,
                                               StringRef directory,
                                               int64_t hiddenSize) {
  SentenceModules result;
  SmallString<128> path(directory);
  llvm::sys::path::append(path, "modules.json");
  if (!llvm::sys::fs::exists(path))
    return result;
  std::optional<JsonFile> file =
      JsonFile::read(context, path, maxBytes, "modules");
  if (!file)
    return failure();
  ObjectReader reader(*file, file->getRoot());
  const json::Array *modules = reader.getArray("modules");
  if (!modules)
    return failure();
  if (failed(readSentenceSettings(context, directory)))
    return failure();
  SmallVector<std::string> kinds;
  for (const json::Value &module : *modules) {
    const json::Object *object = module.getAsObject();
    std::optional<StringRef> type, subdirectory;
    if (object) {
      type = object->getString("type");
      subdirectory = object->getString("path");
    }
    if (!type || !subdirectory) {
      reader.error() << "expected modules with a type and a path, got "
                     << showJson(module);
      return failure();
    }
    StringRef kind = type->substr(type->rfind('.') + 1);
    size_t place = kinds.size();
    if (kind == "Pooling" && place == 1) {
      if (subdirectory->contains("..") || subdirectory->starts_with("/")) {
        reader.error()
            << "expected the pooling module's path to be in the directory, got "
            << quoted(*subdirectory);
        return failure();
      }
      auto pooling = readPooling(context, directory, *subdirectory, hiddenSize);
      if (failed(pooling))
        return failure();
      result.pooling = *pooling;
    } else if (kind == "Normalize" && place == 2) {
      result.normalize = true;
    } else if (kind == "Transformer" && place == 0) {
      if (!subdirectory->empty() && *subdirectory != ".") {
        reader.error() << "expected the Transformer module to be in the "
                          "directory itself, got path "
                       << quoted(*subdirectory);
        return failure();
      }
    } else {
      reader.error()
          << "unsupported module " << quoted(kind) << " at place " << place
          << "; expected Transformer, Pooling and, optionally, Normalize";
      return failure();
    }
    kinds.push_back(kind.str());
  }
  return result;
}

} // namespace tp

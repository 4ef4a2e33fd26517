//===- GenerationConfig.cpp - generation_config.json ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See GenerationConfig.h. What transformers.generate would do by itself where
// the file says nothing, such as the 50 best tokens of a draw, is not done:
// only what a file says is a default.
//
//===----------------------------------------------------------------------===//

#include "GenerationConfig.h"
#include "GenerationKeys.h"
#include "JsonFile.h"
#include "tp/Import/Family.h"
#include "tp/Import/GgufConfig.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <map>

using namespace mlir;
namespace json = llvm::json;

namespace tp {

static constexpr StringLiteral ownFile = "generation_config.json",
                               modelFile = "config.json";
/// Lists of sequences may be long.
static constexpr size_t maxBytes = 1 << 24;

/// The keys that are ignored for each reason.
using Reasons = std::map<std::string, SmallVector<std::string>>;

namespace {
/// Reads one file's object.
class Reader {
public:
  Reader(ObjectReader &object, int64_t vocabulary, GenerationConfig &result,
         Reasons &reasons)
      : object(object), vocabulary(vocabulary), result(result),
        reasons(reasons) {}

  void readStopIds();
  void readDefaults();
  /// Refuses, and notes what is ignored; with `all` also what nobody knows.
  void checkKeys(const json::Object &keys, bool all);

private:
  void readLengths();
  void readDraw();
  void readPenalties();
  void readTokens();
  void readForced();
  void checkForced(StringRef key, ArrayRef<int64_t> ids);

  InFlightDiagnostic expected(StringRef key, StringRef what) {
    auto diag = object.error(key);
    diag << "expected " << object.getPath(key) << " to be " << what << ", got "
         << showJson(*object.get(key));
    return diag;
  }
  std::string idRange() const {
    return "from 0 to " + std::to_string(vocabulary - 1);
  }
  std::optional<double> readNumber(StringRef key, double least, double most,
                                   StringRef what);
  std::optional<int64_t> readCount(StringRef key, int64_t least);
  std::optional<int64_t> readId(const json::Value &value);
  std::optional<SmallVector<int64_t>> readIds(const json::Value &value);
  std::optional<SmallVector<int64_t>> readList(StringRef key, bool orOne);
  void setNumber(StringRef key, std::optional<double> value, double neutral);
  void ignore(StringRef key, const Twine &reason) {
    reasons[reason.str()].push_back(key.str());
  }

  ObjectReader &object;
  int64_t vocabulary;
  GenerationConfig &result;
  Reasons &reasons;
};
} // namespace

std::optional<double> Reader::readNumber(StringRef key, double least,
                                         double most, StringRef what) {
  const json::Value *value = object.get(key);
  if (!value)
    return std::nullopt;
  std::optional<double> number = value->getAsNumber();
  // The program computes with f32.
  if (number && *number >= least && *number <= most &&
      std::isfinite(float(*number)))
    return number;
  expected(key, what);
  return std::nullopt;
}

std::optional<int64_t> Reader::readCount(StringRef key, int64_t least) {
  const json::Value *value = object.get(key);
  if (!value)
    return std::nullopt;
  std::optional<int64_t> count = value->getAsInteger();
  if (count && *count >= least)
    return count;
  expected(key, "an integer of at least " + std::to_string(least));
  return std::nullopt;
}

std::optional<int64_t> Reader::readId(const json::Value &value) {
  std::optional<int64_t> id = value.getAsInteger();
  return id && *id >= 0 && *id < vocabulary ? id : std::nullopt;
}

/// Nothing unless all of them are ids.
std::optional<SmallVector<int64_t>> Reader::readIds(const json::Value &value) {
  const json::Array *list = value.getAsArray();
  if (!list)
    return std::nullopt;
  SmallVector<int64_t> ids;
  for (const json::Value &item : *list) {
    std::optional<int64_t> id = readId(item);
    if (!id)
      return std::nullopt;
    ids.push_back(*id);
  }
  return ids;
}

/// A list of ids, or one of them where that is allowed.
std::optional<SmallVector<int64_t>> Reader::readList(StringRef key,
                                                     bool orOne) {
  const json::Value *value = object.get(key);
  if (!value)
    return std::nullopt;
  if (auto ids = readIds(*value))
    return ids;
  if (std::optional<int64_t> one = readId(*value); one && orOne)
    return SmallVector<int64_t>{*one};
  expected(key,
           (orOne ? "an id or a list of ids " : "a list of ids ") + idRange());
  return std::nullopt;
}

void Reader::setNumber(StringRef key, std::optional<double> value,
                       double neutral) {
  if (value && *value != neutral)
    result.defaults[key] = *value;
}

/// Adds the numbers of `eos_token_id`, one or a list, of an object.
void Reader::readStopIds() {
  StringRef key = "eos_token_id";
  const json::Value *value = object.get(key);
  if (!value)
    return;
  SmallVector<json::Value> items{*value};
  if (const json::Array *list = value->getAsArray())
    items.assign(list->begin(), list->end());
  for (const json::Value &item : items) {
    std::optional<int64_t> id = item.getAsInteger();
    if (!id) {
      expected(key, "an id or a list of ids");
      return;
    }
    // Some configs have -1.
    if (*id >= 0 && *id < vocabulary)
      result.stopIds.insert(*id);
    else
      ignore((key + " " + Twine(*id)).str(),
             "the vocabulary has ids " + idRange());
  }
}

void Reader::readLengths() {
  auto most = readCount("max_length", 1),
       newest = readCount("max_new_tokens", 1);
  auto least = readCount("min_length", 0), own = readCount("min_new_tokens", 0);
  if (most && newest)
    ignore("max_length", "max_new_tokens counts");
  else if (most)
    result.defaults["max_length"] = *most;
  if (newest)
    result.defaults["max_new_tokens"] = *newest;
  if (least && own && *least)
    ignore("min_length", "min_new_tokens counts");
  else if (least && *least && !own)
    result.defaults["min_length"] = *least;
  if (own && *own)
    result.defaults["min_new_tokens"] = *own;
}

/// If do_sample is not set, the largest logit is taken, until a request has a
/// temperature.
void Reader::readDraw() {
  bool draws = object.getBool("do_sample", false);
  auto temperature =
      readNumber("temperature", 0, HUGE_VAL, "a number of at least 0");
  if (draws)
    setNumber("temperature", temperature.value_or(1), 0);
  else if (temperature && *temperature != 1 && *temperature != 0)
    ignore("temperature", "do_sample is not true, so that the most likely "
                          "token is taken; a request's own temperature draws");
  if (auto count = readCount("top_k", 0); count && *count)
    result.defaults["top_k"] = *count;
  setNumber("top_p", readNumber("top_p", 0, 1, "a number from 0 to 1"), 1);
  setNumber("min_p", readNumber("min_p", 0, 1, "a number from 0 to 1"), 0);
}

void Reader::readPenalties() {
  double above0 = std::numeric_limits<float>::min();
  setNumber(
      "repetition_penalty",
      readNumber("repetition_penalty", above0, HUGE_VAL, "a number above 0"),
      1);
  StringRef key = "exponential_decay_length_penalty";
  const json::Value *value = object.get(key);
  if (!value)
    return;
  const json::Array *pair = value->getAsArray();
  std::optional<int64_t> start;
  std::optional<double> factor;
  if (pair && pair->size() == 2) {
    start = (*pair)[0].getAsInteger();
    factor = (*pair)[1].getAsNumber();
  }
  if (!start || *start < 0 || !factor || *factor < above0 ||
      !std::isfinite(float(*factor)))
    expected(key, "[start, factor], a number of tokens and a factor above 0");
  else if (*factor != 1)
    result.defaults[key] = *value;
}

void Reader::readTokens() {
  if (auto size = readCount("no_repeat_ngram_size", 0); size && *size)
    result.defaults["no_repeat_ngram_size"] = *size;
  for (StringRef key : {"suppress_tokens", "begin_suppress_tokens"})
    if (auto ids = readList(key, /*orOne=*/false); ids && !ids->empty())
      result.defaults[key] = json::Array(*ids);

  if (const json::Value *value = object.get("bad_words_ids")) {
    json::Array kept;
    bool isRight = value->getAsArray();
    for (const json::Value &item : isRight ? *value->getAsArray() : kept) {
      auto ids = readIds(item);
      isRight &= ids && !ids->empty();
      // As transformers has it: an answer can end all the same.
      if (isRight && ids->size() == 1 && result.stopIds.count(ids->front()))
        ignore("bad_words_ids " + showJson(item), "the token ends answers");
      else
        kept.push_back(item);
    }
    if (!isRight)
      expected("bad_words_ids", "a list of lists of ids " + idRange());
    else if (!kept.empty())
      result.defaults["bad_words_ids"] = std::move(kept);
  }

  if (const json::Value *value = object.get("sequence_bias")) {
    const json::Array *list = value->getAsArray();
    bool isRight = list;
    for (const json::Value &item : isRight ? *list : json::Array()) {
      const json::Array *pair = item.getAsArray();
      auto ids = pair && pair->size() == 2 ? readIds((*pair)[0]) : std::nullopt;
      isRight &= ids && !ids->empty() && (*pair)[1].getAsNumber() &&
                 std::isfinite(float(*(*pair)[1].getAsNumber()));
    }
    if (!isRight)
      expected("sequence_bias", "a list of [ids, bias], with ids " + idRange());
    else if (!list->empty())
      result.defaults["sequence_bias"] = *value;
  }
}

/// A token that is forced and never may come leaves none.
void Reader::checkForced(StringRef key, ArrayRef<int64_t> ids) {
  const json::Array *suppressed = result.defaults.getArray("suppress_tokens");
  if (!suppressed || ids.empty() || !llvm::all_of(ids, [&](int64_t id) {
        return llvm::is_contained(*suppressed, json::Value(id));
      }))
    return;
  object.error(key) << "expected " << object.getPath(key)
                    << " to have a token that is not in suppress_tokens, got "
                    << showJson(*object.get(key));
}

void Reader::readForced() {
  std::optional<int64_t> first;
  StringRef key = "forced_bos_token_id";
  if (const json::Value *value = object.get(key)) {
    first = readId(*value);
    if (!first)
      expected(key, "an id " + idRange());
  }
  StringRef old = "force_bos_token_to_be_generated", begin = "bos_token_id";
  if (object.getBool(old, false) && !first)
    if (const json::Value *value = object.get(begin)) {
      first = readId(*value);
      if (!first)
        expected(begin, "an id " + idRange());
    }
  if (first) {
    result.defaults[key] = *first;
    checkForced(key, *first);
  }
  key = "forced_eos_token_id";
  if (auto ids = readList(key, /*orOne=*/true); ids && !ids->empty()) {
    checkForced(key, *ids);
    result.defaults[key] = json::Array(*ids);
  }
}

void Reader::readDefaults() {
  readLengths();
  readDraw();
  readPenalties();
  readTokens();
  readForced();
}

void Reader::checkKeys(const json::Object &keys, bool all) {
  bool draws = keys.getBoolean("do_sample").value_or(false);
  SmallVector<StringRef> names;
  for (const auto &entry : keys)
    names.push_back(entry.first);
  llvm::sort(names); // The object's order is that of a hash table.
  for (StringRef name : names) {
    const json::Value &value = *keys.get(name);
    const GenerationKey *key = findGenerationKey(name);
    if (!key && all && value.kind() != json::Value::Null)
      ignore(name, "transformers' generation has no such key");
    if (!key || key->isNeutral(value))
      continue;
    if (key->use == KeyUse::Ignored)
      ignore(name, key->reason);
    else if (key->use == KeyUse::Sampled && !draws)
      ignore(name, "do_sample is not true, so that nothing is drawn");
    else if (key->use == KeyUse::Refused || key->use == KeyUse::Sampled)
      object.error(name) << "unsupported " << object.getPath(name) << " "
                         << showJson(value) << ": " << key->reason;
  }
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static std::string getPath(StringRef directory, StringRef name) {
  SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

/// The file that holds the defaults; empty: there is none.
static std::string findFile(StringRef directory,
                            const std::optional<std::string> &choice) {
  std::string path = getPath(directory, ownFile);
  if (!choice)
    return llvm::sys::fs::exists(path) ? path : getPath(directory, modelFile);
  if (*choice == "none")
    return "";
  return llvm::sys::fs::is_directory(*choice) ? getPath(*choice, ownFile)
                                              : *choice;
}

/// The keys of generation among those of config.json, of the text's object
/// where the whole has none. Releases of old wrote their default `max_length`
/// of 20 into any configuration and did not mean it.
static json::Object takeKeys(const json::Object &root,
                             const ModelConfig &config) {
  json::Object taken;
  auto add = [&](const json::Object *object) {
    for (const auto &entry : object ? *object : json::Object())
      if (findGenerationKey(entry.first) &&
          entry.second.kind() != json::Value::Null &&
          !(StringRef(entry.first) == "max_length" &&
            entry.second == json::Value(20)))
        taken.try_emplace(entry.first, entry.second);
  };
  add(&root);
  if (config.composite)
    add(root.getObject(config.composite->text));
  return taken;
}

/// Stop ids of a whole file, those of the text's object in it too.
static bool readStopIds(const JsonFile &file, const ModelConfig &config,
                        GenerationConfig &result, Reasons &reasons) {
  auto read = [&](const json::Object &object, StringRef name) {
    ObjectReader reader(file, object, name);
    Reader(reader, config.vocabSize, result, reasons).readStopIds();
    return !reader.failed();
  };
  bool valid = read(file.getRoot(), "");
  StringRef key = config.composite ? config.composite->text : "";
  if (const json::Object *text = file.getRoot().getObject(key))
    valid &= read(*text, key);
  return valid;
}

/// Keys of config.json that transformers would take if there were no
/// generation_config.json.
static std::string listShadowed(const JsonFile &model) {
  SmallVector<std::string> names;
  for (const auto &entry : model.getRoot()) {
    const GenerationKey *key = findGenerationKey(entry.first);
    bool counts =
        key && (key->use == KeyUse::Honoured || key->use == KeyUse::Refused) &&
        key->name != "eos_token_id" && !key->isNeutral(entry.second);
    if (counts)
      names.push_back(key->name.str());
  }
  llvm::sort(names);
  return llvm::join(names, ", ");
}

FailureOr<GenerationConfig>
readGenerationConfig(MLIRContext *context, StringRef directory,
                     const ModelConfig &config,
                     const std::optional<std::string> &choice) {
  GenerationConfig result;
  Reasons reasons;
  std::string path = findFile(directory, choice);
  std::string modelPath = getPath(directory, modelFile);
  std::optional<JsonFile> model, own;
  model = readConfigFile(context, directory);
  if (!model)
    return failure();
  bool valid = readStopIds(*model, config, result, reasons);
  if (path.empty() && !valid)
    return failure();
  if (path.empty())
    return result;
  bool isOwn = path != modelPath;
  if (isOwn) {
    own = JsonFile::read(context, path, maxBytes);
    if (!own)
      return failure();
    valid &= readStopIds(*own, config, result, reasons);
  }
  const JsonFile &file = isOwn ? *own : *model;
  json::Object keys = isOwn ? file.getRoot() : takeKeys(file.getRoot(), config);
  ObjectReader object(file, keys);
  Reader reader(object, config.vocabSize, result, reasons);
  reader.readDefaults();
  reader.checkKeys(keys, /*all=*/isOwn);
  result.file = llvm::sys::path::filename(path).str();
  if (std::string names = listShadowed(*model); isOwn && !names.empty())
    reasons["of " + modelFile.str() + ", which counts where there is no " +
            ownFile.str()]
        .push_back(names);
  for (auto &[reason, names] : reasons)
    result.ignored.push_back(llvm::join(names, ", ") + ": " + reason);
  for (const std::string &ignored : result.ignored)
    emitRemark(object.getLoc("")) << "ignored: " << ignored;
  if (!valid || object.failed()) {
    emitRemark(object.getLoc(""))
        << "--generation-config none compiles without "
           "this file's defaults, and "
           "--generation-config FILE with others";
    return failure();
  }
  return result;
}

} // namespace tp

//===- SideFiles.cpp - Files beside config.json ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See SideFiles.h.
//
//===----------------------------------------------------------------------===//

#include "SideFiles.h"
#include "JsonFile.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
namespace json = llvm::json;

namespace tp {

static constexpr size_t maxBytes = 8 << 20;
static constexpr llvm::StringLiteral convertAdvice =
    "quantised weights are not supported; convert the weights to bfloat16, "
    "float16 or float32 and remove this file";

/// The file, nothing if it is not there, or failure after an error.
static FailureOr<std::optional<JsonFile>>
readIfThere(MLIRContext *context, StringRef directory, StringRef name) {
  SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  std::optional<JsonFile> file;
  if (!llvm::sys::fs::exists(path))
    return file;
  file = JsonFile::read(context, path, maxBytes);
  if (!file)
    return failure();
  return file;
}

/// A directory as PEFT saves it. `transformers` would load the model that the
/// file names, not the one beside it, and add the adapter.
static void refuseAdapter(const JsonFile &file) {
  ObjectReader reader(file, file.getRoot());
  const json::Value *type = reader.get("peft_type"),
                    *base = reader.get("base_model_name_or_path");
  auto diag = reader.error(type ? "peft_type" : "");
  diag << "unsupported adapter";
  if (type)
    diag << " of peft_type " << showJson(*type);
  diag << ": expected a whole model; merge the adapter into its base model";
  if (base)
    diag << " " << showJson(*base);
  diag << " with PeftModel.from_pretrained(...).merge_and_unload(), then "
          "save_pretrained, and import what that writes";
}

/// ModelOpt's file beside a `quantization_config`, which is read in its place
/// (ReadModelOpt.cpp): it may not say another thing.
static void checkModelOpt(const JsonFile &file, const json::Object &known) {
  ObjectReader whole(file, file.getRoot());
  const json::Object *object = whole.getObject("quantization");
  ObjectReader reader(file, object ? *object : file.getRoot(),
                      object ? "quantization" : "");
  const json::Value *algorithm = reader.get("quant_algo"),
                    *other = known.get("quant_algo");
  if (!algorithm || (other && *other == *algorithm))
    return;
  static const json::Value none(nullptr);
  reader.error("quant_algo")
      << reader.getPath("quant_algo") << " " << showJson(*algorithm)
      << " contradicts quantization_config of config.json, which has "
         "quant_method "
      << showJson(known.get("quant_method") ? *known.get("quant_method") : none)
      << " and quant_algo " << showJson(other ? *other : none);
}

/// Files whose presence says it: AutoGPTQ's, llm-awq's, and their kin's.
static constexpr llvm::StringLiteral quantisedFiles[] = {
    "quantize_config.json", "quant_config.json", "quant_strategy.json",
    "quantization_config.json", "compression_config.json"};

/// A file beside a config.json that says how the checkpoint is quantised is
/// not read, so it may not say another thing.
static void checkBeside(const JsonFile &file, const json::Object &known) {
  ObjectReader reader(file, file.getRoot());
  for (const auto &[key, value] : known) {
    const json::Value *other = reader.get(key);
    if (other && *other != value)
      reader.error(key) << StringRef(key) << " " << showJson(*other)
                        << " contradicts quantization_config of config.json, "
                           "which has "
                        << showJson(value);
  }
}

LogicalResult checkSideFiles(MLIRContext *context, StringRef directory) {
  auto adapter = readIfThere(context, directory, "adapter_config.json");
  auto modelOpt = readIfThere(context, directory, "hf_quant_config.json");
  if (failed(adapter) || failed(modelOpt))
    return failure();
  bool valid = true;
  ScopedDiagnosticHandler counter(context, [&](Diagnostic &diag) {
    valid &= diag.getSeverity() != DiagnosticSeverity::Error;
    return failure(); // The next handler prints it.
  });
  if (*adapter)
    refuseAdapter(**adapter);
  // A config.json that is missing or malformed is another's to report.
  const json::Object *known = nullptr;
  std::optional<JsonFile> config;
  SmallString<128> path(directory);
  llvm::sys::path::append(path, "config.json");
  if (llvm::sys::fs::exists(path)) {
    ScopedDiagnosticHandler quiet(context,
                                  [](Diagnostic &) { return success(); });
    config = JsonFile::read(context, path, maxConfigBytes);
  }
  if (config)
    known = config->getRoot().getObject("quantization_config");
  if (*modelOpt && known)
    checkModelOpt(**modelOpt, *known);
  for (StringRef name : quantisedFiles) {
    auto file = readIfThere(context, directory, name);
    if (failed(file))
      return failure();
    if (!*file || (*file)->getRoot().empty())
      continue;
    if (known) {
      checkBeside(**file, *known);
      continue;
    }
    emitError((*file)->getLoc(0))
        << "unsupported " << name << " "
        << showJson(json::Value(json::Object((*file)->getRoot()))) << ": "
        << convertAdvice;
  }
  return success(valid);
}

namespace {
/// Settings that apply to texts, as "key value".
struct TextSettings {
  SmallVector<std::string> found;

  /// Notes the keys of a file that are set.
  void note(ObjectReader &reader, ArrayRef<llvm::StringLiteral> keys) {
    for (StringRef key : keys) {
      const json::Value *value = reader.get(key);
      const json::Object *object = value ? value->getAsObject() : nullptr;
      bool isUnset = !value || value->getAsBoolean() == false ||
                     (object && object->empty());
      if (!isUnset)
        found.push_back(reader.getPath(key) + " " + showJson(*value));
    }
  }
};
} // namespace

/// Arguments for the model's class, which say what config.json does not.
static void refuseArguments(ObjectReader &reader) {
  for (StringRef key :
       {"model_args", "config_args", "config_kwargs", "model_kwargs"})
    reader.require(key, json::Object(),
                   "arguments that change the model are not supported; write "
                   "them into config.json");
}

LogicalResult readSentenceSettings(MLIRContext *context, StringRef directory) {
  TextSettings texts;
  auto transformer =
      readIfThere(context, directory, "sentence_bert_config.json");
  auto whole =
      readIfThere(context, directory, "config_sentence_transformers.json");
  if (failed(transformer) || failed(whole))
    return failure();
  bool valid = true;
  std::optional<Location> loc;
  if (*transformer) {
    ObjectReader reader(**transformer, (*transformer)->getRoot());
    refuseArguments(reader);
    texts.note(reader, {"max_seq_length", "do_lower_case"});
    valid &= !reader.failed();
    loc = (*transformer)->getLoc(0);
  }
  if (*whole) {
    ObjectReader reader(**whole, (*whole)->getRoot());
    refuseArguments(reader);
    reader.require("truncate_dim", nullptr,
                   "embeddings that are cut off are not supported; cut the "
                   "result");
    std::string kind =
        reader.getString("model_type").value_or("SentenceTransformer");
    if (kind == "SparseEncoder")
      reader.error("model_type")
          << "unsupported model_type " << quoted(kind)
          << "; expected \"SentenceTransformer\" or \"CrossEncoder\"";
    texts.note(reader,
               {"prompts", "default_prompt_name", "similarity_fn_name"});
    valid &= !reader.failed();
    loc = loc.value_or((*whole)->getLoc(0));
  }
  if (valid && !texts.found.empty())
    emitRemark(*loc) << "ignoring settings that apply to text, not to the "
                        "compiled program: "
                     << llvm::join(texts.found, ", ");
  return success(valid);
}

} // namespace tp

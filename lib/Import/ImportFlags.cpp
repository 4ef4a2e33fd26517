//===- ImportFlags.cpp - The import options of the tools ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ImportFlags.h. Values out of range are errors of the command line, which
// end a tool with another code than errors of the checkpoint.
//
//===----------------------------------------------------------------------===//

#include "tp/Import/ImportFlags.h"
#include "QuantizeWhileRead.h"
#include "mlir/IR/Location.h"
#include "tp/Import/GgufConfig.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
namespace cl = llvm::cl;

namespace tp {

ImportFlags::ImportFlags(cl::OptionCategory &category)
    : batch("batch", cl::desc("Sequences per step (default 1)"),
            cl::value_desc("B"), cl::init(1), cl::cat(category)),
      seq("seq",
          cl::desc("Positions per sequence (default 128, or the model's limit "
                   "if that is smaller); of several numbers with commas "
                   "between them, tp-run takes the least that has room"),
          cl::value_desc("S,..."), cl::CommaSeparated, cl::cat(category)),
      dtype("dtype",
            cl::desc("Element type: f32, bf16 or f16 (default: the "
                     "checkpoint's)"),
            cl::values(clEnumValN(FloatKind::F32, "f32", ""),
                       clEnumValN(FloatKind::BF16, "bf16", ""),
                       clEnumValN(FloatKind::F16, "f16", "")),
            cl::cat(category)),
      layers("layers", cl::desc("Only the first so many layers"),
             cl::value_desc("L"), cl::cat(category)),
      untie("untie",
            cl::desc("The head is a parameter of its own, also where "
                     "config.json ties it to the table of tokens"),
            cl::cat(category)),
      ignore("ignore",
             cl::desc("Read the checkpoint as if it did not have these "
                      "tensors, which may be patterns such as *.bias"),
             cl::value_desc("NAME,..."), cl::CommaSeparated, cl::cat(category)),
      logits("logits",
             cl::desc("Logits of 'all' positions (default) or of the 'last' "
                      "one of each sequence"),
             cl::value_desc("all|last"), cl::init("all"), cl::cat(category)),
      activations(
          "activations",
          cl::desc("Activations of a quantised checkpoint: as its 'recipe' "
                   "says (default; refused where it quantises them), or "
                   "'float', as they are"),
          cl::value_desc("recipe|float"), cl::init("recipe"),
          cl::cat(category)),
      quantize("quantize",
               cl::desc("Quantise the weights of layers while they are read, "
                        "as tp-quantize does: int4-g128, int4-g32, int8, "
                        "fp8-block, fp8-channel or mxfp4"),
               cl::value_desc("FORMAT"), cl::cat(category)),
      generate("generate",
               cl::desc("Also the steps that generate text, on a cache of keys "
                        "and values"),
               cl::cat(category)),
      context("context",
              cl::desc("Most tokens of a request, prompt and answer (default "
                       "4096, or the model's limit if that is smaller)"),
              cl::value_desc("P"), cl::cat(category)),
      rows("rows", cl::desc("Requests computed together (default 16)"),
           cl::value_desc("R"), cl::cat(category)),
      chunk("chunk",
            cl::desc("Tokens of the largest step (default 512, or the context "
                     "if that is shorter)"),
            cl::value_desc("T"), cl::cat(category)),
      page("page",
           cl::desc("Tokens of a page of the cache, which texts that begin "
                    "alike share whole (default 32, or more where a page also "
                    "keeps a state of linear attention)"),
           cl::value_desc("N"), cl::cat(category)),
      cells("cells",
            cl::desc("Tokens that the cache holds, of all texts together "
                     "(default: of as many as there are rows, each as long as "
                     "the context)"),
            cl::value_desc("C"), cl::cat(category)),
      kvDtype("kv-dtype",
              cl::desc("Element type of the cache: f32, bf16 or f16 (default: "
                       "the program's); fp8 or int8, with scales"),
              cl::values(clEnumValN(CacheType::F32, "f32", ""),
                         clEnumValN(CacheType::BF16, "bf16", ""),
                         clEnumValN(CacheType::F16, "f16", ""),
                         clEnumValN(CacheType::FP8, "fp8", ""),
                         clEnumValN(CacheType::Int8, "int8", "")),
              cl::cat(category)),
      generationConfig(
          "generation-config",
          cl::desc("Where the defaults of requests are from, instead of the "
                   "checkpoint's generation_config.json: a file, or 'none'"),
          cl::value_desc("none|FILE"), cl::cat(category)),
      train("train",
            cl::desc("A step of training instead: the loss, its gradient, and "
                     "the update"),
            cl::value_desc("adamw|sgd"), cl::cat(category)),
      clip("clip",
           cl::desc("Clip the norm of all gradients to this (default: none)"),
           cl::value_desc("C"), cl::cat(category)),
      momentum("momentum", cl::desc("Of --train sgd: with momentum"),
               cl::cat(category)),
      shardOptimizer(
          "shard-optimizer",
          cl::desc("The mesh axis, dp as a rule, over whose ranks moments and "
                   "masters are divided (default: none)"),
          cl::value_desc("AXIS"), cl::cat(category)),
      dropout(
          "dropout",
          cl::desc("What counts of config.json's dropout (default: off)"),
          cl::values(clEnumValN(TrainOptions::Dropout::On, "on", "all"),
                     clEnumValN(TrainOptions::Dropout::Off, "off", "nothing"),
                     clEnumValN(TrainOptions::Dropout::Residual, "residual",
                                "that of embeddings and the residual stream")),
          cl::init(TrainOptions::Dropout::Off), cl::cat(category)) {}

std::optional<TrainOptions> ImportFlags::getTraining(Reject reject) const {
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           &clip, &momentum, &shardOptimizer, &dropout})
    if (option->getNumOccurrences() && !train.getNumOccurrences())
      reject(option->ArgStr, "has no meaning without --train");
  if (!train.getNumOccurrences())
    return std::nullopt;
  if (train != "adamw" && train != "sgd")
    reject("train", "expected adamw or sgd, got '" + train.getValue() + "'");
  else if (momentum && train != "sgd")
    reject("momentum", "has no meaning with --train " + train.getValue() +
                           ", which has moments of its own");
  if (clip.getNumOccurrences() && !(clip > 0 && std::isfinite(clip)))
    reject("clip", "expected a positive number, got " +
                       Twine(llvm::formatv("{0}", clip.getValue()).str()));
  if (generate)
    reject("train", "a program that trains does not generate: expected no "
                    "--generate beside it");
  if (shardOptimizer.getNumOccurrences() && shardOptimizer.empty())
    reject("shard-optimizer", "expected the name of a mesh axis, such as dp");
  return TrainOptions{train, clip, momentum, shardOptimizer, dropout};
}

std::vector<int64_t> ImportFlags::getSeqs(Reject reject) const {
  std::vector<int64_t> seqs(seq.begin(), seq.end());
  llvm::sort(seqs);
  if (!seqs.empty() && seqs.front() < 1)
    reject("seq", "expected a positive integer, got " + Twine(seqs.front()));
  auto twice = std::adjacent_find(seqs.begin(), seqs.end());
  if (twice != seqs.end())
    reject("seq", "expected each length once, got " + Twine(*twice) + " twice");
  if (seqs.size() > 1 && generate)
    reject("seq", "expected one length beside --generate, whose steps take "
                  "texts of any");
  if (seqs.size() > 1 && train.getNumOccurrences())
    reject("seq", "expected one length beside --train, whose steps are alike");
  return seqs;
}

bool ImportFlags::fit(StringRef program, StringRef input) const {
  // The reader of a missing file, or of no program, says so.
  if (isCheckpoint(input) || !describeMistakenModel(input).empty() ||
      (input != "-" && !llvm::sys::fs::exists(input)))
    return true;
  bool valid = true;
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           &batch, std::addressof(seq), &dtype, &layers, &untie, &logits,
           &activations, &quantize, &generationConfig, &dropout}) {
    if (!option->getNumOccurrences())
      continue;
    llvm::errs() << program << ": for the --" << option->ArgStr
                 << " option: a program has shapes and types of its own: "
                    "expected a checkpoint directory beside it, got '"
                 << input << "'\n";
    valid = false;
  }
  return valid;
}

std::optional<ImportOptions> ImportFlags::get(StringRef program) const {
  bool valid = true;
  auto reject = [&](StringRef option, const Twine &text) {
    llvm::errs() << program << ": for the --" << option << " option: " << text
                 << "\n";
    valid = false;
  };
  auto positive = [&](const NumberOption<int64_t> &option) {
    if (option.getNumOccurrences() && option < 1)
      reject(option.ArgStr,
             "expected a positive integer, got " + Twine(option.getValue()));
  };
  positive(batch);
  positive(layers);
  for (const NumberOption<int64_t> *option :
       {&context, &rows, &chunk, &page, &cells}) {
    positive(*option);
    if (option->getNumOccurrences() && !generate)
      reject(option->ArgStr, "has no meaning without --generate");
  }
  if (generationConfig.getNumOccurrences() && generationConfig.empty())
    reject("generation-config", "expected a file or none, got ''");
  auto given = [](const auto &option) {
    return option.getNumOccurrences() ? std::optional(option.getValue())
                                      : std::nullopt;
  };
  ImportOptions options;
  options.batch = batch;
  options.seqs = getSeqs(reject);
  options.layers = given(layers);
  options.untie = untie;
  options.ignore.assign(ignore.begin(), ignore.end());
  if (llvm::is_contained(options.ignore, ""))
    reject("ignore", "expected names of tensors, got an empty one");
  options.dtype = given(dtype);
  for (const cl::Option *option :
       std::initializer_list<const cl::Option *>{&kvDtype, &generationConfig})
    if (option->getNumOccurrences() && !generate)
      reject(option->ArgStr, "has no meaning without --generate");
  if (generate)
    options.generate = GenerateRequest{.context = given(context),
                                       .rows = given(rows),
                                       .chunk = given(chunk),
                                       .cells = given(cells),
                                       .page = given(page),
                                       .cacheType = given(kvDtype),
                                       .config = given(generationConfig)};
  if (logits != "all" && logits != "last")
    reject("logits", "expected all or last, got '" + logits + "'");
  options.lastLogits = logits == "last";
  if (activations != "recipe" && activations != "float")
    reject("activations",
           "expected recipe or float, got '" + activations + "'");
  options.floatActivations = activations == "float";
  options.quantize = quantize;
  if (quantize.getNumOccurrences() && !isQuantizedFormat(quantize))
    reject("quantize", "expected int4-g128, int4-g32, int8, fp8-block, "
                       "fp8-channel or mxfp4, got '" +
                           quantize.getValue() + "'");
  options.train = getTraining(reject);
  if (options.train && !options.quantize.empty())
    reject("quantize", "quantised weights are not trained: expected no --train "
                       "beside it");
  if (options.train && options.lastLogits)
    reject("logits", "the loss is of all positions: expected no 'last' beside "
                     "--train");
  if (options.train && options.dtype == FloatKind::F16)
    reject("dtype", "training in f16 is not supported, for its gradients leave "
                    "the range: expected f32 or bf16");
  if (!valid)
    return std::nullopt;
  return options;
}

static void printLocation(llvm::raw_ostream &os, Location loc) {
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    os << file.getFilename().getValue() << ":" << file.getLine() << ":"
       << file.getColumn() << ": ";
}

UserDiagnosticHandler::UserDiagnosticHandler(MLIRContext *context)
    : ScopedDiagnosticHandler(context) {
  setHandler([](Diagnostic &diag) {
    auto print = [](Diagnostic &d) {
      printLocation(llvm::errs(), d.getLocation());
      switch (d.getSeverity()) {
      case DiagnosticSeverity::Error:
        llvm::WithColor::error();
        break;
      case DiagnosticSeverity::Warning:
        llvm::WithColor::warning();
        break;
      case DiagnosticSeverity::Note:
        llvm::WithColor::note();
        break;
      case DiagnosticSeverity::Remark:
        llvm::WithColor::remark();
        break;
      }
      llvm::errs() << d << "\n";
    };
    print(diag);
    for (Diagnostic &note : diag.getNotes())
      print(note);
  });
}

} // namespace tp

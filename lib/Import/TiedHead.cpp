//===- TiedHead.cpp - Whether the head is the table -----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See TiedHead.h.
//
//===----------------------------------------------------------------------===//

#include "TiedHead.h"

#include "JsonFile.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Import/CompareTensors.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tp {

SmallVector<std::string> getTableNames(const ModelConfig &config) {
  SmallVector<std::string> names;
  for (StringRef prefix : config.layout.prefixes)
    names.push_back((prefix + config.layout.words + ".weight").str());
  return names;
}

SmallVector<std::string> getHeadNames(const ModelConfig &config,
                                      StringRef part) {
  SmallVector<std::string> names;
  if (config.head == Head::NextToken)
    for (StringRef head : config.layout.heads)
      names.push_back((head + "." + part).str());
  if (config.head == Head::MaskedToken)
    names.push_back((config.layout.maskedDecoder + "." + part).str());
  return names;
}

static std::string listNames(ArrayRef<std::string> names) {
  return llvm::join(llvm::map_range(names, quoted), " or ");
}

/// True if there can be a head of its own, as --untie asks for.
static LogicalResult checkUntie(Location loc, const ModelConfig &config,
                                const Checkpoint &checkpoint,
                                const TensorPatterns &excluded) {
  SmallVector<std::string> heads = getHeadNames(config);
  if (heads.empty())
    return emitError(loc) << "--untie needs a head over the vocabulary, which "
                          << config.architecture << " has not";
  for (const std::string &head : heads)
    if (excluded.match(head))
      return emitError(loc) << "--untie reads the head from " << quoted(head)
                            << ", which --ignore leaves out: expected one of "
                               "the two options";
  if (!checkpoint.hasWeights() ||
      llvm::any_of(heads, [&](const std::string &name) {
        return checkpoint.find(name);
      }))
    return success();
  return emitError(loc) << "--untie: the checkpoint "
                        << checkpoint.getDirectory()
                        << " has no head of its own: expected tensor "
                        << listNames(heads)
                        << "; without --untie the head is the table "
                        << quoted(getTableNames(config).front());
}

LogicalResult settleTiedHead(Location loc, ModelConfig &config,
                             const Checkpoint &checkpoint,
                             const TensorPatterns &excluded, bool untie,
                             FloatKind readType) {
  if (untie) {
    config.tieEmbeddings = false;
    return checkUntie(loc, config, checkpoint, excluded);
  }
  if (!config.tieEmbeddings)
    return success();
  auto isThere = [&](const std::string &name) { return checkpoint.find(name); };
  SmallVector<std::string> tables = getTableNames(config),
                           heads = getHeadNames(config);
  auto table = llvm::find_if(tables, isThere);
  auto head = llvm::find_if(heads, isThere);
  if (table == tables.end() || head == heads.end())
    return success();
  llvm::Expected<bool> equal = TensorComparer(checkpoint.getDirectory())
                                   .areEqual(*checkpoint.find(*table),
                                             *checkpoint.find(*head), readType);
  if (!equal)
    return emitError(loc) << "cannot compare " << quoted(*head) << " with "
                          << quoted(*table) << ": "
                          << llvm::toString(equal.takeError());
  if (*equal)
    return success();
  config.tieEmbeddings = false;
  emitWarning(loc)
      << "tie_word_embeddings of config.json, or its default, ties "
      << quoted(*head) << " to " << quoted(*table)
      << ", but the files have different values for them: the "
         "head is a parameter of its own; --untie says so without "
         "this warning, --ignore "
      << *head << " ties them";
  return success();
}

void noteUntied(ModuleOp module) {
  Builder builder(module.getContext());
  module->setAttr(changedConfigAttrName,
                  builder.getDictionaryAttr(builder.getNamedAttr(
                      "tie_word_embeddings", builder.getBoolAttr(false))));
}

} // namespace tp

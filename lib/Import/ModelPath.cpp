//===- ModelPath.cpp - What is given for a model by mistake ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model is a checkpoint (a directory, or a GGUF file) or a program; a
// parser's error at the first byte of something else would tell nobody what to
// do.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Location.h"
#include "tp/Import/GgufConfig.h"
#include "tp/Import/ImportFlags.h"
#include "tprt/foreign.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

std::string tp::describeMistakenModel(StringRef given) {
  if (given == "-" || isCheckpoint(given))
    return "";
  if (!fs::exists(given)) {
    bool isHubName = tprt::looksLikeHubName(given) &&
                     path::extension(given) != ".mlir" &&
                     !fs::is_directory(path::parent_path(given));
    return isHubName ? std::string(tprt::kHubAdvice) : "";
  }
  StringRef parent = path::parent_path(given),
            extension = path::extension(given);
  if (extension == ".tpa")
    return "is compiled already: tp-run runs it, tp-inspect says what is in it";
  if (extension == ".json" || extension == ".safetensors")
    return "is a file of a checkpoint: expected its directory, '" +
           (parent.empty() ? "." : parent).str() + "'";
  auto head = llvm::MemoryBuffer::getFileSlice(given, tprt::kTellingBytes,
                                               /*Offset=*/0);
  if (head)
    if (auto is = tprt::describeForeign((*head)->getBuffer()); !is.empty())
      return std::string(is);
  if (extension == ".gguf")
    return "is no GGUF file: expected one, which begins with \"GGUF\"";
  return "";
}

LogicalResult tp::checkModelPath(MLIRContext *context, StringRef given) {
  std::string mistake = describeMistakenModel(given);
  if (mistake.empty())
    return success();
  return emitError(UnknownLoc::get(context)) << "'" << given << "' " << mistake;
}

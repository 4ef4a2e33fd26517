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

LogicalResult tp::checkModelPath(MLIRContext *context, StringRef given) {
  if (given == "-" || isCheckpoint(given))
    return success();
  auto error = [&] {
    return emitError(UnknownLoc::get(context)) << "'" << given << "' ";
  };
  if (!fs::exists(given)) {
    if (tprt::looksLikeHubName(given) && path::extension(given) != ".mlir" &&
        !fs::is_directory(path::parent_path(given)))
      return error() << StringRef(tprt::kHubAdvice);
    return success();
  }
  StringRef parent = path::parent_path(given),
            extension = path::extension(given);
  if (extension == ".tpa")
    return error() << "is compiled already: tp-run runs it, tp-inspect says "
                      "what is in it";
  if (extension == ".json" || extension == ".safetensors")
    return error() << "is a file of a checkpoint: expected its directory, '"
                   << (parent.empty() ? "." : parent) << "'";
  auto head = llvm::MemoryBuffer::getFileSlice(given, tprt::kTellingBytes,
                                               /*Offset=*/0);
  if (head)
    if (auto is = tprt::describeForeign((*head)->getBuffer()); !is.empty())
      return error() << StringRef(is);
  return success();
}

//===- ReadModule.cpp - Read IR that may be hostile -----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scan over the characters that knows strings, comments and the arrows and
// comparisons in which < and > are no brackets; then MLIR's parser.
//
//===----------------------------------------------------------------------===//

#include "tp/Support/ReadModule.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tp;

std::optional<NestingProblem> tp::findDeepNesting(StringRef text) {
  if (text.starts_with("ML\xefR"))
    return std::nullopt;
  int depth = 0, line = 1;
  size_t lineStart = 0;
  // Prefix operators of affine expressions recurse too: - - - x.
  int minus = 0;
  for (size_t i = 0, size = text.size(); i < size; ++i) {
    char c = text[i], next = i + 1 < size ? text[i + 1] : '\0';
    if (c == '-' && next != '>')
      minus++;
    else if (!isspace(static_cast<unsigned char>(c)))
      minus = 0;
    switch (c) {
    case '\n':
      ++line;
      lineStart = i + 1;
      break;
    case '"':
      for (++i; i < size && text[i] != '"' && text[i] != '\n'; ++i)
        if (text[i] == '\\')
          ++i;
      break;
    case '/':
      if (next == '/')
        i = std::min(text.find('\n', i), size) - 1;
      break;
    case '-':
      if (next == '>')
        ++i;
      break;
    case '<':
    case '>':
      if (next == '=') {
        ++i;
        break;
      }
      depth = c == '<' ? depth + 1 : std::max(depth - 1, 0);
      break;
    case '(':
    case '[':
    case '{':
      ++depth;
      break;
    case ')':
    case ']':
    case '}':
      depth = std::max(depth - 1, 0);
      break;
    default:
      break;
    }
    if (depth > maxNesting || minus > maxNesting)
      return NestingProblem{line, static_cast<int>(i - lineStart) + 1};
  }
  return std::nullopt;
}

bool tp::checkNesting(llvm::MemoryBufferRef buffer, llvm::raw_ostream &os) {
  std::optional<NestingProblem> problem = findDeepNesting(buffer.getBuffer());
  if (!problem)
    return true;
  os << buffer.getBufferIdentifier() << ":" << problem->line << ":"
     << problem->column << ": error: expected brackets nested at most "
     << maxNesting << " deep\n";
  return false;
}

OwningOpRef<ModuleOp> tp::readModule(MLIRContext *context, StringRef path) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(path, &message);
  if (!buffer) {
    emitError(UnknownLoc::get(context)) << message;
    return {};
  }
  StringRef name = path == "-" ? "<stdin>" : path;
  if (std::optional<NestingProblem> problem =
          findDeepNesting(buffer->getBuffer())) {
    emitError(
        FileLineColLoc::get(context, name, problem->line, problem->column))
        << "expected brackets nested at most " << maxNesting << " deep";
    return {};
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  return parseSourceFile<ModuleOp>(sources, context);
}

//===- Tool.h - What the compiler's tools begin with ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --version, signals, and standard output that cannot be written to, in one
// place for all tools.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SUPPORT_TOOL_H
#define TP_SUPPORT_TOOL_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/InitLLVM.h"

namespace tp {

/// The signals that end a program and are ignored when this is made.
class IgnoredSignals {
public:
  IgnoredSignals();
  void restore() const;

private:
  llvm::SmallVector<int, 3> numbers;
};

/// The first object of a tool's main. From then on
/// - whatever ends the tool, the end of main or --help: if standard output
///   cannot be written to, standard error says so, `NAME: cannot write to
///   standard output: why`, and the exit code is 1;
/// - nobody reading standard output any more, as behind `| head`, ends the tool
///   without a word, with exit code 1;
/// - SIGHUP, SIGINT and SIGTERM end the tool as they do by default, after its
///   unfinished files were removed; those that are ignored (nohup) stay so.
class Tool {
public:
  /// `name` must be a literal. --version prints it.
  Tool(int &argc, char **&argv, const char *name);

private:
  IgnoredSignals ignored; ///< before LLVM's handlers
  llvm::InitLLVM init;
};

/// Diagnostics of contexts that are made from now on say where, without the
/// operation, which would hide the next; --mlir-print-op-on-diagnostic has it
/// printed.
void leaveOutOperations();

/// Parses the command line. Returns false after an error, which standard error
/// has in one line. What LLVM's parser would not say, or not well, is said
/// before it: an option that there is not, with the one that is meant (one that
/// other programs call so, or the one of the nearest name), one that is given
/// twice, lacks its value or has to be there, an argument too many or too few.
bool parseCommandLine(int argc, const char *const *argv,
                      llvm::StringRef overview);

} // namespace tp

#endif // TP_SUPPORT_TOOL_H

//===- OutputFile.h - Files that tools write --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An error, a full disk or a signal leaves no half-written file behind and
// loses no file that stood there before.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SUPPORT_OUTPUTFILE_H
#define TP_SUPPORT_OUTPUTFILE_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>

namespace tp {

/// A file that is written beside its place, and put there once it is whole. A
/// link stays one: the file that it leads to is replaced. Devices and pipes are
/// written to, and "-" is standard output, whose errors Tool tells.
class OutputFile {
public:
  /// Null if the file cannot be begun; `error` says why then, as commit does.
  static std::unique_ptr<OutputFile> open(llvm::StringRef path,
                                          std::string &error);
  /// Removes what was not committed.
  ~OutputFile();

  llvm::raw_ostream &os() { return stream ? *stream : llvm::outs(); }
  /// Puts the file in its place. Returns the error's text, empty if there is
  /// none: "cannot write 'PATH': why".
  std::string commit();

private:
  OutputFile() = default;

  std::string name;   ///< as it was given, for messages
  std::string target; ///< of the rename
  std::optional<llvm::sys::fs::TempFile> temporary;
  std::unique_ptr<llvm::raw_fd_ostream> stream; ///< null: standard output
};

/// The error, if a file at `path` cannot be begun: told before what goes into
/// it is made.
std::string checkWritable(llvm::StringRef path);

/// Writes the bytes to an OutputFile; returns the error's text, empty if there
/// is none.
std::string writeFile(llvm::StringRef path, llvm::StringRef bytes);

/// An empty file among the system's temporary ones ($TMPDIR), which goes with
/// the scope and with a signal that ends the program.
struct TemporaryFile {
  llvm::SmallString<128> path; ///< empty if it cannot be made
  std::string error;           ///< why: "cannot make a temporary file in ..."
  explicit TemporaryFile(llvm::StringRef suffix);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
};

} // namespace tp

#endif // TP_SUPPORT_OUTPUTFILE_H

//===- OutputFile.cpp - Files that tools write ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM removes its temporary files on signals; the rest is here.
//
//===----------------------------------------------------------------------===//

#include "tp/Support/OutputFile.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include <filesystem>

using namespace llvm;
using namespace tp;

static std::string describe(StringRef path, std::error_code error) {
  return ("cannot write '" + path + "': " + error.message()).str();
}

/// The file that a link leads to, which may not be there yet; another path as
/// it is.
static std::string followLinks(StringRef path) {
  namespace stdfs = std::filesystem;
  stdfs::path target = path.str();
  std::error_code error;
  for (int i = 0; i < 40 && stdfs::is_symlink(target, error); ++i) {
    stdfs::path next = stdfs::read_symlink(target, error);
    target = target.parent_path() / next;
  }
  return target.string();
}

std::unique_ptr<OutputFile> OutputFile::open(StringRef path,
                                             std::string &error) {
  std::unique_ptr<OutputFile> file(new OutputFile);
  file->name = path.str();
  if (path == "-")
    return file;
  auto refuse = [&](std::error_code code) {
    error = describe(path, code);
    return nullptr;
  };
  sys::fs::file_status status;
  std::error_code code = sys::fs::status(path, status);
  // A link that leads nowhere is no error: the file that it names is made.
  if (code && code != std::errc::no_such_file_or_directory)
    return refuse(code);
  if (!code && status.type() == sys::fs::file_type::directory_file)
    return refuse(std::make_error_code(std::errc::is_a_directory));
  if (!code && status.type() != sys::fs::file_type::regular_file) {
    file->stream = std::make_unique<raw_fd_ostream>(path, code);
    if (code) {
      file->stream.reset();
      return refuse(code);
    }
    return file;
  }
  file->target = followLinks(path);
  Expected<sys::fs::TempFile> temporary =
      sys::fs::TempFile::create(file->target + ".%%%%%%");
  if (!temporary)
    return refuse(errorToErrorCode(temporary.takeError()));
  file->temporary.emplace(std::move(*temporary));
  file->stream = std::make_unique<raw_fd_ostream>(file->temporary->FD,
                                                  /*shouldClose=*/false);
  return file;
}

OutputFile::~OutputFile() {
  if (stream)
    stream->clear_error(); // an end of the program otherwise
  stream.reset();
  if (temporary)
    consumeError(temporary->discard());
}

std::string OutputFile::commit() {
  if (!stream)
    return "";
  stream->flush();
  if (std::error_code error = stream->error())
    return describe(name, error);
  if (!temporary)
    return "";
  stream.reset();
  std::error_code error = errorToErrorCode(temporary->keep(target));
  temporary.reset();
  return error ? describe(name, error) : "";
}

std::string tp::checkWritable(StringRef path) {
  sys::fs::file_status status;
  bool isThere = !sys::fs::status(path, status);
  // A pipe would wait for somebody who reads it.
  if (path == "-" || (isThere && sys::fs::is_other(status)))
    return "";
  std::string error;
  OutputFile::open(path, error);
  return error;
}

std::string tp::writeFile(StringRef path, StringRef bytes) {
  std::string error;
  std::unique_ptr<OutputFile> file = OutputFile::open(path, error);
  if (!file)
    return error;
  file->os() << bytes;
  return file->commit();
}

TemporaryFile::TemporaryFile(StringRef suffix) {
  if (std::error_code code =
          sys::fs::createTemporaryFile("tp-mlir", suffix, path)) {
    path.clear();
    SmallString<128> folder;
    sys::path::system_temp_directory(/*erasedOnReboot=*/true, folder);
    error = ("cannot make a temporary file in '" + folder +
             "': " + code.message() + "; $TMPDIR names another folder")
                .str();
    return;
  }
  sys::RemoveFileOnSignal(path);
}

TemporaryFile::~TemporaryFile() {
  if (path.empty())
    return;
  sys::fs::remove(path);
  sys::DontRemoveFileOnSignal(path);
}

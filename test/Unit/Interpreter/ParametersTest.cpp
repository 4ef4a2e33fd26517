//===- ParametersTest.cpp - Tensors of a checkpoint's files ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file that somebody writes anew while a program runs may be shorter than the
// header said that was read from it: an error that names the file, and no
// signal, which is what a page of mapped memory past the end would be.
//
//===----------------------------------------------------------------------===//

#include "Testing.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tp::interp;

namespace {

/// model.safetensors of one tensor x[count] (F32): 0, 1, 2, ...
struct CheckpointDirectory {
  explicit CheckpointDirectory(int64_t count) {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("parameters", path));
    file = path;
    llvm::sys::path::append(file, "model.safetensors");
    std::string header =
        llvm::formatv("{{\"x\":{{\"dtype\":\"F32\",\"shape\":[{0}],"
                      "\"data_offsets\":[0,{1}]}}",
                      count, 4 * count);
    char length[8];
    llvm::support::endian::write64le(length, header.size());
    std::string data(length, 8);
    data += header;
    start = data.size();
    for (int64_t i = 0; i < count; ++i) {
      float number = float(i);
      data.append(reinterpret_cast<char *>(&number), sizeof(number));
    }
    std::error_code ec;
    llvm::raw_fd_ostream(file, ec) << data;
    EXPECT_FALSE(ec);
  }
  ~CheckpointDirectory() { (void)llvm::sys::fs::remove_directories(path); }

  void truncate(uint64_t bytes) {
    int fd = -1;
    ASSERT_FALSE(llvm::sys::fs::openFileForReadWrite(
        file, fd, llvm::sys::fs::CD_OpenExisting, llvm::sys::fs::OF_None));
    EXPECT_FALSE(llvm::sys::fs::resize_file(fd, bytes));
    llvm::sys::fs::closeFile(fd);
  }

  SmallString<128> path, file;
  uint64_t start;
};

ParameterRequest request(int64_t count) {
  ParameterRequest request;
  request.name = "x";
  request.shape = {count};
  request.type = kF32;
  return request;
}

} // namespace

TEST(Parameters, FileThatBecomesShorter) {
  constexpr int64_t count = 1 << 16; // many pages
  CheckpointDirectory directory(count);
  auto parameters = SafetensorsParameters::open(&getContext(), directory.path);
  ASSERT_TRUE(parameters);
  std::string message;
  ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  auto get = [&] {
    return parameters->get(request(count), [] {
      return mlir::emitError(UnknownLoc::get(&getContext()));
    });
  };
  FailureOr<Tensor> tensor = get();
  ASSERT_TRUE(succeeded(tensor));
  EXPECT_EQ(tensor->getNumber(count - 1), double(count - 1));
  directory.truncate(directory.start + 4 * 100);
  EXPECT_TRUE(failed(get()));
  EXPECT_EQ(message,
            llvm::formatv("cannot read {0}: it became shorter while it was "
                          "read: expected 262144 bytes at {1}, got 400",
                          directory.file, directory.start)
                .str());
  // The header is cut off as well: what opens it again says so.
  directory.truncate(20);
  EXPECT_FALSE(SafetensorsParameters::open(&getContext(), directory.path));
  EXPECT_EQ(message,
            llvm::formatv("{0}: header of {1} bytes reaches past the end of "
                          "the file (truncated?)",
                          directory.file, directory.start - 8)
                .str());
}

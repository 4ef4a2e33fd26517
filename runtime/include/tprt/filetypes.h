//===- tprt/filetypes.h - element types of files ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The element types that a checkpoint's tensors may have, and their sizes: the
// compiler and the runtime read the same files.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_FILETYPES_H
#define TPRT_FILETYPES_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace tprt {

/// Element types of files: safetensors' name, bytes, and .npy's name if it has
/// one. Those of programs are among them by the same names.
#define TPRT_FILE_TYPES(X)                                                     \
  X(F64, 8, "<f8")                                                             \
  X(F32, 4, "<f4")                                                             \
  X(F16, 2, "<f2")                                                             \
  X(BF16, 2, "")                                                               \
  X(I64, 8, "<i8")                                                             \
  X(I32, 4, "<i4")                                                             \
  X(I16, 2, "<i2")                                                             \
  X(I8, 1, "|i1")                                                              \
  X(U64, 8, "<u8")                                                             \
  X(U32, 4, "<u4")                                                             \
  X(U16, 2, "<u2")                                                             \
  X(U8, 1, "|u1")                                                              \
  X(BOOL, 1, "|b1")                                                            \
  X(F8_E4M3, 1, "")                                                            \
  X(F8_E5M2, 1, "")

enum class FileType {
#define TPRT_ENUM(name, bytes, npy) name,
  TPRT_FILE_TYPES(TPRT_ENUM)
#undef TPRT_ENUM
};

struct FileTypeRow {
  const char *name;
  int64_t bytes;
  const char *npy;
};
inline constexpr FileTypeRow kFileTypes[] = {
#define TPRT_ROW(name, bytes, npy) {#name, bytes, npy},
    TPRT_FILE_TYPES(TPRT_ROW)
#undef TPRT_ROW
};

/// The type whose `column` is that text.
inline std::optional<FileType>
parseFileType(std::string_view text,
              const char *FileTypeRow::*column = &FileTypeRow::name) {
  for (const FileTypeRow &row : kFileTypes)
    if (!text.empty() && text == row.*column)
      return FileType(&row - kFileTypes);
  return std::nullopt;
}

} // namespace tprt

#endif // TPRT_FILETYPES_H

//===- tprt/safetensors.h - headers of .safetensors files -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A .safetensors file is eight bytes that give the length of a JSON header, the
// header, and the data. Compiler and runtime read the header with this parser.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SAFETENSORS_H
#define TPRT_SAFETENSORS_H

#include "tprt/filetypes.h"
#include "tprt/status.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tprt {

/// The place of a tensor in a file.
struct TensorPlace {
  FileType type;
  std::vector<int64_t> shape;
  int64_t offset; ///< from the beginning of the file
  int64_t bytes;
};

using TensorPlaces = std::map<std::string, TensorPlace>;

/// Reads `bytes` bytes at `offset` of a file to `to`.
using ReadBytes =
    std::function<Status(int64_t offset, char *to, int64_t bytes)>;

/// Reads the header of a file of `size` bytes through `read`, which must
/// outlive the call only. Files come from strangers: the header's length and
/// nesting, and the names, types, shapes and offsets of all tensors are
/// checked, and the tensors must cover the data without gap or overlap. Errors
/// begin with `name`. Time and memory are linear in the header.
Expected<TensorPlaces> readSafetensorsHeader(const std::string &name,
                                             int64_t size,
                                             const ReadBytes &read);

} // namespace tprt

#endif // TPRT_SAFETENSORS_H

//===- Tensor.h - tensors in host memory and files --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named tensors as they come from and go to users: .npy and .safetensors files.
// Files may hold element types that programs do not compute with; they are kept
// as they are until someone converts them.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TENSORS_TENSOR_H
#define TPRT_TENSORS_TENSOR_H

#include "../format/Manifest.h"
#include "../support/Memory.h"
#include "tprt/safetensors.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tprt {

// The types of programs are among them.
#define TPRT_CHECK(id, name, size)                                             \
  static_assert(kFileTypes[int(FileType::id)].bytes == size);
TPRT_TYPES(TPRT_CHECK)
#undef TPRT_CHECK

inline const char *fileTypeName(FileType type) {
  return kFileTypes[int(type)].name;
}
inline int64_t fileTypeBytes(FileType type) {
  return kFileTypes[int(type)].bytes;
}
FileType fileTypeOf(tprt_type type);
/// The float type of programs that this is.
std::optional<tprt_type> floatTypeOf(FileType type);

/// A tensor in somebody else's memory.
struct TensorView {
  FileType type;
  Shape shape;
  std::string_view bytes;
};

/// A tensor of its own, of a type that programs know.
struct HostTensor {
  std::string name;
  tprt_type type;
  Shape shape;
  std::string bytes;
};

/// Element i, if it is an integer or a boolean.
std::optional<int64_t> readInteger(const TensorView &view, int64_t i);

/// The same values in another type: integers and booleans to integers (values
/// that do not fit are an error), floats to floats. `what` begins messages.
Expected<HostTensor> convertTensor(const TensorView &view, tprt_type type,
                                   const std::string &what);

/// Reads the header of the open file; errors name `path`.
Expected<TensorPlaces> readSafetensorsHeader(const InputFile &file,
                                             const std::string &path);

/// The same for a .npy file.
Expected<TensorPlace> readNpyHeader(const InputFile &file,
                                    const std::string &name);

/// The tensors of a .safetensors or .npy file, which is read into memory; that
/// of .npy has no name.
class TensorFile {
public:
  static Expected<TensorFile> open(const std::string &path);
  const std::map<std::string, TensorView> &tensors() const { return list; }

private:
  Buffer memory;
  std::map<std::string, TensorView> list;
};

/// A .safetensors file with its header, which lists the tensors by these
/// places but for their offsets. Their bytes are to be written in this order.
/// `isCheckpoint`: with what transformers expects of one.
Expected<OutputFile> createSafetensors(
    const std::string &path,
    const std::vector<std::pair<std::string, TensorPlace>> &tensors,
    bool isCheckpoint = false);

/// Writes tensors by the ending of `path`: .npy (exactly one) or .safetensors.
/// No partial file is left behind.
Status writeTensors(const std::string &path,
                    const std::vector<HostTensor> &tensors);

} // namespace tprt

#endif // TPRT_TENSORS_TENSOR_H

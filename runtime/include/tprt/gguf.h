//===- tprt/gguf.h - GGUF files as checkpoints ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GGUF file has the names of llama.cpp, weights in blocks that hold elements
// and scales side by side, and for some architectures rows in another order.
// Compiler and runtime see it as a checkpoint whose tensors have the names of
// `transformers` and the quantised layout of compressed-tensors: `weight` or
// `weight_packed`, `weight_scale` and, where blocks have a minimum,
// `weight_zero_point`. The parts are computed from blocks as they are read.
// docs/Import.md lists the types.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_GGUF_H
#define TPRT_GGUF_H

#include "tprt/safetensors.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tprt {

/// A file of this name in a checkpoint's directory has its weights.
inline constexpr std::string_view kGgufFile = "model.gguf";

/// The name of scales, or zero points, ends so where they are blocks: an f16,
/// and a byte of each group, which it is multiplied with; for zero points these
/// are the minima. The runtime alone has such tensors.
inline constexpr std::string_view kGgufBlocksEnd = "_blocks";

/// The form that elements of a type are brought to.
enum class GgufElements {
  Floats,  ///< as they are
  Bytes,   ///< i8
  Nibbles, ///< i4, eight to an I32, each plus eight, the first in the low bits
  E2M1,    ///< two to a U8, the first in the low bits
};

/// A tensor type of GGUF that is read.
struct GgufType {
  uint32_t id;
  std::string_view name;
  int64_t blockElements, blockBytes;
  GgufElements elements;
  FileType file; ///< of Floats: their type; of others: of the scales
  int64_t group; ///< elements that share a scale; 0: there is none
  bool hasZeros; ///< Groups have a zero point, an f32.

  /// Groups of a block whose scales are an f16 times bytes; 0: they are not.
  int64_t packedGroups() const {
    return group && file == FileType::F32 ? blockElements / group : 0;
  }
};

/// A tensor as the file has it.
struct GgufTensor {
  std::string name;
  const GgufType *type;
  std::vector<int64_t> shape; ///< the innermost dimension last
  int64_t offset;             ///< from the beginning of the file
};

/// The header of a file: the tensors, and those entries of its metadata that
/// are numbers, lists of integers, or short texts.
struct Gguf {
  std::set<std::string> keys;            ///< of all entries
  std::map<std::string, double> numbers; ///< f32 and f64
  std::map<std::string, int64_t> integers;
  std::map<std::string, std::vector<int64_t>> lists;
  std::map<std::string, std::string> texts;
  std::vector<GgufTensor> tensors;
};

/// Reads the header of a file of `size` bytes through `read`, which must
/// outlive the call only. Files come from strangers: counts, lengths, types and
/// offsets are checked before anything is allocated for them. Errors begin with
/// `name`; a tensor of a type that is not read is one.
Expected<Gguf> readGguf(const std::string &name, int64_t size,
                        const ReadBytes &read);

/// One tensor of the checkpoint that a file stands for.
struct GgufPart {
  enum class Role { Floats, Values, Scales, Zeros, ScaleBlocks, ZeroBlocks };
  std::string name;
  /// `offset` is zero: see `tensor`.
  TensorPlace place;
  Role role = Role::Floats;
  size_t tensor = 0;    ///< which of Gguf::tensors it is computed from
  int64_t firstRow = 0; ///< the first row of it, counting all but the last dim
  /// Rows of each head are pairs that are rotated together, one behind the
  /// other; the checkpoint has all first ones before the second ones. 0: not
  /// so.
  int64_t headRows = 0;
  /// The checkpoint has numbers less one.
  bool isLessOne = false;
};

/// The checkpoint's tensors, by name. An error, which begins with `name`, for
/// an architecture or tensor that has no place in it.
Expected<std::map<std::string, GgufPart>> mapGguf(const std::string &name,
                                                  const Gguf &file);

} // namespace tprt

#endif // TPRT_GGUF_H

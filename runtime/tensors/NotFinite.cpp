//===- NotFinite.cpp - weights that are no numbers ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NotFinite.h"

#include <algorithm>
#include <cstring>

using namespace tprt;

namespace {

/// Tensors that are named, at most.
constexpr size_t kNamed = 3;
/// Bytes that are read at a time.
constexpr int64_t kPiece = 1 << 22;

/// Counts elements whose exponent has all bits of `exponent`: NaN if the
/// fraction below it has any, and infinity otherwise.
template <typename Bits>
void countBits(const char *bytes, int64_t count, Bits exponent,
               NotFinite &counts) {
  // The lowest bit of the exponent, less one, is all bits of the fraction.
  auto fraction = Bits((exponent & -exponent) - 1);
  int64_t special = 0, nans = 0;
  for (int64_t i = 0; i < count; ++i) {
    Bits x;
    std::memcpy(&x, bytes + i * int64_t(sizeof(Bits)), sizeof(Bits));
    bool isSpecial = Bits(x & exponent) == exponent;
    special += isSpecial;
    nans += isSpecial && (x & fraction) != 0;
  }
  counts.nans += nans;
  counts.infinities += special - nans;
}

std::string describe(const LocatedTensor &tensor, const NotFinite &counts) {
  std::string text =
      detail::join("'", tensor.name, "' of '", tensor.path, "' (");
  if (counts.nans > 0)
    text += detail::join(counts.nans, " NaN");
  if (counts.infinities > 0)
    text += detail::join(counts.nans > 0 ? " and " : "", counts.infinities,
                         " infinite");
  return text + detail::join(" of ", elementCount(tensor.place.shape), ")");
}

} // namespace

void tprt::countNotFinite(FileType type, const char *bytes, int64_t count,
                          NotFinite &counts) {
  switch (type) {
  case FileType::F64:
    return countBits<uint64_t>(bytes, count, 0x7ff0000000000000, counts);
  case FileType::F32:
    return countBits<uint32_t>(bytes, count, 0x7f800000, counts);
  case FileType::F16:
    return countBits<uint16_t>(bytes, count, 0x7c00, counts);
  case FileType::BF16:
    return countBits<uint16_t>(bytes, count, 0x7f80, counts);
  case FileType::F8_E5M2:
    return countBits<uint8_t>(bytes, count, 0x7c, counts);
  case FileType::F8_E4M3: {
    // It has no infinities, and one NaN of each sign.
    auto isNan = [](char x) { return (uint8_t(x) & 0x7f) == 0x7f; };
    counts.nans += std::count_if(bytes, bytes + count, isNan);
    return;
  }
  default:
    return;
  }
}

Expected<std::string>
tprt::describeNotFinite(const std::vector<LocatedTensor> &tensors) {
  std::vector<std::string> found;
  std::string piece;
  for (const LocatedTensor &tensor : tensors) {
    const TensorPlace &place = tensor.place;
    NotFinite counts;
    for (int64_t at = 0; at < place.bytes; at += kPiece) {
      int64_t bytes = std::min(kPiece, place.bytes - at);
      piece.resize(size_t(bytes));
      TPRT_TRY(tensor.read(at, piece.data(), bytes));
      countNotFinite(place.type, piece.data(),
                     bytes / fileTypeBytes(place.type), counts);
    }
    if (counts.any())
      found.push_back(describe(tensor, counts));
    if (found.size() == kNamed)
      break;
  }
  std::string text;
  for (const std::string &one : found)
    text += (text.empty() ? "the weights hold values that are not finite: "
                          : ", ") +
            one;
  return found.size() == kNamed ? text + " and perhaps others" : text;
}

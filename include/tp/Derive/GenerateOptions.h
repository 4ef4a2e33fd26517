//===- GenerateOptions.h - What steps of generation are for -----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of the steps and of their cache: docs/Generation.md.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DERIVE_GENERATEOPTIONS_H
#define TP_DERIVE_GENERATEOPTIONS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace tp {

/// The types in which the cache of generation holds keys and values: floats,
/// those of FloatKind first, or bytes with scales (docs/Generation.md).
enum class CacheType { F32, BF16, F16, FP8, Int8 };
llvm::StringRef getName(CacheType type);
/// The type of that name, as `--kv-dtype` takes it.
std::optional<CacheType> parseCacheType(llvm::StringRef name);

/// The sizes of all steps and of the cache that they share.
struct GenerateOptions {
  static constexpr int64_t defaultPage = 32, maxPage = 4096;
  static constexpr int64_t defaultContext = 4096, defaultChunk = 512;
  int64_t page = defaultPage; ///< Cells of a page.
  int64_t context = 0;        ///< positions of a row, at most
  int64_t rows = 16; ///< that a step serves, if it has a token for each
  int64_t chunk = defaultChunk; ///< tokens of the largest step
  /// The type of keys and values; nothing: that in which attention has them.
  std::optional<CacheType> cacheType;
  int64_t window = 0; ///< of positions that a token sees; 0: all
  int64_t cells = 0;  ///< of the cache, for all rows; 0: as many as they have

  bool isCacheQuantized() const {
    return cacheType && *cacheType >= CacheType::FP8;
  }
  int64_t getRows(int64_t tokens) const { return std::min(rows, tokens); }
  int64_t getPagesPerRow() const { return (context + page - 1) / page; }
  int64_t getPages() const { return getCells() / page; }
  /// So many that all rows may be full.
  int64_t getMostCells() const { return rows * getPagesPerRow() * page; }
  /// Whole pages.
  int64_t getCells() const {
    return cells ? (cells + page - 1) / page * page : getMostCells();
  }
  /// How many tokens each step takes: powers of two, and the chunk.
  llvm::SmallVector<int64_t> getStepSizes() const;
};

/// A GenerateRequest has what was asked for; absent options follow from the
/// program.
struct GenerateRequest {
  std::optional<int64_t> context, rows, chunk, cells, page;
  /// The context and the chunk where they are absent; less where the program
  /// has fewer positions.
  int64_t defaultContext = GenerateOptions::defaultContext,
          defaultChunk = GenerateOptions::defaultChunk;
  std::optional<CacheType> cacheType;
  /// Instead of the directory's generation_config.json: "none", or a file.
  std::optional<std::string> config;
};

} // namespace tp

#endif // TP_DERIVE_GENERATEOPTIONS_H

//===- Import.h - From a checkpoint directory to model IR ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The import stage: a Hugging Face checkpoint directory becomes a one-device
// program on tensors, without shardings, its parameters named as in the
// checkpoint and its identical layers one tp.repeat. config.json alone is
// enough; where there are weights, their names, shapes and types are checked
// against it, and a parameter that is there under several names is compared.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IMPORT_IMPORT_H
#define TP_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "tp/Import/ModelConfig.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tp {

/// The types in which the cache of generation holds keys and values: floats,
/// those of FloatKind first, or bytes with scales (docs/Generation.md).
enum class CacheType { F32, BF16, F16, FP8, Int8 };
/// The type of that name, as `--kv-dtype` takes it.
std::optional<CacheType> parseCacheType(llvm::StringRef name);

/// Steps of generation beside @main: docs/Generation.md.
struct GenerateOptions {
  static constexpr int64_t defaultPage = 32, maxPage = 4096;
  int64_t page = defaultPage; ///< Cells of a page.
  int64_t context = 0;        ///< positions of a row, at most
  int64_t rows = 16;   ///< that a step serves, if it has a token for each
  int64_t chunk = 512; ///< tokens of the largest step
  CacheType cacheType = CacheType::F32;
  int64_t window = 0; ///< of positions that a token sees; 0: all
  int64_t cells = 0;  ///< of the cache, for all rows; 0: as many as they have
  /// Instead of the directory's generation_config.json: "none", or a file.
  std::optional<std::string> config;

  bool isCacheQuantized() const { return cacheType >= CacheType::FP8; }
  int64_t getRows(int64_t tokens) const { return std::min(rows, tokens); }
  int64_t getPagesPerRow() const { return (context + page - 1) / page; }
  int64_t getPages() const { return getCells() / page; }
  /// So many that all rows may be full.
  int64_t getMostCells() const { return rows * getPagesPerRow() * page; }
  /// Whole pages.
  int64_t getCells() const {
    return cells ? (cells + page - 1) / page * page : getMostCells();
  }
};

/// What was asked for; absent options follow from the model.
struct GenerateRequest {
  std::optional<int64_t> context, rows, chunk, cells, page;
  std::optional<CacheType> cacheType;
  std::optional<std::string> config; ///< As of GenerateOptions.
};

/// A step of training: docs/Training.md.
struct TrainOptions {
  /// "adamw" or "sgd".
  std::string optimizer;
  /// The most that the gradient's norm may be; 0: any.
  double clip = 0;
  /// Of sgd.
  bool momentum = false;
  /// The mesh axis that cuts what the optimizer keeps; empty: none.
  std::string shardOptimizer;
  /// What config.json asks for: nothing of it, all, or all but attention's.
  enum class Dropout { Off, On, Residual } dropout = Dropout::Off;
};

/// What the program is compiled for. Absent options have the model's values.
struct ImportOptions {
  int64_t batch = 1;
  /// Positions per sequence, ascending: one function for each, @main if there
  /// is one, else @seq_N. None: 128, or the model's limit if that is smaller.
  std::vector<int64_t> seqs;
  /// Default: the checkpoint's type, f32 if it does not say.
  std::optional<FloatKind> dtype;
  /// Only the first so many layers.
  std::optional<int64_t> layers;
  /// The head is a parameter of its own, whatever config.json says.
  bool untie = false;
  /// Patterns of tensors that the checkpoint is read without.
  std::vector<std::string> ignore;
  /// Activations stay as they are where the checkpoint's recipe quantises them.
  bool floatActivations = false;
  /// The format, one of tp-quantize's, that weights in 16 or 32 bits are
  /// quantised to while they are read; empty: none.
  std::string quantize;
  /// Logits of the last position (that the mask keeps) of each sequence alone.
  bool lastLogits = false;
  std::optional<GenerateRequest> generate;
  std::optional<TrainOptions> train;
};

/// The model of `directory` as a module with a function @main, or more. Emits
/// errors through the context and returns null if the checkpoint or the options
/// are not supported.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext *context,
                                              llvm::StringRef directory,
                                              const ImportOptions &options);

/// The same for a program: its parameters are read as if the checkpoint had no
/// tensor that a pattern matches. Fails, after emitting an error, if a pattern
/// matches no name of any parameter.
mlir::LogicalResult ignoreTensors(mlir::ModuleOp module,
                                  llvm::ArrayRef<std::string> patterns);

/// The patterns that importModel or ignoreTensors has noted in a program.
std::vector<std::string> getExcludedTensors(mlir::ModuleOp module);

/// The number of positions that a sequence may have.
struct SequenceLimits {
  /// As config.json says, or as `transformers` takes it where it does not.
  int64_t positions = 0;
  bool isStated = false; ///< config.json says it.
  /// The most that `--seq` and `--context` may be.
  int64_t longest = 0, longestGenerated = 0;
};

/// The limits of the model of `directory`, or nothing after an error.
std::optional<SequenceLimits> readSequenceLimits(mlir::MLIRContext *context,
                                                 llvm::StringRef directory);

} // namespace tp

#endif // TP_IMPORT_IMPORT_H

//===- StepWriter.h - One step of generation --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step is the forward program with another number of tokens, in one row:
// operations are written again on the sizes that the step has (StepWriter.cpp),
// what depends on positions reads those of the tokens (StepPositions.cpp),
// operations that mix positions read and write a cache (StepCache.cpp), and
// logits are those of each row's last token (StepLogits.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DERIVE_STEPWRITER_H
#define TP_LIB_DERIVE_STEPWRITER_H

#include "RealTokens.h"
#include "TokenDims.h"
#include "tp/Derive/DeriveSteps.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tp {

/// LogitsPath says where the logits of a forward program are from.
struct LogitsPath {
  mlir::Value logits;
  /// All of the logits' path leads through this value [B, S, ...]; operations
  /// behind it are done for the last token of each row alone.
  mlir::Value cut;
  /// The operations that the logits need, in the function's own block.
  llvm::DenseSet<mlir::Operation *> needed;
};
mlir::FailureOr<LogitsPath> findLogits(mlir::func::FuncOp source,
                                       const TokenDims &dims);

/// A CacheState is one that a mixing operation reads and writes. Its shape
/// begins with the numbers of iterations of the loops that the operation is in.
struct CacheState {
  std::string name;
  mlir::RankedTensorType type;
};
/// CacheStates has, for each mixing operation in the program's order, keys,
/// values and, where cells have scales of their own, those of both; a
/// convolution's inputs; or the states of linear attention.
using CacheStates =
    llvm::MapVector<mlir::Operation *, llvm::SmallVector<CacheState, 4>>;
/// Returns the states that steps of `options` need.
CacheStates chooseStates(mlir::func::FuncOp source, const TokenDims &dims,
                         const GenerateOptions &options, bool hasCellScales);

/// StepPlan has what is the same for all steps.
struct StepPlan {
  mlir::func::FuncOp source;
  const TokenDims &dims;
  LogitsPath path;
  GenerateOptions options;
  CacheStates states;
  CacheScales scales;
  bool hasCellScales = false;
  RealTokens &realTokens;
};

class StepWriter {
public:
  StepWriter(const StepPlan &plan, int64_t tokens);

  /// Adds @step_T to the module. Emits an error if a value depends on positions
  /// in a way that has no form.
  mlir::LogicalResult write();
  /// The least number of positions that a table which was read has; 0: none
  /// was.
  int64_t getPositionLimit() const { return positionLimit; }
  /// The operation that reads it.
  mlir::Operation *getLimitingOp() const { return limitingOp; }
  /// Parameters that are the first rows of a longer table in the checkpoint,
  /// and the dimension that the rows are.
  using TableParts = llvm::SmallSetVector<std::pair<ParameterOp, unsigned>, 2>;
  const TableParts &getTableParts() const { return parts; }

private:
  //===--- StepWriter.cpp ---------------------------------------------------//
  void begin();
  mlir::Value addArgument(llvm::StringRef name, mlir::RankedTensorType type,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes);
  mlir::Value addNumbers(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                         int64_t first, int64_t end);
  mlir::Value addSetting(llvm::StringRef name, mlir::Type type,
                         llvm::StringRef defaultValue = "zeros");
  void addStates();
  void addPlaces();
  void finish(llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Value>> outputs);
  mlir::LogicalResult writeBlock(mlir::Block &block);
  mlir::LogicalResult writeOp(mlir::Operation *op);
  mlir::LogicalResult writeRepeat(RepeatOp repeat);
  /// `op` on `operands`, with the parts that its factors have here.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  rebuild(mlir::Operation *op, const ShardingRule &rule,
          const FactorParts &factors, mlir::ValueRange operands);
  /// The sizes that the parts have here.
  int64_t getSize(llvm::ArrayRef<Part> parts) const;
  mlir::RankedTensorType getType(mlir::Value value, const DimParts &dims) const;
  /// The value here of what tokens do not reach, whose dimensions are to be
  /// `dims`.
  mlir::FailureOr<mlir::Value> get(mlir::Value value, const DimParts &dims);

  //===--- StepPositions.cpp ------------------------------------------------//
  /// The value as it is in the forward program.
  mlir::FailureOr<mlir::Value> copy(mlir::Value value);
  /// The value at the positions of the tokens (Sequence), for one text (Batch),
  /// or for each key of a row (Key), whatever the query (Query).
  mlir::FailureOr<mlir::Value> place(mlir::Value value, const DimParts &dims);
  /// That value, if it has been written; null otherwise.
  mlir::Value &getPlaced(mlir::Value value, const DimParts &dims);
  mlir::FailureOr<mlir::Value> placeConstant(mlir::Operation *op,
                                             mlir::DenseElementsAttr elements,
                                             const DimParts &dims);
  mlir::FailureOr<mlir::Value> placeParameter(ParameterOp op,
                                              const DimParts &dims);
  mlir::FailureOr<mlir::Value> placeSlice(mlir::Operation *op,
                                          const DimParts &dims);
  /// Both results.
  mlir::LogicalResult placeRotaryTable(nn::RotaryTableOp op,
                                       const DimParts &dims);
  /// The rows, along dimension `dim`, of `table` from `first` on at which the
  /// tokens stand; `size` of them are there.
  mlir::FailureOr<mlir::Value> gatherRows(mlir::Operation *op,
                                          mlir::Value table, unsigned dim,
                                          int64_t first, int64_t size);
  /// linalg.index of the sequence becomes the token's position.
  void readPositions(mlir::Operation *op, const FactorParts &factors,
                     llvm::SmallVectorImpl<mlir::Value> &results);
  void noteLimit(mlir::Operation *op, int64_t positions);
  /// Notes how many positions the table of a look-up by counted positions has.
  void noteLookup(nn::EmbeddingOp op);

  //===--- StepCache.cpp ----------------------------------------------------//
  mlir::LogicalResult writeMixing(mlir::Operation *op);
  mlir::LogicalResult writeAttention(nn::AttentionOp op);
  mlir::LogicalResult writeConv(nn::CausalConvOp op);
  mlir::LogicalResult writeDelta(nn::GatedDeltaRuleOp op);
  mlir::FailureOr<mlir::Value> getBias(nn::AttentionOp op);
  /// Writes x[1, T, heads, d] into the operation's state `which`; returns the
  /// scales by which it is read, null if it holds floats.
  mlir::Value writeCells(nn::AttentionOp op, mlir::Value x, unsigned which);
  mlir::Value writeQuantized(nn::AttentionOp op, mlir::Value rows,
                             unsigned which);
  /// Where convolutions, or states, that read so many earlier inputs find them.
  std::pair<mlir::Value, mlir::Value> getConvPlaces(int64_t earlier);
  /// The routing of experts, zero where there is no token.
  mlir::Value keepTokens(mlir::Location loc, mlir::Value routing);

  //===--- StepLogits.cpp ---------------------------------------------------//
  /// x[1, T, ...] -> [1, R, ...]: the last token of each row.
  mlir::Value takeLast(mlir::Location loc, mlir::Value x);
  mlir::LogicalResult writeLogits();

  const StepPlan &plan;
  const GenerateOptions &options;
  mlir::func::FuncOp source;
  int64_t tokens, numRows;
  /// Tokens of the operation that is written: T, or R behind the cut.
  int64_t count;
  mlir::OpBuilder builder;
  mlir::func::FuncOp step;
  mlir::Value ids, starts, context, table, rows, positions, cells;
  llvm::DenseMap<int64_t, std::pair<mlir::Value, mlir::Value>> convPlaces;
  /// Behind which there is room for others.
  mlir::Operation *lastPlaces = nullptr;
  /// Values of the forward program here.
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  /// Those that depend on positions, by their dimensions as text.
  llvm::DenseMap<std::pair<mlir::Value, mlir::StringAttr>, mlir::Value> placed;
  /// States of each mixing operation, as they are where it is written.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 4>> pools;
  /// The loop here that is being filled, of each block of the forward program
  /// that it stands in.
  llvm::DenseMap<mlir::Block *, mlir::Operation *> loops;
  /// Numbers that are the same for all keys may be left out of a bias.
  bool ignoresShifts = false;
  int64_t positionLimit = 0;
  mlir::Operation *limitingOp = nullptr;
  TableParts parts;
};

} // namespace tp

#endif // TP_LIB_DERIVE_STEPWRITER_H

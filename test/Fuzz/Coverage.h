//===- Coverage.h - What random programs reached ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts, over per-rank programs, operation x row of the reshard table x padded
// x sub-axis, so that a fuzzer that never got somewhere is noticed.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FUZZ_COVERAGE_H
#define TP_TEST_FUZZ_COVERAGE_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Sharding/Reshard.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <string>

namespace tp::fuzz {

class Coverage {
public:
  /// Remember the global types of a module whose values have ids.
  void begin(mlir::ModuleOp global);
  /// Count what its per-rank program has.
  void add(mlir::ModuleOp perRank);

  /// All counts, one per line, and those of such a text added.
  std::string toText() const;
  void addText(llvm::StringRef text);

  /// The table: for each operation how often it ran and how often each row
  /// of the reshard table took its value elsewhere; `p` of those with padding,
  /// `s` with sub-axes.
  void print(llvm::raw_ostream &os) const;
  /// Rows of the reshard table that no program used.
  llvm::SmallVector<llvm::StringRef> getMissingRows() const;

private:
  struct Count {
    int64_t all = 0, padded = 0, subAxis = 0;
  };
  struct Layout {
    bool padded = false, subAxis = false;
  };
  Layout inspect(llvm::ArrayRef<int64_t> shape, const TensorSharding &sharding,
                 const Mesh &mesh) const;

  std::map<int64_t, llvm::SmallVector<mlir::Type>> globalTypes;
  std::map<std::string, Count> operations;
  std::map<std::string, std::map<CollectiveKind, Count>> reshards;
};

} // namespace tp::fuzz

#endif // TP_TEST_FUZZ_COVERAGE_H

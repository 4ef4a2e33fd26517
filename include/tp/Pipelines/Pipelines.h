//===- Pipelines.h - The stages, in order -----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the stages is written here and nowhere else; what a stage
// consists of is one short function in Pipelines.cpp. Each stage ends with the
// verifier of its contract.
//
//===----------------------------------------------------------------------===//

#ifndef TP_PIPELINES_PIPELINES_H
#define TP_PIPELINES_PIPELINES_H

#include "tp/Cost/Profile.h"
#include "tp/Derive/GenerateOptions.h"
#include "tp/Derive/TrainOptions.h"
#include "tp/Differentiate/Recompute.h"
#include "tp/Schedule/Overlap.h"
#include "tp/Schedule/SumForm.h"
#include "tp/Target/Target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace tp {

enum class Stage {
  Import,
  Differentiate,
  Annotate,
  Propagate,
  Partition,
  Collectives,
  Schedule,
  Lower
};

/// All stages in the order in which they run.
llvm::ArrayRef<Stage> getStages();
/// "import", "annotate", ...
llvm::StringRef getStageName(Stage stage);
std::optional<Stage> parseStage(llvm::StringRef name);

struct StageOptions {
  /// Import adds steps of generation to @main, unless it is nothing.
  std::optional<GenerateRequest> generate;
  /// Import adds a loss to @main and asks for a training step, likewise.
  std::optional<TrainOptions> train;
  /// The mesh for annotate: axes and sizes, `dp=2,tp=4` (the module's mesh if
  /// empty).
  std::string mesh;
  /// The plan for annotate: megatron, megatron-sp, replicated, or a JSON file.
  std::string plan = "megatron";
  /// Annotate cuts heads even if more than half of them would be padding.
  bool allowPadding = false;
  /// The policy of differentiate.
  Recompute recompute = Recompute::Selective;
  /// Tells the schedule stage what may run beside collectives.
  Overlap overlap;
  /// Tells the schedule stage how ranks that share memory add up.
  SumForm sums = SumForm::Auto;
  /// The device and the links by which schedule decides; without one, those of
  /// the target, where it has any.
  ProfileHandle link;
  /// Schedule computes all rows in one part: for comparison with what it saves.
  bool keepsRowsWhole = false;
  /// The target of schedule and lower.
  TargetHandle target;

  /// The profile that times are computed from, if there is any.
  ProfileHandle getProfile() const;
};

/// Adds the passes of `stage`. Import's are those that make any model IR, also
/// hand-written, what the importers would have made of it.
void buildStage(mlir::OpPassManager &manager, Stage stage,
                const StageOptions &options);

/// Adds the passes that compute rows in `chunks` parts, of products as schedule
/// finds them; collectives are not joined and weights not stored as schedule
/// does before.
void buildSplitRows(mlir::OpPassManager &manager, unsigned chunks);

/// Adds the passes that make calls of kernels and of libraries, of kernels that
/// sum up the addends of all ranks wherever they can.
void buildPeerSums(mlir::OpPassManager &manager);

/// Adds what verifies that a module is as `stage` leaves it, if anything does:
/// the last pass of the stage.
void buildContract(mlir::OpPassManager &manager, Stage stage,
                   const StageOptions &options);

/// --tp-import-pipeline to --tp-lower-pipeline for tp-opt.
void registerPipelines();

} // namespace tp

#endif // TP_PIPELINES_PIPELINES_H

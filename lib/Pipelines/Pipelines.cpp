//===- Pipelines.cpp - The stages, in order -------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One short function per stage.
//
//===----------------------------------------------------------------------===//

#include "tp/Pipelines/Pipelines.h"

#include "ChooseRows.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "tp/Annotate/Passes.h"
#include "tp/Collectives/Passes.h"
#include "tp/Conversion/Step/Passes.h"
#include "tp/Derive/Passes.h"
#include "tp/Dialect/NN/Transforms/Passes.h"
#include "tp/Differentiate/Passes.h"
#include "tp/Import/Passes.h"
#include "tp/Partition/Passes.h"
#include "tp/Propagate/Passes.h"
#include "tp/Schedule/Passes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;

static constexpr Stage stages[] = {
    Stage::Import,    Stage::Differentiate, Stage::Annotate, Stage::Propagate,
    Stage::Partition, Stage::Collectives,   Stage::Schedule, Stage::Lower};

llvm::ArrayRef<Stage> tp::getStages() { return stages; }

llvm::StringRef tp::getStageName(Stage stage) {
  switch (stage) {
  case Stage::Import:
    return "import";
  case Stage::Differentiate:
    return "differentiate";
  case Stage::Annotate:
    return "annotate";
  case Stage::Propagate:
    return "propagate";
  case Stage::Partition:
    return "partition";
  case Stage::Collectives:
    return "collectives";
  case Stage::Schedule:
    return "schedule";
  case Stage::Lower:
    return "lower";
  }
  llvm_unreachable("all stages are listed");
}

std::optional<Stage> tp::parseStage(llvm::StringRef name) {
  for (Stage stage : stages)
    if (getStageName(stage) == name)
      return stage;
  return std::nullopt;
}

static void buildImport(OpPassManager &manager, const StageOptions &options) {
  // A call has no sharding rule: what a function does depends on its caller.
  manager.addPass(createPrepareCalls());
  manager.addPass(createInlinerPass());
  manager.addPass(createDecomposeUpstream());
  manager.addPass(createRollLayers());
  if (options.generate)
    manager.addPass(createDeriveSteps(*options.generate));
  if (options.train)
    manager.addPass(createDeriveTraining(*options.train));
}

static void buildDifferentiate(OpPassManager &manager,
                               const StageOptions &options) {
  manager.addPass(createDifferentiate({options.recompute}));
  manager.addPass(createMakeTrainingStep());
}

static void buildAnnotate(OpPassManager &manager, const StageOptions &options) {
  AnnotateOptions annotate;
  annotate.mesh = options.mesh;
  annotate.plan = options.plan;
  annotate.allowPadding = options.allowPadding;
  manager.addPass(createAnnotate(annotate));
}

static void buildPropagate(OpPassManager &manager) {
  // Split logits stay split only if each reduction has a rule of its own.
  manager.addPass(createDecomposeCrossEntropy());
  manager.addPass(createSplitNorms());
  manager.addPass(createPropagate());
  manager.addPass(createSplitSampling());
}

static void buildPartition(OpPassManager &manager) {
  manager.addPass(createMarkExperts());
  manager.addPass(createInsertReshards());
  manager.addPass(createPartition());
}

static void buildCollectives(OpPassManager &manager) {
  manager.addPass(createDropCollectives());
  manager.addPass(createDelayReductions());
  manager.addPass(createMergeReductions());
  manager.addPass(createFuseSlices());
  manager.addPass(createDropCollectives());
  manager.addPass(createCoalesceReductions());
  manager.addPass(createNumberCollectives());
}

/// Collectives beside other work, as the target runs them.
static void buildOverlap(OpPassManager &manager, const TargetTraits &traits,
                         Overlap overlap) {
  int64_t leastBytes = traits.leastStartedBytes;
  bool isOff = overlap.isOff();
  // A call that is done when it returns needs no await.
  if (!traits.startsCollectives || (isOff && leastBytes > 0))
    return;
  if (!isOff)
    manager.addNestedPass<func::FuncOp>(createOrderSteps({leastBytes}));
  manager.addNestedPass<func::FuncOp>(
      createStartCollectives({leastBytes, /*atOnce=*/isOff}));
}

ProfileHandle StageOptions::getProfile() const {
  llvm::StringRef name = target->getProfileName();
  if (link || name.empty())
    return link;
  std::optional<Profile> profile =
      readProfile(name, [](const llvm::Twine &problem) {
        llvm::report_fatal_error("a profile of the project: " + problem);
      });
  return ProfileHandle(std::move(*profile), name);
}

/// Adds the passes that make calls of kernels and of libraries of what
/// computes.
static void buildCalls(OpPassManager &manager, const StageOptions &options) {
  TargetHandle target = options.target;
  // The products of a kernel differ, so that each has a result to write.
  manager.addPass(createCSEPass());
  manager.addPass(createFormGemms({target}));
  manager.addNestedPass<func::FuncOp>(createLowerToLinalg());
  manager.addPass(createCSEPass());
  manager.addNestedPass<func::FuncOp>(createSplitSums());
  manager.addNestedPass<func::FuncOp>(
      createReadPeers({options.sums, target->getTraits().leastStartedBytes,
                       target, options.getProfile()}));
  manager.addPass(createFormKernels());
}

/// Adds the passes of schedule that follow the choice of rows in parts.
static void buildKernels(OpPassManager &manager, const StageOptions &options) {
  buildCalls(manager, options);
  buildOverlap(manager, options.target->getTraits(), options.overlap);
  manager.addPass(createPlanBuffers());
}

/// Products as a library has them, before rows are cut.
static void buildProducts(OpPassManager &manager, const StageOptions &options) {
  manager.addPass(createJoinCollectives());
  // Kernels of devices read numbers of groups that are not packed.
  bool packs = !options.target->getTraits().launchesKernels;
  manager.addNestedPass<func::FuncOp>(createStoreQuantized({packs}));
  manager.addNestedPass<func::FuncOp>(createRecogniseLinear());
}

void tp::buildSplitRows(OpPassManager &manager, unsigned chunks) {
  manager.addNestedPass<func::FuncOp>(createRecogniseLinear());
  manager.addNestedPass<func::FuncOp>(
      createSplitRows({chunks, ProfileHandle(), false}));
}

void tp::buildPeerSums(OpPassManager &manager) {
  StageOptions options;
  options.sums = SumForm::Peer;
  buildCalls(manager, options);
}

static void buildSchedule(OpPassManager &manager, const StageOptions &options) {
  buildProducts(manager, options);
  ProfileHandle profile = options.getProfile();
  bool startsCollectives = options.target->getTraits().startsCollectives;
  if (options.overlap.kind == Overlap::Kind::Rows && !options.keepsRowsWhole)
    manager.addNestedPass<func::FuncOp>(
        createSplitRows({options.overlap.chunks, profile, false}));
  else if (options.overlap.kind == Overlap::Kind::Auto && profile &&
           startsCollectives && !options.keepsRowsWhole)
    manager.addPass(createChooseRows(
        profile, [=](OpPassManager &rest) { buildKernels(rest, options); }));
  buildKernels(manager, options);
}

void tp::buildContract(OpPassManager &manager, Stage stage,
                       const StageOptions &options) {
  VerifyScheduleOptions schedule;
  TargetTraits traits = options.target->getTraits();
  switch (stage) {
  case Stage::Propagate:
    return manager.addPass(createVerifyPropagated());
  case Stage::Partition:
    return manager.addPass(createVerifyPartitioned());
  case Stage::Collectives:
    return manager.addPass(createVerifyCollectives());
  case Stage::Schedule:
    schedule.asynchronous =
        traits.startsCollectives && traits.leastStartedBytes == 0;
    return manager.addPass(createVerifySchedule(schedule));
  case Stage::Import:
  case Stage::Differentiate:
  case Stage::Annotate:
  case Stage::Lower:
    return; // Any valid IR.
  }
}

static void buildPasses(OpPassManager &manager, Stage stage,
                        const StageOptions &options) {
  switch (stage) {
  case Stage::Import:
    return buildImport(manager, options);
  case Stage::Differentiate:
    return buildDifferentiate(manager, options);
  case Stage::Annotate:
    return buildAnnotate(manager, options);
  case Stage::Propagate:
    return buildPropagate(manager);
  case Stage::Partition:
    return buildPartition(manager);
  case Stage::Collectives:
    return buildCollectives(manager);
  case Stage::Schedule:
    return buildSchedule(manager, options);
  case Stage::Lower:
    return buildLowerToLLVM(manager, options.target);
  }
}

void tp::buildStage(OpPassManager &manager, Stage stage,
                    const StageOptions &options) {
  // In every stage each parameter stays or is ignored; lower writes the
  // manifest, which says so of those that are left.
  bool hasParameters = stage != Stage::Lower;
  if (hasParameters)
    manager.addPass(createNoteParameters());
  buildPasses(manager, stage, options);
  buildContract(manager, stage, options);
  if (hasParameters)
    manager.addPass(createIgnoreParameters());
}

namespace {
/// The options of a stage, as text pipelines take them: those of another are
/// refused there.
template <Stage stage>
struct StagePipelineOptions : PassPipelineOptions<StagePipelineOptions<stage>> {
  StageOptions get() const { return {}; }
};

template <>
struct StagePipelineOptions<Stage::Differentiate>
    : PassPipelineOptions<StagePipelineOptions<Stage::Differentiate>> {
  Option<Recompute> recompute{
      *this, "recompute",
      llvm::cl::desc("what the derivative of layers computes again"),
      llvm::cl::init(Recompute::Selective), getRecomputeValues()};

  StageOptions get() const {
    StageOptions options;
    options.recompute = recompute;
    return options;
  }
};

template <>
struct StagePipelineOptions<Stage::Annotate>
    : PassPipelineOptions<StagePipelineOptions<Stage::Annotate>> {
  Option<std::string> mesh{*this, "mesh",
                           llvm::cl::desc("axes and sizes: dp=2,tp=4")};
  Option<std::string> plan{
      *this, "plan",
      llvm::cl::desc("megatron, megatron-sp, expert, expert-sp, replicated, "
                     "none, or a JSON file"),
      llvm::cl::init("megatron")};
  Option<bool> allowPadding{
      *this, "allow-padding",
      llvm::cl::desc("cut heads even where more than half would be padding"),
      llvm::cl::init(false)};

  StageOptions get() const {
    StageOptions options;
    options.mesh = mesh;
    options.plan = plan;
    options.allowPadding = allowPadding;
    return options;
  }
};

template <>
struct StagePipelineOptions<Stage::Schedule>
    : PassPipelineOptions<StagePipelineOptions<Stage::Schedule>> {
  Option<Overlap> overlap{*this, "overlap",
                          llvm::cl::desc("what runs beside collectives"),
                          llvm::cl::init(Overlap())};
  Option<SumForm> sums{*this, "all-reduce",
                       llvm::cl::desc("how ranks that share memory add up"),
                       llvm::cl::init(SumForm::Auto), getSumFormValues()};
  Option<ProfileHandle> link{
      *this, "link",
      llvm::cl::desc("the profile of the device and its links (the target's)")};
  Option<TargetHandle> target{*this, "target",
                              llvm::cl::desc("what to make code for")};

  StageOptions get() const {
    StageOptions options;
    options.overlap = overlap;
    options.sums = sums;
    options.link = link;
    options.target = target;
    return options;
  }
};

template <>
struct StagePipelineOptions<Stage::Lower>
    : PassPipelineOptions<StagePipelineOptions<Stage::Lower>> {
  Option<TargetHandle> target{*this, "target",
                              llvm::cl::desc("what to make code for")};

  StageOptions get() const {
    StageOptions options;
    options.target = target;
    return options;
  }
};
} // namespace

template <Stage stage>
static void registerPipeline() {
  using Options = StagePipelineOptions<stage>;
  std::string name = getStageName(stage).str();
  PassPipelineRegistration<Options>(
      "tp-" + name + "-pipeline", "the " + name + " stage",
      [](OpPassManager &manager, const Options &given) {
        buildStage(manager, stage, given.get());
      });
}

void tp::registerPipelines() {
  registerPipeline<Stage::Import>();
  registerPipeline<Stage::Differentiate>();
  registerPipeline<Stage::Annotate>();
  registerPipeline<Stage::Propagate>();
  registerPipeline<Stage::Partition>();
  registerPipeline<Stage::Collectives>();
  registerPipeline<Stage::Schedule>();
  registerPipeline<Stage::Lower>();
}

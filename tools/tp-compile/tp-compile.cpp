//===- tp-compile.cpp - From a model to an artifact -----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of lib/Compile. Exit codes: 0 done, 1 the model or the
// environment, 2 the command line.
//
//===----------------------------------------------------------------------===//

#include "MemoryOption.h"
#include "tp/Annotate/MeshText.h"
#include "tp/Annotate/PlanNames.h"
#include "tp/CodeGen/Artifact.h"
#include "tp/Compile/Compile.h"
#include "tp/Import/GgufConfig.h"
#include "tp/Import/ImportFlags.h"
#include "tp/InitDialects.h"
#include "tp/Support/Tool.h"
#include "tp/Support/WordParser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"

namespace cl = llvm::cl;

static constexpr int userError = 1;
static constexpr int commandLineError = 2;

static int refuse(const llvm::Twine &text) {
  llvm::errs() << "tp-compile: " << text << "\n";
  return commandLineError;
}

namespace {
/// The command line, and what it says.
struct CommandLine {
  cl::OptionCategory category{"tp-compile options"};
  cl::opt<std::string> input{cl::Positional, cl::Required,
                             cl::desc("DIR|model.mlir"), cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("Where to write the artifact"),
                              cl::value_desc("model.tpa"), cl::cat(category)};
  cl::opt<std::string> mesh{"mesh",
                            cl::desc("Axes and sizes, outermost first (tp=1)"),
                            cl::value_desc("dp=2,tp=4"), cl::cat(category)};
  cl::opt<std::string> plan{
      "plan",
      cl::desc("megatron (the default), megatron-sp, expert, expert-sp, "
               "replicated, none (as the module is annotated) or FILE.json"),
      cl::init("megatron"), cl::cat(category)};
  cl::opt<bool> allowPadding{
      "allow-padding",
      cl::desc("Cut heads even where more than half of them would be padding"),
      cl::cat(category)};
  tp::WordOption<tp::Recompute> recompute{
      "recompute",
      cl::desc("What the derivative of layers computes again (selective)"),
      tp::getRecomputeValues(), cl::init(tp::Recompute::Selective),
      cl::cat(category)};
  cl::opt<tp::Overlap> overlap{
      "overlap",
      cl::desc("What runs beside collectives: auto (the default: what does not "
               "need them, and rows in parts where that pays by --link), off, "
               "or rows=C, which computes rows in C parts so that one part's "
               "collective runs beside the products of others"),
      cl::value_desc("WHAT"), cl::cat(category)};
  tp::WordOption<tp::SumForm> allReduce{
      "all-reduce", cl::desc("How ranks that share memory add up (auto)"),
      tp::getSumFormValues(), cl::init(tp::SumForm::Auto), cl::cat(category)};
  cl::opt<std::string> link{
      "link",
      cl::desc("The device and its links, by which --overlap=auto decides what "
               "is computed in parts and --explain tells times: h100, h200, "
               "... or a file that tp-plan --measure writes (the target's)"),
      cl::value_desc("PROFILE"), cl::cat(category)};
  std::string targetSyntax = tp::getTargetSyntax();
  cl::opt<std::string> target{"target", cl::desc("What to make code for (cpu)"),
                              cl::value_desc(targetSyntax), cl::init("cpu"),
                              cl::cat(category)};
  cl::opt<std::string> compileTo{
      "compile-to", cl::desc("Stop after a stage and write its IR"),
      cl::value_desc("STAGE"), cl::cat(category)};
  cl::opt<std::string> compileFrom{
      "compile-from",
      cl::desc("The input is a stage's IR, as --compile-to writes it"),
      cl::value_desc("STAGE"), cl::cat(category)};
  cl::opt<std::string> dump{"dump-stages",
                            cl::desc("Write the IR of every stage"),
                            cl::value_desc("DIR"), cl::cat(category)};
  cl::opt<std::string> saveKernels{
      "save-kernels",
      cl::desc("Write the device's kernels: bitcode, PTX, machine code, and "
               "the resources that each uses"),
      cl::value_desc("DIR"), cl::cat(category)};
  cl::opt<std::string> explain{"explain", cl::ValueOptional,
                               cl::desc("Print the collectives and why they "
                                        "exist, as a table or as JSON"),
                               cl::value_desc("json"), cl::cat(category)};
  cl::opt<std::string> memory{
      "memory",
      cl::desc("What a rank may hold while it generates, of which the cache "
               "takes what is left: a size, or a share of this machine's "
               "memory (instead of --cells)"),
      cl::value_desc("0.9|24GiB"), cl::cat(category)};
  tp::ImportFlags flags{category};

  /// Each reads what it is named for; 0, or the exit code.
  int read(tp::CompileOptions &options);
  int readLink(tp::CompileOptions &options);
  int readExplain(tp::CompileOptions &options);
  int readStage(tp::CompileOptions &options);
  int readFirstStage(tp::CompileOptions &options);
  /// The stage that an option names; nothing after a complaint.
  std::optional<tp::Stage> parse(const cl::opt<std::string> &option) const;
  int readTarget(tp::CompileOptions &options);
  /// On a mesh of so many ranks.
  int readMemoryOption(tp::CompileOptions &options, int64_t ranks);
};
} // namespace

int CommandLine::read(tp::CompileOptions &options) {
  std::optional<tp::ImportOptions> import = flags.get("tp-compile");
  if (!import)
    return commandLineError;
  options.import = *import;
  options.input = input;
  options.output = output;
  options.dumpDirectory = dump;
  options.stages.mesh = mesh;
  options.stages.plan = plan;
  options.stages.allowPadding = allowPadding;
  options.stages.recompute = recompute;
  options.stages.overlap = overlap;
  options.stages.sums = allReduce;
  if (int code = readLink(options))
    return code;
  llvm::SmallVector<tp::MeshTextAxis> axes;
  if (mesh.getNumOccurrences() > 0)
    if (std::string problem = tp::parseMeshText(mesh, axes); !problem.empty())
      return refuse("for the --mesh option: " + llvm::Twine(problem));
  if (std::string problem = tp::checkPlanName(plan); !problem.empty())
    return refuse("for the --plan option: " + llvm::Twine(problem));
  if (int code = readExplain(options))
    return code;
  if (int code = readStage(options))
    return code;
  if (int code = readFirstStage(options))
    return code;
  if (!flags.fit("tp-compile", input))
    return commandLineError;
  if (int code = readTarget(options))
    return code;
  const tp::Target &target = *options.stages.target;
  if (allReduce == tp::SumForm::Peer && !target.getTraits().readsPeers)
    return refuse("for the --all-reduce option: expected auto or library for "
                  "target '" +
                  target.getText() +
                  "', whose kernels cannot read other ranks' memory, got "
                  "'peer'");
  if (import->generate && import->generate->cacheType >= tp::CacheType::FP8 &&
      !target.hasFunction("quantized_paged_attention"))
    return refuse("for the --kv-dtype option: target '" + target.getName() +
                  "' has no quantised caches: expected f32, bf16 or f16");
  int64_t ranks = 1;
  for (const tp::MeshTextAxis &axis : axes)
    ranks *= axis.size;
  return readMemoryOption(options, ranks);
}

int CommandLine::readLink(tp::CompileOptions &options) {
  if (link.getNumOccurrences() == 0)
    return 0;
  int code = 0;
  std::optional<tp::Profile> profile =
      tp::readProfile(link, [&](const llvm::Twine &problem) {
        refuse("for the --link option: " + problem);
        code = llvm::sys::fs::exists(link) ? userError : commandLineError;
      });
  if (profile)
    options.stages.link = tp::ProfileHandle(std::move(*profile), link);
  return code;
}

int CommandLine::readMemoryOption(tp::CompileOptions &options, int64_t ranks) {
  if (memory.getNumOccurrences() == 0)
    return 0;
  if (!options.import.generate)
    return refuse("for the --memory option: has no meaning without --generate");
  if (options.import.generate->cells)
    return refuse("for the --memory option: expected no --cells beside it, "
                  "which says how large the cache is");
  int code = 0;
  options.memory =
      readMemory(memory, options.stages.target->getTraits().launchesKernels,
                 ranks, [&](bool isText, const llvm::Twine &problem) {
                   refuse("for the --memory option: " + problem);
                   code = isText ? commandLineError : userError;
                 });
  return code;
}

int CommandLine::readExplain(tp::CompileOptions &options) {
  if (explain.getNumOccurrences() == 0)
    return 0;
  if (!explain.empty() && explain != "json")
    return refuse("for the --explain option: expected nothing or json, got '" +
                  explain + "'");
  options.explain = explain == "json" ? tp::Explain::Json : tp::Explain::Table;
  return 0;
}

std::optional<tp::Stage>
CommandLine::parse(const cl::opt<std::string> &option) const {
  std::optional<tp::Stage> stage = tp::parseStage(option);
  if (stage)
    return stage;
  std::string names;
  for (tp::Stage known : tp::getStages())
    names += (names.empty() ? "" : ", ") + tp::getStageName(known).str();
  refuse("for the --" + option.ArgStr + " option: expected one of " + names +
         ", got '" + option.getValue() + "'");
  return std::nullopt;
}

int CommandLine::readFirstStage(tp::CompileOptions &options) {
  if (compileFrom.getNumOccurrences() == 0)
    return 0;
  options.firstStage = parse(compileFrom);
  if (!options.firstStage)
    return commandLineError;
  auto refuseIt = [&](const llvm::Twine &why) {
    return refuse("for the --compile-from option: " + why);
  };
  tp::Stage first = *options.firstStage;
  if (first == tp::Stage::Lower)
    return refuseIt("what lower leaves is no longer IR that can be read; "
                    "expected schedule or a stage before it");
  if (tp::isCheckpoint(input))
    return refuseIt("expected the IR of " + compileFrom +
                    ", got the checkpoint '" + input + "'");
  if (options.lastStage && *options.lastStage <= first)
    return refuseIt("expected --compile-to with a stage after " + compileFrom +
                    ", got '" + compileTo + "'");
  if (options.explain != tp::Explain::No && first == tp::Stage::Schedule)
    return refuseIt("--explain needs the collectives as they were before "
                    "schedule; expected collectives or a stage before it");
  for (const cl::Option *given :
       std::initializer_list<const cl::Option *>{&mesh, &plan})
    if (given->getNumOccurrences() && first >= tp::Stage::Annotate)
      return refuseIt("the IR of " + compileFrom +
                      " has its mesh and shardings: expected no --" +
                      given->ArgStr + " beside it");
  return 0;
}

int CommandLine::readStage(tp::CompileOptions &options) {
  if (compileTo.empty()) {
    if (output.empty() && options.explain == tp::Explain::No)
      return refuse("expected -o model.tpa, --compile-to=STAGE or --explain");
    return 0;
  }
  options.lastStage = parse(compileTo);
  if (!options.lastStage)
    return commandLineError;
  if (options.explain != tp::Explain::No &&
      *options.lastStage < tp::Stage::Partition)
    return refuse("for the --explain option: expected --compile-to=partition "
                  "or a later stage, because the collectives are what it "
                  "explains, got '" +
                  compileTo + "'");
  return 0;
}

int CommandLine::readTarget(tp::CompileOptions &options) {
  std::string message;
  auto parsed = tp::parseTarget(
      target, [&](const llvm::Twine &text) { message = text.str(); });
  if (failed(parsed))
    return refuse("for the --target option: " + llvm::Twine(message));
  options.stages.target = *parsed;
  if (saveKernels.getNumOccurrences() == 0)
    return 0;
  if (saveKernels.empty())
    return refuse("for the --save-kernels option: expected a directory");
  if (!options.stages.target->getTraits().launchesKernels)
    return refuse("for the --save-kernels option: expected a target that "
                  "launches kernels, which are files then, as --target cuda, "
                  "got '" +
                  target + "'");
  if (options.lastStage)
    return refuse("for the --save-kernels option: expected no --compile-to, "
                  "because kernels are made after the last stage");
  options.kernelsDirectory = saveKernels;
  return 0;
}

int main(int argc, char **argv) {
  tp::Tool tool(argc, argv, "tp-compile");
  tp::registerAllTargets();
  CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  if (!tp::parseCommandLine(argc, argv, "Compiles a transformer for N ranks\n"))
    return commandLineError;
  tp::CompileOptions options;
  if (int code = line.read(options))
    return code;

  mlir::DialectRegistry registry;
  tp::registerAllDialects(registry);
  tp::registerTargetDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  tp::UserDiagnosticHandler handler(&context);
  if (failed(tp::compile(context, options, llvm::errs())))
    return userError;
  return 0;
}

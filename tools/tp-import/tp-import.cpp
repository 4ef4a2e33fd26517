//===- tp-import.cpp - A checkpoint directory as model IR -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The import stage as a program. The output appears only when it is complete.
// Exit codes: 0 done, 1 the checkpoint or the environment, 2 the command line.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/MLIRContext.h"
#include "tp/Import/GgufConfig.h"
#include "tp/Import/Import.h"
#include "tp/Import/ImportFlags.h"
#include "tp/Support/OutputFile.h"
#include "tp/Support/Tool.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"

namespace cl = llvm::cl;

static constexpr int userError = 1;
static constexpr int commandLineError = 2;

static int printLimits(mlir::MLIRContext &context, llvm::StringRef directory) {
  auto limits = tp::readSequenceLimits(&context, directory);
  if (!limits)
    return userError;
  llvm::json::Object told{{"positions", limits->positions},
                          {"is_stated", limits->isStated},
                          {"longest", limits->longest},
                          {"longest_generated", limits->longestGenerated}};
  if (!limits->reason.empty())
    told["reason"] = limits->reason;
  llvm::outs() << llvm::json::Value(std::move(told)) << "\n";
  return 0;
}

/// Prints what the metadata of a GGUF file say.
static int printConfig(mlir::MLIRContext &context, llvm::StringRef path) {
  auto config = tp::readGgufConfig(&context, path);
  if (failed(config))
    return userError;
  llvm::outs() << llvm::json::Value(std::move(*config)) << "\n";
  return 0;
}

int main(int argc, char **argv) {
  tp::Tool tool(argc, argv, "tp-import");
  cl::OptionCategory category("tp-import options");
  cl::opt<std::string> directory(cl::Positional, cl::Required, cl::desc("DIR"),
                                 cl::cat(category));
  cl::opt<std::string> output("o", cl::desc("Where to write the model IR"),
                              cl::value_desc("FILE"), cl::init("-"),
                              cl::cat(category));
  // On, because the ledger says by location where a collective comes from.
  cl::opt<bool> locations("mlir-print-debuginfo",
                          cl::desc("Print the locations of operations"),
                          cl::init(true), cl::cat(category));
  cl::opt<bool> limits(
      "limits",
      cl::desc("Print how many positions a sequence may have, as JSON, and "
               "import nothing"),
      cl::cat(category));
  cl::opt<bool> config("config",
                       cl::desc("Print what the metadata of a GGUF file say as "
                                "config.json, and import nothing"),
                       cl::cat(category));
  tp::ImportFlags flags(category);
  cl::HideUnrelatedOptions(category);
  if (!tp::parseCommandLine(
          argc, argv,
          "Turns a Hugging Face checkpoint directory, or a GGUF file, into "
          "model IR\n"))
    return commandLineError;
  std::optional<tp::ImportOptions> options = flags.get("tp-import");
  if (!options)
    return commandLineError;

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tp::UserDiagnosticHandler handler(&context);
  if (failed(tp::checkModelPath(&context, directory)))
    return userError;
  if (config && !tp::isGgufFile(directory)) {
    llvm::errs() << "error: --config: expected a GGUF file, got '" << directory
                 << "'\n";
    return userError;
  }
  if (config)
    return printConfig(context, directory);
  if (limits)
    return printLimits(context, directory);
  auto module = tp::importModel(&context, directory, *options);
  if (!module)
    return userError;

  std::string message;
  std::unique_ptr<tp::OutputFile> file = tp::OutputFile::open(output, message);
  if (!file) {
    llvm::errs() << "error: " << message << "\n";
    return userError;
  }
  mlir::OpPrintingFlags printing;
  if (locations)
    printing.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  module->print(file->os(), printing);
  file->os() << "\n";
  message = file->commit();
  if (message.empty())
    return 0;
  llvm::errs() << "error: " << message << "\n";
  return userError;
}

//===- tp-opt.cpp - The optimizer driver ----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-opt with our dialects, passes and pipelines. Exit codes: 0 done, 1 the
// program or the environment, 2 the command line.
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tp/InitAll.h"
#include "tp/Support/OutputFile.h"
#include "tp/Support/ReadModule.h"
#include "tp/Support/Tool.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"

namespace cl = llvm::cl;

static constexpr int commandLineError = 2;

int main(int argc, char **argv) {
  tp::Tool tool(argc, argv, "tp-opt");
  mlir::DialectRegistry registry;
  tp::registerAllDialects(registry);
  tp::registerAllPasses();
  tp::test::registerTestPasses();
  std::string header =
      mlir::registerCLIOptions("tp-mlir optimizer driver\n", registry);
  tp::leaveOutOperations();
  cl::opt<std::string> input(cl::Positional, cl::desc("<input file>"),
                             cl::init("-"));
  cl::opt<std::string> output("o", cl::desc("Output filename"),
                              cl::value_desc("filename"), cl::init("-"));
  if (!tp::parseCommandLine(argc, argv, header))
    return commandLineError;
  mlir::MlirOptMainConfig config =
      mlir::MlirOptMainConfig::createFromCLOptions();

  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, output, registry));
  std::string message;
  auto source = mlir::openInputFile(input, &message);
  if (!source) {
    llvm::errs() << message << "\n";
    return EXIT_FAILURE;
  }
  if (!tp::checkNesting(source->getMemBufferRef(), llvm::errs()))
    return EXIT_FAILURE;
  std::unique_ptr<tp::OutputFile> file = tp::OutputFile::open(output, message);
  if (!file) {
    llvm::errs() << "error: " << message << "\n";
    return EXIT_FAILURE;
  }
  if (failed(
          mlir::MlirOptMain(file->os(), std::move(source), registry, config)))
    return EXIT_FAILURE;
  message = file->commit();
  if (message.empty())
    return EXIT_SUCCESS;
  llvm::errs() << "error: " << message << "\n";
  return EXIT_FAILURE;
}

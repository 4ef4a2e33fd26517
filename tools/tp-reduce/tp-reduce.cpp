//===- tp-reduce.cpp - A smaller program that fails as well ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of lib/Reduce: a program, and a command that says whether
// one still shows what is looked for. Exit codes: 0 done, 1 the program or the
// environment, 2 the command line.
//
//===----------------------------------------------------------------------===//

#include "tp/Import/ImportFlags.h"
#include "tp/InitAll.h"
#include "tp/Reduce/Reduce.h"
#include "tp/Support/OutputFile.h"
#include "tp/Support/ReadModule.h"
#include "tp/Support/Tool.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Program.h"

namespace cl = llvm::cl;
using namespace mlir;

static constexpr int userError = 1;
static constexpr int commandLineError = 2;

static int fail(const llvm::Twine &problem) {
  llvm::errs() << "tp-reduce: " << problem << "\n";
  return userError;
}

namespace {
/// A shell command that is asked about programs.
class Test {
public:
  Test(llvm::StringRef command, llvm::StringRef file)
      : command(command), file(file) {
    if (!command.contains("$1"))
      this->command += " \"$1\"";
  }

  /// The exit code of the command about a program; negative if it cannot be
  /// asked, which `problem` says.
  int ask(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream(text) << module << "\n";
    std::error_code error;
    llvm::raw_fd_ostream os(file, error);
    if (!error) {
      os << text;
      os.close();
      error = os.error();
      os.clear_error();
    }
    if (error) {
      problem = ("cannot write '" + file + "': " + error.message()).str();
      return -1;
    }
    ++count;
    // It prints about programs that are thrown away.
    std::optional<llvm::StringRef> streams[] = {"", "", ""};
    return llvm::sys::ExecuteAndWait(
        "/bin/sh", {"/bin/sh", "-c", command, "sh", file}, std::nullopt,
        streams, /*SecondsToWait=*/0, /*MemoryLimit=*/0, &problem);
  }

  unsigned count = 0;
  std::string problem;

private:
  std::string command;
  llvm::StringRef file;
};
} // namespace

static unsigned countOperations(ModuleOp module) {
  unsigned count = 0;
  module->walk([&](Operation *) { ++count; });
  return count - 1; // without the module
}

int main(int argc, char **argv) {
  tp::Tool tool(argc, argv, "tp-reduce");
  cl::OptionCategory category("tp-reduce options");
  cl::opt<std::string> input(cl::Positional, cl::Required,
                             cl::desc("program.mlir"), cl::cat(category));
  cl::opt<std::string> command(
      "test", cl::Required, cl::value_desc("COMMAND"), cl::cat(category),
      cl::desc("What says whether a program still shows what is looked for, by "
               "exit code 0: a shell command that gets the program's file as "
               "$1, or behind its last word where it does not name $1"));
  cl::opt<std::string> output("o", cl::desc("Where to write the program"),
                              cl::value_desc("FILE"), cl::init("-"),
                              cl::cat(category));
  cl::HideUnrelatedOptions(category);
  if (!tp::parseCommandLine(
          argc, argv, "Makes a program smaller as long as a test accepts it\n"))
    return commandLineError;

  DialectRegistry registry;
  tp::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  tp::UserDiagnosticHandler handler(&context);
  OwningOpRef<ModuleOp> module = tp::readModule(&context, input);
  if (!module)
    return userError;
  if (std::string problem = tp::checkWritable(output); !problem.empty())
    return fail(problem);
  tp::TemporaryFile file("mlir");
  if (file.path.empty())
    return fail(file.error);

  Test test(command, file.path);
  int code = test.ask(*module);
  if (code < 0)
    return fail(test.problem);
  if (code > 0)
    return fail("the test fails for '" + input +
                "' itself: expected exit code 0, got " + llvm::Twine(code));
  OwningOpRef<ModuleOp> smaller = tp::reduceProgram(
      *module, [&](ModuleOp next) { return test.ask(next) == 0; });

  std::string text;
  llvm::raw_string_ostream(text) << *smaller << "\n";
  if (std::string problem = tp::writeFile(output, text); !problem.empty())
    return fail(problem);
  llvm::errs() << "tp-reduce: " << countOperations(*module)
               << " operations before, " << countOperations(*smaller)
               << " after, " << test.count << " tests\n";
  return 0;
}

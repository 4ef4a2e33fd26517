//===- Tool.cpp - What the compiler's tools begin with --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's streams end the program by a fatal error if they are destroyed with an
// error that nobody has seen. Standard output's is looked for before that, in a
// function that exit calls.
//
//===----------------------------------------------------------------------===//

#include "tp/Support/Tool.h"

#include "mlir/IR/MLIRContext.h"
#include "tp/Support/Version.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <cstdlib>
#include <unistd.h>

using namespace llvm;
using namespace tp;

static constexpr int cannotWrite = 1;
static const char *toolName = "";

/// Nobody would read what is said, and no destructor may write again.
static void endQuietly(int) {
  sys::RunInterruptHandlers(); // removes files
  _exit(cannotWrite);
}

static constexpr int endSignals[] = {SIGHUP, SIGINT, SIGTERM};

IgnoredSignals::IgnoredSignals() {
  for (int number : endSignals) {
    struct sigaction action;
    if (!sigaction(number, nullptr, &action) && action.sa_handler == SIG_IGN)
      numbers.push_back(number);
  }
}

void IgnoredSignals::restore() const {
  for (int number : numbers)
    std::signal(number, SIG_IGN);
}

static void finishOutput() {
  outs().flush();
  std::error_code error = outs().error();
  outs().clear_error();
  // Without standard error there is nobody to tell.
  errs().clear_error();
  if (!error)
    return;
  if (error != std::errc::broken_pipe)
    errs() << toolName
           << ": cannot write to standard output: " << error.message() << "\n";
  _exit(cannotWrite);
}

void tp::leaveOutOperations() {
  mlir::registerMLIRContextCLOptions();
  cl::Option *prints =
      cl::getRegisteredOptions().lookup("mlir-print-op-on-diagnostic");
  assert(prints && "an option of every MLIRContext");
  static_cast<cl::opt<bool> *>(prints)->setInitialValue(false);
}

Tool::Tool(int &argc, char **&argv, const char *name) : init(argc, argv) {
  toolName = name;
  ignored.restore();
  std::signal(SIGPIPE, endQuietly);
  // They are made first, and so are destroyed after finishOutput.
  outs();
  errs();
  std::atexit(finishOutput);
  setVersionPrinter(name);
}

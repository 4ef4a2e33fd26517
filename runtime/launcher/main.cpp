//===- main.cpp - tp-run --------------------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program; everything is in the library. It leaves without running
// destructors: a rank that stalled may still be running.
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"

#include <cstdio>
#include <unistd.h>

int main(int argc, char **argv) {
  int code = tprt::launch(argc, argv);
  std::fflush(nullptr);
  _exit(code);
}

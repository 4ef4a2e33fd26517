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
#include <fcntl.h>
#include <unistd.h>

/// Files opened later must not become standard input, output or error.
static void openStandardFiles() {
  for (int fd = 0; fd < 3; ++fd)
    if (fcntl(fd, F_GETFD) < 0)
      (void)open("/dev/null", O_RDWR);
}

int main(int argc, char **argv) {
  openStandardFiles();
  int code = tprt::launch(argc, argv);
  std::fflush(nullptr);
  _exit(code);
}

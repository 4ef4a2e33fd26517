//===- main.cpp - tp-inspect ----------------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program; everything is in the library.
//
//===----------------------------------------------------------------------===//

#include "Inspect.h"

int main(int argc, char **argv) { return tprt::inspect(argc, argv); }

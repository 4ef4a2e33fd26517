/*===- refused.c - code sections that must be refused ----------------------===*
 *
 * Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compiled four times, with one fault each: an imported symbol, a second
 * exported symbol, a constructor, another version.
 *
 *===----------------------------------------------------------------------===*/

#include "tprt/abi.h"

#ifdef IMPORTS
int puts(const char *text);
#endif
#ifdef EXPORTS
__attribute__((visibility("default"))) int another(void) { return 1; }
#endif
#ifdef CONSTRUCTOR
static volatile int ran;
__attribute__((constructor)) static void construct(void) { ran = 1; }
#endif

static const tprt_program program = {TPRT_ABI_VERSION, 0, 0};

__attribute__((visibility("default"))) const tprt_program *
tprt_query(uint32_t abi_version) {
#ifdef IMPORTS
  puts("called");
#endif
#ifdef CONSTRUCTOR
  abi_version += ran - 1;
#endif
#ifdef VERSION
  abi_version = 0;
#endif
  return abi_version == TPRT_ABI_VERSION ? &program : 0;
}

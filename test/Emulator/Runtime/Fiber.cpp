//===- Fiber.cpp - Stacks to switch between -------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stacks are reserved once and take memory only where they are touched.
//
//===----------------------------------------------------------------------===//

#include "Fiber.h"
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

using namespace tp::emulator;

static constexpr size_t guardBytes = 4096;
/// rbp, rbx, r12 to r15.
static constexpr size_t savedRegisters = 6;

asm(".text\n"
    ".globl tpEmulatorSwitch\n"
    ".type tpEmulatorSwitch, @function\n"
    "tpEmulatorSwitch:\n"
    "  push %rbp\n"
    "  push %rbx\n"
    "  push %r12\n"
    "  push %r13\n"
    "  push %r14\n"
    "  push %r15\n"
    "  mov %rsp, (%rdi)\n"
    "  mov %rsi, %rsp\n"
    "  pop %r15\n"
    "  pop %r14\n"
    "  pop %r13\n"
    "  pop %r12\n"
    "  pop %rbx\n"
    "  pop %rbp\n"
    "  ret\n"
    ".size tpEmulatorSwitch, . - tpEmulatorSwitch\n");

Stacks::Stacks() {
  void *mapped = mmap(nullptr, stackBytes * maxStacks, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    perror("emulator: cannot reserve stacks");
    abort();
  }
  memory = static_cast<char *>(mapped);
  for (size_t i = 0; i < maxStacks; ++i)
    mprotect(memory + i * stackBytes, guardBytes, PROT_NONE);
}

Stacks::~Stacks() { munmap(memory, stackBytes * maxStacks); }

void *Stacks::prepare(size_t stack, void (*entry)()) {
  // The first switch pops the registers and returns to `entry`, where the stack
  // pointer must be 8 past a multiple of 16, as after a call.
  auto **top = reinterpret_cast<void **>(memory + (stack + 1) * stackBytes) - 2;
  *top = reinterpret_cast<void *>(entry);
  return top - savedRegisters;
}

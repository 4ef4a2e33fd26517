//===- MemoryOption.h - The memory that a rank may have ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The value of --memory: a size, or a share of what this machine has.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_COMPILE_MEMORYOPTION_H
#define TP_TOOLS_TP_COMPILE_MEMORYOPTION_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <cstdint>
#include <optional>

/// Reads "24GiB" as bytes and "0.9" as that share of the memory of one rank:
/// of the first CUDA device with `onDevice`, and otherwise of this host, which
/// `ranks` ranks share, within its control group's limit. Returns nothing after
/// it has called `refuse`, with whether the text is wrong and not the machine.
std::optional<int64_t>
readMemory(llvm::StringRef text, bool onDevice, int64_t ranks,
           llvm::function_ref<void(bool isText, const llvm::Twine &)> refuse);

#endif // TP_TOOLS_TP_COMPILE_MEMORYOPTION_H

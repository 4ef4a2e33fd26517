//===- CodeModule.h - compiled code, examined and loaded --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The artifact's code section is an ELF shared object that imports nothing and
// exports one symbol. It is held against that before the dynamic loader sees
// it.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SESSION_CODEMODULE_H
#define TPRT_SESSION_CODEMODULE_H

#include "../support/Memory.h"
#include "tprt/abi.h"
#include "tprt/status.h"

#include <memory>
#include <string_view>

namespace tprt {

/// Checks that the bytes are a shared object for this machine that needs no
/// library, imports no symbol, exports exactly tprt_query and runs nothing when
/// loaded.
Status examineCode(std::string_view elf);

/// Code mapped into this process.
class CodeModule {
public:
  static Expected<CodeModule> load(std::string_view elf, int64_t entries);
  const tprt_program &program() const { return *table; }

private:
  struct Unload {
    void operator()(void *handle) const;
  };
  /// Open as long as the code: the loader takes an equal path for the same
  /// object, so that the descriptor's number must not be used again.
  Descriptor fd;
  std::unique_ptr<void, Unload> handle;
  const tprt_program *table = nullptr;
};

} // namespace tprt

#endif // TPRT_SESSION_CODEMODULE_H

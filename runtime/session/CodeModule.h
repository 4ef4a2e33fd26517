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

#include "tprt/abi.h"
#include "tprt/status.h"

#include <string_view>

namespace tprt {

/// Checks that the bytes are a shared object for this machine that needs no
/// library, imports no symbol, exports exactly tprt_query and runs nothing when
/// loaded.
Status examineCode(std::string_view elf);

/// Code mapped into this process.
class CodeModule {
public:
  CodeModule() = default;
  CodeModule(CodeModule &&other) noexcept { swap(other); }
  CodeModule &operator=(CodeModule &&other) noexcept {
    swap(other);
    return *this;
  }
  ~CodeModule();

  static Expected<CodeModule> load(std::string_view elf, int64_t entries);
  const tprt_program &program() const { return *table; }

private:
  void swap(CodeModule &other) {
    std::swap(handle, other.handle);
    std::swap(table, other.table);
    std::swap(fd, other.fd);
  }
  void *handle = nullptr;
  const tprt_program *table = nullptr;
  int fd = -1;
};

} // namespace tprt

#endif // TPRT_SESSION_CODEMODULE_H

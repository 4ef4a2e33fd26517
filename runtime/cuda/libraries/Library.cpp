//===- Library.cpp - a shared library opened when needed ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Library.h.
//
//===----------------------------------------------------------------------===//

#include "Library.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace tprt;

Expected<Library> Library::open(const char *what, const char *variable,
                                std::initializer_list<const char *> names,
                                const char *remedy) {
  Library library;
  library.what = what;
  library.variable = variable;
  if (const char *path = std::getenv(variable); path && *path) {
    library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library.handle)
      return userError("cannot open ", what, ": ", dlerror(), " (", variable,
                       " names this file)");
    library.file = path;
    return library;
  }
  std::string tried;
  for (const char *name : names) {
    library.handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library.handle) {
      library.file = name;
      return library;
    }
    const char *reason = dlerror();
    tried += std::string(tried.empty() ? "" : "; ") + (reason ? reason : name);
  }
  return userError("cannot open ", what, ": ", tried, "; ", remedy,
                   ", or name the file in ", variable);
}

Status Library::lookUp(const char *symbol, void *&address) const {
  address = dlsym(handle, symbol);
  if (address)
    return {};
  return userError(what, " (", file, ") has no function '", symbol,
                   "': it is too old for this build; update it, or name "
                   "another file in ",
                   variable);
}

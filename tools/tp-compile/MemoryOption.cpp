//===- MemoryOption.cpp - The memory that a rank may have -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See MemoryOption.h. The CUDA driver is opened by name, as the runtime does:
// compiling needs none.
//
//===----------------------------------------------------------------------===//

#include "MemoryOption.h"

#include "../../runtime/support/Cores.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/DynamicLibrary.h"
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>

using llvm::StringRef;
using llvm::Twine;

/// Bytes of the first device, which CUDA_VISIBLE_DEVICES may choose; 0 after
/// `problem` was set.
static int64_t readDeviceMemory(std::string &problem) {
  const char *named = std::getenv("TPRT_CUDA_LIBRARY");
  const char *file = named && *named ? named : "libcuda.so.1";
  auto driver = llvm::sys::DynamicLibrary::getPermanentLibrary(file, &problem);
  if (!driver.isValid())
    return 0;
  auto *init =
      reinterpret_cast<int (*)(unsigned)>(driver.getAddressOfSymbol("cuInit"));
  auto *get = reinterpret_cast<int (*)(int *, int)>(
      driver.getAddressOfSymbol("cuDeviceGet"));
  auto *total = reinterpret_cast<int (*)(size_t *, int)>(
      driver.getAddressOfSymbol("cuDeviceTotalMem_v2"));
  if (!init || !get || !total) {
    problem = std::string(file) + " lacks functions of the CUDA driver";
    return 0;
  }
  int device = 0;
  size_t bytes = 0;
  if (int code = init(0); code == 0 && (code = get(&device, 0)) == 0 &&
                          (code = total(&bytes, device)) == 0)
    return int64_t(bytes);
  else
    problem = "the CUDA driver gives error " + std::to_string(code);
  return 0;
}

std::optional<int64_t>
readMemory(StringRef text, bool onDevice, int64_t ranks,
           llvm::function_ref<void(bool isText, const Twine &)> refuse) {
  StringRef digits = text.rtrim("KMGTiB");
  double unit = llvm::StringSwitch<double>(text.drop_front(digits.size()))
                    .Case("", 0)
                    .Case("KiB", 0x1p10)
                    .Case("MiB", 0x1p20)
                    .Case("GiB", 0x1p30)
                    .Case("TiB", 0x1p40)
                    .Default(-1);
  double number = 0;
  bool isNumber = !digits.getAsDouble(number) && std::isfinite(number);
  if (!isNumber || unit < 0 || number <= 0 || (unit == 0 && number > 1) ||
      number * unit > 0x1p50) {
    refuse(true, "expected a share of the memory from 0 to 1, such as 0.9, or "
                 "a size such as 24GiB, got '" +
                     text + "'");
    return std::nullopt;
  }
  if (unit > 0)
    return int64_t(number * unit);
  if (!onDevice)
    return int64_t(number * (tprt::memoryLimit() / ranks));
  std::string problem;
  int64_t there = readDeviceMemory(problem);
  if (there > 0)
    return int64_t(number * there);
  refuse(false, "a share is of a device's memory, and this machine tells of "
                "none: " +
                    problem + "; expected a size such as 70GiB");
  return std::nullopt;
}

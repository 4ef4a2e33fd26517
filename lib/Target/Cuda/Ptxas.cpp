//===- Ptxas.cpp - CUDA's assembler ---------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One process per architecture, all at once: it takes much longer than
// everything before it.
//
//===----------------------------------------------------------------------===//

#include "tp/Target/Cuda/DeviceCode.h"

#include "tp/Support/OutputFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include <cstring>

using namespace tp;

llvm::Expected<std::string> tp::findPtxas() {
  auto named = llvm::sys::Process::GetEnv("TP_PTXAS");
  if (named && named->empty())
    return llvm::createStringError("TP_PTXAS is empty, no assembler is used");
  if (named && llvm::sys::fs::can_execute(*named))
    return *named;
  if (named)
    return llvm::createStringError("TP_PTXAS names '" + *named +
                                   "', which is no program that can be run");
  if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  std::vector<std::string> toolkits;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (auto directory = llvm::sys::Process::GetEnv(variable))
      toolkits.push_back(*directory);
  toolkits.push_back("/usr/local/cuda");
  for (const std::string &toolkit : toolkits) {
    llvm::SmallString<128> path(toolkit);
    llvm::sys::path::append(path, "bin", "ptxas");
    if (llvm::sys::fs::can_execute(path))
      return path.str().str();
  }
  return llvm::createStringError(
      "CUDA's assembler 'ptxas' is not on the path, nor in the toolkit that "
      "CUDA_HOME, CUDA_PATH or /usr/local/cuda is");
}

std::string tp::getPtxasRelease(llvm::StringRef ptxas) {
  TemporaryFile log("txt");
  llvm::StringRef arguments[] = {ptxas, "--version"};
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, log.path.str(),
                                                log.path.str()};
  if (log.path.empty() ||
      llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects))
    return "";
  auto text = llvm::MemoryBuffer::getFile(log.path);
  llvm::SmallVector<llvm::StringRef> match;
  if (text && llvm::Regex("release .*V([0-9][0-9.]*)")
                  .match((*text)->getBuffer(), &match))
    return match[1].str();
  return "";
}

/// Seconds that the assembler may take: TP_PTXAS_SECONDS, or an hour.
static llvm::Expected<unsigned> getTimeLimit() {
  auto given = llvm::sys::Process::GetEnv("TP_PTXAS_SECONDS");
  unsigned seconds = 3600;
  if (given &&
      (llvm::StringRef(*given).getAsInteger(10, seconds) || seconds == 0))
    return llvm::createStringError(
        "TP_PTXAS_SECONDS: expected seconds, at least 1, got '" + *given + "'");
  return seconds;
}

/// The kernel that line `number` of `ptx` belongs to; empty if to none.
static llvm::StringRef findKernel(llvm::StringRef ptx, size_t number) {
  llvm::StringRef kernel;
  for (size_t line = 1; line <= number && !ptx.empty(); ++line) {
    auto [text, rest] = ptx.split('\n');
    if (size_t at = text.find(".entry "); at != llvm::StringRef::npos)
      kernel = text.drop_front(at + 7).ltrim().take_until(
          [](char c) { return c == '(' || c == ' ' || c == '\t'; });
    ptx = rest;
  }
  return kernel;
}

/// Reads what `ptxas -v` printed.
static std::map<std::string, KernelResources> readFigures(llvm::StringRef log) {
  std::map<std::string, KernelResources> kernels;
  llvm::Regex entry("Compiling entry function '([^']*)'");
  llvm::Regex memory("([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores, "
                     "([0-9]+) bytes spill loads");
  llvm::Regex used("Used ([0-9]+) registers");
  llvm::Regex shared("([0-9]+) bytes smem");
  KernelResources *current = nullptr;
  llvm::SmallVector<llvm::StringRef> lines, match;
  log.split(lines, '\n');
  auto number = [&](unsigned index) {
    int64_t value = 0;
    match[index].getAsInteger(10, value);
    return value;
  };
  for (llvm::StringRef line : lines) {
    if (entry.match(line, &match))
      current = &kernels[match[1].str()];
    if (!current)
      continue;
    if (memory.match(line, &match)) {
      current->stack = number(1);
      current->spillStores = number(2);
      current->spillLoads = number(3);
    }
    if (used.match(line, &match))
      current->registers = number(1);
    if (shared.match(line, &match))
      current->shared = number(1);
  }
  return kernels;
}

/// The lines on wgmma that is waited for too early.
static std::vector<std::string> readWarnings(llvm::StringRef log) {
  std::vector<std::string> warnings;
  llvm::SmallVector<llvm::StringRef> lines;
  log.split(lines, '\n');
  for (llvm::StringRef line : lines)
    if (llvm::Regex("C75[0-9][0-9]").match(line))
      warnings.push_back(line.trim().str());
  return warnings;
}

namespace {
/// One run of the assembler.
struct Run {
  std::string architecture, name;
  TemporaryFile output{"cubin"}, log{"txt"};
  llvm::sys::ProcessInfo process;
  std::string message;
  bool failedToStart = false;
};
} // namespace

llvm::Expected<std::vector<Cubin>>
tp::assemblePtx(llvm::StringRef ptxas, llvm::StringRef ptx,
                llvm::ArrayRef<std::string> architectures,
                llvm::function_ref<void(llvm::StringRef)> onUnknown) {
  llvm::Expected<unsigned> seconds = getTimeLimit();
  if (!seconds)
    return seconds.takeError();
  TemporaryFile input("ptx");
  std::string error = input.error;
  std::vector<std::unique_ptr<Run>> runs;
  for (const std::string &architecture : architectures) {
    runs.push_back(std::make_unique<Run>());
    runs.back()->architecture = architecture;
    runs.back()->name = "--gpu-name=" + architecture;
    for (const TemporaryFile *file : {&runs.back()->output, &runs.back()->log})
      if (error.empty())
        error = file->error;
  }
  if (error.empty())
    error = writeFile(input.path, ptx);
  if (!error.empty())
    return llvm::createStringError("for ptxas: " + error);
  for (std::unique_ptr<Run> &run : runs) {
    llvm::StringRef arguments[] = {
        ptxas,     "-v", "-O3", "-lineinfo", run->name, "-o", run->output.path,
        input.path};
    std::optional<llvm::StringRef> redirects[] = {
        std::nullopt, run->log.path.str(), run->log.path.str()};
    run->process =
        llvm::sys::ExecuteNoWait(ptxas, arguments, std::nullopt, redirects, 0,
                                 &run->message, &run->failedToStart);
  }
  // All are waited for, whatever becomes of the first.
  std::vector<Cubin> cubins;
  std::string failure;
  for (std::unique_ptr<Run> &run : runs) {
    int status = -1;
    if (!run->failedToStart)
      status =
          llvm::sys::Wait(run->process, *seconds, &run->message).ReturnCode;
    std::string log;
    if (auto text = llvm::MemoryBuffer::getFile(run->log.path))
      log = (*text)->getBuffer().str();
    if (status == 0) {
      auto bytes = llvm::MemoryBuffer::getFile(run->output.path);
      if (!bytes || !(*bytes)->getBuffer().starts_with(llvm::StringRef(
                        llvm::ELF::ElfMagic, strlen(llvm::ELF::ElfMagic)))) {
        failure =
            (ptxas + " wrote no machine code for " + run->architecture).str();
        continue;
      }
      cubins.push_back({run->architecture, (*bytes)->getBuffer().str(),
                        readFigures(log), readWarnings(log)});
      continue;
    }
    bool isUnknown =
        llvm::StringRef(log).contains("is not defined for option 'gpu-name'");
    if (isUnknown && onUnknown) {
      onUnknown(run->architecture);
      continue;
    }
    if (!failure.empty())
      continue;
    llvm::SmallVector<llvm::StringRef> match;
    size_t line = 0;
    llvm::StringRef kernel;
    if (llvm::Regex("line ([0-9]+)").match(log, &match) &&
        !match[1].getAsInteger(10, line))
      kernel = findKernel(ptx, line);
    for (size_t at; (at = log.find(input.path.str())) != std::string::npos;)
      log.replace(at, input.path.size(), "kernels.ptx");
    failure = (ptxas + " failed for " + run->architecture +
               (kernel.empty() ? "" : " in kernel '" + kernel + "'") + ": " +
               run->message + llvm::StringRef(log).trim())
                  .str();
  }
  if (!failure.empty())
    return llvm::createStringError(failure);
  return cubins;
}

//===- Inspect.h - what is in an artifact -----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The whole of tp-inspect as a function. It reads an artifact as the runtime
// does, checks included, and runs nothing of it, so that any machine can look
// at a program that is made for another.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_INSPECT_INSPECT_H
#define TPRT_INSPECT_INSPECT_H

#include "../format/Manifest.h"
#include "tprt/artifact.h"

#include <string>
#include <vector>

namespace tprt {

/// An artifact that was read.
struct Inspected {
  std::string path;
  int64_t bytes;
  /// The checksum that ranks compare at the start of a run.
  uint64_t checksum;
  std::vector<std::pair<std::string, int64_t>> sections; ///< name, bytes
  std::string manifestText;
  Manifest manifest;

  static Expected<Inspected> read(const std::string &path);
};

/// Memory of a rank in bytes, whichever entry runs.
struct HeldMemory {
  int64_t parameters, states, constants;
};
HeldMemory heldMemory(const Inspected &artifact);

/// Its description, for people.
std::string describe(const Inspected &artifact);
/// `{artifact, memory, manifest}`, the manifest as docs/RuntimeABI.md has it.
std::string describeAsJson(const Inspected &artifact);

/// Runs tp-inspect with the command line; returns the exit code: 0 done, 1 the
/// artifact or the environment, 2 the command line, 4 our bug.
int inspect(int argc, char **argv);

} // namespace tprt

#endif // TPRT_INSPECT_INSPECT_H

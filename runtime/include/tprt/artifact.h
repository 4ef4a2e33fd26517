//===- tprt/artifact.h - the .tpa container ---------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes and reads the file that holds a compiled program: named sections, each
// checksummed. The compiler links the writer, the runtime the reader; neither
// looks into a section. The bytes are described in docs/RuntimeABI.md.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_ARTIFACT_H
#define TPRT_ARTIFACT_H

#include "tprt/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tprt {

/// XXH3-64 of the bytes: the checksum used in artifacts.
uint64_t checksum(std::string_view bytes);

/// A section to be written.
struct Section {
  std::string name;
  std::string bytes;
};

/// Lays out the sections in the order given. Names: 1 to 23 characters, unique.
std::string writeArtifact(const std::vector<Section> &sections);

/// A view of a section inside the bytes given to readArtifact.
struct SectionView {
  std::string_view name;
  std::string_view bytes;
};

/// Checks everything that the format promises, checksums included, and returns
/// views into `bytes`. `name` is used in messages.
Expected<std::vector<SectionView>> readArtifact(std::string_view bytes,
                                                std::string_view name);

/// Validates the text of a manifest against the schema, every key, type, index
/// and size in it; the message names the path inside the JSON. The compiler
/// calls it on what it wrote.
Status checkManifest(std::string_view json);

} // namespace tprt

#endif // TPRT_ARTIFACT_H

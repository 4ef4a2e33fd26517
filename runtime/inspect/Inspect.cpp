//===- Inspect.cpp - what is in an artifact -------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the artifact, and the command line that says how to show it.
//
//===----------------------------------------------------------------------===//

#include "Inspect.h"

#include "../format/Json.h"
#include "../support/Memory.h"
#include "../support/UnknownOption.h"
#include "../tensors/ParameterPlan.h"
#include "tprt/version.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <sstream>

using namespace tprt;
using nlohmann::json;

Expected<Inspected> Inspected::read(const std::string &path) {
  Inspected artifact;
  artifact.path = path;
  TPRT_ASSIGN(auto file, LoadedFile::open(path));
  artifact.bytes = int64_t(file.bytes().size());
  artifact.checksum = tprt::checksum(file.bytes());
  std::string where = "artifact '" + path + "'";
  TPRT_ASSIGN(auto sections, readArtifact(file.bytes(), path));
  for (const SectionView &section : sections) {
    artifact.sections.push_back(
        {std::string(section.name), int64_t(section.bytes.size())});
    if (section.name == "manifest")
      artifact.manifestText = section.bytes;
  }
  if (artifact.manifestText.empty())
    return userError(where, ": section 'manifest' is missing");
  TPRT_ASSIGN(artifact.manifest,
              Manifest::parse(artifact.manifestText).in(where));
  return artifact;
}

HeldMemory tprt::heldMemory(const Inspected &artifact) {
  HeldMemory held{ParameterPlan(artifact.manifest).bytes, 0, 0};
  for (const State &state : artifact.manifest.states)
    held.states =
        alignUp(held.states + state.localBytes(), TPRT_STATE_ALIGNMENT);
  for (const auto &[name, bytes] : artifact.sections)
    if (name == "constants")
      held.constants = bytes;
  return held;
}

std::string tprt::describeAsJson(const Inspected &artifact) {
  json sections = json::array();
  for (const auto &[name, bytes] : artifact.sections)
    sections.push_back({{"name", name}, {"bytes", bytes}});
  HeldMemory held = heldMemory(artifact);
  json entries = json::object();
  for (const Entry &entry : artifact.manifest.entries)
    entries[entry.name] = {{"peak_bytes", entry.peakBytes},
                           {"arena_bytes", entry.arenaBytes},
                           {"comm_bytes", entry.commBytes}};
  char checksum[17];
  std::snprintf(checksum, sizeof checksum, "%016lx",
                (unsigned long)artifact.checksum);
  json whole = {{"artifact",
                 {{"path", artifact.path},
                  {"bytes", artifact.bytes},
                  {"checksum", checksum},
                  {"ranks", artifact.manifest.mesh.size()},
                  {"sections", std::move(sections)}}},
                {"memory",
                 {{"parameter_bytes", held.parameters},
                  {"state_bytes", held.states},
                  {"constant_bytes", held.constants},
                  {"entries", std::move(entries)}}},
                {"manifest", json::parse(artifact.manifestText)}};
  // A path may be no UTF-8.
  return whole.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

int tprt::inspect(int argc, char **argv) {
  std::string path;
  bool asJson = false;
  CLI::App app{"Says what is in a program that tp-compile made.", "tp-inspect"};
  app.add_option("artifact", path, "the program (.tpa)")->required();
  app.add_flag("--json", asJson, "everything, as one object");
  app.failure_message([](const CLI::App *app, const CLI::Error &error) {
    return describeMistake(*app, error, "tp-inspect");
  });
  app.set_version_flag("--version", versionText("tp-inspect"));
  // A pipe that nobody reads is an error of the write.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    std::ostringstream out;
    if (app.exit(error, out, std::cerr) != 0)
      return int(Code::Usage);
    return endWith("tp-inspect", writeFile("-", out.str()));
  }
  Status status;
  try {
    auto artifact = Inspected::read(path);
    status = !artifact ? artifact.status()
                       : writeFile("-", asJson ? describeAsJson(*artifact)
                                               : describe(*artifact));
  } catch (const std::exception &error) {
    status = internalError(error.what());
  }
  return endWith("tp-inspect", status);
}

//===- ArtifactTest.cpp - the container, whole and damaged ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every flipped bit, every truncation and random tables must give an error.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "tprt/artifact.h"

#include <cstring>
#include <fstream>

using namespace tprt;
using namespace tprt::test;

namespace {
std::string sample() {
  return writeArtifact(
      {{"manifest", "{}"}, {"code", std::string(100, 'c')}, {"constants", ""}});
}
} // namespace

TEST(Artifact, RoundTrip) {
  std::string bytes = sample();
  auto sections = readArtifact(bytes, "x");
  ASSERT_TRUE(bool(sections)) << sections.status().message();
  ASSERT_EQ(sections->size(), 3u);
  EXPECT_EQ((*sections)[0].name, "manifest");
  EXPECT_EQ((*sections)[0].bytes, "{}");
  EXPECT_EQ((*sections)[1].bytes, std::string(100, 'c'));
  EXPECT_EQ((*sections)[2].bytes, "");
  EXPECT_EQ(((*sections)[1].bytes.data() - bytes.data()) % 64, 0);
}

TEST(Artifact, EveryFlippedBitIsFound) {
  std::string bytes = sample();
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string damaged = bytes;
    damaged[i / 8] ^= char(1 << (i % 8));
    EXPECT_FALSE(bool(readArtifact(damaged, "x"))) << "bit " << i;
  }
}

TEST(Artifact, EveryTruncationIsFound) {
  std::string bytes = sample();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(bool(readArtifact(bytes.substr(0, size), "x"))) << size;
  EXPECT_FALSE(bool(readArtifact(bytes + '\0', "x")));
}

TEST(Artifact, RandomTablesDoNotCrash) {
  std::mt19937_64 random(kSeed);
  std::string bytes = sample();
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = bytes;
    // Numbers that are interesting as offsets and sizes, with a right checksum
    // so that the checks behind it are reached.
    uint64_t values[] = {0,     64,         256,     320, bytes.size(),
                         ~0ull, 1ull << 63, random()};
    for (int n = 1 + random() % 3; n > 0; --n) {
      uint64_t value = values[random() % 8];
      size_t record = 64 + 64 * (random() % 3);
      std::memcpy(&damaged[record + 24 + 8 * (random() % 3)], &value, 8);
    }
    std::string hashed = damaged.substr(0, 24) + damaged.substr(64, 3 * 64);
    uint64_t hash = checksum(hashed);
    std::memcpy(&damaged[24], &hash, 8);
    auto sections = readArtifact(damaged, "x");
    if (damaged != bytes) {
      EXPECT_FALSE(bool(sections)) << "seed " << kSeed << " case " << i;
    }
  }
}

TEST(Artifact, Messages) {
  std::string bytes = sample();
  EXPECT_MESSAGE(readArtifact("", "x").status(),
                 "artifact 'x': expected at least 64 bytes, got 0");
  EXPECT_MESSAGE(readArtifact(std::string(64, 'x'), "x").status(),
                 "artifact 'x': not a tp-mlir artifact (wrong magic)");
  std::string other = bytes;
  other[8] = 9;
  EXPECT_MESSAGE(readArtifact(other, "x").status(),
                 "artifact 'x': expected format version 1, got 9; compile it "
                 "again");
  other = bytes;
  other[330] ^= 1;
  EXPECT_MESSAGE(readArtifact(other, "x").status(),
                 "artifact 'x': checksum of section 'code' does not match");
  EXPECT_MESSAGE(readArtifact(bytes.substr(0, 100), "x").status(),
                 detail::join("artifact 'x': expected ", bytes.size(),
                              " bytes, got 100 (truncated or extended)"));
}

TEST(Artifact, FilesAreWrittenWhole) {
  TemporaryDirectory directory;
  ASSERT_OK(writeArtifactFile(directory / "a.tpa", {{"code", "x"}}));
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(directory.path), {}),
      1);
  EXPECT_MESSAGE(writeArtifactFile("/nowhere/a.tpa", {}),
                 "cannot write '/nowhere/a.tpa': No such file or directory");
}

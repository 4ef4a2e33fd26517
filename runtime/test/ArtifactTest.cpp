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
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

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

/// The table is damaged, and hashed again so that the checks behind are met.
TEST(Artifact, MessagesOfTheTable) {
  std::string bytes = sample();
  constexpr size_t kSecond = 64 + 64, kOffset = 24, kSize = 32, kZero = 48;
  auto refusal = [&](size_t at, std::string_view value) {
    std::string damaged = bytes;
    damaged.replace(at, value.size(), value);
    uint64_t hash = checksum(damaged.substr(0, 24) + damaged.substr(64, 192));
    std::memcpy(&damaged[24], &hash, 8);
    return readArtifact(damaged, "x").status().message();
  };
  auto number = [](uint64_t value) {
    return std::string(reinterpret_cast<char *>(&value), 8);
  };
  auto count = [](uint32_t value) {
    return std::string(reinterpret_cast<char *>(&value), 4);
  };
  EXPECT_EQ(refusal(12, count(17)),
            "artifact 'x': expected at most 16 sections, got 17");
  EXPECT_EQ(refusal(63, "x"),
            "artifact 'x': reserved header bytes are not zero");
  EXPECT_EQ(refusal(12, count(16)),
            "artifact 'x': section table reaches past the end of the file");
  EXPECT_EQ(refusal(kSecond, std::string(1, '\0')),
            "artifact 'x': name of section 1 is malformed");
  EXPECT_EQ(refusal(kSecond, "manifest"),
            "artifact 'x': section 'manifest' occurs twice");
  EXPECT_EQ(refusal(kSecond + kZero, "x"),
            "artifact 'x': reserved bytes of section 'code' are not zero");
  EXPECT_EQ(refusal(kSecond + kOffset, number(321)),
            "artifact 'x': section 'code' begins at 321, which is not a "
            "multiple of 64");
  EXPECT_EQ(refusal(kSecond + kOffset, number(256)),
            "artifact 'x': section 'code' overlaps what lies before it");
  EXPECT_EQ(refusal(kSecond + kSize, number(1 << 20)),
            "artifact 'x': section 'code' reaches past the end of the file");
  EXPECT_EQ(refusal(300, "x"),
            "artifact 'x': padding before section 'code' is not zero");
  std::string damaged = bytes;
  damaged[64] ^= 1;
  EXPECT_MESSAGE(readArtifact(damaged, "x").status(),
                 "artifact 'x': checksum of the section table does not match");
  std::string longer = writeArtifact({{"code", "c"}}) + "more";
  uint64_t size = longer.size();
  std::memcpy(&longer[16], &size, 8);
  uint64_t hash = checksum(longer.substr(0, 24) + longer.substr(64, 64));
  std::memcpy(&longer[24], &hash, 8);
  EXPECT_MESSAGE(readArtifact(longer, "x").status(),
                 "artifact 'x': 4 bytes lie past the last section");
}

TEST(Artifact, FilesAreWrittenWhole) {
  TemporaryDirectory directory;
  ASSERT_OK(writeFile(directory / "a.tpa", writeArtifact({{"code", "x"}})));
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(directory.path), {}),
      1);
  EXPECT_MESSAGE(writeFile("/nowhere/a.tpa", writeArtifact({})),
                 "cannot write '/nowhere/a.tpa': No such file or directory");
  EXPECT_MESSAGE(writeFile(directory.path, "x"), "cannot write '" +
                                                     directory.path.string() +
                                                     "': it is a directory");
}

TEST(Artifact, LinksAreFollowedAndPipesAreWrittenTo) {
  namespace fs = std::filesystem;
  TemporaryDirectory directory;
  fs::create_symlink("there", directory / "link");
  for (const char *text : {"first", "second"}) {
    ASSERT_OK(writeFile(directory / "link", text));
    std::string read;
    std::ifstream(directory / "there") >> read;
    EXPECT_EQ(read, text);
    EXPECT_TRUE(fs::is_symlink(directory / "link"));
  }
  fs::create_symlink("circle", directory / "circle");
  EXPECT_NE(writeFile(directory / "circle", "x").message().find("symbolic"),
            std::string::npos);

  std::string pipe = directory / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_OK(writeFile(pipe, "through"));
  char read[8] = {};
  EXPECT_EQ(::read(reader, read, sizeof read), 7);
  EXPECT_STREQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
  close(reader);
}

TEST(OutputFile, HasNoNameUntilItIsWhole) {
  TemporaryDirectory directory;
  std::string path = directory / "result";
  auto count = [&] {
    std::filesystem::directory_iterator first(directory.path);
    return std::distance(begin(first), end(first));
  };
  for (const char *bytes : {"first", "second"}) {
    int before = int(count());
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(bytes, strlen(bytes)).ok());
    // NFS and its like have no such files; the name is then beside the place.
    int fd = open(directory.path.c_str(), O_TMPFILE | O_WRONLY, 0600);
    if (fd >= 0) {
      close(fd);
      EXPECT_EQ(count(), before);
    }
    ASSERT_TRUE(file->commit().ok());
    EXPECT_EQ(LoadedFile::open(path)->bytes(), bytes);
    EXPECT_EQ(count(), 1);
  }
  {
    auto dropped = OutputFile::create(path);
    ASSERT_TRUE(dropped && dropped->write("third", 5).ok());
  }
  EXPECT_EQ(LoadedFile::open(path)->bytes(), "second");
  EXPECT_EQ(count(), 1);
}

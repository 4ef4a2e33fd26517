//===- ProfileTest.cpp - Reading the figures of a device ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Cost/Profile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <random>

using namespace tp;

static constexpr llvm::StringLiteral good = R"json({
  "name": "box", "target": "cpu", "measured": true, "ranks_per_node": 2,
  "memory": {"value": 1e9, "source": "s"}, "reserved": {},
  "matrix": {"f32": {"value": 1e11, "source": "s"}},
  "rows": [{"rows": 16, "efficiency": 0.5}, {"rows": 64, "efficiency": 1}],
  "vector": {"value": 1e10, "source": "s"},
  "bandwidth": {"value": 1e10, "source": "s"},
  "kernel_seconds": {"value": 1e-6, "source": "s"},
  "efficiency": {"matrix": 1, "attention": 1, "vector": 1, "bandwidth": 1},
  "beside": {"value": 0.9, "source": "s"},
  "link_beside": {"value": 0.7, "source": "s"},
  "links": [{"name": "wire", "start": {"value": 1e-6, "source": "s"},
             "alpha": {"value": 1e-6, "source": "s"},
             "beta": {"value": 1e9, "source": "s"}, "efficiency": 0.8}]
})json";

namespace {
class ProfileFile : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("profile", "json", path));
  }
  void TearDown() override { llvm::sys::fs::remove(path); }

  /// Reads `text` from a file; the problem is kept.
  std::optional<Profile> read(llvm::StringRef text) {
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << text;
    problem.clear();
    return readProfile(
        path, [&](const llvm::Twine &found) { problem = found.str(); });
  }

  llvm::SmallString<64> path;
  std::string problem;
};
} // namespace

TEST(Profile, OfTheProject) {
  EXPECT_TRUE(llvm::is_contained(getProfileNames(), "h100"));
  for (llvm::StringRef name : getProfileNames()) {
    std::optional<Profile> profile =
        readProfile(name, [](const llvm::Twine &problem) {
          ADD_FAILURE() << problem.str();
        });
    ASSERT_TRUE(profile) << name.str();
    EXPECT_GT(profile->matrix.at("bf16"), 1e14) << name.str();
    EXPECT_GE(profile->links.size(), 1u) << name.str();
  }
  std::string problem;
  EXPECT_FALSE(readProfile(
      "h1000", [&](const llvm::Twine &found) { problem = found.str(); }));
  EXPECT_NE(problem.find("expected one of a100, b200"), std::string::npos)
      << problem;
}

TEST_F(ProfileFile, AllKeys) {
  std::optional<Profile> profile = read(good);
  ASSERT_TRUE(profile) << problem;
  EXPECT_EQ(profile->ranksPerNode, 2);
  EXPECT_EQ(profile->rows.size(), 2u);
  EXPECT_EQ(profile->beside, 0.9);
  EXPECT_EQ(profile->linkBeside, 0.7);
  EXPECT_EQ(profile->links[0].start, 1e-6);
  EXPECT_EQ(profile->links[0].getSpeed(), 0.8e9);
}

/// Each change is refused, with the place and the reason.
TEST_F(ProfileFile, Refusals) {
  struct Case {
    const char *from, *to, *expected;
  } cases[] = {
      {"\"rows\": [", "\"row\": [", "unknown key at profile.row"},
      {"\"vector\": {\"value\": 1e10", "\"vector\": {\"value\": -1",
       "expected a positive number at profile.vector.value"},
      {"\"efficiency\": 0.8", "\"efficiency\": 1.5",
       "expected a number above 0 and at most 1 at profile.links[0]"},
      {"\"rows\": 64", "\"rows\": 16",
       "expected rows in increasing order at profile.rows[1].rows"},
      {"\"ranks_per_node\": 2", "\"ranks_per_node\": 0",
       "expected a positive number at profile.ranks_per_node"},
      {"\"value\": 0.9", "\"value\": 9",
       "expected a number above 0 and at most 1 at profile.beside.value"},
      {"\"target\": \"cpu\", ", "", "missing value at profile.target"},
      {"\"matrix\": {\"f32\"", "\"matrix\": {\"f23\"",
       "unknown key at profile.matrix.f23"},
      {"\"name\": \"box\"", "\"name\": \"box\", \"name\": \"b\"",
       "the key 'name' stands twice"},
  };
  for (const Case &one : cases) {
    std::string text = good.str();
    size_t at = text.find(one.from);
    ASSERT_NE(at, std::string::npos) << one.from;
    text.replace(at, std::string(one.from).size(), one.to);
    EXPECT_FALSE(read(text)) << one.to;
    EXPECT_NE(problem.find(one.expected), std::string::npos)
        << one.to << ": " << problem;
  }
}

/// A profile is read or refused with a reason, whatever its bytes.
TEST_F(ProfileFile, RandomDamage) {
  unsigned seed = 20261127;
  std::mt19937 random(seed);
  for (int turn = 0; turn < 300; ++turn) {
    std::string text = good.str();
    for (int i = 0; i < 3; ++i)
      switch (random() % 3) {
      case 0:
        text[random() % text.size()] = char(random());
        break;
      case 1:
        text.erase(random() % text.size(), random() % 8);
        break;
      case 2:
        text.insert(random() % text.size(), 1, "[]{},:\"0e"[random() % 9]);
        break;
      }
    if (!read(text)) {
      EXPECT_FALSE(problem.empty()) << "seed " << seed << ", turn " << turn;
    }
  }
}

//===- GlobTest.cpp - Glob patterns ---------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Support/Glob.h"
#include "gtest/gtest.h"
#include <optional>
#include <string>

using namespace tp;

/// The text that a pattern was made of may go, and so may the pattern that it
/// was copied from.
TEST(GlobTest, OwnsItsText) {
  for (const char *text : {"layers.0.mlp.gate", "layers.?.mlp.*", "*.gate"}) {
    std::string buffer = text;
    std::optional<Glob> copy;
    {
      llvm::Expected<Glob> glob = Glob::create(buffer);
      ASSERT_TRUE(bool(glob));
      copy = *glob;
    }
    buffer.assign(buffer.size(), 'x');
    EXPECT_TRUE(copy->match("layers.0.mlp.gate")) << text;
    EXPECT_FALSE(copy->match(buffer)) << text;
    EXPECT_EQ(copy->getText(), text);
  }
}

TEST(GlobTest, RefusesWhatIsNoPattern) {
  llvm::Expected<Glob> glob = Glob::create("layers.[0");
  ASSERT_FALSE(bool(glob));
  EXPECT_NE(llvm::toString(glob.takeError()), "");
}

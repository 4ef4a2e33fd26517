//===- MeshTest.cpp - Ranks, groups and sub-axes --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coordinates, groups and the arithmetic of axis lists, with the examples of
// the headers and of docs/Sharding.md.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"
#include "gtest/gtest.h"

using namespace tp;
using namespace tp::test;
using llvm::SmallVector;
using Groups = SmallVector<SmallVector<int64_t>>;

TEST(Mesh, LastAxisVariesFastest) {
  Mesh mesh({{"dp", 2}, {"tp", 4}});
  EXPECT_EQ(mesh.getNumRanks(), 8);
  EXPECT_EQ(mesh.getCoordinates(6), (SmallVector<int64_t>{1, 2}));
  EXPECT_EQ(mesh.getRank({1, 2}), 6);
  EXPECT_EQ(mesh.getIndexAlong(6, ref(mesh, "tp", 1, 2)), 1);
  EXPECT_EQ(mesh.getIndexAlong(6, ref(mesh, "tp", 2, 2)), 0);
  // Minor sub-axis first: the digits change places.
  EXPECT_EQ(
      mesh.getIndexAlong(6, {ref(mesh, "tp", 2, 2), ref(mesh, "tp", 1, 2)}), 1);
  EXPECT_EQ(mesh.getGroups(ref(mesh, "tp")),
            (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(mesh.getGroups(ref(mesh, "dp")),
            (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(mesh.getGroups({ref(mesh, "tp", 2, 2), ref(mesh, "dp")}),
            (Groups{{0, 4, 1, 5}, {2, 6, 3, 7}}));
  EXPECT_EQ(mesh.getGroups({}).size(), 8u);
  EXPECT_FALSE(mesh.findAxis("pp"));
}

TEST(Mesh, DeviceOrder) {
  Mesh mesh({{"x", 2}, {"y", 2}}, {3, 1, 0, 2});
  EXPECT_EQ(mesh.getCoordinates(0), (SmallVector<int64_t>{1, 0}));
  EXPECT_EQ(mesh.getRank({0, 0}), 3);
  EXPECT_EQ(mesh.getGroups(ref(mesh, "y")), (Groups{{3, 1}, {0, 2}}));
  for (int64_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(mesh.getRank(mesh.getCoordinates(rank)), rank);
}

TEST(Mesh, Names) {
  Mesh mesh({{"dp", 2}, {"tp", 32}});
  EXPECT_EQ(mesh.getName(ref(mesh, "tp")), "\"tp\"");
  EXPECT_EQ(mesh.getName({ref(mesh, "dp"), ref(mesh, "tp", 8, 4)}),
            "\"dp\", \"tp\":(8)4");
}

TEST(AxisRef, Overlap) {
  AxisRef whole{0, 1, 6}, halves{0, 1, 2}, thirds{0, 1, 3}, minor3{0, 2, 3},
      minor2{0, 3, 2}, other{1, 1, 2}, none{0, 1, 1};
  EXPECT_TRUE(whole.overlaps(halves));
  EXPECT_TRUE(halves.overlaps(halves));
  EXPECT_FALSE(halves.overlaps(minor3));
  EXPECT_FALSE(minor2.overlaps(thirds));
  // Disjoint digits, but 6 is not cut at 2 and 3 both.
  EXPECT_TRUE(halves.overlaps(minor2));
  EXPECT_TRUE(halves.overlaps(thirds));
  EXPECT_FALSE(halves.overlaps(other));
  EXPECT_FALSE(whole.overlaps(none));
}

TEST(AxisList, Canonicalize) {
  AxisList parts{{0, 1, 2}, {0, 2, 2}, {1, 1, 1}, {1, 1, 4}};
  EXPECT_EQ(canonicalize(parts), (AxisList{{0, 1, 4}, {1, 1, 4}}));
  AxisList swapped{{0, 2, 2}, {0, 1, 2}};
  EXPECT_EQ(canonicalize(swapped), swapped);
}

TEST(AxisList, SplitLeading) {
  AxisList tp32{{0, 1, 32}};
  auto parts = splitLeading(tp32, 8);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->first, (AxisList{{0, 1, 8}}));
  EXPECT_EQ(parts->second, (AxisList{{0, 8, 4}}));
  EXPECT_FALSE(splitLeading(tp32, 3));
  EXPECT_FALSE(splitLeading(tp32, 64));
  EXPECT_TRUE(isPrefix(AxisList{{0, 1, 8}}, tp32));
  EXPECT_TRUE(isPrefix(AxisList{}, tp32));
  EXPECT_FALSE(isPrefix(AxisList{{0, 8, 4}}, tp32));
  EXPECT_TRUE(isPrefix(AxisList{{0, 1, 8}, {0, 8, 4}}, tp32));
  EXPECT_FALSE(isPrefix(tp32, AxisList{{0, 1, 8}}));
}

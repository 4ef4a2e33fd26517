//===- JsonTest.cpp - JSON that a stranger may have written ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trees are those of the library's own parser; what is refused, with its place;
// and texts so long that anything above linear time would end the test.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../format/Cursor.h"

#include <gtest/gtest.h>

using namespace tprt;
using namespace tprt::test;

namespace {

json randomValue(std::mt19937 &random, int depth) {
  switch (random() % (depth > 0 ? 9 : 7)) {
  case 0:
    return nullptr;
  case 1:
    return random() % 2 == 0;
  case 2:
    return int64_t(random()) - (int64_t(1) << 31);
  case 3:
    return UINT64_MAX - random();
  case 4:
    return double(random()) / 3;
  case 5:
    return "";
  case 6:
    return std::string(random() % 40, 'x') + "\"\\\n\u00e9";
  case 7: {
    json list = json::array();
    for (unsigned n = random() % 5; n > 0; --n)
      list.push_back(randomValue(random, depth - 1));
    return list;
  }
  default:
    json object = json::object();
    for (unsigned n = random() % 5; n > 0; --n)
      object[std::to_string(random() % 1000)] = randomValue(random, depth - 1);
    return object;
  }
}

/// The object that its members make.
json membersOf(const std::string &text) {
  json object = json::object();
  Status status = parseMembers(text, 32, [&](std::string name, json value) {
    return object.emplace(std::move(name), std::move(value)).second;
  });
  EXPECT_MESSAGE(status, "");
  return object;
}

} // namespace

TEST(Json, TreesAreThoseOfTheLibrary) {
  std::mt19937 random(kSeed);
  for (int i = 0; i < 2000; ++i) {
    json value = randomValue(random, 5);
    std::string text = value.dump(i % 3 - 1);
    auto parsed = parseJson(text, 32);
    ASSERT_TRUE(bool(parsed)) << "seed " << kSeed << ": " << text;
    EXPECT_EQ(*parsed, value) << "seed " << kSeed << ": " << text;
    if (value.is_object())
      EXPECT_EQ(membersOf(text), value) << "seed " << kSeed << ": " << text;
  }
}

TEST(Json, DamageIsRefusedWhereTheLibraryRefusesIt) {
  std::mt19937 random(kSeed);
  for (int i = 0; i < 5000; ++i) {
    std::string text = randomValue(random, 4).dump();
    text[random() % text.size()] = char(random());
    // The library takes a zero byte for the end.
    bool isJson = json::accept(text) && text.find('\0') == text.npos;
    auto parsed = parseJson(text, 32);
    // The library keeps the last of two equal keys.
    bool isTwice =
        !parsed && parsed.status().message().find("twice") != std::string::npos;
    EXPECT_EQ(bool(parsed) || isTwice, isJson)
        << "seed " << kSeed << ": " << text;
  }
}

TEST(Json, RefusalsNameTheirPlace) {
  auto refusal = [](const std::string &text, int depth = 4) {
    return parseJson(text, depth).status().message();
  };
  EXPECT_EQ(refusal("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}"),
            "JSON names 'a' twice (line 3, column 4)");
  EXPECT_EQ(refusal("{\"b\": {\"a\": 1}, \"a\": {\"x\": 1, \"x\": 1}}"),
            "JSON names 'x' twice (line 1, column 33)");
  EXPECT_EQ(refusal("[[[[]]]]"),
            "JSON is nested 4 deep or more (line 1, column 4)");
  EXPECT_EQ(refusal("[[[1]]]"), "");
  EXPECT_EQ(refusal(std::string("[1,\n2]\0[", 9)),
            "JSON has a zero byte (line 2, column 2)");
  EXPECT_EQ(refusal(std::string(1 << 20, '['), 1000),
            "JSON is nested 1000 deep or more (line 1, column 1000)");
  for (const char *text : {"", "{", "[1,", "{\"a\" 1}", "[1] 2", "\"\xff\"",
                           "1e999", "nul", "{\"a\":}"})
    EXPECT_TRUE(refusal(text).starts_with("invalid JSON: ")) << text;
}

TEST(Json, MembersOfWhatIsNoObjectAreRefused) {
  auto never = [](std::string, json) { return true; };
  for (const char *text : {"[]", "1", "null", "[{\"a\": 1}]"})
    EXPECT_TRUE(parseMembers(text, 8, never)
                    .message()
                    .starts_with("JSON is not an object (line 1, column "))
        << text;
  EXPECT_MESSAGE(parseMembers("{}", 8, never), "");
  EXPECT_MESSAGE(
      parseMembers("{\"a\": 1}", 8, [](std::string, json) { return false; }),
      "JSON names 'a' twice (line 1, column 8)");
}

/// Anything quadratic would take minutes.
TEST(Json, LongTextsTakeLinearTime) {
  constexpr int64_t kCount = 150'000;
  std::string object = "{", list = "[";
  for (int64_t i = 0; i < kCount; ++i) {
    std::string comma = i ? "," : "", number = std::to_string(i);
    object += comma + "\"t" + number + "\":{\"s\":[" + number + "]}";
    list += comma + "[{\"a\":{}}]";
  }
  auto tensors = parseJson(object + "}", 8);
  ASSERT_TRUE(bool(tensors));
  EXPECT_EQ(tensors->size(), size_t(kCount));
  EXPECT_EQ(Cursor(*tensors, "x").items("tensor").size(), size_t(kCount));
  auto items = parseJson(list + "]", 8);
  ASSERT_TRUE(bool(items));
  EXPECT_EQ(items->size(), size_t(kCount));
}

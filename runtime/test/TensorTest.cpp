//===- TensorTest.cpp - files from strangers ------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// safetensors and npy: what is refused, by name and number; random damage; the
// conversions; inputs that are checked against what was compiled.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../tensors/Sequences.h"
#include "../tensors/Tensor.h"
#include "../tensors/Values.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <sys/mman.h>
#include <sys/stat.h>

using namespace tprt;
using namespace tprt::test;

namespace {

/// A file of these bytes that has no name.
InputFile fileOf(const std::string &bytes) {
  Descriptor memory(memfd_create("f", MFD_CLOEXEC));
  EXPECT_EQ(write(memory, bytes.data(), bytes.size()), ssize_t(bytes.size()));
  return std::move(
      *InputFile::open("/proc/self/fd/" + std::to_string(int(memory))));
}
auto parseSafetensors(const std::string &bytes) {
  return readSafetensorsHeader(fileOf(bytes), "f");
}
auto parseNpy(const std::string &bytes) {
  return readNpyHeader(fileOf(bytes), "f");
}

/// A file of this header, and of data that is zero.
std::string withHeader(const std::string &header, size_t data) {
  uint64_t length = header.size();
  std::string bytes(reinterpret_cast<char *>(&length), 8);
  return bytes + header + std::string(data, '\0');
}
std::string refusal(const std::string &header, size_t data = 16) {
  return parseSafetensors(withHeader(header, data)).status().message();
}

std::string npy(const std::string &header, const std::string &data) {
  uint16_t length = header.size();
  return std::string("\x93NUMPY\x01\x00", 8) +
         std::string(reinterpret_cast<char *>(&length), 2) + header + data;
}

} // namespace

TEST(Safetensors, RoundTrip) {
  TemporaryDirectory directory;
  std::string path = directory / "a.safetensors";
  ASSERT_OK(writeTensors(path, {{"x", TPRT_F32, {1, 2}, std::string(8, 'a')},
                                {"y", TPRT_I64, {}, std::string(8, 'b')},
                                {"e", TPRT_I8, {0}, ""}}));
  auto file = TensorFile::open(path);
  ASSERT_TRUE(bool(file)) << file.status().message();
  EXPECT_EQ(file->tensors().at("x").shape, (Shape{1, 2}));
  EXPECT_EQ(file->tensors().at("x").bytes, std::string(8, 'a'));
  EXPECT_EQ(file->tensors().at("y").bytes, std::string(8, 'b'));
  EXPECT_EQ(file->tensors().size(), 3u);
}

TEST(Safetensors, Refusals) {
  auto tensor = [](const char *body) {
    return std::string("{\"w\":") + body + "}";
  };
  EXPECT_EQ(
      refusal(tensor(R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})")),
      "");
  EXPECT_EQ(
      refusal(tensor(R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})"),
              12),
      "'f': tensor 'w': data_offsets end at 16, but the file holds 12 "
      "bytes of data (truncated?)");
  EXPECT_EQ(
      refusal(tensor(R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})"),
              20),
      "'f': 4 bytes lie past the last tensor");
  EXPECT_EQ(
      refusal(tensor(R"({"dtype":"F32","shape":[3],"data_offsets":[4,16]})")),
      "'f': bytes 0 to 4 before tensor 'w' belong to no tensor");
  EXPECT_EQ(
      refusal(tensor(R"({"dtype":"F32","shape":[3],"data_offsets":[0,16]})")),
      "'f': tensor 'w': F32 [3] takes 12 bytes, data_offsets span 16");
  EXPECT_EQ(
      refusal(tensor(R"({"dtype":"Q4","shape":[4],"data_offsets":[0,16]})")),
      "'f': tensor 'w'.dtype: unknown dtype 'Q4'");
  EXPECT_EQ(
      refusal(tensor(R"({"dtype":"F32","shape":[4],"data_offsets":[16,0]})")),
      "'f': tensor 'w': data_offsets end at 0 before their begin 16");
  EXPECT_EQ(
      refusal(tensor(R"({"dtype":"F32","shape":[-4],"data_offsets":[0,16]})")),
      "'f': tensor 'w'.shape[0]: expected an integer in [0, "
      "9223372036854775807], "
      "got -4");
  EXPECT_EQ(
      refusal(tensor(
          R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,16]})")),
      "'f': tensor 'w'.shape: its bytes overflow");
  EXPECT_EQ(refusal(tensor(R"({"dtype":4,"shape":[4],"data_offsets":[0,16]})")),
            "'f': tensor 'w'.dtype: expected a string, got number");
  EXPECT_EQ(refusal(tensor((R"({"dtype":"F32","data_offsets":[0,16],"shape":)" +
                            json(Shape(33, 1)).dump() + "}")
                               .c_str())),
            "'f': tensor 'w'.shape: expected at most 32 dimensions, got 33");
  EXPECT_EQ(
      refusal(tensor(R"({"dtype":"F32","shape":4,"data_offsets":[0,16]})")),
      "'f': tensor 'w'.shape: expected a list, got number");
  EXPECT_EQ(
      refusal(tensor(R"({"dtype":"F32","shape":[4],"data_offsets":[16]})")),
      "'f': tensor 'w'.data_offsets: expected [begin, end], got 1 items");
  EXPECT_EQ(refusal(R"({"__metadata__":1})", 0),
            "'f'.__metadata__: expected an object, got number");
  EXPECT_EQ(refusal(R"({"__metadata__":{"format":"pt","step":3}})", 0),
            "'f'.__metadata__: entry 'step': expected a string, got number");
  EXPECT_EQ(refusal(R"({"__metadata__":{"format":["pt"]}})", 0),
            "'f'.__metadata__: entry 'format': expected a string, got array");
  EXPECT_EQ(refusal(R"({"__metadata__":{"a":null}})", 0),
            "'f'.__metadata__: entry 'a': expected a string, got null");
  EXPECT_EQ(refusal(R"({"__metadata__":{},"__metadata__":{}})", 0),
            "'f': header: JSON names '__metadata__' twice (line 1, column 36)");
  EXPECT_EQ(refusal(tensor(R"({"dtype":"F32","shape":[4]})")),
            "'f': tensor 'w': missing key 'data_offsets'");
  EXPECT_EQ(refusal(tensor(
                R"({"dtype":"F32","shape":[4],"data_offsets":[0,16],"x":1})")),
            "'f': tensor 'w': unknown key 'x'");
  EXPECT_EQ(
      refusal(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},)"
              R"("b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})"),
      "'f': tensor 'b' overlaps tensor 'a'");
  EXPECT_EQ(
      refusal(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},)"
              R"("a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})"),
      "'f': header: JSON names 'a' twice (line 1, column 108)");
  EXPECT_EQ(refusal(std::string(50, '[')),
            "'f': the header does not begin with '{'");
  EXPECT_EQ(refusal("{\"a\":" + std::string(200000, '[')),
            "'f': header: JSON is nested 8 deep or more (line 1, column 12)");
  EXPECT_EQ(parseSafetensors("abc").status().message(),
            "'f': expected at least 8 bytes, got 3 (truncated?)");
  EXPECT_EQ(parseSafetensors(std::string(8, '\xff')).status().message(),
            "'f': header of 18446744073709551615 bytes exceeds the limit of "
            "100000000");
  EXPECT_EQ(parseSafetensors(std::string("\x10\0\0\0\0\0\0\0{}", 10))
                .status()
                .message(),
            "'f': header of 16 bytes reaches past the end of the file "
            "(truncated?)");
}

/// As many as a mixture of many small experts has, in order of their data, then
/// fewer in any order. Anything quadratic would take minutes.
TEST(Safetensors, ManyTensors) {
  std::mt19937 random(kSeed);
  for (int64_t count : {100'000, 10'000}) {
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    if (count < 100'000)
      std::shuffle(order.begin(), order.end(), random);
    std::string text = "{\"__metadata__\":{\"format\":\"pt\"}";
    for (int64_t i : order) {
      std::string begin = std::to_string(i), end = std::to_string(i + 1);
      text += ",\"t" + begin + "\":{\"dtype\":\"U8\",\"shape\":[1]," +
              "\"data_offsets\":[" + begin + "," + end + "]}";
    }
    auto places = parseSafetensors(withHeader(text + "}", size_t(count)));
    ASSERT_TRUE(bool(places)) << places.status().message();
    ASSERT_EQ(places->size(), size_t(count));
    int64_t data = 8 + int64_t(text.size()) + 1;
    for (int64_t i : {int64_t(0), count / 3, count - 1})
      EXPECT_EQ(places->at("t" + std::to_string(i)).offset, data + i);
  }
}

TEST(Safetensors, RandomDamageDoesNotCrash) {
  std::mt19937 random(kSeed);
  std::string good = safetensors({{"a", "F32", {3}, std::string(12, 'a')},
                                  {"b", "BF16", {2, 2}, std::string(8, 'b')}});
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = good;
    for (int n = 1 + random() % 4; n > 0; --n)
      damaged[random() % damaged.size()] = char(random());
    if (random() % 4 == 0)
      damaged.resize(random() % damaged.size());
    auto tensors = parseSafetensors(damaged);
    if (!tensors)
      continue;
    // Accepted tensors lie inside the file.
    for (const auto &[name, place] : *tensors) {
      EXPECT_GE(place.offset, 8) << "seed " << kSeed;
      EXPECT_LE(place.offset + place.bytes, int64_t(damaged.size()));
    }
  }
}

TEST(Npy, RoundTripAndRefusals) {
  TemporaryDirectory directory;
  for (tprt_type type : {TPRT_F32, TPRT_F16, TPRT_I32, TPRT_I64, TPRT_I8}) {
    std::string path = directory / "a.npy";
    ASSERT_OK(writeTensors(
        path, {{"x", type, {2, 3}, std::string(6 * typeBytes(type), 'x')}}));
    EXPECT_EQ(std::filesystem::file_size(path) % 2, 0u);
    auto file = TensorFile::open(path);
    ASSERT_TRUE(bool(file)) << file.status().message();
    EXPECT_EQ(file->tensors().at("").shape, (Shape{2, 3}));
    EXPECT_EQ(file->tensors().at("").bytes,
              std::string(size_t(6 * typeBytes(type)), 'x'));
  }
  auto refusal = [](const std::string &bytes) {
    return parseNpy(bytes).status().message();
  };
  EXPECT_EQ(refusal("text"), "'f': not a .npy file (wrong magic)");
  EXPECT_EQ(refusal("\x93NUMPY\x09xxxx"),
            "'f': expected .npy version 1, 2 or 3, got 9");
  EXPECT_EQ(refusal("\x93NUMPY\x01xxxx"),
            "'f': header reaches past the end of the file (truncated?)");
  EXPECT_MESSAGE(writeTensors("f.npy", {{"x", TPRT_BF16, {1}, "xx"}}),
                 "'f.npy': .npy has no bf16; use .safetensors");
  EXPECT_MESSAGE(writeTensors("f.npy", {}),
                 "'f.npy': .npy holds one tensor, there are 0; use "
                 ".safetensors");
  EXPECT_EQ(refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': "
                        "(2,), }",
                        "1234567")),
            "'f': expected 8 bytes of data for shape [2], got 7");
  EXPECT_EQ(refusal(npy("{'descr': '<f4', 'fortran_order': True, 'shape': "
                        "(2,), }",
                        "12345678")),
            "'f': header.fortran_order: expected row-major order, got "
            "column-major (use numpy.ascontiguousarray)");
  EXPECT_EQ(refusal(npy("{'descr': '<c8', 'fortran_order': False, 'shape': "
                        "(), }",
                        "12345678")),
            "'f': header.descr: unsupported element type '<c8'");
  EXPECT_EQ(refusal(npy("{'descr': __import__('os'), }", "")),
            "'f': malformed header");
  EXPECT_EQ(refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': "
                        "(-1,), }",
                        "")),
            "'f': header.shape[0]: expected an integer in [0, "
            "9223372036854775807], got -1");
  EXPECT_EQ(refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': "
                        "(2,), 'x': 1}",
                        "")),
            "'f': header: unknown key 'x'");
  std::mt19937 random(kSeed);
  std::string good = npy("{'descr': '<i8', 'fortran_order': False, 'shape': "
                         "(1, 2), }\n",
                         std::string(16, 'x'));
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = good;
    damaged[random() % damaged.size()] = char(random());
    damaged.resize(damaged.size() - (random() % 3 == 0));
    auto place = parseNpy(damaged);
    if (place) {
      EXPECT_LE(place->offset + place->bytes, int64_t(damaged.size()));
    }
  }
}

TEST(Tensor, Conversions) {
  int32_t ids[] = {1, -2, 2147483647};
  TensorView view{FileType::I32, {3}, {reinterpret_cast<char *>(ids), 12}};
  auto wide = convertTensor(view, TPRT_I64, "x");
  ASSERT_TRUE(bool(wide));
  int64_t got[3];
  std::memcpy(got, wide->bytes.data(), 24);
  EXPECT_EQ(got[1], -2);
  EXPECT_EQ(got[2], 2147483647);
  EXPECT_MESSAGE(convertTensor(view, TPRT_I8, "x").status(),
                 "x: element 2 is 2147483647, which does not fit i8");
  EXPECT_MESSAGE(convertTensor(view, TPRT_F32, "x").status(),
                 "x: expected elements of type f32, got I32");
  view.type = FileType::F32;
  EXPECT_MESSAGE(convertTensor(view, TPRT_I64, "x").status(),
                 "x: expected elements of type i64, got F32");
}

TEST(Tensor, NarrowingRoundsToNearestEven) {
  // Every bf16 and f16 value survives; halfway cases go to even; NaN stays.
  for (tprt_type type : {TPRT_BF16, TPRT_F16})
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      uint16_t in = uint16_t(bits), out = 0;
      float wide;
      simd().widen(type, &in, &wide, 1);
      simd().narrow(type, &wide, &out, 1);
      if (std::isnan(wide)) {
        float again;
        simd().widen(type, &out, &again, 1);
        ASSERT_TRUE(std::isnan(again));
      } else {
        ASSERT_EQ(in, out);
      }
    }
  uint16_t out;
  for (auto [x, bits] : {std::pair{1.00390625f, 0x3f80},
                         {1.01171875f, 0x3f82},
                         {3.4e38f, 0x7f80}}) {
    simd().narrow(TPRT_BF16, &x, &out, 1);
    EXPECT_EQ(out, bits) << x;
  }
}

// Nobody writes to the pipe, and nobody waits for it.
TEST(Input, PipesAreNoFiles) {
  TemporaryDirectory directory;
  std::string path = directory / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_MESSAGE(InputFile::open(path).status(),
                 "'" + path + "' is not a file");
}

TEST(Input, Checks) {
  Input ids;
  ids.name = "input_ids";
  ids.type = TPRT_I64;
  ids.shape = ids.localShape = {1, 3};
  ids.sharding = {{}, {}};
  ids.range = {0, 100};
  int64_t values[] = {5, 99, 100};
  TensorView view{
      FileType::I64, {1, 3}, {reinterpret_cast<char *>(values), 24}};
  EXPECT_MESSAGE(checkInput(ids, view).status(),
                 "input 'input_ids': expected values in [0, 100), got 100 at "
                 "element 2");
  values[2] = 0;
  EXPECT_TRUE(bool(checkInput(ids, view)));
  view.shape = {3};
  EXPECT_MESSAGE(checkInput(ids, view).status(),
                 "input 'input_ids': expected shape [1, 3] as compiled, got "
                 "[3]");

  Input mask = ids;
  mask.name = "mask";
  mask.range.reset();
  mask.rightPadded = true;
  view.shape = {1, 3};
  auto refusal = [&](int64_t a, int64_t b, int64_t c) {
    values[0] = a, values[1] = b, values[2] = c;
    return checkInput(mask, view).status().message();
  };
  EXPECT_EQ(refusal(1, 1, 0), "");
  EXPECT_EQ(refusal(1, 0, 0), "");
  EXPECT_EQ(refusal(0, 1, 1), "input 'mask': row 0 begins with 0: padding on "
                              "the left is not supported, put it on the right");
  EXPECT_EQ(refusal(1, 0, 1), "input 'mask': row 0 has a 1 after a 0 at column "
                              "2: expected padding on the right only");
  EXPECT_EQ(refusal(1, 2, 1), "input 'mask': expected 0 or 1, got 2 at [0, 1]");
  EXPECT_EQ(refusal(0, 0, 0), "input 'mask': row 0 begins with 0: padding on "
                              "the left is not supported, put it on the right");
  mask.sequences = true;
  EXPECT_EQ(refusal(0, 1, 0), "");
  EXPECT_EQ(refusal(0, 0, 0),
            "input 'mask': row 0 has no 1: expected at least one token");
  EXPECT_EQ(refusal(1, 0, 1),
            "input 'mask': row 0 has a 1 after a 0 at column 2, and ones "
            "before: expected padding before all tokens or behind them");
  view.shape = {1, 4};
  EXPECT_MESSAGE(checkInput(mask, view).status(),
                 "input 'mask': expected shape [1, 3] as compiled, or fewer "
                 "positions, got [1, 4]");
}

/// ids and mask [2, S], and as outputs y [2, S, 2] and z [2].
static Entry sequencesOf(int64_t positions) {
  Entry entry{};
  entry.positions = positions;
  for (const char *name : {"ids", "mask"}) {
    Input input;
    input.name = name;
    input.type = TPRT_I32;
    input.shape = {2, positions};
    input.sequences = true;
    entry.inputs.push_back(input);
  }
  entry.inputs[1].rightPadded = true;
  entry.inputs[1].defaultValue = Input::Default::Ones;
  Output y;
  y.shape = {2, positions, 2};
  y.sequences = true;
  Output z;
  z.shape = {2};
  entry.outputs = {y, z};
  return entry;
}

static InputValue numbers(Shape shape, const std::vector<int32_t> &list) {
  return {nullptr,
          {reinterpret_cast<const char *>(list.data()), list.size() * 4},
          std::move(shape)};
}

static std::vector<int32_t> listOf(const InputValue &value) {
  auto *data = reinterpret_cast<const int32_t *>(value.data());
  return {data, data + value.copy.size() / 4};
}

TEST(Sequences, TheShortestEntryWithRoom) {
  std::vector<Entry> entries{sequencesOf(8), sequencesOf(2), sequencesOf(4)};
  for (auto [length, expected] :
       {std::pair(1, 1), {2, 1}, {3, 2}, {5, 0}, {8, 0}})
    EXPECT_EQ(*chooseEntry(entries, {{"ids", {2, length}}}), expected);
  EXPECT_EQ(*chooseEntry(entries, {{"other", {2, 99}}}), 0);
  EXPECT_MESSAGE(chooseEntry(entries, {{"ids", {2, 9}}}).status(),
                 "input 'ids': expected at most 8 positions, got 9: the "
                 "program is compiled for sequences of 2, 4 and 8");
  EXPECT_MESSAGE(
      fitSequences(entries[0], NamedShapes{{"ids", {2, 5}}, {"mask", {2, 4}}})
          .status(),
      "input 'mask': expected 5 positions as input 'ids' has, got 4");
}

TEST(Sequences, MovedInAndOut) {
  Entry entry = sequencesOf(4);
  InputValues values{numbers({2, 3}, {1, 2, 3, 4, 5, 6}), std::nullopt};
  auto fit = fitSequences(entry, values);
  ASSERT_TRUE(bool(fit));
  EXPECT_FALSE(fit->isPlain(entry));
  InputValues moved = moveIn(entry, *fit, values);
  EXPECT_EQ(listOf(*moved[0]), (std::vector<int32_t>{1, 2, 3, 0, 4, 5, 6, 0}));
  EXPECT_EQ(listOf(*moved[1]), (std::vector<int32_t>{1, 1, 1, 0, 1, 1, 1, 0}));

  // One row is padded on the left, the other on both sides.
  values[1] = numbers({2, 3}, {0, 0, 1, 0, 1, 0});
  fit = fitSequences(entry, values);
  EXPECT_EQ(fit->left, (std::vector<int64_t>{2, 1}));
  moved = moveIn(entry, *fit, values);
  EXPECT_EQ(listOf(*moved[0]), (std::vector<int32_t>{3, 0, 0, 0, 5, 6, 0, 0}));
  EXPECT_EQ(listOf(*moved[1]), (std::vector<int32_t>{1, 0, 0, 0, 1, 0, 0, 0}));
  const Output &y = entry.outputs[0];
  EXPECT_EQ(shapeFor(y, *fit), (Shape{2, 3, 2}));
  EXPECT_EQ(shapeFor(entry.outputs[1], *fit), (Shape{2}));
  std::vector<int32_t> from(16), to(12, -1);
  std::iota(from.begin(), from.end(), 0);
  moveOut(y, *fit, reinterpret_cast<const char *>(from.data()), 4,
          reinterpret_cast<char *>(to.data()));
  EXPECT_EQ(to, (std::vector<int32_t>{0, 0, 0, 0, 0, 1, 0, 0, 8, 9, 10, 11}));
}

TEST(Values, DefaultsArePaddedWithZeros) {
  Mesh mesh;
  mesh.axes = {{"a", 2}};
  mesh.positions = {0, 1};
  Input mask;
  mask.shape = {1, 5};
  mask.localShape = {1, 3};
  mask.sharding = {{}, {{{0, 1, 2}}}};
  mask.defaultValue = Input::Default::Ones;
  mask.type = TPRT_I64;
  int64_t ids[3] = {9, 9, 9};
  distribute(mask, nullptr, mesh, {1}, ids);
  EXPECT_EQ((Shape{ids[0], ids[1], ids[2]}), (Shape{1, 1, 0}));
  mask.type = TPRT_F32;
  float values[3] = {9, 9, 9};
  distribute(mask, nullptr, mesh, {0}, values);
  EXPECT_EQ((std::vector<float>{values[0], values[1], values[2]}),
            (std::vector<float>{1, 1, 1}));
  mask.defaultValue = Input::Default::Zeros;
  distribute(mask, nullptr, mesh, {0}, values);
  EXPECT_EQ(values[1], 0);
}

TEST(Values, CutAndAssembledAgain) {
  // [5, 3, 4] over a mesh of 2 x 3, dimension 0 over b, 2 over a; padded.
  Mesh mesh;
  mesh.axes = {{"a", 2}, {"b", 3}};
  mesh.positions = {3, 1, 2, 0, 5, 4};
  Input input;
  input.type = TPRT_F32;
  input.shape = {5, 3, 3};
  input.localShape = {2, 3, 2};
  input.sharding = {{{{1, 1, 3}}}, {}, {{{0, 1, 2}}}};
  std::mt19937 random(kSeed);
  auto x = randomFloats(random, 45);
  InputValue whole{nullptr, toBytes(TPRT_F32, x), {}};
  std::vector<std::vector<float>> shards(6, std::vector<float>(12, 9));
  std::vector<const void *> pointers;
  for (int64_t r = 0; r < 6; ++r) {
    distribute(input, &whole, mesh, mesh.coordinates(r), shards[r].data());
    pointers.push_back(shards[r].data());
    auto at = mesh.coordinates(r);
    for (int64_t i = 0; i < 12; ++i) {
      int64_t d0 = at[1] * 2 + i / 6, d1 = i / 2 % 3, d2 = at[0] * 2 + i % 2;
      float expected = d0 < 5 && d2 < 3 ? x[(d0 * 3 + d1) * 3 + d2] : 0;
      ASSERT_EQ(shards[r][i], expected) << r << " " << i;
    }
  }
  Output output{{"x", TPRT_F32, input.shape, input.localShape, input.sharding}};
  std::string again(whole.copy.size(), '\0');
  ASSERT_OK(assemble(output, mesh, pointers, TPRT_F32, again.data()));
  EXPECT_EQ(again, whole.copy);
}

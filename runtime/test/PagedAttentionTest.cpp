//===- PagedAttentionTest.cpp - attention to pages against the definition -===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ragged rows over pages in any order against a softmax in double. Every cell
// that no token sees holds NaN; pages are freed behind windows and missing in
// places; the number of workers changes no bit.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../host/PagedAttention.h"
#include "../support/Parallel.h"
#include "../support/QuantizedWeight.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tprt;
using namespace tprt::test;

namespace {

/// Tokens of one row in a step.
struct Row {
  int64_t context, count;
};

struct Step {
  PagedAttention a;
  std::vector<Row> rows;
  int64_t padding = 0; ///< tokens of no row
  bool freed = false;  ///< pages behind the window are
  bool holes = false;  ///< some pages that are seen are not there
};

/// The arguments of a call.
struct Arguments {
  std::vector<int32_t> rows, positions, table;
  std::vector<float> q, keys, values, bias, sinks;
  /// A quantised cache, whose numbers keys and values are.
  std::string keyBytes, valueBytes;
  std::vector<float> keyScales, valueScales;
  std::vector<bool> isSeen; ///< of the cells
};

int64_t firstSeen(const PagedAttention &a, int64_t position) {
  return a.window ? std::max<int64_t>(0, position - a.window + 1) : 0;
}

/// -1 where there is none.
int64_t cellOf(const PagedAttention &a, const std::vector<int32_t> &table,
               int64_t row, int64_t position) {
  int64_t slot = position / a.page;
  int64_t page = slot < a.pages ? table[row * a.pages + slot] : -1;
  return page < 0 ? -1 : page * a.page + position % a.page;
}

/// The number of a byte, from its sign, exponent and mantissa.
double decode(QuantizedType type, uint8_t byte) {
  if (type == QuantizedType::I8)
    return int8_t(byte);
  int exponent = byte >> 3 & 15, mantissa = byte & 7;
  if (exponent == 15 && mantissa == 7)
    return NAN;
  double size = exponent ? std::ldexp(8 + mantissa, exponent - 10)
                         : std::ldexp(mantissa, -9);
  return byte & 128 ? -size : size;
}

/// Makes up a quantised cache of `size` elements a head, none of which is NaN,
/// and returns its numbers.
std::vector<float> fillBytes(const PagedAttention &a, int64_t size,
                             std::mt19937 &random, std::string &bytes,
                             std::vector<float> &scales) {
  using Scales = PagedAttention::Scales;
  bool isI8 = *a.element == QuantizedType::I8;
  int64_t heads = a.scales == Scales::One ? 1 : a.kvHeads;
  scales = randomFloats(
      random, heads * (a.scales == Scales::Cells ? a.cells : 1), 0.4f);
  for (float &scale : scales)
    scale = (std::fabs(scale) + 0.1f) / (isI8 ? 64 : 200);
  bytes.resize(a.cells * a.kvHeads * size);
  std::vector<float> numbers(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    do
      bytes[i] = char(random());
    while (std::isnan(decode(*a.element, uint8_t(bytes[i]))));
    int64_t place = int64_t(i) / size; // of a head of a cell
    float scale = a.scales == Scales::Cells   ? scales[place]
                  : a.scales == Scales::Heads ? scales[place % a.kvHeads]
                                              : scales[0];
    numbers[i] = float(decode(*a.element, uint8_t(bytes[i])) * scale);
  }
  return numbers;
}

Arguments fill(Step &step, std::mt19937 &random) {
  PagedAttention &a = step.a;
  Arguments arguments;
  a.rows = int64_t(step.rows.size());
  a.pages = 1;
  int64_t used = 0;
  for (const Row &row : step.rows) {
    int64_t pages = (row.context + row.count + a.page - 1) / a.page;
    a.pages = std::max(a.pages, pages);
    used += pages;
  }
  std::vector<int32_t> free(used + 3);
  a.cells = int64_t(free.size()) * a.page;
  std::iota(free.begin(), free.end(), 0);
  std::shuffle(free.begin(), free.end(), random);
  arguments.table.assign(a.rows * a.pages, -1);
  arguments.isSeen.assign(a.cells, false);
  for (int64_t r = 0; r < a.rows; ++r) {
    const Row &row = step.rows[r];
    int64_t first = step.freed ? firstSeen(a, row.context) : 0;
    for (int64_t p = 0; p * a.page < row.context + row.count; ++p) {
      bool isMissing = step.holes && random() % 8 == 0;
      if ((p + 1) * a.page > first && !isMissing)
        arguments.table[r * a.pages + p] = free.back();
      free.pop_back();
    }
    for (int64_t t = 0; t < row.count; ++t) {
      arguments.rows.push_back(int32_t(r));
      arguments.positions.push_back(int32_t(row.context + t));
    }
    for (int64_t p = firstSeen(a, row.context);
         row.count && p < row.context + row.count; ++p)
      if (int64_t cell = cellOf(a, arguments.table, r, p); cell >= 0)
        arguments.isSeen[cell] = true;
  }
  for (std::vector<int32_t> *numbers : {&arguments.rows, &arguments.positions})
    numbers->insert(numbers->end(), step.padding, -1);
  a.tokens = int64_t(arguments.rows.size());
  int64_t keySize = a.kvHeads * a.headSize, valueSize = a.kvHeads * a.valueSize;
  arguments.q = rounded(
      a.type, randomFloats(random, a.tokens * a.qHeads * a.headSize, 2));
  if (a.element) {
    arguments.keys = fillBytes(a, a.headSize, random, arguments.keyBytes,
                               arguments.keyScales);
    arguments.values = fillBytes(a, a.valueSize, random, arguments.valueBytes,
                                 arguments.valueScales);
  } else {
    arguments.keys =
        rounded(a.cacheType, randomFloats(random, a.cells * keySize, 2));
    arguments.values =
        rounded(a.cacheType, randomFloats(random, a.cells * valueSize));
  }
  if (a.biasType)
    arguments.bias = rounded(
        *a.biasType, randomFloats(random, a.qHeads * a.pages * a.page, 3));
  if (a.sinksType)
    arguments.sinks = rounded(*a.sinksType, randomFloats(random, a.qHeads, 2));
  for (int64_t cell = 0; cell < a.cells; ++cell)
    if (!arguments.isSeen[cell]) {
      std::fill_n(&arguments.keys[cell * keySize], keySize, NAN);
      std::fill_n(&arguments.values[cell * valueSize], valueSize, NAN);
      if (!a.element)
        continue;
      arguments.keyBytes.replace(cell * keySize, keySize, keySize, '\x7f');
      arguments.valueBytes.replace(cell * valueSize, valueSize, valueSize,
                                   '\x7f');
      for (int64_t head = 0; head < a.kvHeads; ++head)
        if (a.scales == PagedAttention::Scales::Cells)
          arguments.keyScales[cell * a.kvHeads + head] =
              arguments.valueScales[cell * a.kvHeads + head] = NAN;
    }
  return arguments;
}

/// One query of one head in double.
std::vector<double> reference(const PagedAttention &a, const Arguments &x,
                              int64_t token, int64_t head) {
  std::vector<double> total(a.valueSize), scores;
  std::vector<int64_t> cells;
  if (x.rows[token] < 0)
    return total;
  int64_t kv = head / (a.qHeads / a.kvHeads);
  for (int64_t p = firstSeen(a, x.positions[token]); p <= x.positions[token];
       ++p) {
    int64_t cell = cellOf(a, x.table, x.rows[token], p);
    if (cell < 0)
      continue;
    cells.push_back(cell * a.kvHeads + kv);
    double dot = 0;
    for (int64_t d = 0; d < a.headSize; ++d)
      dot += double(x.q[(token * a.qHeads + head) * a.headSize + d]) *
             x.keys[cells.back() * a.headSize + d];
    double score = dot * a.scale;
    scores.push_back(a.softCap == 0 ? score
                                    : a.softCap * std::tanh(score / a.softCap));
    if (a.biasType)
      scores.back() += x.bias[head * a.pages * a.page + p];
  }
  double sum = 0, best = a.sinksType ? x.sinks[head] : -INFINITY;
  for (double score : scores)
    best = std::max(best, score);
  if (a.sinksType)
    sum += std::exp(x.sinks[head] - best);
  for (size_t i = 0; i < scores.size(); ++i) {
    double weight = std::exp(scores[i] - best);
    sum += weight;
    for (int64_t d = 0; d < a.valueSize; ++d)
      total[d] += weight * x.values[cells[i] * a.valueSize + d];
  }
  for (double &value : total)
    value = sum == 0 ? 0 : value / sum;
  return total;
}

/// Results that no one wrote would be NaN.
std::string run(PagedAttentionEngine &engine, const PagedAttention &a,
                const Arguments &x) {
  std::string q = toBytes(a.type, x.q), keys = x.keyBytes,
              values = x.valueBytes,
              out(a.tokens * a.qHeads * a.valueSize * typeBytes(a.type),
                  '\xff');
  if (!a.element) {
    keys = toBytes(a.cacheType, x.keys);
    values = toBytes(a.cacheType, x.values);
  }
  std::string bias = toBytes(a.biasType.value_or(TPRT_F32), x.bias);
  std::string sinks = toBytes(a.sinksType.value_or(TPRT_F32), x.sinks);
  Status status =
      engine.run(0, {a.tokens, q.data(), keys.data(), values.data(),
                     x.rows.data(), x.positions.data(), x.table.data(),
                     a.biasType ? bias.data() : nullptr,
                     a.sinksType ? sinks.data() : nullptr, out.data(),
                     a.element ? x.keyScales.data() : nullptr,
                     a.element ? x.valueScales.data() : nullptr});
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

void check(Step step, std::mt19937 &random) {
  Arguments x = fill(step, random);
  const PagedAttention &a = step.a;
  std::string shape = detail::join(
      "heads ", a.qHeads, "/", a.kvHeads, " size ", a.headSize, " type ",
      typeName(a.type), " cache ", typeName(a.cacheType), " page ", a.page,
      " window ", a.window, " value size ", a.valueSize, " soft cap ",
      a.softCap, " bias ", a.biasType.has_value(), " sinks ",
      a.sinksType.has_value(), " element ", a.element ? int(*a.element) : -1,
      " scales ", int(a.scales), " freed ", step.freed, " holes ", step.holes,
      " padding ", step.padding, " seed ", kSeed, " rows");
  for (const Row &row : step.rows)
    shape += detail::join(" ", row.context, "+", row.count);
  SCOPED_TRACE(shape);
  std::vector<PagedAttention> list = {a};
  PagedAttentionEngine engine(list);
  setWorkers(1);
  std::string bytes = run(engine, a, x);
  for (int workers : {2, 3}) {
    setWorkers(workers);
    ASSERT_EQ(run(engine, a, x), bytes) << workers << " workers";
  }
  std::vector<float> got = toFloats(a.type, bytes);
  for (int64_t t = 0; t < a.tokens; ++t)
    for (int64_t head = 0; head < a.qHeads; ++head) {
      std::vector<double> expected = reference(a, x, t, head);
      for (int64_t d = 0; d < a.valueSize; ++d)
        ASSERT_NEAR(got[(t * a.qHeads + head) * a.valueSize + d], expected[d],
                    2e-5 + 2 * epsilon(a.type))
            << "token " << t << " head " << head << " element " << d;
    }
}

PagedAttention describe(int64_t heads, int64_t kvHeads, int64_t size,
                        tprt_type type, tprt_type cacheType) {
  PagedAttention a{};
  a.qHeads = heads, a.kvHeads = kvHeads, a.headSize = a.valueSize = size;
  a.type = type, a.cacheType = cacheType;
  a.page = 32;
  a.scale = 1 / std::sqrt(double(size));
  return a;
}

} // namespace

TEST(PagedAttention, RandomRows) {
  std::mt19937 random(kSeed);
  auto pick = [&](std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  auto pickType = [&] {
    return tprt_type(pick({TPRT_F32, TPRT_BF16, TPRT_F16}));
  };
  for (int i = 0; i < 90 && !::testing::Test::HasFatalFailure(); ++i) {
    int64_t kvHeads = pick({1, 2, 3, 8}), sharing = pick({1, 1, 2, 4, 5, 17});
    Step step{describe(kvHeads * sharing, kvHeads,
                       pick({1, 4, 8, 15, 16, 32, 40, 64, 80, 128}), pickType(),
                       pickType()),
              {}};
    step.a.page = pick({1, 4, 32, 32, 48});
    step.a.window = pick({0, 0, 1, 17, 33, 300});
    for (int64_t r = pick({1, 2, 5}); r > 0; --r)
      step.rows.push_back({pick({0, 0, 1, 31, 32, 33, 127, 255, 256, 257, 600}),
                           pick({0, 1, 1, 1, 2, 4, 31, 32, 33, 60})});
    if (random() % 2 == 0) {
      step.a.cacheType = TPRT_I8;
      step.a.element = random() % 2 ? QuantizedType::I8 : QuantizedType::E4M3;
      step.a.scales = PagedAttention::Scales(random() % 3);
    }
    if (random() % 3 == 0)
      step.a.valueSize = pick({1, 16, 24, 32, 64, 96});
    if (random() % 3 == 0)
      step.a.softCap = double(pick({1, 30}));
    if (random() % 3 == 0)
      step.a.sinksType = pickType();
    if (random() % 3 == 0)
      step.a.biasType = pickType();
    step.padding = pick({0, 0, 3});
    step.freed = random() % 2;
    step.holes = random() % 4 == 0;
    if (std::all_of(step.rows.begin(), step.rows.end(),
                    [](const Row &row) { return row.count == 0; }))
      step.padding = 1;
    check(step, random);
  }
  setWorkers(1);
}

/// Prompts at which positions and cells may be mistaken for each other.
TEST(PagedAttention, PromptsAroundPages) {
  std::mt19937 random(kSeed);
  for (int64_t length : {1, 5, 31, 32, 33, 64, 128, 129, 256, 257})
    for (int64_t window : {0, 32}) {
      // The prompt at once, its last token alone, and beside others.
      Step step{describe(4, 2, 16, TPRT_F32, TPRT_F32), {{0, length}}};
      step.a.window = window;
      check(step, random);
      step.rows = {{length - 1, 1}};
      check(step, random);
      step.rows = {{0, 0}, {length, 1}, {0, length}, {length, 33}};
      step.padding = 2;
      check(step, random);
    }
  setWorkers(1);
}

/// A token gets the same result alone and beside others, bit for bit.
TEST(PagedAttention, CompanyChangesNothing) {
  std::mt19937 random(kSeed);
  Step step{describe(8, 2, 64, TPRT_F32, TPRT_BF16),
            {{300, 1}, {0, 40}, {511, 1}, {70, 2}}};
  Arguments all = fill(step, random);
  std::vector<PagedAttention> list = {step.a};
  PagedAttentionEngine engine(list);
  std::string together = run(engine, step.a, all);
  int64_t tokenBytes = int64_t(together.size()) / step.a.tokens;
  for (int64_t row = 0; row < step.a.rows; ++row) {
    PagedAttention a = step.a;
    Arguments alone = all;
    auto begin = std::find(all.rows.begin(), all.rows.end(), row);
    int64_t first = begin - all.rows.begin();
    a.tokens = step.rows[row].count;
    alone.rows.assign(begin, begin + a.tokens);
    alone.positions.assign(all.positions.begin() + first,
                           all.positions.begin() + first + a.tokens);
    int64_t size = a.qHeads * a.headSize;
    alone.q.assign(all.q.begin() + first * size,
                   all.q.begin() + (first + a.tokens) * size);
    EXPECT_EQ(run(engine, a, alone),
              together.substr(first * tokenBytes, a.tokens * tokenBytes))
        << "row " << row;
  }
}

TEST(PagedAttention, NanInScoresIsNotLost) {
  for (int64_t count : {1, 40}) {
    std::mt19937 random(kSeed);
    Step step{describe(1, 1, 16, TPRT_F32, TPRT_F32), {{0, count}}};
    Arguments x = fill(step, random);
    x.q[0] = NAN;
    std::vector<PagedAttention> list = {step.a};
    PagedAttentionEngine engine(list);
    std::vector<float> got = toFloats(TPRT_F32, run(engine, step.a, x));
    EXPECT_TRUE(std::isnan(got[0]));
    EXPECT_EQ(std::count_if(got.begin(), got.end(),
                            [](float value) { return std::isnan(value); }),
              16);
  }
}

TEST(PagedAttention, RefusesWhatTheManifestDoesNotSay) {
  std::vector<PagedAttention> list = {describe(1, 1, 16, TPRT_F32, TPRT_F32)};
  list[0].tokens = 4;
  PagedAttentionEngine engine(list);
  PagedCall call{};
  call.tokens = 5;
  EXPECT_MESSAGE(engine.run(0, call), "paged attention 0: expected at most 4 "
                                      "tokens, got 5");
  EXPECT_MESSAGE(engine.run(1, call),
                 "paged attention 1 is not in the manifest");
}

/// Into another pool or its own, whatever the number of workers; in order, and
/// only what is a cell.
TEST(PagedAttention, CacheWrite) {
  std::mt19937 random(kSeed);
  for (auto [tokens, cellBytes] :
       {std::pair<int64_t, int64_t>{5, 12}, {512, 2048}, {1, 64}})
    for (int workers : {1, 2, 3}) {
      setWorkers(workers);
      int64_t numCells = 600;
      std::string rows(tokens * cellBytes, '\0'),
          pool(numCells * cellBytes, '\1');
      for (char &byte : rows)
        byte = char(random());
      std::vector<int32_t> cells(tokens);
      for (int32_t &cell : cells)
        cell = int32_t(random() % (numCells + 2)) - 1;
      std::string expected = pool, other(pool.size(), '\2');
      for (int64_t t = 0; t < tokens; ++t)
        if (cells[t] >= 0 && cells[t] < numCells)
          expected.replace(cells[t] * cellBytes, cellBytes,
                           rows.substr(t * cellBytes, cellBytes));
      std::string old = pool;
      EXPECT_EQ(HostFunctions::cache_write(nullptr, tokens, cellBytes, numCells,
                                           rows.data(), cells.data(),
                                           old.data(), other.data()),
                0);
      EXPECT_EQ(other, expected);
      EXPECT_EQ(old, pool);
      HostFunctions::cache_write(nullptr, tokens, cellBytes, numCells,
                                 rows.data(), cells.data(), pool.data(),
                                 pool.data());
      EXPECT_EQ(pool, expected);
    }
  setWorkers(1);
}

namespace {
/// The byte whose number is nearest to `number`, of two the even one; the
/// largest of its sign if there is none.
uint8_t nearest(QuantizedType type, float number) {
  uint8_t best = 0;
  double distance = INFINITY;
  for (int code = 0; code < 256; ++code) {
    double value = decode(type, uint8_t(code));
    bool isPossible = !std::isnan(value) && value >= -448 &&
                      !(type == QuantizedType::I8 && value == -128) &&
                      std::signbit(value) == std::signbit(number);
    if (type == QuantizedType::I8)
      isPossible |= value == 0;
    double own = std::fabs(value - double(number));
    if (isPossible && (own < distance || (own == distance && code % 2 == 0))) {
      best = uint8_t(code);
      distance = own;
    }
  }
  return best;
}

struct Write {
  QuantizedType type;
  tprt_type input;
  int64_t tokens, heads, size, scaleHeads; ///< scaleHeads 0: of each row
};

void check(const Write &w, std::mt19937 &random) {
  bool isStatic = w.scaleHeads != 0, isI8 = w.type == QuantizedType::I8;
  SCOPED_TRACE(detail::join("element ", int(w.type), " of ", typeName(w.input),
                            " tokens ", w.tokens, " heads ", w.heads, " size ",
                            w.size, " scales ", w.scaleHeads, " seed ", kSeed));
  int64_t numCells = w.tokens + 3, row = w.heads * w.size;
  std::vector<float> x = randomFloats(random, w.tokens * row, 3);
  for (int64_t t = 0; t < w.tokens; ++t) // of all magnitudes, some zero
    for (int64_t i = 0; i < row; ++i)
      x[t * row + i] *= t % 5 == 4 ? 0 : std::ldexp(1.0f, int(t % 7) * 3 - 9);
  x = rounded(w.input, x);
  std::vector<int32_t> cells(numCells);
  std::iota(cells.begin(), cells.end(), -1);
  std::shuffle(cells.begin(), cells.end(), random);
  cells.resize(w.tokens);
  std::string pool(numCells * row, '\5'), rows = toBytes(w.input, x);
  std::vector<float> scales =
      isStatic ? std::vector<float>{0.03f, 0.5f, 7, 0} : std::vector<float>();
  scales.resize(isStatic ? w.scaleHeads : numCells * w.heads, 2.5f);
  std::string expected = pool;
  std::vector<float> expectedScales = scales;
  for (int64_t place = 0; place < w.tokens * w.heads; ++place) {
    int64_t cell = cells[place / w.heads], head = place % w.heads;
    if (cell < 0 || cell >= numCells)
      continue;
    const float *from = &x[place * w.size];
    float largest = 0;
    for (int64_t i = 0; i < w.size; ++i)
      largest = std::max(largest, std::fabs(from[i]));
    float scale = isStatic ? scales[w.scaleHeads == 1 ? 0 : head]
                           : largest / float(isI8 ? 127 : 448);
    if (!isStatic)
      expectedScales[cell * w.heads + head] = scale;
    for (int64_t i = 0; i < w.size; ++i)
      expected[(cell * w.heads + head) * w.size + i] =
          scale == 0 ? '\0' : char(nearest(w.type, from[i] / scale));
  }
  for (int workers : {1, 3}) {
    setWorkers(workers);
    std::string own(pool.size(), '\6');
    std::vector<float> ownScales(scales.size());
    EXPECT_EQ(HostFunctions::quantized_cache_write(
                  nullptr, w.tokens, w.heads, w.size, numCells, w.scaleHeads,
                  w.input, isI8 ? TPRT_CACHE_I8 : TPRT_CACHE_E4M3, rows.data(),
                  cells.data(), pool.data(), scales.data(), own.data(),
                  isStatic ? nullptr : ownScales.data()),
              0);
    EXPECT_EQ(own, expected);
    if (!isStatic)
      EXPECT_EQ(ownScales, expectedScales);
  }
  setWorkers(1);
}
} // namespace

TEST(PagedAttention, QuantizedCacheWrite) {
  std::mt19937 random(kSeed);
  for (QuantizedType type : {QuantizedType::I8, QuantizedType::E4M3})
    for (tprt_type input : {TPRT_F32, TPRT_BF16, TPRT_F16})
      for (int64_t size : {1, 15, 16, 40}) {
        check({type, input, 9, 3, size, 0}, random);
        if (type == QuantizedType::E4M3)
          for (int64_t scaleHeads : {1, 4})
            check({type, input, 9, 4, size, scaleHeads}, random);
      }
}

/// A NaN stays one, whatever its head is scaled by.
TEST(PagedAttention, QuantizedNan) {
  const int32_t cell = 0;
  float row[4] = {1, NAN, -INFINITY, 1e30f}, scale = 1;
  char bytes[4];
  HostFunctions::quantized_cache_write(nullptr, 1, 1, 4, 1, 1, TPRT_F32,
                                       TPRT_CACHE_E4M3, row, &cell, bytes,
                                       &scale, bytes, nullptr);
  EXPECT_EQ(std::string(bytes, 4), "\x38\x7f\xfe\x7e");
  for (float bad : {NAN, INFINITY}) {
    row[1] = bad;
    HostFunctions::quantized_cache_write(nullptr, 1, 1, 4, 1, 0, TPRT_F32,
                                         TPRT_CACHE_I8, row, &cell, bytes,
                                         &scale, bytes, &scale);
    EXPECT_TRUE(std::isnan(scale));
  }
}

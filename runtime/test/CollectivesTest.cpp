//===- CollectivesTest.cpp - every kind at every degree -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random collectives on 1 to 8 ranks, over axes and sub-axes, any dimension,
// odd sizes and all types, against definitions by element; and the ways a group
// can fail.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../collectives/threads/Threads.h"
#include "../core/Parallel.h"

#include <atomic>
#include <cstring>
#include <thread>

using namespace tprt;
using namespace tprt::test;

namespace {

/// Runs job(rank, world) on a thread per rank.
void onRanks(ThreadHub &hub, const std::function<void(int64_t, World &)> &job) {
  std::vector<std::thread> threads;
  for (int64_t r = 0; r < hub.size(); ++r)
    threads.emplace_back([&, r] {
      setWorkers(1 + r % 2);
      auto world = hub.world(r);
      job(r, *world);
    });
  for (std::thread &thread : threads)
    thread.join();
}

std::string describe(CallSite site) {
  return "call " + std::to_string(site.id) + " layer " +
         std::to_string(site.layer);
}

/// Elements as doubles, whatever the type.
std::vector<double> read(tprt_type type, const std::string &bytes) {
  std::vector<double> values;
  for (size_t i = 0; i < bytes.size() / typeBytes(type); ++i) {
    const char *p = bytes.data() + i * typeBytes(type);
    float wide;
    int32_t i32;
    int64_t i64;
    switch (type) {
    case TPRT_I64:
      std::memcpy(&i64, p, 8);
      values.push_back(double(i64));
      break;
    case TPRT_I32:
      std::memcpy(&i32, p, 4);
      values.push_back(i32);
      break;
    case TPRT_I8:
      values.push_back(*reinterpret_cast<const signed char *>(p));
      break;
    default:
      simd().widen(type, p, &wide, 1);
      values.push_back(wide);
    }
  }
  return values;
}

/// Small integers, exact in every type, so that sums have one right answer.
std::string randomValues(tprt_type type, int64_t count, std::mt19937 &random) {
  std::string bytes(count * typeBytes(type), '\0');
  for (int64_t i = 0; i < count; ++i) {
    char *p = bytes.data() + i * typeBytes(type);
    int64_t value = int64_t(random() % 15) - 7;
    float wide = float(value);
    int32_t i32 = int32_t(value);
    switch (type) {
    case TPRT_I64:
      std::memcpy(p, &value, 8);
      break;
    case TPRT_I32:
      std::memcpy(p, &i32, 4);
      break;
    case TPRT_I8:
      *p = char(value);
      break;
    default:
      simd().narrow(type, &wide, p, 1);
    }
  }
  return bytes;
}

int64_t at(const Shape &shape, const Shape &index) {
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    offset = offset * shape[d] + index[d];
  return offset;
}

/// The definition: element `index` of member `self`'s result; 0 for padding.
double expected(const Collective &c, int64_t self, const Shape &index,
                const std::vector<std::vector<double>> &in) {
  using Kind = CollectiveKind;
  Shape from = index;
  int64_t source = self;
  switch (c.kind) {
  case Kind::AllGather:
    source = index[c.dim] / c.inputShape[c.dim];
    from[c.dim] %= c.inputShape[c.dim];
    return in[source][at(c.inputShape, from)];
  case Kind::AllToAll:
    source = index[c.dim] / c.inputShape[c.dim];
    from[c.dim] %= c.inputShape[c.dim];
    from[c.splitDim] += self * c.outputShape[c.splitDim];
    return from[c.splitDim] < c.inputShape[c.splitDim]
               ? in[source][at(c.inputShape, from)]
               : 0;
  case Kind::Broadcast:
    return in[c.root][at(c.inputShape, from)];
  case Kind::CollectivePermute:
    for (auto [a, b] : c.pairs)
      if (b == self)
        return in[a][at(c.inputShape, from)];
    return 0;
  case Kind::ReduceScatter:
    from[c.dim] += self * c.outputShape[c.dim];
    if (from[c.dim] >= c.inputShape[c.dim])
      return 0;
    break;
  case Kind::AllReduce:
    break;
  }
  double result = in[0][at(c.inputShape, from)];
  for (size_t j = 1; j < in.size(); ++j) {
    double x = in[j][at(c.inputShape, from)];
    result = c.reduction == Reduction::Sum   ? result + x
             : c.reduction == Reduction::Max ? std::max(result, x)
                                             : std::min(result, x);
  }
  return result;
}

struct Picker {
  std::mt19937 random{kSeed};
  int64_t operator()(int64_t low, int64_t high) {
    return low + int64_t(random() % (high - low + 1));
  }
};

/// A random entry over a random part of a random mesh.
Collective randomEntry(Picker &pick, const Mesh &mesh) {
  Collective c{};
  c.kind = CollectiveKind(pick(0, 5));
  c.reduction = Reduction(pick(0, 2));
  c.type = tprt_type(pick(0, 5));
  for (size_t a = 0; a < mesh.axes.size(); ++a) {
    int64_t size = mesh.axes[a].size;
    switch (pick(0, 3)) {
    case 0:
      break;
    case 1:
      if (size % 2 == 0) {
        c.axes.push_back(pick(0, 1) ? AxisRef{int64_t(a), 1, 2}
                                    : AxisRef{int64_t(a), size / 2, 2});
        break;
      }
      [[fallthrough]];
    default:
      c.axes.insert(pick(0, 1) ? c.axes.begin() : c.axes.end(),
                    AxisRef{int64_t(a), 1, size});
    }
  }
  int64_t members = shardCount(c.axes);
  int64_t rank = pick(2, 4);
  for (int64_t d = 0; d < rank; ++d)
    c.inputShape.push_back(pick(1, 9));
  if (pick(0, 19) == 0) { // past the grain of one thread
    rank = 2;
    c.inputShape = {pick(1, 2), pick(33000, 40000)};
  }
  c.outputShape = c.inputShape;
  c.dim = pick(0, rank - 1);
  c.splitDim = (c.dim + pick(1, rank - 1)) % rank;
  auto scatter = [&](int64_t d) {
    c.outputShape[d] =
        (c.inputShape[d] + members - 1) / members + pick(0, 3) / 3;
  };
  auto gather = [&](int64_t d) {
    int64_t full = c.inputShape[d] * members;
    c.outputShape[d] = full - pick(0, std::min<int64_t>(full - 1, 4));
  };
  if (c.kind == CollectiveKind::AllGather || c.kind == CollectiveKind::AllToAll)
    gather(c.dim);
  if (c.kind == CollectiveKind::ReduceScatter)
    scatter(c.dim);
  if (c.kind == CollectiveKind::AllToAll)
    scatter(c.splitDim);
  c.root = pick(0, members - 1);
  if (c.kind == CollectiveKind::CollectivePermute) {
    std::vector<int64_t> to(members);
    for (int64_t i = 0; i < members; ++i)
      to[i] = i;
    std::shuffle(to.begin(), to.end(), pick.random);
    for (int64_t i = 0; i < members; ++i)
      if (pick(0, 4))
        c.pairs.push_back({i, to[i]});
  }
  return c;
}

} // namespace

TEST(Collectives, RandomEntries) {
  Picker pick;
  for (int n = 0; n < 400; ++n) {
    Mesh mesh;
    int64_t ranks = pick(1, 8);
    if (ranks % 2 == 0 && pick(0, 1))
      mesh.axes = {{"a", 2}, {"b", ranks / 2}};
    else
      mesh.axes = {{"a", ranks}};
    for (int64_t r = 0; r < ranks; ++r)
      mesh.positions.push_back(r);
    if (pick(0, 2) == 0)
      std::shuffle(mesh.positions.begin(), mesh.positions.end(), pick.random);
    Collective c = randomEntry(pick, mesh);
    SCOPED_TRACE(detail::join(
        "seed ", kSeed, " case ", n, ": ", kindName(c.kind), " of ",
        typeName(c.type), " on ", ranks, " ranks, groups of ",
        shardCount(c.axes), ", ", formatShape(c.inputShape), " to ",
        formatShape(c.outputShape), ", dim ", c.dim, ", split ", c.splitDim));

    int64_t size = typeBytes(c.type);
    std::vector<std::string> in(ranks), out(ranks);
    std::vector<std::vector<double>> values(ranks);
    for (int64_t r = 0; r < ranks; ++r) {
      in[r] = randomValues(c.type, elementCount(c.inputShape), pick.random);
      out[r] = std::string(elementCount(c.outputShape) * size, '\x55');
      values[r] = read(c.type, in[r]);
    }
    bool inPlace = (c.kind == CollectiveKind::AllReduce ||
                    c.kind == CollectiveKind::Broadcast) &&
                   pick(0, 1);
    if (inPlace)
      out = in;
    ThreadHub hub(ranks, 30, describe);
    std::vector<Status> statuses(ranks);
    onRanks(hub, [&](int64_t r, World &world) {
      auto communicator = world.communicator(mesh.group(c.axes, r));
      statuses[r] = (*communicator)
                        ->run(c, {3, 1}, inPlace ? out[r].data() : in[r].data(),
                              out[r].data());
    });
    for (int64_t r = 0; r < ranks; ++r) {
      ASSERT_OK(statuses[r]);
      std::vector<int64_t> group = mesh.group(c.axes, r);
      std::vector<std::vector<double>> inputs;
      for (int64_t member : group)
        inputs.push_back(values[member]);
      int64_t self = mesh.index(c.axes, mesh.coordinates(r));
      ASSERT_EQ(group[self], r);
      std::vector<double> got = read(c.type, out[r]);
      Shape index(c.outputShape.size());
      for (size_t i = 0; i < got.size(); ++i) {
        int64_t rest = int64_t(i);
        for (size_t d = index.size(); d-- > 0;) {
          index[d] = rest % c.outputShape[d];
          rest /= c.outputShape[d];
        }
        double want = expected(c, self, index, inputs);
        ASSERT_EQ(got[i], want) << "rank " << r << " at " << formatShape(index);
      }
    }
  }
}

TEST(Collectives, SumsHaveTheSameBitsOnEveryRank) {
  constexpr int64_t kRanks = 5, kCount = 10007;
  Collective c{};
  c.kind = CollectiveKind::AllReduce;
  c.inputShape = c.outputShape = {kCount};
  std::mt19937 random(kSeed);
  for (tprt_type type : {TPRT_F32, TPRT_BF16, TPRT_F16}) {
    c.type = type;
    std::vector<std::string> buffers;
    std::vector<std::vector<float>> values;
    for (int64_t r = 0; r < kRanks; ++r) {
      values.push_back(rounded(type, randomFloats(random, kCount, 1000)));
      buffers.push_back(toBytes(type, values[r]));
    }
    ThreadHub hub(kRanks, 30, describe);
    onRanks(hub, [&](int64_t r, World &world) {
      auto communicator = world.communicator({0, 1, 2, 3, 4});
      EXPECT_TRUE((*communicator)
                      ->run(c, {0, 0}, buffers[r].data(), buffers[r].data())
                      .ok());
    });
    // Summed in rank order, in f32, and rounded once.
    std::vector<float> sum = values[0];
    for (int64_t r = 1; r < kRanks; ++r)
      for (int64_t i = 0; i < kCount; ++i)
        sum[i] += values[r][i];
    for (int64_t r = 0; r < kRanks; ++r)
      EXPECT_EQ(buffers[r], toBytes(type, sum)) << typeName(type);
  }
}

TEST(Collectives, ManyCallsInARow) {
  constexpr int64_t kRanks = 6;
  Collective c{};
  c.kind = CollectiveKind::AllReduce;
  c.type = TPRT_I64;
  c.inputShape = c.outputShape = {3};
  ThreadHub hub(kRanks, 30, describe);
  std::atomic<int> wrong = 0;
  onRanks(hub, [&](int64_t r, World &world) {
    auto all = world.communicator({0, 1, 2, 3, 4, 5});
    auto half = world.communicator(r < 3 ? std::vector<int64_t>{0, 1, 2}
                                         : std::vector<int64_t>{3, 4, 5});
    for (int64_t i = 0; i < 2000; ++i) {
      int64_t x[3] = {r, i, 1}, y[3];
      wrong += !(*half)->run(c, {0, i}, x, y).ok();
      wrong += y[0] != (r < 3 ? 3 : 12) || y[1] != 3 * i || y[2] != 3;
      wrong += !(*all)->run(c, {1, i}, x, x).ok();
      wrong += x[0] != 15 || x[1] != 6 * i || x[2] != 6;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Collectives, ErrorsReachEveryRank) {
  Collective c{};
  c.kind = CollectiveKind::AllReduce;
  c.type = TPRT_F32;
  c.inputShape = c.outputShape = {1};
  ThreadHub hub(3, 30, describe);
  std::vector<Status> statuses(3);
  onRanks(hub, [&](int64_t r, World &world) {
    auto all = world.communicator({0, 1, 2});
    float x = 1;
    if (r == 2) {
      world.abort(userError("rank 2 broke"));
      world.abort(userError("and again"));
    } else {
      statuses[r] = (*all)->run(c, {0, 0}, &x, &x);
    }
  });
  EXPECT_EQ(statuses[0].message(), "rank 2 broke");
  EXPECT_EQ(statuses[1].message(), "rank 2 broke");
  EXPECT_EQ(hub.failure().message(), "rank 2 broke");
}

TEST(Collectives, MissingRankIsNamedWithItsLastCall) {
  Collective c{};
  c.kind = CollectiveKind::AllReduce;
  c.type = TPRT_F32;
  c.inputShape = c.outputShape = {1};
  ThreadHub hub(2, 0.2, describe);
  std::vector<Status> statuses(2);
  onRanks(hub, [&](int64_t r, World &world) {
    auto all = world.communicator({0, 1});
    float x = 1;
    statuses[r] = (*all)->run(c, {4, 6}, &x, &x);
    if (r == 0)
      statuses[r] = (*all)->run(c, {5, 7}, &x, &x);
  });
  EXPECT_EQ(statuses[0].code(), Code::Lost);
  EXPECT_EQ(statuses[0].message(),
            "rank 0 waited in call 5 layer 7: rank 1 did not arrive within 0.2 "
            "s, last seen after call 4 layer 6");
}

TEST(Collectives, DisagreementIsFound) {
  ThreadHub hub(2, 30, describe);
  std::vector<Status> statuses(2);
  onRanks(hub, [&](int64_t r, World &world) {
    statuses[r] = world.agree(uint64_t(r), "the artifact");
  });
  EXPECT_EQ(statuses[0].code(), Code::Lost);
  EXPECT_NE(hub.failure().message().find("do not agree on the artifact"),
            std::string::npos);
}

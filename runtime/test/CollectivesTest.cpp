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

#include "RandomCollective.h"
#include "ThreadRanks.h"

#include <atomic>
#include <cstring>
#include <map>
#include <thread>

using namespace tprt;
using namespace tprt::test;

namespace {

/// Compares rank r's output with the definition. `in` holds every rank's input.
void expectDefinition(const Collective &c, const Mesh &mesh, int64_t r,
                      const std::vector<std::string> &in,
                      const std::string &out) {
  std::vector<int64_t> group = mesh.group(c.axes, r);
  std::vector<std::vector<double>> inputs;
  for (int64_t member : group)
    inputs.push_back(read(c.type, in[size_t(member)]));
  int64_t self = mesh.index(c.axes, mesh.coordinates(r));
  ASSERT_EQ(group[size_t(self)], r);
  std::vector<double> got = read(c.type, out);
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
        "seed ", kSeed, " case ", n, ": ", c.row().operation, " of ",
        typeName(c.type), " on ", ranks, " ranks, groups of ",
        shardCount(c.axes), ", ", formatShape(c.inputShape), " to ",
        formatShape(c.outputShape), ", dim ", c.dim, ", split ", c.splitDim));

    int64_t size = typeBytes(c.type);
    std::vector<std::string> in(ranks), out(ranks);
    for (int64_t r = 0; r < ranks; ++r) {
      in[r] = randomValues(c.type, elementCount(c.inputShape), pick.random);
      out[r] = std::string(elementCount(c.outputShape) * size, '\x55');
    }
    bool inPlace = c.row().inPlace && pick(0, 1);
    if (inPlace)
      out = in;
    auto made = threads(ranks, 30);
    Backend &backend = *made;
    std::vector<Status> statuses(ranks);
    onRanks(backend, [&](int64_t r) {
      auto communicator = backend.communicator(r, mesh.group(c.axes, r));
      statuses[r] = (*communicator)
                        ->run(c, {3, 1}, inPlace ? out[r].data() : in[r].data(),
                              out[r].data());
    });
    for (int64_t r = 0; r < ranks; ++r) {
      ASSERT_OK(statuses[r]);
      expectDefinition(c, mesh, r, in, out[r]);
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
    auto made = threads(kRanks, 30);
    Backend &backend = *made;
    onRanks(backend, [&](int64_t r) {
      auto communicator = backend.communicator(r, {0, 1, 2, 3, 4});
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
  auto made = threads(kRanks, 30);
  Backend &backend = *made;
  std::atomic<int> wrong = 0;
  onRanks(backend, [&](int64_t r) {
    auto all = backend.communicator(r, {0, 1, 2, 3, 4, 5});
    auto half = backend.communicator(r, r < 3 ? std::vector<int64_t>{0, 1, 2}
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

/// Calls over several groups, each started and finished when chance has it,
/// between pauses of each rank's own.
TEST(Collectives, StartedCallsInAnyOrder) {
  Picker pick;
  for (int n = 0; n < 60; ++n) {
    Mesh mesh;
    mesh.axes = {{"a", pick(1, 3)}, {"b", pick(1, 3)}};
    int64_t ranks = mesh.axes[0].size * mesh.axes[1].size;
    for (int64_t r = 0; r < ranks; ++r)
      mesh.positions.push_back(r);
    // {call, 0 to start or 1 to finish}
    std::vector<std::pair<size_t, int>> steps;
    std::vector<Collective> calls;
    for (size_t i = 0; i < 8; ++i) {
      calls.push_back(randomEntry(pick, mesh));
      steps.push_back({i, 0});
      steps.push_back({i, 1});
    }
    // Ends move down; the starts keep their order.
    for (size_t i = steps.size(); i-- > 0;)
      if (steps[i].second == 1)
        std::rotate(steps.begin() + i, steps.begin() + i + 1,
                    steps.begin() + pick(int64_t(i) + 1, steps.size()));
    SCOPED_TRACE(detail::join("seed ", kSeed, " case ", n, " on ", ranks));
    std::vector<std::vector<std::string>> in(calls.size()), out(calls.size());
    for (size_t i = 0; i < calls.size(); ++i)
      for (int64_t r = 0; r < ranks; ++r) {
        const Collective &c = calls[i];
        in[i].push_back(
            randomValues(c.type, elementCount(c.inputShape), pick.random));
        out[i].push_back(std::string(
            elementCount(c.outputShape) * typeBytes(c.type), '\x55'));
      }
    auto backend = threads(ranks, 30);
    std::vector<Status> statuses(ranks);
    onRanks(*backend, [&](int64_t r) {
      std::mt19937 random(kSeed + r);
      std::map<std::vector<int64_t>, std::unique_ptr<Communicator>> groups;
      for (auto [i, part] : steps) {
        auto &group = groups[mesh.group(calls[i].axes, r)];
        if (!group)
          group = std::move(
              *backend->communicator(r, mesh.group(calls[i].axes, r)));
        Status status = part == 0
                            ? group->start(calls[i], {int64_t(i), 0},
                                           in[i][r].data(), out[i][r].data())
                            : group->finish({int64_t(i), 0});
        if (!status.ok())
          statuses[r] = status;
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 50));
      }
    });
    for (int64_t r = 0; r < ranks; ++r) {
      ASSERT_OK(statuses[r]);
      for (size_t i = 0; i < calls.size(); ++i)
        expectDefinition(calls[i], mesh, r, in[i], out[i][r]);
    }
  }
}

TEST(Collectives, ErrorsReachEveryRank) {
  Collective c{};
  c.kind = CollectiveKind::AllReduce;
  c.type = TPRT_F32;
  c.inputShape = c.outputShape = {1};
  auto made = threads(3, 30);
  Backend &backend = *made;
  std::vector<Status> statuses(3);
  onRanks(backend, [&](int64_t r) {
    auto all = backend.communicator(r, {0, 1, 2});
    float x = 1;
    if (r == 2) {
      backend.abort(userError("rank 2 broke"));
      backend.abort(userError("and again"));
    } else if (r == 1) {
      statuses[r] = (*all)->run(c, {0, 0}, &x, &x);
    } else {
      statuses[r] = (*all)->start(c, {0, 0}, &x, &x);
      if (statuses[r].ok())
        statuses[r] = (*all)->finish({0, 0});
    }
  });
  EXPECT_EQ(statuses[0].message(), "rank 2 broke");
  EXPECT_EQ(statuses[1].message(), "rank 2 broke");
  EXPECT_EQ(backend.failure().message(), "rank 2 broke");
}

TEST(Collectives, MissingRankIsNamedWithItsLastCall) {
  Collective c{};
  c.kind = CollectiveKind::AllReduce;
  c.type = TPRT_F32;
  c.inputShape = c.outputShape = {1};
  auto made = threads(2, 0.2);
  Backend &backend = *made;
  std::vector<Status> statuses(2);
  onRanks(backend, [&](int64_t r) {
    auto all = backend.communicator(r, {0, 1});
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
  auto made = threads(2, 30);
  Backend &backend = *made;
  std::vector<Status> statuses(2);
  onRanks(backend, [&](int64_t r) {
    statuses[r] = backend.agree(r, uint64_t(r), "the artifact");
  });
  EXPECT_EQ(statuses[0].code(), Code::Lost);
  EXPECT_NE(backend.failure().message().find("do not agree on the artifact"),
            std::string::npos);
}

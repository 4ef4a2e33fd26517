//===- TransferTest.cpp - NCCL's calls and copies, planned ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plans of all members of a group are executed in step on host memory, with
// the calls by their definition, for random entries of every kind, dimension
// and type. A member that calls something else than the others, reads what was
// not written or writes past a buffer is found.
//
//===----------------------------------------------------------------------===//

#include "RandomCollective.h"

#include "../collectives/Transfer.h"

#include <map>

using namespace tprt;
using namespace tprt::test;

namespace {

using Step = TransferStep;

struct Member {
  Transfer plan;
  std::string memory[3]; ///< In, Out, Staging
  size_t at = 0;

  const Step *next() const {
    return at < plan.steps.size() ? &plan.steps[at] : nullptr;
  }
  char *bytes(const Step::Operand &operand, int64_t size) {
    std::string &m = memory[int(operand.memory)];
    EXPECT_GE(operand.offset, 0);
    EXPECT_LE(operand.offset + size, int64_t(m.size()));
    return m.data() + operand.offset;
  }
  /// Up to the next call.
  void local() {
    for (; next(); ++at) {
      const Step &step = *next();
      if (step.kind == Step::Kind::Zero) {
        std::memset(bytes(step.to, step.width), 0, step.width);
        continue;
      }
      if (step.kind != Step::Kind::Copy)
        return;
      EXPECT_GT(step.width, 0);
      for (int64_t row = 0; row < step.rows; ++row) {
        Step::Operand from = step.from, to = step.to;
        from.offset += row * from.pitch;
        to.offset += row * to.pitch;
        std::memcpy(bytes(to, step.width), bytes(from, step.width), step.width);
      }
    }
  }
};

/// One call that all members make, by its definition on flat pieces.
void callTogether(const Collective &entry, std::vector<Member> &members) {
  const Step &first = *members[0].next();
  int64_t count = first.count, size = typeBytes(entry.type);
  int64_t all = count * int64_t(members.size());
  Collective c{};
  c.type = entry.type;
  c.reduction = entry.reduction;
  c.inputShape = c.outputShape = {count};
  if (first.kind == Step::Kind::AllReduce) {
    c.kind = CollectiveKind::AllReduce;
  } else if (first.kind == Step::Kind::AllGather) {
    c.kind = CollectiveKind::AllGather;
    c.outputShape = {all};
  } else {
    ASSERT_EQ(first.kind, Step::Kind::ReduceScatter);
    c.kind = CollectiveKind::ReduceScatter;
    c.inputShape = {all};
  }
  std::vector<std::string> in, out;
  for (Member &m : members) {
    ASSERT_TRUE(m.next());
    ASSERT_EQ(m.next()->kind, first.kind);
    ASSERT_EQ(m.next()->count, count);
    ASSERT_EQ(m.next()->peer, first.peer);
    int64_t bytes = elementCount(c.inputShape) * size;
    in.emplace_back(m.bytes(m.next()->from, bytes), bytes);
    out.emplace_back(elementCount(c.outputShape) * size, '\x44');
  }
  std::vector<const void *> ins;
  std::vector<void *> outs;
  for (size_t i = 0; i < members.size(); ++i) {
    ins.push_back(in[i].data());
    outs.push_back(out[i].data());
  }
  for (size_t i = 0; i < members.size(); ++i)
    runLocally(c, int64_t(i), ins, outs);
  for (size_t i = 0; i < members.size(); ++i) {
    Step::Operand to = members[i].next()->to;
    std::memcpy(members[i].bytes(to, out[i].size()), out[i].data(),
                out[i].size());
    ++members[i].at;
  }
}

/// One group of sends and receives of each member that has one.
void exchange(int64_t size, std::vector<Member> &members) {
  std::map<std::pair<size_t, size_t>, std::string> mail;
  auto forEach = [&](Step::Kind kind, auto body) {
    for (size_t i = 0; i < members.size(); ++i) {
      Member &m = members[i];
      if (!m.next())
        continue;
      ASSERT_EQ(m.next()->kind, Step::Kind::Group);
      for (size_t at = m.at + 1;; ++at) {
        const Step &step = m.plan.steps.at(at);
        if (step.kind == Step::Kind::EndGroup)
          break;
        ASSERT_NE(step.peer, int64_t(i));
        if (step.kind == kind)
          body(i, m, step);
      }
    }
  };
  forEach(Step::Kind::Send, [&](size_t i, Member &m, const Step &step) {
    auto [slot, fresh] = mail.insert({{i, size_t(step.peer)}, ""});
    ASSERT_TRUE(fresh);
    slot->second.assign(m.bytes(step.from, step.count * size),
                        step.count * size);
  });
  forEach(Step::Kind::Receive, [&](size_t i, Member &m, const Step &step) {
    auto found = mail.find({size_t(step.peer), i});
    ASSERT_TRUE(found != mail.end());
    ASSERT_EQ(int64_t(found->second.size()), step.count * size);
    std::memcpy(m.bytes(step.to, step.count * size), found->second.data(),
                found->second.size());
    mail.erase(found);
  });
  EXPECT_TRUE(mail.empty()) << "sent, and nobody takes it";
  for (Member &m : members)
    while (m.next() && m.plan.steps[m.at++].kind != Step::Kind::EndGroup)
      ;
}

} // namespace

TEST(Transfer, RandomEntries) {
  Picker pick;
  for (int n = 0; n < 1500; ++n) {
    Mesh mesh{{{"a", pick(1, 6)}}, {}};
    Collective c = randomEntry(pick, mesh);
    int64_t size = shardCount(c.axes);
    SCOPED_TRACE(detail::join(
        "seed ", kSeed, " case ", n, ": ", c.row().operation, " of ",
        typeName(c.type), " on ", size, " ranks, ", formatShape(c.inputShape),
        " to ", formatShape(c.outputShape), ", dim ", c.dim, ", split ",
        c.splitDim));
    std::vector<Member> members(size);
    std::vector<std::vector<double>> values;
    int64_t bytes = typeBytes(c.type);
    for (int64_t i = 0; i < size; ++i) {
      members[i].plan = planTransfer(c, i, size);
      members[i].memory[0] =
          randomValues(c.type, elementCount(c.inputShape), pick.random);
      members[i].memory[1] =
          std::string(elementCount(c.outputShape) * bytes, '\x55');
      members[i].memory[2] = std::string(members[i].plan.stagingBytes, '\x33');
      values.push_back(read(c.type, members[i].memory[0]));
    }
    for (;;) {
      for (Member &m : members)
        m.local();
      bool group = false, call = false;
      for (Member &m : members)
        if (m.next())
          (m.next()->kind == Step::Kind::Group ? group : call) = true;
      ASSERT_FALSE(group && call);
      if (!group && !call)
        break;
      group ? exchange(bytes, members) : callTogether(c, members);
      if (HasFatalFailure())
        return;
    }
    for (int64_t i = 0; i < size; ++i) {
      std::vector<double> got = read(c.type, members[i].memory[1]);
      Shape index(c.outputShape.size());
      for (size_t e = 0; e < got.size(); ++e) {
        int64_t rest = int64_t(e);
        for (size_t d = index.size(); d-- > 0;) {
          index[d] = rest % c.outputShape[d];
          rest /= c.outputShape[d];
        }
        ASSERT_EQ(got[e], expected(c, i, index, values))
            << "rank " << i << " at " << formatShape(index);
      }
    }
  }
}

TEST(Transfer, PlainCasesNeedNoStaging) {
  Collective c{};
  c.type = TPRT_BF16;
  c.kind = CollectiveKind::AllGather;
  c.inputShape = {1, 4, 6};
  c.outputShape = {1, 16, 6};
  c.dim = 1;
  EXPECT_EQ(planTransfer(c, 2, 4).steps.size(), 1u);
  c.outputShape = {1, 15, 6};
  EXPECT_EQ(planTransfer(c, 2, 4).stagingBytes, 4 * 4 * 6 * 2);
  c.kind = CollectiveKind::ReduceScatter;
  c.inputShape = {1, 16, 6};
  c.outputShape = {1, 4, 6};
  EXPECT_EQ(planTransfer(c, 2, 4).steps.size(), 1u);
  // Batch and split sequence: [2, 4, 6] is two pieces per member.
  c.inputShape = {2, 16, 6};
  c.outputShape = {2, 4, 6};
  Transfer plan = planTransfer(c, 2, 4);
  EXPECT_EQ(plan.steps.size(), 5u);
  EXPECT_EQ(plan.stagingBytes, 2 * 16 * 6 * 2);
}

/// CUDA's copies of rows take pitches below 2 GiB.
TEST(Transfer, RowsThatLieFarApart) {
  for (int64_t columns : {int64_t(1) << 28, int64_t(1) << 30}) {
    Collective c{};
    c.kind = CollectiveKind::AllGather;
    c.type = TPRT_F32;
    c.dim = 1;
    c.inputShape = {3, columns / 2 + 1};
    c.outputShape = {3, columns};
    Transfer plan = planTransfer(c, 0, 2);
    int64_t copied = 0;
    for (const Step &step : plan.steps) {
      if (step.kind != Step::Kind::Copy)
        continue;
      copied += step.width * step.rows;
      if (step.rows > 1)
        EXPECT_LT(std::max(step.from.pitch, step.to.pitch), int64_t(1) << 31);
      EXPECT_LE(step.to.offset + (step.rows - 1) * step.to.pitch + step.width,
                3 * columns * 4);
    }
    EXPECT_EQ(copied, 3 * columns * 4);
    EXPECT_EQ(plan.steps.size(), columns < int64_t(1) << 29 ? 3u : 7u);
  }
}

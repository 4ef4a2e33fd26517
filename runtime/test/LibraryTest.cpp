//===- LibraryTest.cpp - the runtime as a library -------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface as it is shipped: steps on the caller's memory, what is
// refused, word by word, and host programs (host.c) that lose a rank and go on.
//
//===----------------------------------------------------------------------===//

#include "RankProcesses.h"
#include "TrainFixture.h"

#include "../rank/Timeline.h"
#include "../training/Checkpoint.h"
#include "tprt/tprt.h"

#include <malloc.h>

using namespace tprt;
using namespace tprt::test;

namespace {

tprt_tensor tensorOf(const char *name, const char *dtype, const Shape &shape,
                     void *data, int64_t bytes) {
  return {sizeof(tprt_tensor), name, dtype, int64_t(shape.size()),
          shape.data(),        data, bytes};
}

} // namespace

TEST(Library, SaysWhetherALauncherHasStartedIt) {
  EXPECT_EQ(tprt_launched(), 0);
  setenv("RANK", "0", 1);
  EXPECT_EQ(tprt_launched(), 0);
  setenv("WORLD_SIZE", "2", 1);
  EXPECT_EQ(tprt_launched(), 1);
  setenv("RANK", "x", 1); // an error, which opening says
  EXPECT_EQ(tprt_launched(), 1);
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
}

TEST(Library, StepsOnTheCallersMemory) {
  Fixture f(3);
  tprt_session *session = nullptr;
  ASSERT_EQ(tprt_open("/nowhere", nullptr, &session), 1);
  EXPECT_STREQ(tprt_error(nullptr),
               "cannot open '/nowhere': No such file or directory");
  ASSERT_EQ(tprt_open((f.directory / "p.tpa").c_str(), nullptr, &session), 0);
  auto error = [&] { return std::string(tprt_error(session)); };
  EXPECT_EQ(tprt_ranks(session), 3);
  EXPECT_EQ(tprt_rank_here(session), 0);
  EXPECT_EQ(tprt_entry(session, "differ"), 4);
  EXPECT_EQ(tprt_entry(session, "none"), -1);
  EXPECT_EQ(tprt_run(session, 0, nullptr, 0, nullptr, 0), 1);
  EXPECT_EQ(error(), "no weights are loaded");
  ASSERT_EQ(tprt_load_weights(session, (f.directory / "").c_str()), 0);
  EXPECT_EQ(tprt_load_weights(session, "random:1"), 1);
  EXPECT_EQ(error(), "the weights are loaded already");

  // The tensors that there are.
  tprt_tensor in{}, out{};
  in.size = out.size = sizeof(in);
  int32_t optional = 1;
  ASSERT_EQ(tprt_input_count(session, 0), 1);
  ASSERT_EQ(tprt_describe_input(session, 0, 0, &in, &optional), 0);
  EXPECT_STREQ(in.name, "x");
  EXPECT_STREQ(in.dtype, "F32");
  EXPECT_EQ(optional, 0);
  ASSERT_EQ(tprt_output_count(session, 0), 1);
  ASSERT_EQ(tprt_describe_output(session, 0, 0, &out), 0);
  EXPECT_STREQ(out.name, "y");
  EXPECT_EQ(out.bytes, kRows * kOut * 4);
  EXPECT_EQ(tprt_state_count(session), 0);
  EXPECT_EQ(tprt_reset_states(session), 0);

  // Two steps; the second one's result is not asked for.
  std::vector<float> y(kRows * kOut, -1);
  in.data = f.x.data();
  out.data = y.data();
  ASSERT_EQ(tprt_run(session, 0, &in, 1, &out, 1), 0) << error();
  f.expectY(y);
  y.assign(y.size(), -1);
  ASSERT_EQ(tprt_run(session, 0, &in, 1, nullptr, 0), 0) << error();
  EXPECT_EQ(y, std::vector<float>(y.size(), -1));
  json stats = json::parse(tprt_stats(session));
  EXPECT_EQ(stats["steps"]["count"], 2);
  EXPECT_EQ(stats["steps"]["entries"]["mlp"]["seconds"].size(), 2u);
  EXPECT_EQ(stats["steps"]["entries"]["stall"]["count"], 0);

  // An error of a step leaves a session that still works.
  EXPECT_EQ(tprt_run(session, tprt_entry(session, "fail"), nullptr, 0, &out, 1),
            4);
  ASSERT_EQ(tprt_run(session, 0, &in, 1, &out, 1), 0) << error();
  f.expectY(y);
  tprt_close(session);
}

/// A wrong folder first, in every way that a folder can be wrong; then the
/// right one, as if nothing had been.
TEST(Library, WeightsAfterWrongOnes) {
  for (int64_t ranks : {1, 3}) {
    Fixture f(ranks), wrong(ranks), cut(ranks);
    wrong.checkpoint[2].shape = {kOut + 1, kHidden};
    wrong.checkpoint[2].bytes.resize(size_t((kOut + 1) * kHidden * 4));
    wrong.writeCheckpoint();
    std::filesystem::remove(cut.directory / "model.safetensors");
    tprt_session *session = nullptr;
    ASSERT_EQ(tprt_open((f.directory / "p.tpa").c_str(), nullptr, &session), 0);
    for (const std::string &folder :
         {std::string("/nowhere"), wrong.directory / "", cut.directory / ""})
      EXPECT_EQ(tprt_load_weights(session, folder.c_str()), 1) << folder;
    ASSERT_EQ(tprt_load_weights(session, (f.directory / "").c_str()), 0)
        << tprt_error(session);
    std::vector<float> y(kRows * kOut, -1);
    tprt_tensor in{}, out{};
    in.size = out.size = sizeof(in);
    ASSERT_EQ(tprt_describe_input(session, 0, 0, &in, nullptr), 0);
    ASSERT_EQ(tprt_describe_output(session, 0, 0, &out), 0);
    in.data = f.x.data();
    out.data = y.data();
    ASSERT_EQ(tprt_run(session, 0, &in, 1, &out, 1), 0) << tprt_error(session);
    f.expectY(y);
    tprt_close(session);
  }
}

/// Tensors that a file of states adds to the program goes where its weights are
/// wrong.
TEST(Library, StatesAfterWrongWeights) {
  TrainFixture f(2);
  auto trained = f.run("--train d.safetensors --weights in --lr 0.02 --steps 2 "
                       "--save out");
  ASSERT_EQ(trained.code, 0) << trained.err;
  std::string out = f.directory / "out", states = training::statesFile(out);
  auto load = [&](bool isWrongFirst) {
    auto session = Session::open(f.directory / "p.tpa", {});
    EXPECT_TRUE(bool(session)) << session.status().message();
    for (int n = 0; isWrongFirst && n < 2; ++n)
      EXPECT_FALSE((*session)->loadWeights("/nowhere", states).ok());
    Status status = (*session)->loadWeights(out, states);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<std::string> values;
    for (size_t i = 0; i < (*session)->manifest().states.size(); ++i) {
      auto state = (*session)->state(int64_t(i));
      EXPECT_TRUE(state && *state) << state.status().message();
      values.push_back((*state)->bytes);
    }
    return std::pair((*session)->manifest().parameters.size(), values);
  };
  EXPECT_EQ(load(true), load(false));
}

TEST(Library, Refusals) {
  Fixture f(2);
  tprt_session *session = nullptr;
  std::string path = f.directory / "p.tpa";
  tprt_options options{};
  options.size = 8;
  EXPECT_EQ(tprt_open(path.c_str(), &options, &session), 1);
  EXPECT_EQ(std::string(tprt_error(nullptr)),
            detail::join("tprt_options: expected a size of ", sizeof(options),
                         " bytes or more, got 8; set it to "
                         "sizeof(tprt_options)"));
  // A caller of a later version.
  struct {
    tprt_options known;
    int64_t more;
  } later{};
  later.known.size = sizeof(later);
  later.more = 1;
  EXPECT_EQ(tprt_open(path.c_str(), &later.known, &session), 1);
  EXPECT_EQ(std::string(tprt_error(nullptr)),
            detail::join("tprt_options: has a field that this version of the "
                         "runtime does not know, in bytes ",
                         sizeof(options), " to ", sizeof(later)));
  options.size = sizeof(options);
  options.start_timeout_seconds = -1;
  EXPECT_EQ(tprt_open(path.c_str(), &options, &session), 1);
  EXPECT_STREQ(tprt_error(nullptr),
               "tprt_options.start_timeout_seconds: expected seconds, or 0 for "
               "the default, got -1");
  options.start_timeout_seconds = 0;
  options.backend = "processes";
  EXPECT_EQ(tprt_open(path.c_str(), &options, &session), 1);
  EXPECT_STREQ(tprt_error(nullptr),
               "backend 'processes' runs each of the 2 ranks as a process, and "
               "nothing says which one this is: start all with tp-run, "
               "torchrun, mpirun or srun, or set RANK, WORLD_SIZE, MASTER_ADDR "
               "and MASTER_PORT in each");

  later.more = 0;
  ASSERT_EQ(tprt_open(path.c_str(), &later.known, &session), 0);
  ASSERT_EQ(tprt_load_weights(session, (f.directory / "").c_str()), 0);
  std::vector<float> y(kRows * kOut);
  auto refusal = [&](tprt_tensor in, tprt_tensor out, int64_t entry = 0) {
    EXPECT_EQ(tprt_run(session, entry, &in, 1, &out, 1), 1);
    return std::string(tprt_error(session));
  };
  Shape xShape{kRows, kIn}, yShape{kRows, kOut};
  int64_t yBytes = kRows * kOut * 4;
  tprt_tensor x = tensorOf("x", "F32", xShape, f.x.data(), kRows * kIn * 4);
  tprt_tensor to = tensorOf("y", "F32", yShape, y.data(), yBytes);
  auto with = [](tprt_tensor tensor, auto field, auto value) {
    tensor.*field = value;
    return tensor;
  };
  EXPECT_EQ(refusal(with(x, &tprt_tensor::name, "z"), to),
            "unknown input 'z'; the program takes 'x'");
  EXPECT_EQ(refusal(with(x, &tprt_tensor::bytes, 1), to),
            "input 'x': expected 240 bytes, got 1");
  EXPECT_EQ(refusal(with(x, &tprt_tensor::dtype, "F8"), to),
            "input 'x': unknown element type 'F8'");
  EXPECT_EQ(refusal(x, with(to, &tprt_tensor::name, "z")),
            "unknown output 'z'; the program gives 'y'");
  EXPECT_EQ(refusal(x, with(to, &tprt_tensor::dtype, "I32")),
            "output 'y': expected elements of type F32, got I32");
  Shape other{kOut, kRows};
  EXPECT_EQ(refusal(x, with(to, &tprt_tensor::shape, other.data())),
            "output 'y': expected shape [5, 7], got [7, 5]");
  EXPECT_EQ(refusal(x, with(to, &tprt_tensor::size, 16u)),
            detail::join("tprt_tensor: expected a size of ", sizeof(to),
                         " bytes or more, got 16; set it to "
                         "sizeof(tprt_tensor)"));
  EXPECT_EQ(refusal(x, to, 9), "there is no entry 9");
  EXPECT_EQ(tprt_run(session, 0, nullptr, 0, &to, 1), 1);
  EXPECT_STREQ(tprt_error(session),
               "missing input 'x' (f32 [5, 12]) of entry 'mlp'");
  auto error = [&] { return std::string(tprt_error(session)); };
  EXPECT_EQ(tprt_describe_input(session, 0, 1, &x, nullptr), 1);
  EXPECT_EQ(error(), "entry 0 has no input 1");
  EXPECT_EQ(tprt_describe_output(session, 0, 1, &to), 1);
  EXPECT_EQ(error(), "entry 0 has no output 1");
  to.size = 0;
  EXPECT_EQ(tprt_describe_output(session, 0, 0, &to), 1);
  EXPECT_TRUE(error().ends_with("got 0; set it to sizeof(tprt_tensor)"));
  EXPECT_EQ(tprt_describe_state(session, 0, &to), 1);
  EXPECT_EQ(error(), "the program has no state 0");
  EXPECT_EQ(tprt_read_states(session, &x, 1), 1);
  EXPECT_EQ(error(), "unknown state 'x'; the program has none");
  tprt_close(session);
}

TEST(Library, StatesInTheCallersMemory) {
  TrainFixture f(2, /*isHalf=*/true);
  tprt_session *session = nullptr;
  ASSERT_EQ(tprt_open((f.directory / "p.tpa").c_str(), nullptr, &session), 0);
  ASSERT_EQ(tprt_load_weights(session, (f.directory / "in").c_str()), 0);
  tprt_tensor norm{};
  norm.size = sizeof(norm);
  int64_t index = 0;
  do
    ASSERT_EQ(tprt_describe_state(session, index++, &norm), 0);
  while (norm.name != std::string("norm"));
  EXPECT_STREQ(norm.dtype, "BF16");
  EXPECT_EQ(norm.bytes, 8);

  std::string own(8, '\0');
  std::vector<float> wide(4), given = toFloats(TPRT_F32, f.tensors[4].bytes);
  norm.data = own.data();
  EXPECT_EQ(tprt_read_states(session, &norm, 1), 0);
  EXPECT_EQ(own, toBytes(TPRT_BF16, given));
  Shape shape{4}, other{2};
  auto like = tensorOf("norm", "F32", shape, wide.data(), 16);
  EXPECT_EQ(tprt_read_states(session, &like, 1), 0);
  EXPECT_EQ(wide, toFloats(TPRT_BF16, own));

  auto error = [&] { return std::string(tprt_error(session)); };
  like.dtype = "I32";
  EXPECT_EQ(tprt_read_states(session, &like, 1), 1);
  EXPECT_EQ(error(), "state 'norm': expected elements of type BF16 or F32, got "
                     "I32");
  like = tensorOf("norm", "F32", other, wide.data(), 8);
  EXPECT_EQ(tprt_read_states(session, &like, 1), 1);
  EXPECT_EQ(error(), "state 'norm': expected shape [4], got [2]");
  tprt_close(session);
}

// However many steps run, the same is kept of them: less than a byte more of
// each, when as many have run as have their times kept.
TEST(Library, NothingGrowsWithSteps) {
  Fixture f(2);
  tprt_session *session = nullptr;
  ASSERT_EQ(tprt_open((f.directory / "p.tpa").c_str(), nullptr, &session), 0);
  ASSERT_EQ(tprt_load_weights(session, (f.directory / "").c_str()), 0);
  std::vector<float> y(kRows * kOut);
  Shape in{kRows, kIn}, out{kRows, kOut};
  auto x = tensorOf("x", "F32", in, f.x.data(), kRows * kIn * 4);
  auto to = tensorOf("y", "F32", out, y.data(), kRows * kOut * 4);
  auto bytesAfter = [&](int64_t steps) {
    for (int64_t i = 0; i < steps; ++i)
      EXPECT_EQ(tprt_run(session, 0, &x, 1, &to, 1), 0);
    auto held = mallinfo2();
    return int64_t(held.uordblks + held.hblkhd);
  };
  int64_t before = bytesAfter(1500);
  EXPECT_LT(bytesAfter(3000), before + 3000);
  f.expectY(y);
  tprt_close(session);
}

TEST(Library, KeepsTheLastTimesAndEvents) {
  StepTimes times;
  for (int64_t i = 0; i < 2500; ++i)
    times.add(double(2500 - i));
  EXPECT_EQ(times.count, 2500);
  EXPECT_EQ(times.least, 1);
  std::vector<double> kept = times.inOrder();
  ASSERT_EQ(kept.size(), 1000u);
  EXPECT_EQ(kept.front(), 1000);
  EXPECT_EQ(kept.back(), 1);
  EXPECT_EQ(times.median(), 501);
  Timeline timeline(true);
  for (size_t i = 0; i < Timeline::kMost + 5; ++i)
    timeline.add({Timeline::Kind::Step, 0, int64_t(i), {}, {}});
  EXPECT_EQ(timeline.all().size(), Timeline::kMost / 2 + 5);
  EXPECT_EQ(timeline.all().back().layer, int64_t(Timeline::kMost + 4));
}

TEST(Library, OnProcesses) {
  Fixture f(3);
  Hosts hosts(f, hostEnvironments(3, 1), "processes 50 threads");
  for (auto &host : hosts.list) {
    EXPECT_EQ(host->wait(30), 0) << hosts.text(*host) << host->errors();
    EXPECT_EQ(hosts.text(*host),
              "steps\nclosed within 1 s, told 0 times\ngoes on\n");
    EXPECT_EQ(host->errors(), "");
  }
}

TEST(Library, HostSurvivesALostRank) {
  Fixture f(3);
  for (int signal : {SIGKILL, SIGSTOP}) {
    auto places = hostEnvironments(3, signal);
    for (std::string &place : places)
      place += kSoonSilent;
    Hosts hosts(f, places, "processes -1 threads");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ASSERT_EQ(kill(hosts.list[1]->process, signal), 0);
    for (int64_t r : {0, 2}) {
      Running &host = *hosts.list[size_t(r)];
      EXPECT_EQ(host.wait(30), 0) << hosts.text(host) << host.errors();
      std::string lost = detail::join(
          "rank ", r, ": rank 1 is lost: its process ",
          signal == SIGKILL ? "ended" : "is stopped", "; it was last seen ");
      std::string here = detail::join("; rank ", r, " was ");
      EXPECT_TRUE(inOrder(
          hosts.text(host),
          {"steps\ntold of rank 1, code 3: " + lost, here,
           "step returned 3: " + lost, here, "another returned 3: " + lost,
           here, "stats: none\nclosed within 1 s, told 1 times\ngoes on\n"}))
          << hosts.text(host);
      EXPECT_EQ(host.errors(), "");
    }
  }
}

// An error of one is one of all: none waits for it.
TEST(Library, OneRankRefuses) {
  Fixture f(2);
  auto places = hostEnvironments(2, 3);
  Running good(f, (f.directory / "") + " processes 5", places[0],
               f.directory / "good", "", TPRT_HOST);
  Running bad(f, "/nowhere processes 5", places[1], f.directory / "bad", "",
              TPRT_HOST);
  EXPECT_EQ(good.wait(30), 1);
  EXPECT_EQ(bad.wait(30), 1);
  std::string error = "weights '/nowhere': no such directory or .safetensors "
                      "file (random weights: random:SEED)\n";
  EXPECT_EQ(Hosts::text(bad),
            "told of rank 1, code 1: " + error + "load returned 1: " + error);
  // The other may not even be open by then.
  std::string told = "told of rank 1, code 1: " + error;
  std::string text = Hosts::text(good);
  EXPECT_TRUE(text == told + "load returned 1: " + error ||
              text == told + "open returned 1: " + error)
      << text;
}

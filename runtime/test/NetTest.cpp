//===- NetTest.cpp - the side channel over TCP ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A socket may bring anything: the parser is fuzzed. Ranks that meet, exchange,
// agree and part; callers that do not belong to the job; ranks that are killed,
// frozen, stuck or send what nobody understands.
//
//===----------------------------------------------------------------------===//

#include "NetRanks.h"

#include "../collectives/BackendTable.h"
#include "../collectives/net/NetRendezvous.h"

#include <arpa/inet.h>
#include <sys/socket.h>

using namespace tprt;
using namespace tprt::net;
using namespace tprt::test;
using tprt::test::Clock;

//===----------------------------------------------------------------------===//
// The wire
//===----------------------------------------------------------------------===//

namespace {

/// All kinds of frames, as bytes.
std::vector<std::string> sampleFrames() {
  return {net::encode(Hello{1, 2, 4, 99, "host"}),
          net::encode(Type::Heard),
          net::encode(Type::Refuse, "no"),
          net::encode(Welcome{1, 2}),
          net::encode(Beat{{3, 4}, 17, true}),
          net::encode(Piece{5, true, std::string(3000, 'x')}),
          net::encode(All{5, {"a", "", std::string(100, 'b'), "d"}}),
          net::encode(Failure{lostError("rank 2 is lost"), 2}),
          net::encode(Stuck{false, true, {{1, 2}, 3, true}, {0, 1, 3}}),
          net::encode(Type::Bye)};
}

/// Decodes every frame as everything; counts those that are something.
int decodeAll(FrameReader &reader) {
  int good = 0;
  while (auto frame = reader.next()) {
    good += decode<Hello>(frame->body).has_value();
    good += decode<Welcome>(frame->body).has_value();
    good += decode<Beat>(frame->body).has_value();
    good += decode<Piece>(frame->body).has_value();
    good += decode<All>(frame->body, 4).has_value();
    good += decodeFailure(frame->body, 4).has_value();
    good += decode<Stuck>(frame->body, 4).has_value();
  }
  return good;
}

} // namespace

TEST(Wire, FramesComeThroughHoweverTheyAreCut) {
  std::mt19937 random(kSeed);
  for (int n = 0; n < 200; ++n) {
    std::vector<std::string> frames = sampleFrames();
    std::shuffle(frames.begin(), frames.end(), random);
    std::string stream;
    for (const std::string &frame : frames)
      stream += frame;
    FrameReader reader;
    std::string back;
    for (size_t at = 0; at < stream.size();) {
      size_t size = std::min<size_t>(1 + random() % 40, stream.size() - at);
      ASSERT_OK(reader.feed(stream.data() + at, size));
      at += size;
      while (auto frame = reader.next())
        back += net::encode(frame->type, frame->body);
    }
    ASSERT_EQ(back, stream);
  }
  auto beat = decode<Beat>(sampleFrames()[4].substr(16));
  ASSERT_TRUE(beat);
  EXPECT_EQ(beat->site, (CallSite{3, 4}));
  EXPECT_EQ(beat->calls, 17u);
  EXPECT_TRUE(beat->inside);
  auto stuck = decode<Stuck>(sampleFrames()[8].substr(16), 4);
  ASSERT_TRUE(stuck);
  EXPECT_EQ(stuck->members, (std::vector<int64_t>{0, 1, 3}));
  EXPECT_FALSE(decode<Stuck>(sampleFrames()[8].substr(16), 3));
  auto failure = decodeFailure(sampleFrames()[7].substr(16), 4);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 2);
  EXPECT_EQ(failure->status.code(), Code::Lost);
  EXPECT_FALSE(decodeFailure(sampleFrames()[7].substr(16), 2));
}

TEST(Wire, BrokenStreamsAreRefused) {
  FrameReader reader;
  std::string text = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_MESSAGE(reader.feed(text.data(), text.size()),
                 "what arrived is not of this runtime's side channel");
  std::string frame = net::encode(Type::Bye);
  frame[4] = 77;
  reader = FrameReader();
  EXPECT_MESSAGE(reader.feed(frame.data(), frame.size()),
                 "a message of unknown type 77 arrived");
  frame = net::encode(Type::Beat);
  frame[11] = 1;
  reader = FrameReader();
  EXPECT_MESSAGE(reader.feed(frame.data(), frame.size()),
                 "a message of 16777216 bytes arrived, expected 65536 at most");
}

/// Random and damaged streams: refused or decoded, never more. TPRT_FUZZ says
/// how many.
TEST(Wire, Fuzz) {
  const char *rounds = std::getenv("TPRT_FUZZ");
  const char *seedText = std::getenv("TPRT_SEED");
  unsigned seed = seedText ? std::atoi(seedText) : std::random_device()();
  std::mt19937 random(seed);
  int refused = 0, decoded = 0, count = rounds ? std::atoi(rounds) : 20000;
  SCOPED_TRACE(detail::join("seed ", seed));
  for (int n = 0; n < count; ++n) {
    std::string stream;
    std::vector<std::string> frames = sampleFrames();
    for (int i = 0; i < 3; ++i)
      stream += frames[random() % frames.size()];
    switch (random() % 4) {
    case 0:
      for (char &c : stream)
        c = char(random());
      break;
    case 1: // a few bits
      for (int i = 0; i < 4; ++i)
        stream[random() % stream.size()] ^= char(1 << random() % 8);
      break;
    case 2: // lengths and counts
      for (int i = 0; i < 2; ++i) {
        uint64_t value = random() % 3 ? random() % 300 : ~uint64_t(random());
        size_t at = random() % stream.size();
        std::memcpy(stream.data() + at, &value,
                    std::min<size_t>(8, stream.size() - at));
      }
      break;
    default: // cut short
      stream.resize(random() % stream.size());
    }
    FrameReader reader;
    bool good = true;
    for (size_t at = 0; good && at < stream.size();) {
      size_t size = std::min<size_t>(1 + random() % 999, stream.size() - at);
      good = reader.feed(stream.data() + at, size).ok();
      at += size;
      decoded += decodeAll(reader);
    }
    refused += !good;
    // Bodies without a header, too.
    std::string body = stream.substr(0, random() % 200);
    decode<Hello>(body), decode<Piece>(body), decode<All>(body, 3);
    decodeFailure(body, 3), decode<Stuck>(body, 3), decode<Welcome>(body);
  }
  std::printf("seed %u: %d streams, %d refused, %d bodies decoded\n", seed,
              count, refused, decoded);
  EXPECT_GT(refused, count / 10);
  EXPECT_GT(decoded, count / 10);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

namespace {

Expected<std::optional<ProcessInfo>>
placeOf(const std::map<std::string, std::string> &variables) {
  return processInfoFromEnvironment([&](const char *name) -> const char * {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

} // namespace

TEST(ProcessInfo, MeetingPoints) {
  EXPECT_EQ(firstOfNodeList("node7"), "node7");
  EXPECT_EQ(firstOfNodeList("a,b"), "a");
  EXPECT_EQ(firstOfNodeList("gpu[08-11,20],login"), "gpu08");
  EXPECT_EQ(firstOfNodeList("gpu[3,5]"), "gpu3");
  EXPECT_EQ(firstOfNodeList("r[1-2]n.cluster,x"), "r1n.cluster");

  auto torch = placeOf({{"RANK", "3"},
                        {"WORLD_SIZE", "4"},
                        {"LOCAL_RANK", "1"},
                        {"LOCAL_WORLD_SIZE", "2"},
                        {"MASTER_ADDR", "10.0.0.1"},
                        {"MASTER_PORT", "29500"}});
  ASSERT_TRUE(bool(torch)) << torch.status().message();
  const ProcessInfo &p = **torch;
  EXPECT_EQ(p.localRank, 1);
  EXPECT_EQ(p.localRanks, 2);
  EXPECT_FALSE(p.oneHost());
  EXPECT_EQ(p.addresses, (std::vector<std::string>{"10.0.0.1"}));
  EXPECT_EQ(p.ports.front(), 29500);
  // torchrun's own store sits at the port.
  auto store = placeOf({{"RANK", "3"},
                        {"WORLD_SIZE", "4"},
                        {"MASTER_ADDR", "10.0.0.1"},
                        {"MASTER_PORT", "29500"},
                        {"TORCHELASTIC_RUN_ID", "x"},
                        {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  ASSERT_TRUE(bool(store));
  EXPECT_EQ((*store)->ports.front(), 29501);
  EXPECT_NE((*store)->token, p.token);

  std::map<std::string, std::string> step = {{"SLURM_PROCID", "5"},
                                             {"SLURM_NTASKS", "8"},
                                             {"SLURM_LOCALID", "1"},
                                             {"SLURM_STEP_ID", "0"},
                                             {"SLURM_JOB_ID", "4711"},
                                             {"SLURM_STEP_NUM_NODES", "2"},
                                             {"SLURM_STEP_NODELIST", "n[4-5]"}};
  auto slurm = placeOf(step);
  ASSERT_TRUE(bool(slurm)) << slurm.status().message();
  EXPECT_EQ((*slurm)->localRank, 1);
  EXPECT_FALSE((*slurm)->oneHost());
  EXPECT_EQ((*slurm)->addresses, (std::vector<std::string>{"n4"}));
  int port = (*slurm)->ports.front();
  EXPECT_TRUE(port >= 10000 && port < 30008) << port;
  step["SLURM_JOB_ID"] = "4712";
  EXPECT_NE((*placeOf(step))->ports.front(), port);

  auto nowhere =
      placeOf({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "2"}});
  ASSERT_TRUE(bool(nowhere));
  EXPECT_MESSAGE(connectRanks(**nowhere, {}).status(),
                 "ranks are on several hosts (WORLD_SIZE is 4, "
                 "LOCAL_WORLD_SIZE is 2), but nothing says where rank 0 is: "
                 "set MASTER_ADDR and MASTER_PORT");
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

TEST(Net, ExchangeAgreeGather) {
  for (int64_t count : {2, 5}) {
    Ranks ranks(count);
    ranks.startAll("200");
    for (int64_t r = 0; r < count; ++r)
      EXPECT_EQ(ranks.wait(r), 0) << ranks.errors(r);
    EXPECT_NE(ranks.output(0).find("all is well"), std::string::npos);
    EXPECT_NE(ranks.output(count - 1).find(
                  detail::join("rank ", count - 1, " of ", count, ", ",
                               count - 1, " of ", count, " here")),
              std::string::npos)
        << ranks.output(count - 1);
  }
}

TEST(Net, SlurmsVariables) {
  Ranks ranks(3);
  std::string job = std::to_string(getpid());
  for (int64_t r = 0; r < 3; ++r)
    ranks.start(
        r, "50",
        detail::join("env -u RANK -u WORLD_SIZE -u MASTER_ADDR -u "
                     "MASTER_PORT SLURM_NTASKS=3 SLURM_PROCID=",
                     r, " SLURM_LOCALID=0 SLURM_STEP_ID=2 SLURM_JOB_ID=", job,
                     " SLURM_STEP_NUM_NODES=3 "
                     "SLURM_STEP_NODELIST='localhost,other[1-2]'"));
  for (int64_t r = 0; r < 3; ++r)
    EXPECT_EQ(ranks.wait(r), 0) << ranks.errors(r);
  EXPECT_NE(ranks.output(0).find("all is well"), std::string::npos);
}

TEST(Net, RanksThatDisagreeAreNamed) {
  Ranks ranks(4);
  ranks.startAll("5", "NET_RANK_ODD=2");
  for (int64_t r = 0; r < 4; ++r) {
    EXPECT_EQ(ranks.wait(r), 3);
    EXPECT_NE(ranks.errors(r).find("the ranks do not agree on the number: "
                                   "rank 2 differs from the other 3"),
              std::string::npos)
        << ranks.errors(r);
  }
}

TEST(Net, RankThatDoesNotComeIsNamed) {
  for (int64_t late : {0, 2}) {
    Ranks ranks(3);
    ranks.startAll("5 2", detail::join("NET_RANK_LATE=", late));
    for (int64_t r = 0; r < 3; ++r) {
      EXPECT_EQ(ranks.wait(r), 3);
      EXPECT_NE(ranks.errors(r).find(detail::join(
                    ": rank ", late, " did not arrive within 2 s, last seen ")),
                std::string::npos)
          << ranks.errors(r);
    }
  }
}

/// Rank 0, in the middle of the star, and another one.
TEST(Net, LostRanksAreNamed) {
  for (int64_t victim : {0, 2})
    for (int signal : {SIGKILL, SIGSTOP}) {
      SCOPED_TRACE(detail::join("rank ", victim, " signal ", signal));
      Ranks ranks(4);
      ranks.startAll("-1", "NET_RANK_SILENCE=1.5");
      ranks.waitForSteps();
      kill(ranks.processes[victim], signal);
      for (int64_t r = 0; r < 4; ++r) {
        if (r == victim)
          continue;
        EXPECT_EQ(ranks.wait(r), 3);
        std::string expected = detail::join(
            "tp-run: error: rank ", r, ": rank ", victim, " is lost: ",
            signal == SIGKILL ? "its process ended, or its connection did"
                              : "its process gave no sign of life for 1.5 s",
            "; it was last seen ");
        EXPECT_EQ(ranks.errors(r).find(expected), 0u) << ranks.errors(r);
        EXPECT_NE(ranks.errors(r).find("call 3"), std::string::npos);
        EXPECT_NE(ranks.errors(r).find(detail::join("; rank ", r, " was ")),
                  std::string::npos);
      }
      if (signal == SIGSTOP) {
        kill(ranks.processes[victim], SIGCONT);
        EXPECT_EQ(ranks.wait(victim), 3) << ranks.errors(victim);
      }
    }
}

TEST(Net, StopsMayBeAllowed) {
  Ranks ranks(3);
  ranks.startAll("-1 60", "NET_RANK_SILENCE=inf");
  ranks.waitForSteps();
  for (int64_t victim : {0, 2}) {
    kill(ranks.processes[victim], SIGSTOP);
    EXPECT_EQ(ranks.wait(1, 2.5), -1) << ranks.errors(1);
    kill(ranks.processes[victim], SIGCONT);
    EXPECT_EQ(ranks.wait(1, 0.3), -1) << ranks.errors(1);
  }
  kill(ranks.processes[2], SIGKILL);
  EXPECT_EQ(ranks.wait(1), 3);
  EXPECT_NE(ranks.errors(1).find("rank 2 is lost: its process ended"),
            std::string::npos)
      << ranks.errors(1);
}

TEST(Net, StoppedAltogetherGoesOn) {
  Ranks ranks(3);
  ranks.startAll("-1", "NET_RANK_SILENCE=1.5");
  ranks.waitForSteps();
  for (int signal : {SIGSTOP, SIGCONT}) {
    for (auto &[rank, process] : ranks.processes)
      kill(process, signal);
    if (signal == SIGSTOP)
      std::this_thread::sleep_for(std::chrono::seconds(3));
  }
  EXPECT_EQ(ranks.wait(1, 2.5), -1) << ranks.errors(1);
}

TEST(Net, StrangersAndStaleJobsAreTurnedAway) {
  Ranks ranks(3);
  ranks.start(0, "5");
  ranks.start(1, "5");
  // One of another job, with another token.
  ranks.start(2, "5", "TPRT_JOB_TOKEN=other", 7);
  EXPECT_EQ(ranks.wait(7), 1);
  EXPECT_EQ(ranks.errors(7),
            "tp-run: error: rank 2: rank 0 turned this process away: it brings "
            "the token of another job (a rank that is left of an earlier run, "
            "or the same address and port?)\n");
  // One of another version.
  Connection old = std::move(*net::connect(
      "127.0.0.1", ranks.port, Clock::now() + std::chrono::seconds(5)));
  net::Hello hello;
  hello.version = 99;
  old.send(net::encode(hello));
  auto answer = old.wait(Clock::now() + std::chrono::seconds(10));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(inOrder(answer->body,
                      {"it speaks version 99 of the runtime's protocol, rank "
                       "0 version "}))
      << answer->body;
  // One that speaks something else, and one that says nothing.
  Connection silent = std::move(*net::connect(
      "127.0.0.1", ranks.port, Clock::now() + std::chrono::seconds(5)));
  Connection browser = std::move(*net::connect(
      "127.0.0.1", ranks.port, Clock::now() + std::chrono::seconds(5)));
  browser.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_FALSE(browser.wait(Clock::now() + std::chrono::seconds(10)));
  // The job goes on as if nothing had been.
  ranks.start(2, "5");
  for (int64_t r = 0; r < 3; ++r)
    EXPECT_EQ(ranks.wait(r), 0) << ranks.errors(r);
}

namespace {

/// A process' peak of resident memory, in bytes.
int64_t peakOf(pid_t process) {
  std::string status =
      readOfProcess("/proc/" + std::to_string(process) + "/status");
  size_t at = status.find("VmHWM:");
  return at == std::string::npos ? 0 : std::atoll(&status[at + 6]) * 1024;
}

/// Makes a stranger's message: anything but this job's token.
std::string strange(std::mt19937 &random) {
  std::string noise(random() % 4096, 0);
  for (char &c : noise)
    c = char(random());
  std::string frame = net::encode(net::Hello{1, 1, 3, random(), noise});
  switch (random() % 6) {
  case 0:
    return "";
  case 1:
    return noise;
  case 2: // half a greeting
    return frame.substr(0, random() % 40);
  case 3: // a whole one, of another job or too long
    return frame;
  case 4: { // a header that promises much
    uint64_t length = uint64_t(1) << random() % 64;
    std::memcpy(frame.data() + 8, &length, 8);
    return frame;
  }
  default:
    return net::encode(Type(1 + random() % kLastType), noise);
  }
}

} // namespace

/// However many call and whatever they say, the job starts, in little memory.
TEST(Net, StrangersDoNotKeepAJobFromStarting) {
  std::mt19937 random(kSeed);
  SCOPED_TRACE(detail::join("seed ", kSeed));
  Ranks ranks(3);
  ranks.start(0, "5");
  auto call = [&] {
    return net::connect("127.0.0.1", ranks.port,
                        Clock::now() + std::chrono::seconds(5));
  };
  while (!call())
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  int64_t before = peakOf(ranks.processes[0]);
  ASSERT_GT(before, 0);
  // Peers that stay and say little, until they are cut off.
  std::vector<Connection> callers;
  for (int n = 0; n < 1000; ++n) {
    if (n == 300 || n == 600)
      ranks.start(n / 300, "5");
    if (auto caller = call()) {
      caller->send(strange(random));
      callers.push_back(std::move(*caller));
    }
  }
  EXPECT_GT(callers.size(), 100u);
  for (int64_t r = 0; r < 3; ++r)
    EXPECT_EQ(ranks.wait(r), 0) << ranks.errors(r);
  EXPECT_NE(ranks.output(0).find("all is well"), std::string::npos);

  // One after the other, as much as they get rid of: half of it behind a header
  // that promises as much.
  Ranks next(3);
  next.start(0, "5");
  next.start(1, "5");
  ranks.port = next.port;
  while (!call())
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  constexpr size_t kGarbage = 64 << 20;
  for (bool promised : {false, true}) {
    std::string garbage(kGarbage / 2, 'x');
    if (promised)
      garbage = net::encode(Type::Piece, garbage);
    for (size_t sent = 0; sent < garbage.size();) {
      auto caller = call();
      ASSERT_TRUE(caller);
      caller->send(garbage.substr(promised ? 0 : sent, 1 << 20));
      sent += 1 << 20;
    }
  }
  EXPECT_EQ(next.wait(0, 0.1), -1) << next.errors(0);
  EXPECT_LT(peakOf(next.processes[0]), before + (8 << 20));
  next.start(2, "5");
  for (int64_t r = 0; r < 3; ++r)
    EXPECT_EQ(next.wait(r), 0) << next.errors(r);
}

/// A greeting may come in pieces.
TEST(Net, SlowGreetingsAreHeard) {
  Ranks ranks(2);
  ranks.start(0, "5");
  std::string hello = net::encode(
      net::Hello{net::Hello().version, 1, 2, 0, std::string(100, 'h')});
  // A caller of no job: the answer says that it was understood.
  for (bool patient : {true, false}) {
    std::optional<Connection> caller;
    while (!(caller = net::connect("127.0.0.1", ranks.port,
                                   Clock::now() + std::chrono::seconds(5))))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    for (char c : hello) {
      caller->send(std::string(1, c));
      std::this_thread::sleep_for(std::chrono::milliseconds(patient ? 2 : 30));
    }
    auto answer = caller->wait(Clock::now() + std::chrono::seconds(10));
    EXPECT_EQ(answer.has_value(), patient);
    if (answer) {
      EXPECT_TRUE(inOrder(answer->body, {"it brings the token of another job"}))
          << answer->body;
    }
  }
}

TEST(Net, ListensAtTheAddressItServes) {
  auto reached = [](const std::string &served, const char *called) {
    auto listener = net::listen({}, served);
    return listener && net::connect(called, listener->port,
                                    Clock::now() + std::chrono::seconds(5));
  };
  EXPECT_TRUE(reached("127.0.0.1", "127.0.0.1"));
  EXPECT_FALSE(reached("127.0.0.1", "127.0.0.2"));
  EXPECT_TRUE(reached("localhost", "localhost"));
  // Nobody's here: what is translated on its way comes by any address.
  EXPECT_TRUE(reached("203.0.113.7", "127.0.0.1"));
  EXPECT_TRUE(reached("", "127.0.0.2"));
}

TEST(Net, WrongWorldSizeAndDoubledRanksEndTheRendezvous) {
  {
    Ranks ranks(3);
    ranks.start(0, "5");
    ranks.start(1, "5", "WORLD_SIZE=4");
    EXPECT_EQ(ranks.wait(0), 1);
    EXPECT_EQ(ranks.wait(1), 1);
    EXPECT_EQ(ranks.errors(0), "tp-run: error: rank 1 was told of 4 ranks, "
                               "rank 0 of 3\n");
    EXPECT_EQ(ranks.errors(1), "tp-run: error: rank 1: rank 1 was told of 4 "
                               "ranks, rank 0 of 3\n");
  }
  Ranks ranks(3);
  ranks.start(0, "5");
  ranks.start(1, "5");
  ranks.start(1, "5", "", 9);
  for (int64_t key : {0, 1, 9}) {
    EXPECT_EQ(ranks.wait(key), 1);
    EXPECT_NE(ranks.errors(key).find("rank 1 came to the rendezvous twice"),
              std::string::npos)
        << ranks.errors(key);
  }
}

/// Once, by rank 0, where nothing of what the ranks share is a secret.
TEST(Net, WarnsOfATokenThatCanBeGuessed) {
  for (bool isSet : {true, false}) {
    Ranks ranks(3);
    ranks.startAll("5", isSet ? "" : "env -u TPRT_JOB_TOKEN");
    for (int64_t r = 0; r < 3; ++r) {
      EXPECT_EQ(ranks.wait(r), 0) << ranks.errors(r);
      EXPECT_EQ(ranks.errors(r),
                isSet || r != 0
                    ? ""
                    : "tp-run: warning: the ranks are on several hosts and "
                      "know each other by what other users of these hosts can "
                      "find out too (the job's number, the meeting place): set "
                      "TPRT_JOB_TOKEN to a secret, the same for all ranks\n");
    }
  }
}

TEST(Net, RendezvousThatNeverCompletes) {
  Ranks ranks(4);
  ranks.start(0, "5 1.5");
  ranks.start(2, "5 1.5");
  for (int64_t r : {0, 2}) {
    EXPECT_EQ(ranks.wait(r), 1);
    EXPECT_TRUE(inOrder(ranks.errors(r),
                        {"the rendezvous at port ",
                         " did not complete in 1.5 s: rank 1, rank 3 of 4 ("
                         "WORLD_SIZE (torchrun)) did not come"}))
        << ranks.errors(r);
  }
  ranks.start(1, "5 0.5");
  EXPECT_EQ(ranks.wait(1), 1);
  EXPECT_TRUE(inOrder(ranks.errors(1),
                      {"rank 1: the rendezvous at ",
                       " did not complete in 0.5 s: rank 0 of 4 (WORLD_SIZE "
                       "(torchrun)) did not come"}))
      << ranks.errors(1);
}

/// Rank 0 has heard, and says nothing more.
TEST(Net, RankZeroStoppedAtTheRendezvous) {
  Ranks ranks(3);
  ranks.start(0, "5");
  ranks.start(1, "5 2");
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  kill(ranks.processes[0], SIGSTOP);
  EXPECT_EQ(ranks.wait(1), 1);
  EXPECT_TRUE(inOrder(ranks.errors(1),
                      {"rank 1: the rendezvous at ",
                       " did not complete in 2 s: the other ranks did not "
                       "come"}))
      << ranks.errors(1);
}

TEST(Net, RankZeroLostAtTheRendezvous) {
  Ranks ranks(3);
  ranks.start(0, "5");
  ranks.start(1, "5");
  // Heard, and now waiting for rank 2.
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  kill(ranks.processes[0], SIGKILL);
  EXPECT_EQ(ranks.wait(1), 3);
  EXPECT_NE(ranks.errors(1).find(
                "rank 1: rank 0 is lost: it left the rendezvous at "),
            std::string::npos)
      << ranks.errors(1);
}

TEST(Net, BusyPortIsPassedOver) {
  auto busy = net::listen({}, "127.0.0.1");
  ASSERT_TRUE(bool(busy));
  Ranks ranks(2);
  ranks.port = busy->port;
  ranks.startAll("5");
  for (int64_t r = 0; r < 2; ++r)
    EXPECT_EQ(ranks.wait(r), 0) << ranks.errors(r);
}

/// The first job listens at the port that both were given.
TEST(Net, JobsWithOnePortMeetApart) {
  Ranks ranks(2);
  ranks.start(0, "5");
  while (!net::connect("127.0.0.1", ranks.port,
                       Clock::now() + std::chrono::seconds(5)))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ranks.start(1, "5", "TPRT_JOB_TOKEN=other", 11);
  ranks.start(0, "5", "TPRT_JOB_TOKEN=other", 10);
  for (int64_t key : {10, 11})
    EXPECT_EQ(ranks.wait(key), 0) << ranks.errors(key);
  ranks.start(1, "5");
  for (int64_t key : {0, 1})
    EXPECT_EQ(ranks.wait(key), 0) << ranks.errors(key);
}

/// A process with the right token that then sends anything at all, in any
/// pieces: it is named as lost, and nobody hangs.
TEST(Net, RanksThatSendGarbageAreNamed) {
  std::mt19937 random(kSeed);
  for (int n = 0; n < 8; ++n) {
    SCOPED_TRACE(detail::join("seed ", kSeed, " round ", n));
    Ranks ranks(3);
    ranks.start(0, "-1");
    ranks.start(1, "-1");
    auto connections = net::rendezvous(ranks.identity(2), 20);
    ASSERT_TRUE(bool(connections)) << connections.status().message();
    std::string bytes;
    for (int i = 0; i < 400; ++i)
      bytes.push_back(char(random()));
    const char *what = "rank 2 is lost: ";
    if (n == 0) {
      bytes = std::string(400, 'x');
      what = "rank 2 is lost: its connection is broken: ";
    } else if (n == 1) {
      bytes = net::encode(Type::Beat, "x");
      what = "rank 2 is lost: what it sent is not understood";
    } else if (n % 2) // frames that are whole, of what does not belong here
      bytes = net::encode(Type(1 + random() % kLastType), bytes);
    for (char c : bytes)
      connections->peers[0].send(std::string(1, c));
    for (int64_t r : {0, 1}) {
      EXPECT_EQ(ranks.wait(r), 3) << ranks.errors(r);
      EXPECT_NE(ranks.errors(r).find(what), std::string::npos)
          << ranks.errors(r);
    }
  }
}

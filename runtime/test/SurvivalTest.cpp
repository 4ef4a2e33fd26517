//===- SurvivalTest.cpp - training that is told to end, and disks that fill ==//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signals to the launcher, to the whole group and to one rank; checkpoints that
// are kept, damaged or cannot be written; the log of a run that is killed.
//
//===----------------------------------------------------------------------===//

#include "TrainRuns.h"

#include <sys/resource.h>

using namespace tprt;
using namespace tprt::test;
namespace fs = std::filesystem;

namespace {

/// True if a run that was told to end has said so and left all that it did.
void expectSaved(TrainFixture &f, int code, const std::string &err = "err") {
  std::string text = readFile(f.directory / err);
  EXPECT_EQ(code, 0) << text;
  EXPECT_TRUE(inOrder(text, {"tp-run: interrupted after step ",
                             " of 1000000; it is saved, and --resume goes on "
                             "from it\n"}))
      << text;
  int64_t step = progressOf(f, "out")["step"];
  EXPECT_NE(text.find(detail::join("after step ", step, " of")),
            std::string::npos)
      << text;
  expectWeights(f, "out", step, kTrainBatch, 0.02, 2e-5);
  EXPECT_FALSE(fs::exists(f.directory / ".out.saving"));
}

/// As torchrun starts them, ranks 0 and 1 of a job of its own.
struct Launched {
  explicit Launched(const TrainFixture &f, const std::string &arguments)
      : ranks{Background(f, arguments, variables(0), "err0"),
              Background(f, arguments, variables(1), "err1")} {}
  static std::string variables(int rank) {
    return detail::join(
        "RANK=", rank, " LOCAL_RANK=", rank,
        " WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=survival-", getpid(), "-",
        job, " MASTER_PORT=1");
  }
  static int job;
  Background ranks[2];
};
int Launched::job = 0;

std::string endless(const char *backend) {
  return detail::join(kEndless, "--save-every 3 --backend ", backend);
}

} // namespace

/// Each signal that asks for an end, and whom it is sent to: the launcher, all
/// processes, and one rank alone.
TEST(Survival, AnySignalSavesAndEndsInOrder) {
  struct Case {
    const char *backend;
    int signal;
    enum { Launcher, Group, Rank0, Rank1 } to;
  };
  for (Case c : {Case{"threads", SIGINT, Case::Launcher},
                 Case{"threads", SIGTERM, Case::Launcher},
                 Case{"threads", SIGUSR1, Case::Group},
                 Case{"processes", SIGINT, Case::Group},
                 Case{"processes", SIGTERM, Case::Launcher},
                 Case{"processes", SIGTERM, Case::Group},
                 Case{"processes", SIGHUP, Case::Group},
                 Case{"processes", SIGTERM, Case::Rank0},
                 Case{"processes", SIGUSR1, Case::Rank1}}) {
    SCOPED_TRACE(detail::join(c.backend, " ", strsignal(c.signal), " ", c.to));
    TrainFixture f(2);
    Background run(f, endless(c.backend));
    waitFor(f.directory / "out/trainer.json");
    auto ranks = run.children();
    pid_t to = c.to == Case::Group   ? -run.process
               : c.to == Case::Rank0 ? ranks.at(0)
               : c.to == Case::Rank1 ? ranks.at(1)
                                     : run.process;
    kill(to, c.signal);
    // A parent that passes it on too is no second one.
    kill(run.process, c.signal);
    expectSaved(f, run.wait());
  }
}

/// Ranks that somebody else has started: all are told, or one of them.
TEST(Survival, RanksOfALauncher) {
  for (int told : {0, 1, 2}) {
    SCOPED_TRACE(told);
    ++Launched::job;
    TrainFixture f(2);
    Launched job(f, endless("processes"));
    waitFor(f.directory / "out/trainer.json");
    for (int rank : {1, 0})
      if (told == rank || told == 2)
        kill(job.ranks[rank].process, SIGTERM);
    EXPECT_EQ(job.ranks[1].wait(), 0) << readFile(f.directory / "err1");
    expectSaved(f, job.ranks[0].wait(), "err0");
    EXPECT_EQ(readFile(f.directory / "err1"), "");
  }
}

/// Told in the midst of many micro-batches, a run goes on with the first.
TEST(Survival, MicroBatchesBeginAnew) {
  TrainFixture f(2, false, false, TPRT_F32, /*spins=*/100'000);
  std::string run = "--weights in --lr 0.02 --accumulate 4000 --steps 2 ";
  Background told(f, "--train d.safetensors --order sequential --save out "
                     "--log log " +
                         run);
  waitFor(f.directory / "log");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill(told.process, SIGTERM);
  EXPECT_EQ(told.wait(), 0) << readFile(f.directory / "err");
  EXPECT_EQ(progressOf(f, "out")["step"], 0);
  EXPECT_EQ(progressOf(f, "out")["position"], 0);
}

/// One who cannot wait for a long step says it twice.
TEST(Survival, SecondSignalEndsAtOnce) {
  for (const char *backend : {"threads", "processes"}) {
    TrainFixture f(2, false, false, TPRT_F32, /*spins=*/int64_t(1) << 40);
    Background run(f, endless(backend) + " --log log");
    waitFor(f.directory / "log");
    // The handler is there before the log.
    kill(run.process, SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    EXPECT_EQ(waitpid(run.process, nullptr, WNOHANG), 0);
    kill(run.process, SIGTERM);
    EXPECT_EQ(run.wait(), -SIGTERM);
    EXPECT_FALSE(fs::exists(f.directory / "out"));
  }
}

/// While nothing can be saved yet the signal ends a run, which leaves nothing
/// behind; from the first step on it saves.
TEST(Survival, ToldAtAnyMoment) {
  std::mt19937 random(kSeed);
  for (int i = 0; i < 24; ++i) {
    const char *backend = i % 2 ? "processes" : "threads";
    int wait = int(random() % 60'000);
    SCOPED_TRACE(detail::join(backend, " after ", wait, " us, seed ", kSeed));
    TrainFixture f(2);
    Background run(f, endless(backend));
    std::this_thread::sleep_for(std::chrono::milliseconds(5) +
                                std::chrono::microseconds(wait));
    kill(i % 4 < 2 ? run.process : -run.process, SIGTERM);
    int code = run.wait();
    if (code == 0 && fs::exists(f.directory / "out")) {
      expectSaved(f, code);
      continue;
    }
    EXPECT_EQ(code, -SIGTERM) << readFile(f.directory / "err");
    EXPECT_FALSE(fs::exists(f.directory / "out"));
    std::string err = readFile(f.directory / "err");
    // Another rank may have seen the end of rank 0 before.
    EXPECT_TRUE(err.empty() ||
                err.find("tp-run: error: ended by signal 15 (Terminated)") !=
                    std::string::npos)
        << err;
  }
}

TEST(Survival, KeepsTheLastCheckpoints) {
  for (int keep : {1, 2, 3}) {
    TrainFixture f(2);
    std::string more = detail::join(" --save out --keep ", keep,
                                    " --log out/log --save-every 2");
    ASSERT_EQ(
        f.train("--weights in --lr 0.02 --weight-decay 0.1 --steps 9" + more)
            .code,
        0);
    // A break makes no difference.
    ASSERT_EQ(
        f.run("--train d.safetensors --resume out --steps 11" + more).code, 0);
    std::set<std::string> names, wanted{"out"};
    for (auto &entry : fs::directory_iterator(f.directory / ""))
      if (std::string name = entry.path().filename();
          name.starts_with("out") || name.starts_with(".out"))
        names.insert(name);
    const int64_t steps[] = {11, 10, 9};
    for (int i = 1; i < keep; ++i)
      wanted.insert(detail::join("out.step-", steps[i]));
    EXPECT_EQ(names, wanted);
    for (int i = 0; i < keep; ++i)
      expectWeights(f, i ? detail::join("out.step-", steps[i]) : "out",
                    steps[i], kTrainBatch, 0.02, 2e-6);
    EXPECT_EQ(linesOf(f.directory / "out/log").size(), 11u);
    // Each is a checkpoint like any other.
    if (keep > 1) {
      ASSERT_EQ(f.run("--train d.safetensors --resume out.step-10 --steps 11 "
                      "--save again")
                    .code,
                0);
      EXPECT_EQ(readFile(f.directory / "again/model.safetensors"),
                readFile(f.directory / "out/model.safetensors"));
    }
  }
}

/// The newest kept checkpoint that is whole is resumed, and what is
/// wrong with newer ones is said.
TEST(Survival, ResumesTheNewestThatIsWhole) {
  struct Damage {
    const char *file, *bytes, *said;
  };
  for (Damage d :
       {Damage{"model.safetensors", "abc", "/out/model.safetensors"},
        Damage{"optimizer.safetensors", nullptr, "/out/optimizer.safetensors"},
        Damage{"trainer.json", "{\"step\": 3", "/out/trainer.json"},
        Damage{"trainer.json", "", "/out/trainer.json"}}) {
    SCOPED_TRACE(d.file);
    TrainFixture f(2);
    ASSERT_EQ(f.train("--weights in --lr 0.02 --weight-decay 0.1 --steps 3 "
                      "--save out --save-every 1 --keep 3")
                  .code,
              0);
    std::string path = std::string("out/") + d.file;
    fs::remove(f.directory / path);
    if (d.bytes)
      f.write(path, d.bytes);
    auto result = f.run("--train d.safetensors --resume out --steps 5 --save "
                        "out --backend processes");
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(inOrder(result.err, {"tp-run: the run goes on from '",
                                     "/out.step-2', of step 2: ", d.said}))
        << result.err;
    EXPECT_EQ(result.err.find("goes on from", result.err.find("goes on") + 8),
              std::string::npos);
    expectWeights(f, "out", 5, kTrainBatch, 0.02, 2e-6);
    // The damaged one is gone, not kept.
    EXPECT_TRUE(fs::exists(f.directory / "out.step-2"));
    EXPECT_FALSE(fs::exists(f.directory / "out.step-3"));
    // The name itself may be lost too.
    fs::remove_all(f.directory / "out");
    result = f.run("--train d.safetensors --resume out --steps 5 --save out");
    ASSERT_EQ(result.code, 0) << result.err;
    expectWeights(f, "out", 5, kTrainBatch, 0.02, 2e-6);
  }
}

TEST(Survival, AnotherRunIsNotReplaced) {
  TrainFixture f(1);
  std::string run = "--train d.safetensors --weights in --lr 0.02 --steps 2 ";
  ASSERT_EQ(f.run(run + "--save out --save-every 1").code, 0);
  std::string first = readFile(f.directory / "out/model.safetensors"),
              out = f.directory / "out";
  auto refuse = [&](const std::string &more, const std::string &found,
                    int step) {
    f.refuse(run + more + "--save out", 1,
             "--save 'out': '" + found +
                 detail::join("' is the checkpoint of another run, of step ",
                              step,
                              "; --resume 'out' goes on with that run, "
                              "--overwrite replaces it"));
  };
  refuse("", out, 2);
  ASSERT_EQ(f.run(run + "--save other").code, 0);
  refuse("--resume other ", out, 2);
  EXPECT_EQ(readFile(f.directory / "out/model.safetensors"), first);
  // One by itself counts as well, as --resume would find it.
  fs::rename(out, f.directory / "away");
  refuse("", out + ".step-1", 1);
  fs::rename(f.directory / "away", out);

  // The old one is there until the new one is, and then all of it is gone.
  f.tokens[0] = kPoison;
  f.writeData(f.tokens);
  ASSERT_EQ(
      f.run(run + "--order sequential --max-skips 0 --save out --overwrite")
          .code,
      1);
  EXPECT_EQ(readFile(f.directory / "out/model.safetensors"), first);
  EXPECT_TRUE(fs::exists(out + ".step-1"));
  ASSERT_EQ(f.run(run + "--save out --overwrite").code, 0);
  EXPECT_NE(readFile(f.directory / "out/model.safetensors"), first);
  EXPECT_FALSE(fs::exists(out + ".step-1"));
  EXPECT_FALSE(fs::exists(out + ".step-2"));
}

/// All that was logged is in the file whenever the run is killed, and the run
/// that goes on continues it without a gap or a line twice.
TEST(Survival, LogOfAKilledRun) {
  for (bool isSaved : {false, true}) {
    TrainFixture f(2);
    std::string run = "--train d.safetensors --order sequential --weights in "
                      "--lr 0.02 --log out/log --save out --resume out ";
    Background killed(f, run + "--steps 1000000 --save-every " +
                             (isSaved ? "7" : "500000"));
    waitFor(f.directory / (isSaved ? "out/trainer.json" : "out/log"));
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    kill(killed.process, SIGKILL);
    killed.wait();
    int64_t step = isSaved ? int64_t(progressOf(f, "out")["step"]) : 0;
    std::istringstream text(readFile(f.directory / "out/log"));
    std::string first;
    std::getline(text, first);
    EXPECT_EQ(json::parse(first)["step"], 1);
    ASSERT_EQ(f.run(run + detail::join("--steps ", step + 3)).code, 0);
    auto lines = linesOf(f.directory / "out/log");
    ASSERT_EQ(int64_t(lines.size()), step + 3);
    for (size_t i = 0; i < lines.size(); ++i)
      EXPECT_EQ(lines[i]["step"], i + 1);
    if (isSaved)
      EXPECT_EQ(lines[0], json::parse(first));
  }
}

namespace {

/// Limits the size of every file that the process writes from now on.
void limitFiles(const Background &run, const char *backend, rlim_t bytes) {
  rlimit limit{bytes, RLIM_INFINITY};
  pid_t process =
      backend[0] == 'p' ? run.children().at(0) : run.process; // rank 0
  ASSERT_EQ(prlimit(process, RLIMIT_FSIZE, &limit, nullptr), 0);
}

} // namespace

/// A disk that is full for a while.
TEST(Survival, CheckpointThatCannotBeWritten) {
  for (const char *backend : {"threads", "processes"}) {
    TrainFixture f(2);
    Background run(f, endless(backend));
    waitFor(f.directory / "out/trainer.json");
    limitFiles(run, backend, 500);
    ASSERT_TRUE(waitForText(f.directory / "err", "warning: the checkpoint of"));
    int64_t before = progressOf(f, "out")["step"];
    limitFiles(run, backend, RLIM_INFINITY);
    for (int i = 0; i < 5000 && progressOf(f, "out")["step"] == before; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_GT(progressOf(f, "out")["step"], before);
    kill(run.process, SIGTERM);
    EXPECT_EQ(run.wait(), 0);
    std::string err = readFile(f.directory / "err");
    EXPECT_TRUE(inOrder(err, {"tp-run: warning: the checkpoint of step ",
                              " was not written: ", "cannot write '",
                              "File too large", "/out' is of step ",
                              ", and the run goes on and tries "
                              "again\n",
                              " could not be written; '", "/out' is of step "}))
        << err;
    expectWeights(f, "out", progressOf(f, "out")["step"], kTrainBatch, 0.02,
                  2e-5);
  }
}

/// A disk with room for two checkpoints: while one is written there are three,
/// so the older one goes, and never the last.
TEST(Survival, DiskWithoutRoomForAllThatAreKept) {
  for (const char *backend : {"threads", "processes"}) {
    TrainFixture f(2);
    fs::create_directory(f.directory / "disk");
    // A page for each of the five files of a checkpoint.
    std::string command = detail::join(
        "cd ", f.directory / "",
        "; unshare -Urm sh -c 'mount -t tmpfs -o "
        "size=52k none disk || exit 99; ",
        TPRT_RUN,
        " p.tpa --train d.safetensors --order sequential --weights in --lr "
        "0.02 --weight-decay 0.1 --steps 12 --save disk/out --save-every 3 "
        "--keep 2 --backend ",
        backend, " 2>err; echo $? >code; cp -r disk/* .' 2>mount");
    int status = std::system(command.c_str());
    if (!fs::exists(f.directory / "code"))
      GTEST_SKIP() << "no file system can be mounted: " << status
                   << readFile(f.directory / "mount");
    std::string err = readFile(f.directory / "err");
    EXPECT_EQ(readFile(f.directory / "code"), "0\n") << err;
    EXPECT_TRUE(inOrder(
        err, {"tp-run: warning: '",
              "/disk/out.step-3' was removed, as there is no room for it and "
              "the checkpoint of step 9\n",
              "/disk/out.step-6' was removed, as there is no room for it and "
              "the checkpoint of step 12\n"}))
        << err;
    EXPECT_EQ(err.find("not written"), std::string::npos) << err;
    expectWeights(f, "out", 12, kTrainBatch, 0.02, 2e-6);
    expectWeights(f, "out.step-9", 9, kTrainBatch, 0.02, 2e-6);
  }
}

/// Work is not lost for want of a log, and a log that lacks lines is said to.
TEST(Survival, LogThatCannotBeWritten) {
  TrainFixture f(2);
  auto result = f.train("--weights in --lr 0.02 --weight-decay 0.1 --steps 3 "
                        "--save out --log /dev/full");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(inOrder(
      result.err,
      {"tp-run: cannot write '/dev/full': No space left on device; the run "
       "goes "
       "on, and its lines are written when they can be\n",
       "tp-run: step 3 of 3: loss ",
       "tp-run: error: cannot write '/dev/full': No space left on device; it "
       "lacks its last 3 lines\n"}))
      << result.err;
  expectWeights(f, "out", 3, kTrainBatch, 0.02, 2e-6);
}

/// One that stays full: the run goes on to its end, says what is lost, and the
/// last good checkpoint and nothing half-written is there.
TEST(Survival, LastCheckpointThatCannotBeWritten) {
  {
    const char *backend = "processes";
    TrainFixture f(2);
    // The limit is that of standard error too, unless it is a pipe.
    std::string go = "cd " + (f.directory / "") +
                     "; mkfifo pipe; (cat pipe >err; echo >done) &";
    ASSERT_EQ(std::system(go.c_str()), 0);
    Background run(f, endless(backend) + " --log log", "", "pipe");
    waitFor(f.directory / "out/trainer.json");
    limitFiles(run, backend, 500);
    ASSERT_TRUE(waitForText(f.directory / "err", "warning: the checkpoint of"));
    kill(run.process, SIGTERM);
    EXPECT_EQ(run.wait(), 1);
    waitFor(f.directory / "done");
    std::string err = readFile(f.directory / "err");
    int64_t step = progressOf(f, "out")["step"];
    EXPECT_TRUE(inOrder(
        err,
        {"tp-run: warning: the last checkpoint was not written: ",
         "; it is tried again\n", "tp-run: error: the checkpoint of step ",
         " was not written: ", detail::join("/out' is of step ", step, "\n")}))
        << err;
    expectWeights(f, "out", step, kTrainBatch, 0.02, 2e-5);
    EXPECT_FALSE(fs::exists(f.directory / ".out.saving"));
  }
}

//===- Launcher.cpp - what tp-run does ------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the command line, files and checkpoint, runs the program, writes
// results. Results go to files and standard output, everything else to standard
// error.
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"

#include "../session/Session.h"
#include "../support/UnknownOption.h"
#include "../tensors/CheckpointFiles.h"
#include "../training/Trainer.h"
#include "Generate.h"
#include "Inputs.h"
#include "Results.h"
#include "tprt/version.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

using namespace tprt;

namespace {

struct Options {
  std::string artifact, weights, entry, states, gradients, stats, timeline;
  std::vector<std::string> inputs, outputs;
  SessionOptions session;
  GenerateOptions generate;
  training::Options train;
  int64_t repeat = 1;

  bool generates() const { return !generate.prompts.empty(); }
  bool trains() const { return !train.data.empty(); }
  /// True if this process is a rank that tp-run launched.
  bool isLaunched() const {
    return session.process && session.process->starter == "tp-run";
  }
};

/// The entries that --entry names, or the one that fits what is given.
Status readEntries(const Session &session, const std::string &text,
                   const GivenInputs &given, std::vector<int64_t> &entries) {
  if (text.empty()) {
    NamedShapes shapes;
    for (const GivenInputs::One &one : given.list())
      shapes.emplace_back(one.name, one.value.shape);
    TPRT_ASSIGN(auto entry, session.entryFor(shapes));
    entries.push_back(entry);
    return {};
  }
  std::stringstream names(text + ',');
  for (std::string name; std::getline(names, name, ',');) {
    if (name.empty())
      return usageError("--entry '", text,
                        "': expected names with commas between them");
    TPRT_ASSIGN(auto entry, session.entry(name));
    entries.push_back(entry);
  }
  return {};
}

/// Writes what --timeline and --stats ask for; every rank takes part. What was
/// generated has `statistics` of its own.
Status report(Session &session, const Options &options,
              const std::string &statistics = "") {
  Expected<std::string> timeline = std::string(), stats = std::string();
  if (!options.timeline.empty())
    timeline = session.timeline();
  if (timeline && !options.stats.empty())
    stats = session.stats(statistics);
  if (!timeline || !stats)
    return timeline ? stats.status() : timeline.status();
  if (!session.root())
    return {};
  if (!options.timeline.empty())
    TPRT_TRY(writeFile(options.timeline, *timeline));
  if (!options.stats.empty())
    TPRT_TRY(writeFile("-", *stats));
  return {};
}

/// Results go to standard output, for people, if nothing else does and no file
/// gets any.
bool printsResults(const Options &options) {
  return options.outputs.empty() && options.states.empty() &&
         options.stats.empty();
}

/// One line of what has run, where --stats does not say all of it.
void sayWhatRan(const Session &session, const Options &options,
                const std::vector<int64_t> &entries) {
  if (session.root() && options.stats.empty() && !options.session.onlyRank)
    std::fprintf(stderr, "tp-run: %s\n",
                 describeRun(session, entries, options.repeat).c_str());
}

Status runEntry(Session &session, const Options &options) {
  GivenInputs given;
  for (const std::string &input : options.inputs)
    TPRT_TRY(given.add(session.manifest(), input));
  std::vector<int64_t> entries;
  if (!options.gradients.empty())
    TPRT_TRY(training::trainingOf(session.manifest()).status());
  TPRT_TRY(readEntries(session,
                       options.gradients.empty() ? options.entry : "gradient",
                       given, entries));
  for (int64_t entry : entries)
    TPRT_TRY(given.fill(session.manifest().entries[size_t(entry)]));
  // FILE, of the last entry, or ENTRY=FILE.
  std::vector<std::pair<int64_t, std::string>> files;
  for (const std::string &output : options.outputs) {
    auto [name, path] = splitName(output);
    auto entry =
        name.empty() ? Expected<int64_t>(entries.back()) : session.entry(name);
    if (!entry)
      return userError("output '", output, "': ", entry.status().message(),
                       "; a file of that name is './", output, "'");
    if (std::find(entries.begin(), entries.end(), *entry) == entries.end())
      return userError("output '", output, "': entry '", name,
                       "' is not among those that run");
    files.push_back({*entry, path});
  }
  // Ranks are compared where nobody asks for results too.
  if (files.empty())
    files.push_back({entries.back(), ""});
  if (!options.states.empty() && session.manifest().states.empty())
    return userError("--states: the program has no states");
  // Inputs first: they are cheap to check, weights are dear to load.
  for (const GivenInputs::One &one : given.list())
    TPRT_TRY(session.setInput(entries, one.name, one.value).in(one.from));
  given = {};
  for (int64_t entry : entries)
    TPRT_TRY(session.checkInputs(entry));
  TPRT_TRY(session.loadWeights(options.weights));
  TPRT_TRY(session.run(entries, options.repeat));
  if (!options.gradients.empty()) {
    TPRT_TRY(training::writeGradients(session, options.gradients));
    sayWhatRan(session, options, entries);
    return report(session, options);
  }
  std::vector<std::vector<HostTensor>> outputs;
  std::vector<HostTensor> states;
  if (options.session.onlyRank) {
    std::fprintf(stderr,
                 "tp-run: only rank %ld of %ld ran, without collectives: "
                 "results mean nothing\n",
                 long(*options.session.onlyRank),
                 long(session.manifest().mesh.size()));
  } else {
    for (const auto &[entry, path] : files) {
      TPRT_ASSIGN(auto made, session.outputs(entry));
      outputs.push_back(std::move(made));
    }
    size_t count =
        options.states.empty() ? 0 : session.manifest().states.size();
    for (size_t i = 0; i < count; ++i) {
      TPRT_ASSIGN(auto kept, session.state(int64_t(i)));
      if (kept)
        states.push_back(std::move(*kept));
    }
  }
  if (session.root()) {
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!files[i].second.empty())
        TPRT_TRY(writeTensors(files[i].second, outputs[i]));
    if (printsResults(options) && !outputs.empty())
      TPRT_TRY(writeFile("-", describeResults(outputs[0])));
    if (!options.states.empty())
      TPRT_TRY(writeTensors(options.states, states));
    // They are there to be looked at.
    for (const std::vector<HostTensor> &results : outputs)
      TPRT_TRY(explainNotFinite(session, results));
  }
  sayWhatRan(session, options, entries);
  return report(session, options);
}

Status runGenerate(Session &session, const Options &options,
                   std::vector<generation::Request> requests) {
  TPRT_TRY(session.loadWeights(options.weights));
  heedInterrupts(options.isLaunched());
  generation::Statistics statistics;
  size_t prompts = requests.size();
  auto start = std::chrono::steady_clock::now();
  TPRT_TRY(
      generate(session, options.generate, std::move(requests), statistics));
  std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  if (session.root() && options.stats.empty())
    std::fprintf(
        stderr, "tp-run: %s\n",
        describeAnswers(session, prompts, taken.count(), statistics).c_str());
  return report(session, options, statistics.toJson());
}

Status runTraining(Session &session, const Options &options,
                   training::Source source) {
  TPRT_TRY(session.loadWeights(source.weights, source.states));
  heedInterrupts(options.isLaunched());
  TPRT_TRY(training::train(session, options.train, std::move(source)));
  return report(session, options);
}

/// The files that results go to, in `results`, by their names.
Status resultFiles(Options &options, std::vector<std::string> &results) {
  const std::string &timeline = options.timeline;
  if (!timeline.empty() && !timeline.ends_with(".json"))
    return usageError("--timeline '", timeline,
                      "': expected a name ending in .json, for a Chrome trace");
  if (options.generates()) {
    if (options.outputs.empty())
      options.outputs = {"-"};
    const std::string &output = options.outputs[0];
    if (options.outputs.size() != 1 ||
        (output != "-" && !output.ends_with(".json")))
      return usageError("--generate: expected one --output FILE.json for what "
                        "is generated, or none or - for standard output");
    if (output == "-" && !options.stats.empty())
      return usageError("--stats: expected --output FILE.json beside it, as "
                        "standard output has the answers");
    options.generate.output = output;
    if (output != "-")
      results = options.outputs;
    return {};
  }
  const std::string &gradients = options.gradients;
  if (!gradients.empty() && !gradients.ends_with(".safetensors"))
    return usageError("--gradients '", gradients,
                      "': expected a name ending in .safetensors");
  results = {options.states, gradients};
  for (const std::string &output : options.outputs)
    results.push_back(splitName(output).second);
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string &path = results[i];
    if (path.empty())
      continue;
    if (!path.ends_with(".safetensors") && !path.ends_with(".npy"))
      return usageError("output '", path,
                        "': expected a name ending in .safetensors or .npy");
    if (std::count(results.begin(), results.begin() + long(i), path))
      return usageError("output '", path,
                        "' is given twice; give each output a file of its own");
  }
  return {};
}

/// The files that the run reads, as far as they can be told before it.
std::vector<std::string> filesRead(const Options &options) {
  std::vector<std::string> files{options.artifact, options.weights,
                                 options.generate.prompts, options.train.data,
                                 options.train.evaluation};
  for (const std::string &input : options.inputs)
    files.push_back(splitName(input).second);
  std::error_code ignored;
  if (!std::filesystem::is_directory(options.weights, ignored))
    return files;
  if (auto checkpoint = CheckpointFiles::open(options.weights))
    for (const auto &[name, tensor] : checkpoint->tensors)
      if (tensor.path != files.back())
        files.push_back(tensor.path);
  return files;
}

/// An error if a result would replace a file that the run reads.
Status checkNotRead(const Options &options,
                    const std::vector<std::string> &results) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const std::string &path : results) {
    if (path.empty() || !fs::is_regular_file(path, ignored))
      continue;
    for (const std::string &other : filesRead(options))
      if (fs::is_regular_file(other, ignored) &&
          fs::equivalent(path, other, ignored))
        return userError("output '", path, "' is '", other,
                         "', which the run reads; give it another name");
  }
  return {};
}

/// An error of a run without inputs, with what would give the one that it
/// lacks.
Status adviseInputs(const Manifest &manifest, const Status &status) {
  if (!status.message().starts_with("missing input"))
    return status;
  return Status(status.code(),
                status.message() +
                    "; --input NAME=FILE.npy gives it, and random:1 makes it "
                    "up" +
                    (manifest.generation
                         ? ", or --generate PROMPTS.json continues prompts"
                         : ""));
}

/// Does what the command line asks for; `code` is the exit code. Errors that
/// ranks in other processes have printed are not returned again.
Status execute(Options &options, char **argv, int &code) {
  std::vector<std::string> results;
  TPRT_TRY(resultFiles(options, results));
  for (auto [option, isGiven] :
       {std::pair("--output", !options.outputs.empty()),
        std::pair("--states", !options.states.empty())})
    if (options.session.onlyRank && isGiven)
      return usageError(option, " is refused with --only-rank: without "
                                "collectives the results mean nothing");
  if (!options.session.backend.empty())
    TPRT_TRY(checkBackendName(options.session.backend).asUsage());
  TPRT_TRY(readWeightsSeed(options.weights).status().asUsage());
  ExitPolicy policy;
  options.session.policy = policy.get();
  TPRT_ASSIGN(options.session.process, processInfoFromEnvironment());
  TPRT_ASSIGN(auto session, Session::load(options.artifact, options.session));
  if (options.weights.empty() && options.train.resume.empty()) {
    if (!session->manifest().parameters.empty()) {
      return usageError("--weights is required (random:1 makes values up); "
                        "tp-run --help lists the options");
    }
    options.weights = "random:0"; // no parameter reads it
  }
  std::shared_ptr<const ProcessInfo> process;
  bool ownRanks = false, isLong = options.generates() || options.trains();
  const BackendRow &backend = session->backend();
  if (backend.ranksAreProcesses() && !options.session.onlyRank) {
    const auto &found = options.session.process;
    ownRanks = !found && backend.ranks == BackendRow::Ranks::Processes;
    process = std::make_shared<ProcessInfo>(found.value_or(ProcessInfo()));
    policy.startedBy(process->starter);
  }
  if (options.generates())
    TPRT_TRY(checkOptions(session->manifest(), options.generate));
  training::Source source;
  if (options.trains()) {
    TPRT_ASSIGN(source, training::sourceOf(options.train, options.weights));
    TPRT_TRY(training::checkRecipe(session->manifest(), options.train, source));
  }
  // Rank 0 alone reads and writes, perhaps on a host of its own.
  std::vector<generation::Request> requests;
  if (!process || process->rank == 0) {
    if (options.generates()) {
      TPRT_ASSIGN(requests, readPrompts(session->manifest(), options.generate));
      if (!ownRanks)
        noteDefaults(session->manifest(), options.generate);
    }
    if (options.trains())
      TPRT_TRY(training::check(*session, options.train, source));
    results.push_back(options.timeline);
    TPRT_TRY(checkNotRead(options, results));
    for (const std::string &path : results)
      TPRT_TRY(checkWritable(path));
  }
  if (options.train.checks)
    return {};
  if (ownRanks) {
    Plan plan = session->plan();
    TPRT_TRY(session->checkMemory(plan.ranks));
    TPRT_ASSIGN(auto segment, Segment::create(plan.ranks, plan.sharedBytes));
    code = runLocalRanks(segment, argv, plan.describe, isLong);
    return {};
  }
  if (isLong && process && process->rank != 0)
    passOverInterrupts();
  TPRT_TRY(session->start(process));
  Status status = caught([&] {
    return options.generates()
               ? runGenerate(*session, options, std::move(requests))
           : options.trains()
               ? runTraining(*session, options, std::move(source))
               : runEntry(*session, options);
  });
  if (!status.ok())
    session->abort(status);
  return status.ok() || !options.inputs.empty()
             ? status
             : adviseInputs(session->manifest(), status);
}

/// A number within bounds, neither of which infinities and NaN are.
CLI::Validator expectNumber(double least, bool isOpen, const char *what) {
  return CLI::Validator(
      [=](std::string &text) -> std::string {
        double x = 0;
        bool isRight = CLI::detail::lexical_cast(text, x) && std::isfinite(x) &&
                       (isOpen ? x > least : x >= least);
        return isRight ? "" : "expected " + (what + (", got '" + text + "'"));
      },
      "");
}

const CLI::Validator kPositive = expectNumber(0, true, "a number above 0"),
                     kNotNegative = expectNumber(0, false, "0 or more");
/// A number that an option of the type `Integer` can hold.
template <typename Integer>
const CLI::Validator kWhole(
    [](std::string &text) -> std::string {
      Integer x = 0;
      auto [end, error] =
          std::from_chars(text.data(), text.data() + text.size(), x);
      bool isRight = error == std::errc() && end == text.data() + text.size();
      return isRight ? ""
                     : detail::join("expected a whole number, at most ",
                                    std::numeric_limits<Integer>::max(),
                                    ", got '", text, "'");
    },
    "");
const CLI::Validator kNumber(
    [](std::string &text) -> std::string {
      double x = 0;
      return CLI::detail::lexical_cast(text, x)
                 ? ""
                 : "expected a number, got '" + text + "'";
    },
    "");
const CLI::Validator kNotEmpty(
    [](std::string &text) -> std::string {
      return text.empty() ? "expected a value, got ''" : "";
    },
    "");

void addGenerateOptions(CLI::App &app, GenerateOptions &options) {
  CLI::Option *generate = app.add_option(
      "--generate", options.prompts,
      "continue the prompts of this file, a JSON list of lists of token ids; "
      "--output FILE.json, or standard output, gets a list of {ids, finish}");
  for (const char *other :
       {"--input", "--entry", "--states", "--repeat", "--only-rank"})
    generate->excludes(app.get_option(other));
  auto add = [&](const char *name, auto &value, const char *text) {
    return app.add_option(name, value, text)->needs(generate);
  };
  // Each wins over the default that the checkpoint has for it.
  auto set = [&]<typename T>(T, const char *name, const char *key,
                             const char *text) {
    return app
        .add_option_function<T>(
            name, [&options, key](const T &x) { options.parameters[key] = x; },
            text)
        ->needs(generate);
  };
  set(int64_t(), "--max-tokens", "max_new_tokens",
      "new tokens per prompt; default 16, or the checkpoint's");
  set(float(), "--temperature", "temperature",
      "divides the logits before a draw; 0: the largest is taken; default 0, "
      "or the checkpoint's");
  set(int64_t(), "--top-k", "top_k",
      "draw among this many of the likeliest; 0: all");
  set(float(), "--min-p", "min_p",
      "draw among those this probable beside the likeliest");
  set(float(), "--top-p", "top_p",
      "draw among the fewest that are this probable together");
  set(float(), "--repetition-penalty", "repetition_penalty",
      "makes tokens that occur less likely, where it is above 1");
  set(std::string(), "--generation-config", "generation_config",
      "none: what the program has of the checkpoint's generation_config.json "
      "does not count")
      ->check(expectWord("none"));
  set(int64_t(), "--speculate", "prompt_lookup_num_tokens",
      "guess up to so many tokens of each step from what followed the same "
      "ones before; no answer changes")
      ->check(kNotNegative);
  add("--stop-ids", options.stopIds,
      "tokens that end an answer beside the program's own, with commas "
      "between them")
      ->delimiter(',');
  add("--logprobs", options.logProbabilities,
      "write each token's log-probability, and those of this many of the "
      "likeliest")
      ->check(kNotNegative);
}

void addTrainOptions(CLI::App &app, Options &options) {
  training::Options &train = options.train;
  CLI::Option *data = app.add_option(
      "--train", train.data,
      "train the program on token ids: rows one longer than its input, or one "
      "stream (.npy or .safetensors)");
  CLI::Option *gradients = app.add_option(
      "--gradients", options.gradients,
      "where the loss and its gradients of the inputs go (.safetensors)");
  for (const char *other : {"--entry", "--output", "--states", "--repeat",
                            "--only-rank", "--generate"}) {
    data->excludes(app.get_option(other));
    gradients->excludes(app.get_option(other));
  }
  data->excludes(app.get_option("--input"))->excludes(gradients);
  auto add = [&](const char *name, auto &value, const char *text) {
    return app.add_option(name, value, text)->needs(data);
  };
  data->needs(add("--steps", train.steps,
                  "of the optimizer, in all, resumed ones among them")
                  ->check(kNotNegative));
  CLI::Option *save = add("--save", train.save,
                          "directory that the checkpoint goes to at the end");
  add("--save-every", train.saveEvery, "and after every so many steps")
      ->check(kPositive)
      ->needs(save);
  add("--keep", train.keep,
      "checkpoints that are kept: the last one is OUT, those before it are "
      "OUT.step-N; default 2")
      ->check(kPositive)
      ->needs(save);
  app.add_flag("--overwrite", train.overwrite,
               "replace the checkpoint of another run at --save OUT")
      ->needs(save);
  add("--resume", train.resume,
      "go on from this checkpoint of a run, as it went if nothing else is "
      "said; where there is none yet, begin with --weights");
  add("--config", train.config,
      "directory with config.json and what else small goes into checkpoints; "
      "default that of --weights")
      ->needs(save);
  CLI::Option *evaluation =
      add("--eval", train.evaluation,
          "also tell the loss of these token ids, and keep the checkpoint with "
          "the least in OUT.best");
  add("--eval-every", train.evaluateEvery,
      "after every so many steps, and after the last; default: that alone")
      ->check(kPositive)
      ->needs(evaluation);
  add("--patience", train.patience,
      "end the run after so many evaluations in a row that are no better than "
      "the best")
      ->check(kPositive)
      ->needs(evaluation);
  add("--log", train.log, "a line of JSON per step, to this file");
  app.add_flag("--check", train.checks,
               "say what is wrong with the run, and do not begin it; the files "
               "of --train and --eval need not be there")
      ->needs(data);
  add("--max-skips", train.maxSkips,
      "steps in a row that may be skipped as their loss or gradient norm is "
      "not finite; one more ends the run; default 10")
      ->check(kNotNegative);
  auto value = [&]<typename T>(T, const char *name, const char *text) {
    return app
        .add_option_function<T>(
            std::string("--") + name,
            [&train, name](const T &x) { train.recipe[name] = x; }, text)
        ->needs(data);
  };
  value(int64_t(), "accumulate", "micro-batches of a step; default 1");
  value(double(), "lr", "learning rate");
  value(std::string(), "schedule",
        "constant, cosine or linear, and :warmup=STEPS,min=RATE; default "
        "constant");
  value(std::vector<double>(), "betas", "of adamw; default 0.9,0.95")
      ->delimiter(',');
  value(double(), "eps", "of adamw; default 1e-8");
  value(double(), "momentum", "of sgd that has it; default 0.9");
  value(double(), "weight-decay", "default 0.1 of adamw, 0 of sgd");
  value(std::string(), "order", "of the rows: shuffle (default) or sequential");
}

/// Options of every run.
void addRunOptions(CLI::App &app, Options &options) {
  app.add_option("artifact", options.artifact, "the program (.tpa)")
      ->required();
  app.add_option("--weights", options.weights,
                 "checkpoint directory, .safetensors file, or init:SEED or "
                 "random:SEED, of which values are made up");
  app.add_option("--input", options.inputs,
                 "NAME=FILE (.npy or .safetensors), or FILE.safetensors with "
                 "inputs by name; NAME=random:SEED, or random:SEED of all "
                 "others, of which values are made up; ENTRY.NAME is of one "
                 "entry; may be repeated")
      ->take_all();
  app.add_option(
         "--output", options.outputs,
         "where the results of the last entry go (.safetensors, or .npy "
         "for one; default: a line of each to standard output), or ENTRY=FILE "
         "those of that entry; may be repeated")
      ->take_all();
  app.add_option("--states", options.states,
                 "where the states go after the last step (.safetensors, or "
                 ".npy for one)");
  app.add_option("--entry", options.entry,
                 "entry points to run in turn, one step each, with commas "
                 "between them; default the first, or of several lengths the "
                 "least that has room for the inputs");
  app.add_option(
      "--backend", options.session.backend,
      describeBackends() +
          "; default the first of them that can run the program, and under "
          "torchrun, mpirun or srun one that connects their "
          "processes");
  app.add_option("--repeat", options.repeat, "steps to run, of each entry")
      ->check(kPositive);
  app.add_option("--stats", options.stats,
                 "json: load and step times and memory, to standard output")
      ->check(expectWord("json"));
  app.add_option("--timeline", options.timeline,
                 "Chrome trace of all ranks, to this file (.json)");
  app.add_option("--only-rank", options.session.onlyRank,
                 "run what this rank computes, alone and without collectives, "
                 "to measure it; results mean nothing");
  app.add_option("--timeout", options.session.timeoutSeconds,
                 "seconds that a rank waits for another, or for its device, in "
                 "a step; default 60")
      ->check(kPositive);
  app.add_option("--start-timeout", options.session.startSeconds,
                 "seconds for all ranks to come together; default "
                 "$TPRT_START_TIMEOUT or --timeout")
      ->check(kPositive);
  app.add_option("--load-timeout", options.session.loadSeconds,
                 "seconds that a rank waits for others that load weights; "
                 "default 1800, or --timeout if that is longer")
      ->check(kPositive);
  app.add_option("--silence-timeout", options.session.silenceSeconds,
                 detail::join("seconds without a sign of life after which a "
                              "rank is lost; default $",
                              kSilenceVariable, " or ", kSilenceSeconds))
      ->check(kPositive);
  app.add_flag("--allow-stops", options.session.allowStops,
               "wait for ranks that stand still, as under a debugger: only one "
               "that ends is lost, and nothing but the start has a time limit");
}

/// A mistake is told as those that a run finds are.
void refuseMistakes(CLI::App &app) {
  for (CLI::Option *option : app.get_options()) {
    option->check(kNotEmpty);
    // CLI11 takes the largest number for one that is larger.
    if (option->get_type_name().starts_with("INT"))
      option->check(kWhole<int64_t>);
    if (option->get_type_name().starts_with("FLOAT"))
      option->check(kNumber);
    if (option->get_type_name().starts_with("UINT"))
      option->check(kWhole<uint64_t>);
  }
  app.failure_message([](const CLI::App *app, const CLI::Error &error) {
    return describeMistake(*app, error, "tp-run");
  });
}

/// The seed of draws, and of the order of the rows.
void addSeed(CLI::App &app, Options &options) {
  app.add_option_function<uint64_t>(
         "--seed",
         [&](uint64_t seed) {
           options.generate.seed = seed;
           options.train.recipe["seed"] = seed;
         },
         "of draws (default 0), or of the order of the rows (default 1)")
      ->check(kNotNegative);
}

} // namespace

int tprt::launch(int argc, char **argv) {
  Options options;
  CLI::App app{"Runs a program that tp-compile made.", "tp-run"};
  addRunOptions(app, options);
  addGenerateOptions(app, options.generate);
  addTrainOptions(app, options);
  addSeed(app, options);
  refuseMistakes(app);
  app.set_version_flag("--version", versionText("tp-run"));
  // A file that may not grow further is an error of the write, and so is a pipe
  // that nobody reads.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    app.parse(argc, argv);
    if (app.count("--seed") > 0 && !options.generates() && !options.trains())
      throw CLI::RequiresError("--seed", "--generate or --train");
  } catch (const CLI::ParseError &error) {
    std::ostringstream out;
    if (app.exit(error, out, std::cerr) != 0)
      return int(Code::Usage);
    return endWith("tp-run", writeFile("-", out.str()));
  }
  options.session.timeline = !options.timeline.empty();
  options.train.isInterrupted = isInterrupted;

  int code = 0;
  Status status = caught([&] { return execute(options, argv, code); });
  return status.ok() ? code : endWith("tp-run", status);
}

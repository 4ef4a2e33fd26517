//===- Trainer.cpp - the loop of training ---------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trainer.h"

#include "Layout.h"
#include "Recipe.h"
#include "Tokens.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <unistd.h>

using namespace tprt;
using namespace tprt::training;
using nlohmann::json;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <typename... Parts>
static void say(Parts &&...parts) {
  std::fprintf(stderr, "tp-run: %s\n", detail::join(parts...).c_str());
}

//===----------------------------------------------------------------------===//
// What is checked first
//===----------------------------------------------------------------------===//

Expected<Source> training::sourceOf(const Options &options,
                                    const std::string &weights) {
  std::error_code ignored;
  if (!options.resume.empty()) {
    TPRT_ASSIGN(auto checkpoint, Checkpoint::at(options.resume));
    if (auto folder = checkpoint.find()) {
      TPRT_ASSIGN(auto progress, readProgress(*folder));
      return Source{*folder, statesFile(*folder),
                    options.config.empty() ? *folder : options.config,
                    progress};
    }
    if (weights.empty())
      return userError("--resume '", options.resume,
                       "': there is no checkpoint of a run; --weights DIR "
                       "beside it says what to begin with");
  }
  Source source{weights, "", options.config, {}};
  fs::path path(weights);
  if (source.folder.empty() && fs::is_directory(path, ignored))
    source.folder = weights;
  else if (source.folder.empty() && fs::is_regular_file(path, ignored))
    source.folder = fs::absolute(path).parent_path().string();
  return source;
}

/// Whether a run that goes on has what its optimizer needs.
static Status checkStates(const Manifest &manifest, const std::string &path) {
  TPRT_ASSIGN(auto file, InputFile::open(path));
  TPRT_ASSIGN(auto tensors, readSafetensorsHeader(file, path));
  for (const Training::Weight &weight : manifest.training->weights)
    for (int64_t i : {weight.expAvg, weight.expAvgSq, weight.momentum}) {
      std::string name =
          i < 0 ? "" : Session::stateTensor(manifest.states[size_t(i)]);
      if (i >= 0 && !tensors.count(name))
        return userError("'", path, "': expected tensor '", name, "'");
    }
  return {};
}

/// The data, and that it is that of the run which goes on.
static Expected<TokenFile> openData(const Steps &steps, const Options &options,
                                    const Progress &progress) {
  TPRT_ASSIGN(auto data, TokenFile::open(options.data, steps.length(),
                                         steps.vocabulary()));
  if (progress.rows > 0 && progress.rows != data.rows())
    return userError("'", options.data, "': expected the ", progress.rows,
                     " rows of the run that goes on, got ", data.rows(),
                     "; to train on other data begin with --weights '",
                     options.resume, "'");
  return data;
}

Status training::check(Session &session, const Options &options,
                       const Source &source) {
  TPRT_ASSIGN(auto steps, Steps::make(session));
  TPRT_ASSIGN(auto program, trainingOf(steps.manifest()));
  json all;
  TPRT_TRY(Recipe::make(program, options.recipe, source.progress.recipe, all)
               .status());
  const Progress &before = source.progress;
  TPRT_TRY(openData(steps, options, before).status());
  if (!source.states.empty() && before.optimizer != program.name())
    return userError("--resume '", options.resume, "': the run's optimizer is ",
                     before.optimizer, ", the program's is ", program.name());
  if (!source.states.empty())
    TPRT_TRY(checkStates(session.manifest(), source.states));
  if (options.save.empty())
    return {};
  TPRT_ASSIGN(auto checkpoint, Checkpoint::at(options.save));
  TPRT_TRY(checkpoint.checkWritable().in("--save '" + options.save + "'"));
  std::error_code ignored;
  if (!fs::exists(fs::path(source.folder) / "config.json", ignored))
    return userError("--save '", options.save,
                     "': expected config.json beside the weights, to go into "
                     "the checkpoint; --config DIR says where it is");
  return {};
}

//===----------------------------------------------------------------------===//
// The log and what is said
//===----------------------------------------------------------------------===//

namespace {

/// Lines of JSON, and now and then one for people.
class Reporter {
public:
  /// A run that goes on keeps the lines of the steps before `step`.
  static Expected<Reporter> open(const std::string &path, int64_t step,
                                 int64_t steps);
  Status add(const json &line);
  /// Ends the line on a terminal.
  void pause() {
    if (isOpen)
      std::fputc('\n', stderr);
    isOpen = false;
  }

private:
  std::ofstream file;
  std::string path;
  int64_t first, steps;
  bool isTerminal = isatty(2), isOpen = false;
  Clock::time_point second, told; ///< end of the first step; of the last line
};

Expected<Reporter> Reporter::open(const std::string &path, int64_t step,
                                  int64_t steps) {
  Reporter log;
  log.path = path, log.first = step + 1, log.steps = steps;
  if (path.empty())
    return log;
  std::string kept;
  std::ifstream before(path);
  for (std::string line; step > 0 && std::getline(before, line);) {
    auto parsed = parseJson(line, 4);
    if (parsed && parsed->is_object() && parsed->contains("step") &&
        (*parsed)["step"].is_number_integer() && (*parsed)["step"] <= step)
      kept += line + "\n";
  }
  TPRT_TRY(writeFile(path, kept));
  log.file.open(path, std::ios::app);
  return log;
}

/// 1:02:03
std::string formatSeconds(double seconds) {
  auto s = int64_t(std::ceil(seconds));
  char text[32];
  std::snprintf(text, sizeof(text), "%ld:%02ld:%02ld", long(s / 3600),
                long(s / 60 % 60), long(s % 60));
  return text;
}

Status Reporter::add(const json &line) {
  int64_t step = line["step"];
  if (!path.empty() && !(file << line.dump() << std::endl))
    return userError("cannot write '", path, "': ", std::strerror(errno));
  if (step == first)
    second = Clock::now();
  if (step != first && step != steps &&
      secondsSince(told) < (isTerminal ? 0.5 : 10))
    return {};
  told = Clock::now();
  std::string left;
  if (step > first && step < steps)
    left = ", " +
           formatSeconds(secondsSince(second) / double(step - first) *
                         double(steps - step)) +
           " left";
  char text[160];
  std::snprintf(text, sizeof(text),
                "tp-run: step %ld of %ld: loss %.4f, gradient norm %.3g, rate "
                "%.3g, %.0f tokens/s%s",
                long(step), long(steps), line["loss"].get<double>(),
                line["grad_norm"].get<double>(), line["lr"].get<double>(),
                line["tokens_per_second"].get<double>(), left.c_str());
  std::fprintf(stderr, isTerminal ? "\r%s\033[K" : "%s\n", text);
  isOpen = isTerminal;
  return {};
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// Rank 0's part.
class Trainer {
public:
  Trainer(Steps &steps, const Options &options, Source source)
      : steps(steps), options(options), folder(std::move(source.folder)),
        progress(std::move(source.progress)) {}

  Status run();

private:
  Status begin();
  Status takeBatch();
  Status step();
  Status save();

  Steps &steps;
  const Options &options;
  std::string folder; ///< of the small files
  Progress progress;
  Recipe recipe{};
  std::optional<TokenFile> data;
  std::optional<Checkpoint> checkpoint;
  std::optional<Reporter> log;
  std::vector<int32_t> ids, targets;
  int64_t saved = -1; ///< the step that was saved last
  int64_t empty = 0;  ///< rows in a row of which no token counts
};

Status Trainer::begin() {
  TPRT_ASSIGN(auto program, trainingOf(steps.manifest()));
  json all;
  TPRT_ASSIGN(recipe,
              Recipe::make(program, options.recipe, progress.recipe, all));
  progress.recipe = all;
  progress.optimizer = program.name();
  TPRT_ASSIGN(data, openData(steps, options, progress));
  if (!options.resume.empty() && progress.rows == 0)
    say("there is no checkpoint at '", options.resume,
        "' yet: the run begins with --weights");
  if (data->left() > 0)
    say("'", options.data, "': the last ", data->left(),
        " tokens fill no row of ", steps.length() + 1, " and are left out");
  progress.rows = data->rows();
  ids.resize(size_t(steps.batch() * steps.length()));
  targets.resize(ids.size());
  if (!options.save.empty()) {
    TPRT_TRY(weightLayout(steps).status());
    TPRT_ASSIGN(checkpoint, Checkpoint::at(options.save));
  }
  TPRT_ASSIGN(log, Reporter::open(options.log, progress.step, options.steps));
  return {};
}

Status Trainer::takeBatch() {
  for (int64_t row = 0; row < steps.batch(); ++row) {
    int64_t at = rowAt(progress.position++, data->rows(), recipe.isShuffled,
                       recipe.seed);
    TPRT_TRY(data->read(at, ids.data() + row * steps.length(),
                        targets.data() + row * steps.length()));
  }
  return {};
}

Status Trainer::step() {
  auto start = Clock::now();
  int64_t number = progress.step + 1, rows = steps.batch() * recipe.accumulate;
  for (int64_t i = 0; i < recipe.accumulate; ++i) {
    // A number that no other micro-batch of the run has.
    int64_t microstep = progress.position / steps.batch();
    TPRT_TRY(takeBatch());
    TPRT_TRY(steps.gradient(ids, targets, int64_t(recipe.seed), microstep));
  }
  TPRT_ASSIGN(auto result,
              steps.update(recipe.updateInputs(number, options.steps)));
  if (result.tokens == 0) {
    log->pause();
    say("no token of the ", rows, " rows after step ", progress.step,
        " counts: they make no step");
    if ((empty += rows) >= data->rows() + rows)
      return userError("'", options.data, "': all labels are -100, of all ",
                       data->rows(), " rows: expected tokens to predict");
    return {};
  }
  empty = 0;
  double loss = double(result.lossSum) / double(result.tokens);
  if (!std::isfinite(loss) || !std::isfinite(result.gradNorm)) {
    log->pause();
    return userError("step ", number, ": the loss is ", loss,
                     ", the gradient's norm ", result.gradNorm,
                     ": expected finite numbers; ",
                     saved < 0 ? "nothing was saved"
                               : detail::join("'", checkpoint->name(),
                                              "' is of step ", saved));
  }
  progress.step = number;
  TPRT_ASSIGN(auto peak, steps.peakBytes());
  double seconds = secondsSince(start);
  return log->add({{"step", number},
                   {"loss", loss},
                   {"tokens", int64_t(result.tokens)},
                   {"lr", recipe.rateOf(number, options.steps)},
                   {"grad_norm", result.gradNorm},
                   {"seconds", seconds},
                   {"tokens_per_second", double(result.tokens) / seconds},
                   {"peak_bytes", peak}});
}

Status Trainer::save() {
  if (!checkpoint || saved == progress.step)
    return {};
  TPRT_TRY(checkpoint->save(steps, progress, folder));
  saved = progress.step;
  folder = checkpoint->name();
  return {};
}

Status Trainer::run() {
  TPRT_TRY(begin());
  while (progress.step < options.steps && !options.isInterrupted()) {
    int64_t before = progress.step;
    TPRT_TRY(step());
    if (options.saveEvery > 0 && progress.step > before &&
        progress.step % options.saveEvery == 0)
      TPRT_TRY(save());
  }
  log->pause();
  TPRT_TRY(save());
  if (progress.step < options.steps)
    say("interrupted after step ", progress.step, " of ", options.steps,
        checkpoint ? "; it is saved, and --resume goes on from it" : "");
  return steps.end();
}

} // namespace

Status training::train(Session &session, const Options &options,
                       Source source) {
  TPRT_ASSIGN(auto steps, Steps::make(session));
  if (!session.root())
    return steps.follow();
  return Trainer(steps, options, std::move(source)).run();
}

Status training::writeGradients(Session &session, const std::string &path) {
  TPRT_ASSIGN(auto steps, Steps::make(session));
  if (!session.root())
    return steps.follow();
  const Training &program = *session.manifest().training;
  auto scalar = [&](int64_t index) -> Expected<float> {
    TPRT_ASSIGN(auto value, steps.state(index));
    return *reinterpret_cast<const float *>(value.bytes.data());
  };
  TPRT_ASSIGN(float loss, scalar(program.lossSum));
  TPRT_ASSIGN(float tokens, scalar(program.tokens));
  if (tokens == 0)
    return userError("--gradients: all labels are -100: expected tokens to "
                     "predict");
  loss /= tokens;
  TPRT_ASSIGN(auto layout, gradientLayout(steps));
  std::vector<std::pair<std::string, TensorPlace>> places{
      {"loss", {FileType::F32, {}, 0, sizeof(loss)}}};
  for (const LaidOut &tensor : layout)
    places.push_back({tensor.name, tensor.place});
  TPRT_ASSIGN(auto file, createSafetensors(path, places));
  TPRT_TRY(file.write(&loss, sizeof(loss)));
  TPRT_TRY(write(steps, layout, tokens, file));
  TPRT_TRY(file.commit());
  return steps.end();
}

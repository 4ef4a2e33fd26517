//===- Generate.cpp - tp-run --generate -----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generate.h"

#include "../format/Cursor.h"
#include "../generation/Generator.h"
#include "../generation/SessionModel.h"
#include "Launcher.h"

using namespace tprt;
using namespace tprt::generation;
using nlohmann::json;

/// How often an interrupt is looked for.
constexpr double kLookSeconds = 0.05;

/// A request for what follows one prompt, as the command line says.
static Expected<Request> requestFor(const Generation &program,
                                    std::vector<int32_t> ids,
                                    const GenerateOptions &options) {
  TPRT_ASSIGN(auto request,
              makeRequest(program, std::move(ids), options.parameters,
                          "the command line"));
  request.sampling.seed = options.seed;
  request.stopIds = options.stopIds;
  request.logProbabilities = options.logProbabilities;
  return request;
}

Status tprt::checkOptions(const Manifest &manifest,
                          const GenerateOptions &options) {
  TPRT_ASSIGN(auto program, generationOf(manifest));
  // The limit of an answer may depend on the prompt.
  GenerateOptions unlimited = options;
  if (!options.parameters.contains("max_new_tokens"))
    unlimited.parameters["max_new_tokens"] = 1;
  auto request = requestFor(program, {0}, unlimited);
  return request ? checkParameters(program, *request).asUsage()
                 : request.status().asUsage();
}

Expected<std::vector<Request>>
tprt::readPrompts(const Manifest &manifest, const GenerateOptions &options) {
  TPRT_ASSIGN(auto program, generationOf(manifest));
  std::string where = "prompts '" + options.prompts + "'";
  TPRT_ASSIGN(auto file, LoadedFile::open(options.prompts));
  TPRT_ASSIGN(auto parsed, parseJson(file.bytes(), 8).in(where));
  return readJson(parsed, where, [&](const Cursor &prompts) {
    std::vector<Request> requests;
    for (const Cursor &prompt : prompts.list()) {
      std::vector<int32_t> ids;
      for (const Cursor &id : prompt.list())
        ids.push_back(int32_t(id.integer(0, program.vocabulary - 1)));
      auto request = requestFor(program, std::move(ids), options);
      if (!request)
        prompt.fail(request.status().message());
      if (Status status = checkRequest(program, *request); !status.ok())
        prompt.fail(status.message());
      requests.push_back(std::move(*request));
    }
    return requests;
  });
}

void tprt::noteDefaults(const Manifest &manifest,
                        const GenerateOptions &options) {
  if (!manifest.generation || options.parameters.contains("generation_config"))
    return;
  for (const std::string &note : notesOn(*manifest.generation))
    std::fprintf(stderr, "tp-run: %s\n", note.c_str());
}

namespace {
/// The answer to a prompt so far.
struct Answer {
  json ids = json::array(), logProbabilities = json::array();
  const char *finish = "interrupted";

  void add(const Event &event) {
    if (event.token >= 0)
      ids.push_back(event.token);
    if (!event.logProbabilities.empty()) {
      json best = json::array();
      for (size_t i = 1; i < event.logProbabilities.size(); ++i)
        best.push_back({event.logProbabilities[i].first,
                        event.logProbabilities[i].second});
      logProbabilities.push_back(
          {{"logprob", event.logProbabilities[0].second}, {"top", best}});
    }
    if (event.finish == Finish::Length)
      finish = "length";
    if (event.finish == Finish::Stop)
      finish = "stop";
  }
};
} // namespace

static std::string toJson(const std::vector<Answer> &answers,
                          bool hasLogProbabilities) {
  std::string text = "[";
  for (const Answer &answer : answers) {
    json one = {{"ids", answer.ids}, {"finish", answer.finish}};
    if (hasLogProbabilities)
      one["logprobs"] = answer.logProbabilities;
    text += (text.size() > 1 ? ",\n " : "") + one.dump();
  }
  return text + "]\n";
}

/// Rank 0's part.
static Status answerAll(Session &session, std::vector<Request> requests,
                        std::vector<Answer> &answers, Statistics &statistics) {
  TPRT_ASSIGN(auto program, generationOf(session.manifest()));
  TPRT_ASSIGN(auto model, SessionModel::make(session));
  Generator generator(program, std::move(model), int64_t(requests.size()));
  answers.resize(requests.size());
  TPRT_TRY(generator.submit(std::move(requests)).status());
  generator.drain();
  while (!isInterrupted() && !session.isToldToEnd()) {
    TPRT_ASSIGN(auto event, generator.next(kLookSeconds));
    if (!event && generator.isDone())
      break;
    if (!event)
      continue;
    if (event->finish == Finish::Error)
      return event->error.in(detail::join("prompt ", event->request - 1));
    answers[event->request - 1].add(*event);
  }
  statistics = generator.statistics();
  return {};
}

Status tprt::generate(Session &session, const GenerateOptions &options,
                      std::vector<Request> requests, Statistics &statistics) {
  if (!session.root())
    return follow(session);
  std::vector<Answer> answers;
  TPRT_TRY(answerAll(session, std::move(requests), answers, statistics));
  return writeFile(options.output,
                   toJson(answers, options.logProbabilities >= 0));
}

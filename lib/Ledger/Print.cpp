//===- Print.cpp - The ledger as a table and as JSON ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table is for people: a group per function and layer, two lines per
// collective, figures above, reasons below. The JSON object has the same
// content under fixed keys.
//
//===----------------------------------------------------------------------===//

#include "tp/Ledger/Ledger.h"
#include "tprt/units.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace tp;
using llvm::formatv;

static void printShare(const RankShare &share, llvm::StringRef name,
                       llvm::function_ref<std::string(double)> text,
                       llvm::raw_ostream &stream) {
  if (share.model == 0)
    return;
  stream << formatv("{0} per rank: {1}, even share {2} of {3}", name,
                    text(share.perRank), text(share.ideal), text(share.model));
  if (share.perRank > share.ideal + 0.5) {
    stream << formatv(" (+{0:F2}%:", 100 * (share.perRank / share.ideal - 1));
    const char *separator = " ";
    for (auto [cause, value] :
         {std::pair<const char *, double>{"on every rank", share.replicated},
          {"shared by some ranks", share.copies},
          {"padding", share.padding}})
      if (value >= 0.5) {
        stream << separator << cause << " " << text(value);
        separator = ", ";
      }
    stream << ")";
  }
  stream << "\n";
}

static void printArithmetic(const FunctionTotals &function,
                            llvm::raw_ostream &stream) {
  printShare(function.flops, "arithmetic", tprt::formatFlops, stream);
}

/// "gradient, per micro-batch".
static std::string getTitle(const FunctionTotals &function) {
  return function.name +
         (function.runsPer.empty() ? "" : ", per " + function.runsPer);
}

/// A function by name only where there are several: what one run of all is
/// together means nothing.
static void printTotals(const FunctionTotals &function, bool isOneOfSeveral,
                        llvm::raw_ostream &stream) {
  stream << "\ntotals of one run     count       bytes     traffic       bound";
  if (isOneOfSeveral)
    stream << "  of @" << getTitle(function);
  stream << "\n";
  auto total = [&](llvm::StringRef name, const KindTotal &one) {
    stream << formatv("{0,-18}  {1,7}  {2,10}  {3,10}  {4,10}\n", name,
                      one.count, tprt::formatBytes(one.bytes),
                      tprt::formatBytes(one.traffic),
                      tprt::formatBytes(one.bound));
  };
  for (const auto &[kind, one] : function.kinds)
    total(kind, one);
  total("all", function.getTotal());
  if (isOneOfSeveral)
    printArithmetic(function, stream);
}

/// Prints the memory of a rank while a function runs, the parts that there are.
static void printMemory(const FunctionTotals &function,
                        llvm::raw_ostream &stream) {
  const MemoryPlan &plan = *function.memory;
  stream << formatv("memory per rank of @{0}: {1}", function.name,
                    tprt::formatBytes(plan.getPeak()));
  const char *separator = ", of it ";
  for (auto [what, bytes] :
       {std::pair<const char *, int64_t>{"parameters", plan.parameters},
        {"states", plan.states},
        {"kept values", plan.kept},
        {"activations", plan.activations},
        {"communication", plan.communication},
        {"inputs and outputs", plan.values},
        {"constants", plan.constants}})
    if (bytes) {
      stream << separator << what << " " << tprt::formatBytes(bytes);
      separator = ", ";
    }
  stream << "\n";
}

static void printMemory(const MemoryPlan &plan, llvm::json::OStream &json) {
  json.attributeObject("memory", [&] {
    json.attribute("parameters", plan.parameters);
    json.attribute("states", plan.states);
    json.attribute("constants", plan.constants);
    json.attribute("inputs_and_outputs", plan.values);
    json.attribute("kept_values", plan.kept);
    json.attribute("activations", plan.activations);
    json.attribute("communication", plan.communication);
    json.attribute("peak", plan.getPeak());
  });
}

/// "time of @main on H100: 12.3 ms: arithmetic 9 ms, ...".
static void printSeconds(const FunctionTotals &function,
                         llvm::StringRef profile, llvm::raw_ostream &stream) {
  const RunSeconds &run = *function.seconds;
  auto text = [](double seconds) { return tprt::formatSeconds(seconds); };
  stream << formatv("time of @{0} on {1}, by its figures: {2}", function.name,
                    profile, text(run.total));
  const char *separator = ": ";
  for (auto [what, seconds] :
       {std::pair<const char *, double>{"arithmetic", run.arithmetic},
        {"memory", run.memory},
        {"starts", run.starts},
        {"slower kernels beside collectives", run.slowed}})
    if (seconds > 0) {
      stream << separator << what << " " << text(seconds);
      separator = ", ";
    }
  if (run.communication > 0)
    stream << formatv("{0}exposed communication {1} of {2}", separator,
                      text(run.exposed), text(run.communication));
  if (function.unsplit)
    stream << formatv("; with all rows in one part {0}, exposed {1}",
                      text(function.unsplit->total),
                      text(function.unsplit->exposed));
  stream << "\n";
}

/// JSON has no infinity, which is the time of a link that there is not: null.
static void printNumber(llvm::StringRef key, double number,
                        llvm::json::OStream &json) {
  if (std::isfinite(number))
    json.attribute(key, number);
  else
    json.attribute(key, nullptr);
}

static void printSeconds(const RunSeconds &run, llvm::StringRef key,
                         llvm::json::OStream &json) {
  json.attributeObject(key, [&] {
    printNumber("arithmetic", run.arithmetic, json);
    printNumber("memory", run.memory, json);
    printNumber("starts", run.starts, json);
    printNumber("slowed", run.slowed, json);
    printNumber("communication", run.communication, json);
    printNumber("exposed", run.exposed, json);
    printNumber("total", run.total, json);
  });
}

static void printWork(llvm::ArrayRef<KernelWork> lines,
                      llvm::json::OStream &json) {
  json.attributeArray("work", [&] {
    for (const KernelWork &line : lines)
      json.object([&] {
        json.attribute("kernel", line.kernel);
        json.attribute("type", line.type);
        json.attribute("count", line.count);
        json.attribute("flops", line.flops);
        json.attribute("bytes", line.bytes);
        json.attribute("product", line.isProduct);
        json.attribute("rows", line.rows);
        if (line.seconds)
          json.attributeObject("seconds", [&] {
            printNumber("arithmetic", line.seconds->arithmetic, json);
            printNumber("memory", line.seconds->memory, json);
            printNumber("start", line.seconds->start, json);
          });
      });
  });
}

/// "beside: 3 kernels, 1.2 GFLOP", or why there is nothing.
static void printOverlap(const CallOverlap &overlap,
                         llvm::raw_ostream &stream) {
  if (overlap.chunks > 1)
    stream << "       rows: in " << overlap.chunks << " parts\n";
  else if (!overlap.whole.empty())
    stream << "       rows: in one part, as " << overlap.whole << "\n";
  if (overlap.readsPeers) {
    stream << "       form: one_shot, in the kernels that need the sum (a call "
              "where "
              "ranks share no memory)\n";
    return;
  }
  if (!overlap.isStarted)
    stream << "       at once: " << overlap.reason << "\n";
  else if (overlap.kernels == 0)
    stream << "       beside: nothing\n";
  else
    stream << formatv(
        "       beside: {0} {1}, {2}, {3} read and written\n", overlap.kernels,
        overlap.kernels == 1 ? "kernel" : "kernels",
        tprt::formatFlops(overlap.flops), tprt::formatBytes(overlap.bytes));
  if (!overlap.library.empty())
    stream << "       form: library, as " << overlap.library << "\n";
}

static void printSeconds(const CallSeconds &call, llvm::raw_ostream &stream) {
  stream << formatv("       time: {0}, exposed: {1}\n",
                    tprt::formatSeconds(call.total),
                    tprt::formatSeconds(call.exposed));
}

static void printOverlap(const CallOverlap &overlap,
                         llvm::json::OStream &json) {
  json.attribute("form", overlap.readsPeers ? "one_shot" : "library");
  if (!overlap.library.empty())
    json.attribute("library", overlap.library);
  json.attribute("chunks", overlap.chunks);
  if (!overlap.whole.empty())
    json.attribute("whole", overlap.whole);
  json.attribute("started", overlap.isStarted);
  if (!overlap.isStarted)
    json.attribute("reason", overlap.reason);
  else
    json.attributeObject("beside", [&] {
      json.attribute("kernels", overlap.kernels);
      json.attribute("flops", overlap.flops);
      json.attribute("bytes", overlap.bytes);
    });
}

void tp::printTable(const LedgerReport &report, llvm::raw_ostream &stream) {
  stream << "mesh " << (report.mesh.empty() ? "of one rank" : report.mesh)
         << ", " << report.ranks << " ranks\n";
  std::string group = "none";
  std::map<std::string, std::string> titles;
  for (const FunctionTotals &function : report.functions)
    titles[function.name] = "@" + getTitle(function);
  for (const LedgerLine &line : report.lines) {
    std::string title = titles[line.function];
    if (!line.layer.empty())
      title += ", " + line.layer;
    if (title != group) {
      stream << "\n" << title << "\n";
      stream << "   id  kind                axis          count       bytes  "
                "   traffic  type\n";
      group = title;
    }
    stream << formatv("{0,5}  {1,-18}  {2,-12}  {3,5}  {4,10}  {5,10}  {6}\n",
                      line.id, line.kind, line.axis, line.count,
                      tprt::formatBytes(line.bytes),
                      tprt::formatBytes(line.traffic), line.type);
    stream << "       cause: " << line.cause << "\n"
           << "       annotation: " << line.annotation << "; at "
           << (line.location.empty() ? "an unknown place" : line.location)
           << "; placed by " << line.pass << "\n";
    if (line.overlap)
      printOverlap(*line.overlap, stream);
    if (line.seconds)
      printSeconds(*line.seconds, stream);
  }
  for (const FunctionTotals &function : report.functions)
    printTotals(function, report.functions.size() > 1, stream);
  stream << "\n";
  printShare(report.parameters, "parameters", tprt::formatBytes, stream);
  if (!report.unnamedParameters.empty()) {
    stream << "of these no rule of the plan names ";
    llvm::interleaveComma(report.unnamedParameters, stream);
    stream << "\n";
  }
  printShare(report.states, "states", tprt::formatBytes, stream);
  for (const auto &[kind, one] : report.memory)
    printShare(one, "  " + kind, tprt::formatBytes, stream);
  if (report.functions.size() == 1)
    printArithmetic(report.functions.front(), stream);
  for (const FunctionTotals &function : report.functions)
    if (function.memory)
      printMemory(function, stream);
  for (const FunctionTotals &function : report.functions)
    if (function.seconds)
      printSeconds(function, report.profile, stream);
  if (!report.untimed.empty())
    stream << "no times: " << report.untimed << "\n";
}

static void printShare(const RankShare &share, llvm::StringRef unit,
                       llvm::json::OStream &json) {
  json.attribute(("per_rank" + unit).str(), share.perRank);
  json.attribute(("model" + unit).str(), share.model);
  json.attribute(("ideal" + unit).str(), share.ideal);
  json.attributeObject("excess", [&] {
    json.attribute("replicated", share.replicated);
    json.attribute("copies", share.copies);
    json.attribute("padding", share.padding);
  });
}

static void printLine(const LedgerLine &line, llvm::json::OStream &json) {
  json.attribute("id", line.id);
  json.attribute("kind", line.kind);
  json.attribute("axis", line.axis);
  json.attribute("type", line.type);
  json.attribute("count", line.count);
  json.attribute("bytes", line.bytes);
  json.attribute("traffic", line.traffic);
  json.attribute("messages", line.messages);
  json.attribute("cause", line.cause);
  json.attribute("annotation", line.annotation);
  json.attribute("location", line.location);
  json.attribute("pass", line.pass);
  json.attribute("function", line.function);
  json.attribute("layer", line.layer);
  if (line.overlap)
    printOverlap(*line.overlap, json);
  if (line.seconds) {
    printNumber("seconds", line.seconds->total, json);
    printNumber("hidden", line.seconds->getHidden(), json);
    printNumber("exposed", line.seconds->exposed, json);
    json.attribute("ranks", line.seconds->ranks);
    json.attribute("nodes", line.seconds->nodes);
  }
}

static void printTotals(const FunctionTotals &totals,
                        llvm::json::OStream &json) {
  json.attributeObject("totals", [&] {
    for (const auto &[kind, one] : totals.kinds)
      json.attributeObject(kind, [&, &one = one] {
        json.attribute("count", one.count);
        json.attribute("bytes", one.bytes);
        json.attribute("traffic", one.traffic);
        json.attribute("bound", one.bound);
      });
  });
  KindTotal all = totals.getTotal();
  json.attribute("traffic", all.traffic);
  json.attribute("bound", all.bound);
}

static void printParameters(const LedgerReport &report,
                            llvm::json::OStream &json) {
  printShare(report.parameters, "_bytes", json);
  json.attributeArray("replicated", [&] {
    for (const auto &[name, bytes] : report.replicatedParameters)
      json.object([&, &name = name, &bytes = bytes] {
        json.attribute("name", name);
        json.attribute("bytes", bytes);
      });
  });
  json.attributeArray("unnamed", [&] {
    for (const std::string &name : report.unnamedParameters)
      json.value(name);
  });
}

static void printFunction(const FunctionTotals &function,
                          llvm::json::OStream &json) {
  json.attribute("name", function.name);
  if (!function.runsPer.empty())
    json.attribute("runs_per", function.runsPer);
  printTotals(function, json);
  json.attributeObject("flops", [&] { printShare(function.flops, "", json); });
  if (function.memory) {
    printMemory(*function.memory, json);
    printWork(function.work, json);
  }
  if (function.seconds)
    printSeconds(*function.seconds, "seconds", json);
  if (function.unsplit)
    printSeconds(*function.unsplit, "unsplit_seconds", json);
}

void tp::printJson(const LedgerReport &report, llvm::raw_ostream &stream) {
  llvm::json::OStream json(stream, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("mesh", report.mesh);
    json.attribute("ranks", report.ranks);
    if (!report.profile.empty())
      json.attribute("profile", report.profile);
    if (!report.untimed.empty())
      json.attribute("untimed", report.untimed);
    json.attributeArray("collectives", [&] {
      for (const LedgerLine &line : report.lines)
        json.object([&] { printLine(line, json); });
    });
    FunctionTotals sum = report.getSum();
    printTotals(sum, json);
    json.attributeObject("parameters", [&] { printParameters(report, json); });
    json.attributeObject("states",
                         [&] { printShare(report.states, "_bytes", json); });
    if (!report.memory.empty())
      json.attributeObject("memory", [&] {
        for (const auto &[kind, one] : report.memory)
          json.attributeObject(
              kind, [&, &one = one] { printShare(one, "_bytes", json); });
      });
    json.attributeObject("flops", [&] { printShare(sum.flops, "", json); });
    json.attributeArray("functions", [&] {
      for (const FunctionTotals &function : report.functions)
        json.object([&] { printFunction(function, json); });
    });
  });
  stream << "\n";
}

void tp::print(const LedgerReport &report, llvm::raw_ostream &stream,
               ExplainFormat format) {
  if (format == ExplainFormat::Json)
    printJson(report, stream);
  else
    printTable(report, stream);
  stream.flush();
}

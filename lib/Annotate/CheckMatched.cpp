//===- CheckMatched.cpp - Rules that match nothing ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rule or pattern that matches nothing, or whose tensors earlier rules take,
// is reported with the names that are nearest to it.
//
//===----------------------------------------------------------------------===//

#include "Annotator.h"

using namespace mlir;
using namespace tp;

bool Annotator::isMatch(const PlanRule &rule, const RuleTarget &target) const {
  if (rule.kind != target.kind ||
      (rule.rank && *rule.rank != target.type.getRank()) ||
      (!rule.at.empty() && !matchesGlob(rule.at, target.at)) ||
      (plan.isBuiltin && rule.dim && *rule.dim >= target.type.getRank()) ||
      (!rule.whenAxis.empty() && !mesh.findAxis(rule.whenAxis)))
    return false;
  return llvm::any_of(rule.patterns, [&](const std::string &pattern) {
    return llvm::any_of(target.names, [&](const std::string &name) {
      return matchesGlob(pattern, name);
    });
  });
}

InFlightDiagnostic Annotator::error(const PlanRule &rule,
                                    const RuleTarget *target) {
  Location loc = target ? target->getLoc() : meshOp->getParentOp()->getLoc();
  if (!plan.isBuiltin)
    loc = FileLineColLoc::get(meshOp.getContext(), plan.name, rule.place.line,
                              rule.place.column);
  InFlightDiagnostic diag = emitError(loc);
  if (target && !plan.isBuiltin)
    diag.attachNote(target->getLoc()) << "the rule is applied here";
  diag << "plan '" << plan.name << "': ";
  if (!plan.isBuiltin)
    diag << rule.path << ": ";
  return diag;
}

/// The names of what the rule could match that come closest to a pattern: three
/// at most.
SmallVector<std::string> Annotator::getNearest(const PlanRule &rule,
                                               StringRef pattern) const {
  std::string bare = pattern.str();
  llvm::erase(bare, '*');
  SmallVector<std::pair<unsigned, std::string>> near;
  auto add = [&](const std::string &name) {
    std::pair<unsigned, std::string> entry{StringRef(name).edit_distance(bare),
                                           name};
    if (!name.empty() && !llvm::is_contained(near, entry))
      near.push_back(entry);
  };
  for (const RuleTarget &target : targets)
    if (target.kind == rule.kind)
      llvm::for_each(target.names, add);
  if (rule.kind == PlanRule::Kind::Kept)
    llvm::for_each(notKept, add);
  llvm::sort(near);
  near.truncate(std::min<size_t>(near.size(), 3));
  return llvm::map_to_vector(near, [](auto &entry) { return entry.second; });
}

LogicalResult Annotator::checkMatched() {
  for (auto [rule, count] : llvm::zip_equal(plan.rules, matches)) {
    if (rule.optional ||
        (!rule.whenAxis.empty() && !mesh.findAxis(rule.whenAxis)))
      continue;
    if (count > 0) {
      warnOfPatterns(rule);
      continue;
    }
    InFlightDiagnostic diag = error(rule, nullptr);
    if (const PlanRule *earlier = findEarlier(rule, ""))
      return diag << "never counts: " << earlier->path
                  << " comes first and matches all that it matches";
    if (!rule.at.empty()) {
      PlanRule anywhere = rule;
      anywhere.at.clear();
      std::set<std::string> places;
      for (const RuleTarget &target : targets)
        if (isMatch(anywhere, target))
          places.insert(target.at);
      if (!places.empty()) {
        diag << "matched nothing at '" << rule.at
             << "', but would elsewhere, such as at ";
        auto some = llvm::make_range(
            places.begin(),
            std::next(places.begin(), std::min<size_t>(places.size(), 3)));
        llvm::interleaveComma(some, diag, [&](const std::string &place) {
          diag << "'" << place << "'";
        });
        return places.size() > 3
                   ? diag << " and " << places.size() - 3 << " more"
                   : diag;
      }
    }
    diag << "matched nothing: '" << llvm::join(rule.patterns, "', '") << "'";
    SmallVector<std::string> near = getNearest(rule, rule.patterns.front());
    if (near.empty() && rule.kind == PlanRule::Kind::Kept)
      return diag << "; the program has no derivative of repeated layers, for "
                     "which something would be kept: expected one of training "
                     "(--train adamw or sgd)";
    if (near.empty())
      return diag << "; the program has nothing of that kind";
    return diag << "; the nearest names are '" << llvm::join(near, "', '")
                << "'";
  }
  return success();
}

const PlanRule *Annotator::findEarlier(const PlanRule &rule,
                                       StringRef pattern) const {
  PlanRule alone = rule;
  if (!pattern.empty())
    alone.patterns = {pattern.str()};
  const PlanRule *earlier = nullptr;
  for (const RuleTarget &target : targets) {
    if (!isMatch(alone, target))
      continue;
    const PlanRule *first =
        llvm::find_if(plan.rules, [&](const PlanRule &other) {
          return isMatch(other, target);
        });
    if (first == &rule)
      return nullptr;
    earlier = first;
  }
  return earlier;
}

/// One of several patterns may be for another model, misspelt, or another
/// rule's.
void Annotator::warnOfPatterns(const PlanRule &rule) {
  if (plan.isBuiltin || rule.patterns.size() < 2)
    return;
  for (const std::string &pattern : rule.patterns) {
    PlanRule alone = rule;
    alone.patterns = {pattern};
    bool matches = llvm::any_of(targets, [&](const RuleTarget &target) {
      return isMatch(alone, target);
    });
    const PlanRule *earlier = findEarlier(rule, pattern);
    if (matches && !earlier)
      continue;
    Location loc = FileLineColLoc::get(meshOp.getContext(), plan.name,
                                       rule.place.line, rule.place.column);
    InFlightDiagnostic diag = emitWarning(loc);
    diag << "plan '" << plan.name << "': " << rule.path << ": '" << pattern
         << "' ";
    if (earlier)
      diag << "never counts: " << earlier->path
           << " comes first and matches all that it matches";
    else
      diag << "matched nothing, unlike others of the list; the nearest names "
              "are '"
           << llvm::join(getNearest(rule, pattern), "', '") << "'";
  }
}

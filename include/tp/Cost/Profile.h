//===- Profile.h - The figures of a device that times stand on --*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile is a JSON file (docs/Plan.md has its keys), one of those that come
// with the project (`h100`) or a user's own, such as tp-plan --measure writes.
// This reads the part that times stand on; sizes and prices are tp-plan's.
//
//===----------------------------------------------------------------------===//

#ifndef TP_COST_PROFILE_H
#define TP_COST_PROFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tp {

/// A link from one rank to others.
struct Link {
  /// Seconds that a call takes beside its messages, and seconds of a message.
  double start = 0, alpha = 0;
  /// Bytes a second, one way, and the share of them that is reached.
  double beta = 0, efficiency = 1;

  double getSpeed() const { return beta * efficiency; }
};

struct Profile {
  std::string name;
  /// The target of tp-compile that the figures are of: `cuda:sm_90`.
  std::string target;
  int64_t ranksPerNode = 1;
  /// The ranks of a node divide one device among them.
  bool isShared = false;
  /// Floating point operations a second of products, by element type.
  std::map<std::string, double> matrix;
  /// Speeds of everything else: operations a second, and bytes a second.
  double vector = 0, bandwidth = 0;
  /// Seconds from one kernel to the next.
  double kernelSeconds = 0;
  /// The shares of these figures that are reached.
  double matrixEfficiency = 1, attentionEfficiency = 1, vectorEfficiency = 1,
         bandwidthEfficiency = 1;
  /// The share of `matrix` that a product of so many rows reaches, in
  /// increasing order of rows; empty: products of any size reach all of it.
  std::vector<std::pair<int64_t, double>> rows;
  /// The share of its speed that a kernel keeps while a collective is in
  /// flight.
  double beside = 1;
  /// The share of its speed that a collective in flight keeps while a kernel
  /// runs.
  double linkBeside = 1;
  /// The link within a node and, if the profile has one, that between nodes.
  std::vector<Link> links;

  /// The share of a device that one of `ranks` ranks has.
  double getPart(int64_t ranks) const {
    return isShared ? 1.0 / double(std::min(ranks, ranksPerNode)) : 1.0;
  }
  /// The share of `matrix` that a product of `rows` rows reaches.
  double getRowEfficiency(int64_t rows) const;
};

/// The names of the profiles that come with the project.
llvm::SmallVector<llvm::StringRef> getProfileNames();

/// Returns the profile of that name, or the one in the file of that path. If it
/// cannot be used, tells `emitError` the reason and returns nothing.
std::optional<Profile>
readProfile(llvm::StringRef nameOrPath,
            llvm::function_ref<void(const llvm::Twine &)> emitError);

/// A profile as the value of an option. None is known unless one is named.
class ProfileHandle {
public:
  ProfileHandle() = default;
  ProfileHandle(Profile profile, llvm::StringRef text)
      : profile(std::make_shared<const Profile>(std::move(profile))),
        text(text) {}

  explicit operator bool() const { return profile != nullptr; }
  const Profile &operator*() const { return *profile; }
  const Profile *operator->() const { return profile.get(); }
  /// The profile as the option named it.
  llvm::StringRef getText() const { return text; }
  bool operator==(const ProfileHandle &other) const {
    return profile == other.profile;
  }

private:
  std::shared_ptr<const Profile> profile;
  std::string text;
};

} // namespace tp

/// Reads the option of pipelines.
template <>
class llvm::cl::parser<tp::ProfileHandle>
    : public llvm::cl::basic_parser<tp::ProfileHandle> {
public:
  using basic_parser::basic_parser;
  /// Returns true on failure, as LLVM's command line has it.
  bool parse(Option &option, StringRef name, StringRef text,
             tp::ProfileHandle &profile);
  static void print(raw_ostream &os, const tp::ProfileHandle &profile) {
    os << profile.getText();
  }
  void printOptionDiff(const Option &option, const tp::ProfileHandle &profile,
                       const OptVal &, size_t width) const {
    printOptionName(option, width);
    outs() << "= " << profile.getText() << '\n';
  }
  StringRef getValueName() const override { return "profile"; }
};

#endif // TP_COST_PROFILE_H

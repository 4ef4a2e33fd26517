//===- OutputFileTest.cpp - Files that tools write ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file is as it was before or whole, however the writing ends.
//
//===----------------------------------------------------------------------===//

#include "tp/Support/OutputFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace tp;

namespace {

struct Folder {
  SmallString<128> path;
  Folder() { (void)sys::fs::createUniqueDirectory("tp-output", path); }
  ~Folder() { sys::fs::remove_directories(path); }
  std::string operator/(StringRef name) const {
    return (path + "/" + name).str();
  }
  /// The names of its files.
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    std::error_code error;
    for (sys::fs::directory_iterator it(path, error), end; it != end;
         it.increment(error))
      names.push_back(sys::path::filename(it->path()).str());
    llvm::sort(names);
    return names;
  }
};

std::string read(const std::string &path) {
  auto bytes = MemoryBuffer::getFile(path);
  return bytes ? (*bytes)->getBuffer().str() : "none";
}

using Names = std::vector<std::string>;

} // namespace

TEST(OutputFileTest, AppearsWhenItIsWhole) {
  Folder folder;
  std::string path = folder / "a", error;
  ASSERT_EQ(tp::writeFile(path, "old"), "");
  {
    auto file = OutputFile::open(path, error);
    file->os() << "not committed";
  }
  EXPECT_EQ(read(path), "old");
  auto file = OutputFile::open(path, error);
  file->os() << "new";
  EXPECT_EQ(read(path), "old");
  EXPECT_EQ(file->commit(), "");
  EXPECT_EQ(read(path), "new");
  file.reset();
  EXPECT_EQ(read(path), "new");
  EXPECT_EQ(folder.list(), Names{"a"});
}

TEST(OutputFileTest, LinksStayLinks) {
  Folder folder;
  ASSERT_EQ(symlink("b", (folder / "a").c_str()), 0);
  ASSERT_EQ(symlink((folder / "c").c_str(), (folder / "b").c_str()), 0);
  EXPECT_EQ(tp::writeFile(folder / "a", "x"), "");
  EXPECT_EQ(read(folder / "c"), "x");
  EXPECT_TRUE(sys::fs::is_symlink_file(folder / "a"));
  EXPECT_TRUE(sys::fs::is_symlink_file(folder / "b"));
  // Links that lead back to themselves are no place.
  ASSERT_EQ(symlink("e", (folder / "d").c_str()), 0);
  ASSERT_EQ(symlink("d", (folder / "e").c_str()), 0);
  EXPECT_EQ(tp::writeFile(folder / "d", "x"),
            "cannot write '" + folder / "d" +
                "': Too many levels of symbolic links");
  EXPECT_EQ(folder.list(), (Names{"a", "b", "c", "d", "e"}));
}

TEST(OutputFileTest, ErrorsNameTheFile) {
  Folder folder;
  EXPECT_EQ(tp::writeFile(folder.path, "x"),
            "cannot write '" + folder.path.str().str() + "': Is a directory");
  EXPECT_EQ(tp::writeFile(folder / "none/a", "x"),
            "cannot write '" + folder / "none/a" +
                "': No such file or directory");
  EXPECT_EQ(tp::writeFile("/dev/full", "x"),
            "cannot write '/dev/full': No space left on device");
  EXPECT_EQ(folder.list(), Names{});
}

TEST(OutputFileTest, SignalsLeaveNothing) {
  for (int number : {SIGINT, SIGTERM}) {
    Folder folder;
    std::string path = folder / "a", error;
    ASSERT_EQ(tp::writeFile(path, "old"), "");
    pid_t child = fork();
    if (child == 0) {
      setenv("TMPDIR", folder.path.c_str(), 1);
      TemporaryFile temporary("o");
      auto file = OutputFile::open(path, error);
      file->os() << "half";
      file->os().flush();
      // Both are there.
      if (folder.list().size() != 3 || temporary.path.empty())
        _exit(1);
      raise(number);
      _exit(2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    EXPECT_EQ(WTERMSIG(status), number);
    EXPECT_EQ(folder.list(), Names{"a"});
    EXPECT_EQ(read(path), "old");
  }
}

TEST(OutputFileTest, TemporaryFilesSayWhere) {
  setenv("TMPDIR", "/nowhere", 1);
  TemporaryFile file("o");
  unsetenv("TMPDIR");
  EXPECT_TRUE(file.path.empty());
  EXPECT_EQ(file.error,
            "cannot make a temporary file in '/nowhere': No such file or "
            "directory; $TMPDIR names another folder");
}

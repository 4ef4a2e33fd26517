//===- tprt/foreign.h - files that are not what was expected ----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that people give for a checkpoint's by mistake are told by their first
// bytes. The compiler and the runtime say the same of them.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_FOREIGN_H
#define TPRT_FOREIGN_H

#include <string_view>

namespace tprt {

/// How many of a file's first bytes tell what it is.
inline constexpr int kTellingBytes = 64;

/// Says what a file is that begins with these bytes, and what to do, to follow
/// its name in a message; empty if it is none of these.
inline std::string_view describeForeign(std::string_view head) {
  struct Row {
    std::string_view beginning, is;
  };
  constexpr Row kRows[] = {
      {"version https://git-lfs.github.com",
       "is what Git LFS leaves in place of a file: run `git lfs pull` in its "
       "directory"},
      {"PK\x03\x04",
       "is in PyTorch's own format, which is not read because it can hold "
       "code: "
       "save the model again with save_pretrained, which writes safetensors"},
      {"\x80\x02", "is a pickle, which is not read because it can hold code: "
                   "save the model "
                   "again with save_pretrained, which writes safetensors"},
      {"GGUF",
       "is a GGUF file: `tp-gguf FILE -o DIR` makes a checkpoint directory of "
       "it, without a copy of the weights"},
      {"<!DOCTYPE", "is a web page: the download did not give the file itself"},
      {"<html", "is a web page: the download did not give the file itself"},
  };
  // The length of a safetensors header can begin like anything.
  constexpr std::string_view kHeader("\0\0\0\0{", 5);
  if (head.size() > 8 && head.substr(4, 5) == kHeader)
    return {};
  for (const Row &row : kRows)
    if (head.substr(0, row.beginning.size()) == row.beginning)
      return row.is;
  return {};
}

/// True if what is not there may be the name of a model on a hub: `owner/name`,
/// or a name of old without its owner, as `gpt2`, or the address of its page.
inline bool looksLikeHubName(std::string_view text) {
  constexpr std::string_view kAddress = "https://";
  if (text.substr(0, kAddress.size()) == kAddress)
    return true;
  if (text.empty() || text[0] == '.' || text[0] == '~')
    return false;
  size_t slash = text.find('/');
  if (slash == std::string_view::npos) // A name with a dot is that of a file.
    return text.find('.') == std::string_view::npos;
  return slash > 0 && slash + 1 < text.size() &&
         text.find('/', slash + 1) == std::string_view::npos;
}

/// To follow the name in a message.
inline constexpr std::string_view kHubAdvice =
    "is not on this machine; if it is the name of a model on a hub, download "
    "it "
    "first (hf download NAME --local-dir DIR) and give DIR";

/// Files beside which, or instead of which, safetensors were expected.
inline constexpr std::string_view kPickledWeights[] = {
    "pytorch_model.bin", "pytorch_model.bin.index.json"};

} // namespace tprt

#endif // TPRT_FOREIGN_H

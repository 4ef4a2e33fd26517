//===- SessionLeader.cpp - rank 0 decides what all ranks call -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If ranks are processes, rank 0 alone may know what comes next: requests
// arrive there, and training reads its data there. It then leads: each of its
// calls is sent to the other processes, which make the same call.
//
//===----------------------------------------------------------------------===//

#include "../collectives/net/Wire.h"
#include "Session.h"

using namespace tprt;

namespace {

/// A tensor of a call; outputs have no bytes.
struct SentTensor {
  std::string name;
  FileType type;
  Shape shape;
  std::string bytes;
};

using SentTensors = std::vector<SentTensor>;

void put(net::BodyWriter &write, const std::vector<Binding> &tensors,
         bool withBytes) {
  write(uint64_t(tensors.size()));
  for (const Binding &tensor : tensors)
    write(std::string(tensor.name), tensor.type, tensor.shape,
          withBytes ? std::string(tensor.data, size_t(tensor.bytes)) : "");
}

bool get(net::BodyReader &read, SentTensors &tensors) {
  uint64_t count = 0;
  if (!read(count))
    return false;
  for (uint64_t i = 0; i < count; ++i) {
    SentTensor &tensor = tensors.emplace_back();
    if (!read(tensor.name, tensor.type, tensor.shape, tensor.bytes))
      return false;
  }
  return true;
}

std::vector<Binding> bindingsOf(SentTensors &tensors) {
  std::vector<Binding> bindings;
  for (SentTensor &tensor : tensors)
    bindings.push_back({tensor.name, tensor.type, tensor.shape,
                        tensor.bytes.data(), int64_t(tensor.bytes.size())});
  return bindings;
}

} // namespace

Status Session::tell(const Call &call, const std::vector<Binding> &inputs,
                     const std::vector<Binding> &outputs) {
  if (!isLeading)
    return {};
  net::BodyWriter write;
  write(call);
  put(write, inputs, /*withBytes=*/true);
  put(write, outputs, /*withBytes=*/false);
  return fromRoot(write.text).status();
}

Status Session::endLead() {
  Status status = tell({Call::End});
  isLeading = false;
  return status;
}

Status Session::follow() {
  while (true) {
    TPRT_ASSIGN(auto block, fromRoot());
    net::BodyReader reader(block);
    Call call;
    SentTensors given, wanted;
    if (!reader(call) || !get(reader, given) || !get(reader, wanted))
      return internalError("rank ", rank(), " cannot read a call of rank 0");
    switch (call.kind) {
    case Call::Step:
      TPRT_TRY(step(call.index, bindingsOf(given), bindingsOf(wanted)));
      break;
    case Call::Read:
      TPRT_TRY(read(call.index, bindingsOf(wanted)));
      break;
    case Call::ReadRows:
      TPRT_TRY(readRows(call.index, bindingsOf(wanted)[0], call.first));
      break;
    case Call::State:
      TPRT_TRY(state(call.index, call.first, call.rows).status());
      break;
    case Call::PeakBytes:
      TPRT_TRY(peakBytes().status());
      break;
    case Call::End:
      return {};
    }
  }
}

Expected<std::string> Session::fromRoot(const std::string &bytes) {
  backend_->limitWaits(kLongestTimeout);
  auto block = backend_->channel()->fromRoot(bytes);
  backend_->limitWaits(options.timeoutSeconds);
  return block;
}

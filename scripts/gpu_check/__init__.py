"""What scripts/gpu-check does: pack here, run where there is a card.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The modules that run on the other machine (all but pack.py) need the standard
library alone; those that compare with PyTorch or measure it need torch as well.
"""

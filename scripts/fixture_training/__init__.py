"""What PyTorch makes of training: gradients and steps, for scripts/make-fixtures.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

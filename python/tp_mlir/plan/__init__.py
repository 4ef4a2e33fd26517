"""tp-plan: the memory and the time of a model on devices that nobody has to have.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from ._main import main, plan
from ._profile import Profile, ProfileError, read
from ._work import Workload

__all__ = ["Profile", "ProfileError", "Workload", "main", "plan", "read"]

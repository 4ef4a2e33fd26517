"""Run a command, and send a signal to it, or to the processes that it starts, once a file is there.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: told.py SIGNAL itself|children FILE COMMAND...    ends with the command's exit code
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

number, whom, file, *command = sys.argv[1:]
process = subprocess.Popen(command)
deadline = time.monotonic() + 60
while not (os.path.exists(file) and os.path.getsize(file)) and process.poll() is None:
    if time.monotonic() > deadline:
        process.kill()
        sys.exit(f"{file} did not come")
    time.sleep(0.02)
told = [process.pid]
if whom == "children":
    told = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
for pid in told:
    # The first may take the others with it before they are told.
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(pid), getattr(signal, "SIG" + number))
code = process.wait(60)
sys.exit(code if code >= 0 else 128 - code)

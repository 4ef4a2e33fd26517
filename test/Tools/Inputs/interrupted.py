"""A signal while tp-compile waits for another program ends it, without a stack trace, and nothing of
it is left.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: interrupted.py FOLDER ARGUMENT... ; the other program is SLOW, which writes its process' number
to $TMPDIR/pid
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

FOLDER, ARGUMENTS = pathlib.Path(sys.argv[1]), sys.argv[2:]
SLOW = FOLDER / "slow"
SLOW.write_text("#!/bin/sh\necho $$ > \"$TMPDIR/new\"; mv \"$TMPDIR/new\" \"$TMPDIR/pid\"\nexec sleep 60\n")
SLOW.chmod(0o755)


def start(place, number, action):
    """tp-compile, which waits for SLOW, and whose action on the signal is not that of this process."""
    place.mkdir()
    process = subprocess.Popen(["tp-compile", *ARGUMENTS, "-o", FOLDER / "a.tpa"],
                               stderr=subprocess.PIPE,
                               env={**os.environ, "TMPDIR": str(place), "TP_PTXAS": str(SLOW)},
                               preexec_fn=lambda: signal.signal(number, action))
    while not (place / "pid").is_file() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    return process


def end(place, process):
    os.kill(int((place / "pid").read_text()), signal.SIGKILL)
    return process.stderr.read().decode(), process.wait()


output = FOLDER / "a.tpa"
output.write_text("old")
for number in signal.SIGINT, signal.SIGTERM:
    place = FOLDER / f"tmp-{number}"
    process = start(place, number, signal.SIG_DFL)
    process.wait()
    said, code = end(place, process)
    if code not in (-number, 128 + number) or "error" in said or "Stack" in said:
        sys.exit(f"{number}: {code}: {said}")
    if [path.name for path in place.iterdir()] != ["pid"] or output.read_text() != "old":
        sys.exit(f"{number}: left {list(place.iterdir())}")
# One that is ignored, as under nohup, stays so.
place = FOLDER / "ignored"
said, code = end(place, start(place, signal.SIGINT, signal.SIG_IGN))
if code != 1 or "slow failed for sm_90: Killed" not in said or output.read_text() != "old":
    sys.exit(f"ignored: {code}: {said}")

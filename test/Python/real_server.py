"""tp-serve on test/fixtures/text-model, as a process, for tests and for `load`.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

import httpx

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "text-model"


def command(*arguments):
    """tp-serve's, at a free port."""
    made = [sys.executable, "-c", "import sys; from tp_mlir._commands import serve; "
            "sys.exit(serve())", FOLDER, "--port", "0", *arguments]
    return [*map(str, made)]


def children(process):
    """What any of its threads has started and is there still, by id."""
    return [int(child) for path in pathlib.Path(f"/proc/{process}/task").glob("*/children")
            for child in path.read_text(encoding="ascii").split()]


def resident(process):
    """Bytes of it and of those that it has started."""
    return os.sysconf("SC_PAGE_SIZE") * sum(
        int(pathlib.Path(f"/proc/{one}/statm").read_text(encoding="ascii").split()[1])
        for one in [process, *children(process)])


class RealServer:
    """Use it in a `with`; what is left of it is killed at the end.

    Attributes:
        url: of the server, without /v1.
        log: lines that it has printed.
    """

    def __init__(self, *arguments, env=None):
        self.process = subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, text=True,
                                        env=env)
        self.log, self._changed, self._ended = [], threading.Condition(), False
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.url = self.said(r" at (http://\S+)/v1$")[1]
        httpx.get(self.url + "/health", timeout=30)

    def _read(self):
        for line in self.process.stderr:
            with self._changed:
                self.log.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def said(self, pattern, seconds=60):
        """The match of a line of the log, which may be still to come."""
        def found():
            return next(filter(None, (re.search(pattern, line) for line in self.log)), None)

        with self._changed:
            self._changed.wait_for(lambda: found() or self._ended, seconds)
            assert found(), f"nothing like '{pattern}' in {self.log}"
            return found()

    def ranks(self):
        """Processes that it has started, by id."""
        return children(self.process.pid)

    def memory(self):
        """Resident bytes of the process and of those that it has started."""
        return resident(self.process.pid)

    def files(self):
        """How many it has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def metric(self, name):
        found = re.search(rf"^{name} (\S+)$", httpx.get(self.url + "/metrics").text, re.MULTILINE)
        return float(found[1])

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds=30):
        """Its exit code; all of the log is there then."""
        code = self.process.wait(seconds)
        self._reader.join()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.kill()
        self.wait()

"""Children that were forked, as multiprocessing's method 'fork' makes them.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A child has a copy of its parent's objects and none of the parent's threads: an engine would
never answer there, locks that a thread held stay locked, and what the child puts away at its
end is still the parent's. So an object that owns threads, processes or files says here what it
is in a child.
"""

import os
import tempfile
import weakref

_owners = weakref.WeakSet()


def watch(owner):
    """From now on `owner.forked()` is called in every child, before anything else runs there."""
    _owners.add(owner)


def message(what):
    """What a child is told that uses its parent's `what`."""
    return (f"process {os.getpid()} was forked from the one that opened this {what}, whose threads "
            f"stay there; open another {what} in this process (multiprocessing: start processes "
            "with the method 'spawn')")


class Folder:
    """A temporary folder, gone with the object and at the end of the process that made it.

    Attributes:
        path: of the folder.
    """

    def __init__(self, prefix="tp-mlir-"):
        self._folder = tempfile.TemporaryDirectory(prefix=prefix)
        self.path = self._folder.name
        watch(self)

    def forked(self):
        self._folder._finalizer.detach()


def _in_child():
    for owner in list(_owners):
        owner.forked()


os.register_at_fork(after_in_child=_in_child)

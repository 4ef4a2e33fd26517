"""What a device can do: the figures that predictions stand on.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A profile is a JSON file (docs/Plan.md has the keys). Every figure says where it is from; what a
device reaches of a figure is a factor of its own, so that nobody takes a peak for a measurement.
"""

import json
import pathlib
from dataclasses import dataclass, replace

_FOLDER = pathlib.Path(__file__).parent / "profiles"
# Keys, and what is needed of them.
_TOP = ("name", "target", "measured", "memory", "reserved", "shared", "ranks_per_node", "matrix",
        "rows", "vector", "bandwidth", "kernel_seconds", "efficiency", "beside", "link_beside",
        "links", "price")
_OPTIONAL = {"shared", "rows", "beside", "link_beside", "price"}
_EFFICIENCY = ("matrix", "attention", "vector", "bandwidth")
_RESERVED = ("context", "workspace", "communicator")
_TYPES = ("f32", "bf16", "f16")


class ProfileError(ValueError):
    """A profile that cannot be used; the message says where and what was expected.

    Attributes:
        code: 2 if it is the command line that names none, or else 1.
    """

    def __init__(self, text, code=1):
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class Figure:
    """A number with where it is from."""
    value: float
    source: str


@dataclass(frozen=True)
class Link:
    """What one rank reaches of others: seconds of a call beside its messages, alpha seconds a
    message, beta bytes a second one way."""
    name: str
    alpha: Figure
    beta: Figure
    efficiency: float
    start: Figure = None


@dataclass(frozen=True)
class Profile:
    name: str
    target: str             # tp-compile's
    measured: bool          # on the machine itself, rather than peaks of a data sheet
    memory: Figure          # bytes of a rank's device; of all ranks together if shared
    reserved: dict          # bytes of it by what takes them beside the program: Figures
    shared: bool            # the ranks of a node divide one device among them
    ranks_per_node: int
    matrix: dict            # operations a second of products, by element type: Figures
    vector: Figure          # operations a second of everything else
    bandwidth: Figure       # bytes a second of memory
    kernel_seconds: Figure  # from one kernel to the next
    efficiency: dict        # what is reached of matrix, attention, vector, bandwidth
    links: tuple            # within a node; between nodes, where there are any
    price: Figure = None    # of one device for an hour, in any currency
    beside: Figure = None   # share of its speed that a kernel keeps beside a collective
    link_beside: Figure = None  # and the collective
    data: dict = None       # the profile as JSON has it

    def part(self, ranks):
        """What one of so many ranks has of a device."""
        return 1 / min(ranks, self.ranks_per_node) if self.shared else 1.0

    @property
    def figures_text(self):
        """The profile as JSON, as tp-compile reads it."""
        return json.dumps(self.data)

    def figures(self):
        """Every figure: what it is of, the Figure, and its unit (_units.figure_text)."""
        yield "memory", self.memory, "B"
        for kind, figure in self.reserved.items():
            yield f"reserved, {kind}", figure, "B"
        for kind, figure in self.matrix.items():
            yield f"matrix products in {kind}", figure, "FLOP/s"
        yield "other arithmetic", self.vector, "FLOP/s"
        yield "memory bandwidth", self.bandwidth, "B/s"
        yield "start of a kernel", self.kernel_seconds, "s"
        for link in self.links:
            if link.start:
                yield f"{link.name}, start", link.start, "s"
            yield f"{link.name}, latency", link.alpha, "s"
            yield f"{link.name}, one way", link.beta, "B/s"
        if self.price:
            yield "price of a device", self.price, "per hour"


def known():
    """The names of the profiles that come with the package."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def with_nodes(profile, ranks):
    """The profile with so many ranks on a node."""
    return replace(profile, ranks_per_node=ranks,
                   data={**profile.data, "ranks_per_node": ranks})


def with_price(profile, price):
    """The profile with the price of one device for an hour."""
    return replace(profile, price=Figure(price, "--price"))


@dataclass(frozen=True)
class _Bounds:
    """What no device is outside of: a figure that is belongs to another unit."""
    least: float
    most: float
    words: str


_ANY = _Bounds(0, float("inf"), "a number")
_BYTES = _Bounds(1e6, 1e15, "bytes, from 1e6 to 1e15")
_BYTES_A_SECOND = _Bounds(1e6, 1e15, "bytes a second, from 1e6 to 1e15")
_OPERATIONS = _Bounds(1e6, 1e18, "operations a second, from 1e6 to 1e18")
_SECONDS = _Bounds(0, 1, "seconds, at most 1")


class _Reader:
    """Checks as it reads; an error has the path of what is wrong."""

    def __init__(self, path):
        self.path = path

    def fail(self, where, expected, got):
        raise ProfileError(f"{self.path}: {where}: expected {expected}, got {json.dumps(got)}")

    def keys(self, where, value, needed, optional=()):
        if not isinstance(value, dict):
            self.fail(where, "an object", value)
        for key in value:
            if key not in needed and key not in optional:
                self.fail(where, f"one of {', '.join(sorted({*needed, *optional}))}", key)
        if lacking := [key for key in needed if key not in value]:
            some = (f"the key {lacking[0]}, which is" if len(lacking) == 1 else
                    f"the keys {', '.join(lacking)}, which are")
            raise ProfileError(f"{self.path}: {where}: expected {some} not there")
        return value

    def number(self, where, value, least=0.0, most=float("inf")):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not (
                least < value <= most):
            self.fail(where, "a positive number" if most == float("inf")
                      else f"a number above {least:g} and at most {most:g}", value)
        return value

    def text(self, where, value):
        if not isinstance(value, str) or not value:
            self.fail(where, "a text", value)
        return value

    def truth(self, where, value):
        if not isinstance(value, bool):
            self.fail(where, "true or false", value)
        return value

    def figure(self, where, value, bounds=_ANY):
        if not isinstance(value, dict):
            self.fail(where, 'an object {"value": NUMBER, "source": TEXT}', value)
        self.keys(where, value, ("value", "source"))
        number = self.number(f"{where}.value", value["value"])
        if not bounds.least <= number <= bounds.most:
            self.fail(f"{where}.value", bounds.words, number)
        return Figure(number, self.text(f"{where}.source", value["source"]))

    def link(self, where, value):
        self.keys(where, value, ("name", "alpha", "beta", "efficiency"), ("start",))
        return Link(self.text(f"{where}.name", value["name"]),
                    self.figure(f"{where}.alpha", value["alpha"], _SECONDS),
                    self.figure(f"{where}.beta", value["beta"], _BYTES_A_SECOND),
                    self.number(f"{where}.efficiency", value["efficiency"], most=1),
                    self.figure(f"{where}.start", value["start"], _SECONDS) if "start" in value else None)

    def rows(self, value):
        """Checks the share of `matrix` that products of so many rows reach."""
        if not isinstance(value, list):
            self.fail("rows", 'a list of {"rows": NUMBER, "efficiency": NUMBER}', value)
        least = 0
        for i, entry in enumerate(value):
            self.keys(f"rows[{i}]", entry, ("rows", "efficiency"))
            self.number(f"rows[{i}].efficiency", entry["efficiency"], most=1)
            if type(entry["rows"]) is not int or entry["rows"] <= least:
                self.fail(f"rows[{i}].rows", f"an integer above {least}", entry["rows"])
            least = entry["rows"]

    def profile(self, data):
        self.keys("profile", data, [key for key in _TOP if key not in _OPTIONAL], _OPTIONAL)
        reserved = self.keys("reserved", data["reserved"], (), _RESERVED)
        matrix = self.keys("matrix", data["matrix"], (), _TYPES)
        efficiency = self.keys("efficiency", data["efficiency"], _EFFICIENCY)
        links = data["links"]
        if not isinstance(links, list) or len(links) not in (1, 2):
            self.fail("links", "a list of the link within a node and, if there is one, of that "
                      "between nodes", links)
        ranks = data["ranks_per_node"]
        if not isinstance(ranks, int) or isinstance(ranks, bool) or ranks < 1:
            self.fail("ranks_per_node", "a positive integer", ranks)
        if not matrix:
            self.fail("matrix", f"figures for some of {', '.join(_TYPES)}", matrix)
        self.rows(data.get("rows", []))
        shares = {key: self.figure(key, data[key])
                  for key in ("beside", "link_beside") if key in data}
        for key, figure in shares.items():
            self.number(f"{key}.value", figure.value, most=1)
        return Profile(
            data=data, **shares,
            name=self.text("name", data["name"]), target=self.text("target", data["target"]),
            measured=self.truth("measured", data["measured"]),
            memory=self.figure("memory", data["memory"], _BYTES),
            reserved={kind: self.figure(f"reserved.{kind}", value)
                      for kind, value in reserved.items()},
            shared=self.truth("shared", data.get("shared", False)), ranks_per_node=ranks,
            matrix={kind: self.figure(f"matrix.{kind}", value, _OPERATIONS)
                    for kind, value in matrix.items()},
            vector=self.figure("vector", data["vector"], _OPERATIONS),
            bandwidth=self.figure("bandwidth", data["bandwidth"], _BYTES_A_SECOND),
            kernel_seconds=self.figure("kernel_seconds", data["kernel_seconds"], _SECONDS),
            efficiency={kind: self.number(f"efficiency.{kind}", value, most=1)
                        for kind, value in efficiency.items()},
            links=tuple(self.link(f"links[{i}]", value) for i, value in enumerate(links)),
            price=self.figure("price", data["price"]) if "price" in data else None)


def read(name):
    """The profile of that name, or in that file."""
    path = pathlib.Path(name)
    if name in known() or (name.lower() in known() and not path.exists()):
        path = _FOLDER / f"{name.lower()}.json"
    elif not path.exists():
        found = (f"no such file: '{name}'" if path.suffix or len(path.parts) > 1
                 else f"got '{name}'")
        raise ProfileError(
            f"for --gpu: expected one of {', '.join(known())} or a file with a profile, "
            f"{found}; tp-plan --measure FILE.json makes one of this machine", code=2)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise ProfileError(f"{path}: expected JSON: {error}") from error
    return _Reader(path).profile(data)
